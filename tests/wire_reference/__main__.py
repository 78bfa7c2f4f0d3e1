"""Records the page again: `python -m tests.wire_reference docs/wire-reference.md`."""

from __future__ import annotations

import asyncio
import sys
import tempfile
from contextlib import AsyncExitStack
from pathlib import Path

from spade_llm.xmpp.servers.prosody import ProsodyServer
from tests.conftest import Provisioner
from tests.integration.network import Network
from tests.wire_reference.page import page
from tests.wire_reference.recorder import record_all, start_recorder


async def _record() -> str:
    async with AsyncExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        for name in ("server", "agents", "documents"):
            (folder / name).mkdir()
        server = ProsodyServer(folder / "server")
        stack.push_async_callback(server.stop)
        provisioner = Provisioner(server=server, endpoint=await server.start())
        network = Network(server=provisioner, directory=folder / "agents", stack=stack)
        recorder = await start_recorder(network, folder / "documents")
        return page(await record_all(recorder))


if __name__ == "__main__":
    Path(sys.argv[1]).write_text(asyncio.run(_record()), encoding="utf-8")
