"""A memory in another process, behind a real Prosody, keeps the contract of every memory."""

from __future__ import annotations

import asyncio
import os
import sys
from asyncio.subprocess import DEVNULL, PIPE
from contextlib import AsyncExitStack
from typing import TYPE_CHECKING

import pytest
import pytest_asyncio

from spade_llm.agent import AgentOptions, Connection, XmppAgent
from spade_llm.services.memory import MemoryClient
from tests.cli.program import ROOT
from tests.memory.contract import *  # noqa: F403
from tests.memory.contract_changes import *  # noqa: F403
from tests.memory.contract_relations import *  # noqa: F403

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    from spade_llm.memory import OwnedMemory
    from tests.conftest import Provisioner

pytestmark = pytest.mark.server
READY_S = 30.0
AGENT = """
kind = "memory"
jid = "{jid}"
password_file = "password"
embeddings = "none"

[learning]
enabled = false

[server]
host = "{host}"
port = {port}
ca = "{ca}"
domain = "{domain}"
"""


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def memory(
    prosody: Provisioner, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[str]:
    """The JID of a memory agent in a process of its own."""
    folder = tmp_path_factory.mktemp("memory")
    jid, password = await prosody.account("memory")
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "spade_llm.cli", "run", str(agent_file(folder, prosody, jid))),
        *("--data", str(folder), "--no-download"),
        stdin=DEVNULL,
        stdout=PIPE,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )
    assert process.stdout is not None
    async with asyncio.timeout(READY_S):
        while not (await process.stdout.readline()).startswith(b"ready"):
            assert not process.stdout.at_eof()
    yield jid
    process.terminate()
    await process.wait()


def agent_file(folder: Path, server: Provisioner, jid: str) -> Path:
    endpoint = server.endpoint
    text = AGENT.format(
        jid=jid, host=endpoint.host, port=endpoint.port, ca=endpoint.ca_path, domain=endpoint.domain
    )
    (folder / "agent.toml").write_text(text, encoding="utf-8")
    (folder / "password").write_text("correct horse", encoding="utf-8")
    return folder / "agent.toml"


@pytest.fixture
async def askers(prosody: Provisioner) -> AsyncIterator[list[XmppAgent]]:
    """Two accounts that never asked anything yet."""
    async with AsyncExitStack() as stack:
        names = ("assistant", "someone.else")
        yield list(await asyncio.gather(*(asker(name, prosody, stack) for name in names)))


async def asker(name: str, prosody: Provisioner, stack: AsyncExitStack) -> XmppAgent:
    endpoint = prosody.endpoint
    connection = Connection(host=endpoint.host, port=endpoint.port, ca_path=endpoint.ca_path)
    jid, password = await prosody.account(name)
    agent = XmppAgent(jid, password, options=AgentOptions(connection=connection))
    await agent.start()
    stack.push_async_callback(agent.stop)
    return agent


@pytest.fixture
def owner(askers: list[XmppAgent]) -> str:
    return str(askers[0].jid)


@pytest.fixture
def other(askers: list[XmppAgent]) -> str:
    return str(askers[1].jid)


@pytest.fixture
def store(askers: list[XmppAgent], memory: str) -> OwnedMemory:
    return MemoryClient(askers[0].node.requester, memory)


@pytest.fixture
def other_store(askers: list[XmppAgent], memory: str) -> OwnedMemory:
    return MemoryClient(askers[1].node.requester, memory)
