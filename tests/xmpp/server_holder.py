"""Run as a script: start a server, print its port and pid, and hold it until killed."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

from spade_llm.xmpp.servers.embedded.launcher import EmbeddedServer
from spade_llm.xmpp.servers.prosody import ProsodyServer

KINDS = {"embedded": EmbeddedServer, "prosody": ProsodyServer}


async def hold(kind: str, directory: Path) -> None:
    """Never returns."""
    server = KINDS[kind](directory)
    endpoint = await server.start()
    sys.stdout.write(f"{endpoint.port} {server.pid}\n")
    sys.stdout.flush()
    await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(hold(sys.argv[1], Path(sys.argv[2])))
