"""Replicas of services under load, while one is killed: tool agent, memory agent, RAG agent."""

from __future__ import annotations

import asyncio
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import pytest_asyncio

from spade_llm.core.errors import RequestFailed
from spade_llm.messaging.agent_status import ask_status
from spade_llm.tools.call_log import read_calls
from spade_llm.tools.remote import ToolsClient
from spade_llm.tools.toolbox import CallContext
from tests.processes.deployment import Deployment, running_deployment

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable

    from tests.postgres_server import PostgresProcess

pytestmark = [pytest.mark.server, pytest.mark.thorough, pytest.mark.timeout(180)]

OWN_TOOLS = Path(__file__).parent / "own_tools.py"
STORAGE = """
[storage]
database_url = "{url}"
"""
REPLICAS = (1, 2, 3)
PEOPLE = 12
TAKEOVER_S = 10.0
ANSWER_S = 45.0


@pytest_asyncio.fixture
async def deployment(tmp_path: Path) -> AsyncIterator[Deployment]:
    async with running_deployment(tmp_path, names=()) as running:
        yield running


async def start_replicas(deployment: Deployment, kind: str, more: str) -> None:
    await deployment.account(kind)
    deployment._write_file(kind, more)
    await asyncio.gather(*(start(deployment, kind, number) for number in REPLICAS))


async def start(deployment: Deployment, kind: str, number: int) -> None:
    await deployment.start(kind, "--replica", str(number), label=f"{kind}-{number}")


@dataclass
class Load:
    """People that ask one thing after another, until it is over."""

    ask: Callable[[str], Awaitable[None]]
    asked: Counter[str] = field(default_factory=Counter)
    slowest_s: float = 0.0
    is_over: asyncio.Event = field(default_factory=asyncio.Event)

    def begin(self) -> None:
        people = [f"p{number}@localhost" for number in range(PEOPLE)]
        self.running = asyncio.gather(*map(self._talk, people))

    async def served(self, more: int) -> None:
        """Return after so many further answers."""
        wanted = self.asked.total() + more
        async with asyncio.timeout(ANSWER_S):
            while self.asked.total() < wanted:
                assert not self.running.done()
                await asyncio.sleep(0.02)

    async def end(self) -> None:
        self.is_over.set()
        await self.running

    async def _talk(self, person: str) -> None:
        while not self.is_over.is_set():
            since_s = asyncio.get_running_loop().time()
            await self.ask(person)
            self.slowest_s = max(self.slowest_s, asyncio.get_running_loop().time() - since_s)
            self.asked[person] += 1


async def test_tool_replicas_run_each_call_once_while_one_is_killed(
    deployment: Deployment, own_postgres: PostgresProcess
) -> None:
    more = '[python]\ntools = ["own.py"]\n' + STORAGE.format(url=own_postgres.url())
    await deployment.account("tools")
    path = deployment._write_file("tools", more)
    (path.parent / "own.py").write_text(OWN_TOOLS.read_text())
    await asyncio.gather(*(start(deployment, "tools", number) for number in REPLICAS))
    program = await deployment.program("calling")
    tools = ToolsClient(program.node.requester, "tools@localhost")
    lines, said = deployment.directory / "lines", [0]
    answered: list[str] = []
    interrupted: list[str] = []

    async def call(person: str) -> None:
        said[0] += 1
        line, context = f"{person} {said[0]}", CallContext(on_behalf_of=person)
        try:
            await tools.call("write_down", {"path": str(lines), "line": line}, context=context)
        except RequestFailed as error:
            assert error.wire_code == "interrupted"
            interrupted.append(line)
        else:
            answered.append(line)

    load = Load(call)
    load.begin()
    await load.served(3 * PEOPLE)
    await deployment.kill("tools-1")
    await load.served(5 * PEOPLE)
    await start(deployment, "tools", 1)
    await load.served(5 * PEOPLE)
    status = await ask_status(program.node.requester, "tools@localhost", timeout_s=5)
    await load.end()

    written = Counter(lines.read_text().splitlines())
    home = deployment.directory / "data" / "agents" / "tools@localhost" / "replicas"
    calls = [len(read_calls(home / str(one) / "calls", last=9999)) for one in REPLICAS]
    assert all(calls)
    assert {written[line] for line in answered} == {1}
    assert all(written[line] <= 1 for line in interrupted)
    assert len(interrupted) <= PEOPLE
    assert load.slowest_s < TAKEOVER_S
    assert len(status.replicas) == len(REPLICAS)
    assert sum(one.takeovers for one in status.replicas) > 0
    assert status.facts["answered_by"] in {one.name for one in status.replicas}
