"""Replicas of an assistant: processor time of a chat at 1, 2 and 4, and what is lost, doubled or
answered with an error while replicas are killed, join and leave.

People write two messages at a time, one right behind the other, at a fixed pace, so that the load
is the same for each number of replicas. On Prosody, and on ejabberd if it is installed.
"""

from __future__ import annotations

import asyncio
import os
import signal
import statistics
import time
from collections import Counter
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from bench.account import Part
from bench.lean_client import LeanClient
from bench.processor import cpu_of
from bench.row import Goal, Row, check
from bench.servers import ejabberd, has_ejabberd
from bench.stage import Stage
from spade_llm.xmpp.connection.settings import tls_context
from tests.postgres_server import postgres_binaries, started_postgres

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from xml.etree.ElementTree import Element

    from bench.account import Account
    from bench.row import Scale
    from bench.stage import Child
    from tests.postgres_server import PostgresProcess

MODEL_S = 0.2
PEOPLE = 20
PACE_S = 1.0
"""Interval between two pairs of messages of one person."""
PATIENCE_S = 20.0
ROUND_S = 6.0
"""Interval between two faults."""
NONE = Goal(limit=0)
SLOWEST = Goal(limit=5.0)
COSTS = {2: Goal(limit=1.1, is_ratio=True), 4: Goal(limit=1.2, is_ratio=True)}


class Person(LeanClient):
    """One person, and what came of the messages."""

    def __init__(self, account: Account) -> None:
        super().__init__(account.jid, account.password, tls_context(account.ca_path))
        self.name = account.jid.partition("@")[0]
        self.answers: Counter[str] = Counter()
        self.order: list[int] = []
        self.errors = 0
        self.sent: dict[int, float] = {}
        self.took_s: dict[int, float] = {}
        self._came = asyncio.Event()

    async def talk(self, to: str, is_over: asyncio.Event) -> None:
        while not is_over.is_set():
            began = time.monotonic()
            pair = (len(self.sent), len(self.sent) + 1)
            for number in pair:
                self.sent[number] = time.monotonic()
                self.say(to, f"{self.name} {number}", id=f"{self.name}.{number}.{began:.3f}")
            async with asyncio.timeout(None) as scope:
                scope.reschedule(asyncio.get_running_loop().time() + PATIENCE_S)
                try:
                    while not all(one in self.took_s for one in pair):
                        self._came.clear()
                        await self._came.wait()
                except asyncio.CancelledError:
                    if not scope.expired():
                        raise
            await asyncio.sleep(max(0.0, PACE_S - (time.monotonic() - began)))

    @property
    def lost(self) -> int:
        return len(self.sent) - len(self.took_s)

    @property
    def doubled(self) -> int:
        return sum(count - 1 for count in self.answers.values())

    @property
    def disordered(self) -> int:
        return sum(one > other for one, other in zip(self.order, self.order[1:], strict=False))

    def _told(self, message: Element) -> None:
        if message.get("type") == "error":
            self.errors += 1
            return
        text = message.findtext("{jabber:client}body") or ""
        words = text.partition("\n")[0].removeprefix("You said: ")
        if not words.startswith(f"{self.name} "):
            return
        number = int(words.rpartition(" ")[2])
        self.answers[words] += 1
        if number not in self.took_s:
            self.order.append(number)
            self.took_s[number] = time.monotonic() - self.sent[number]
        self._came.set()


@dataclass
class Group:
    """Replicas that run, by number."""

    stage: Stage
    part: Part
    running: dict[int, Child] = field(default_factory=dict)
    stacks: dict[int, AsyncExitStack] = field(default_factory=dict)

    async def start(self, number: int) -> None:
        data = self.part.account.data / str(number)
        data.mkdir(exist_ok=True)
        account = self.part.account.model_copy(update={"data": data})
        stack = self.stacks[number] = AsyncExitStack()
        process = self.stage.process("assistant", self.part.model_copy(update={"account": account}))
        self.running[number] = await stack.enter_async_context(process)

    async def end(self, number: int, *, is_killed: bool) -> None:
        child = self.running.pop(number)
        if is_killed:
            os.kill(child.pid, signal.SIGKILL)
        await self.stacks.pop(number).aclose()

    async def close(self) -> None:
        for number in [*self.running]:
            await self.end(number, is_killed=False)


async def measure(stage: Stage, scale: Scale) -> list[Row]:
    binaries = postgres_binaries()
    check(binaries is not None, "no PostgreSQL is installed")
    assert binaries is not None
    with started_postgres(binaries) as postgres:
        rows = await _on_server("Prosody", stage, postgres, scale)
    if has_ejabberd():
        async with Stage(ejabberd) as other:
            with started_postgres(binaries) as postgres:
                rows += await _on_server("ejabberd", other, postgres, scale)
    return rows


async def _on_server(
    server: str, stage: Stage, postgres: PostgresProcess, scale: Scale
) -> list[Row]:
    async with AsyncExitStack() as stack:
        model = await stack.enter_async_context(stage.audience_model(delay_s=MODEL_S))
        account = await stage.account("replicated")
        part = Part(account=account, model_url=model.said, database_url=postgres.url())
        costs = {
            count: await _cost(
                stage, part.model_copy(update={"is_replica": count > 0}), count, scale
            )
            for count in (0, 1, 2, 4)
        }
        faults = await _faults(stage, part.model_copy(update={"is_replica": True}), scale)
    return [*_cost_rows(server, costs), *_fault_rows(server, faults)]


@asynccontextmanager
async def _talking(stage: Stage, to: str) -> AsyncIterator[list[Person]]:
    """People that write until the block ends, and then wait for their last answers."""
    people = [Person(one) for one in await stage.people(PEOPLE)]
    for one in people:
        await one.log_in("127.0.0.1", (await stage.account("replicated")).port)
    is_over = asyncio.Event()
    talking = asyncio.gather(*(one.talk(to, is_over) for one in people))
    try:
        yield people
    finally:
        is_over.set()
        await talking
        for one in people:
            one.failed = lambda _: None
            one.close()


@dataclass(frozen=True, slots=True, kw_only=True)
class Cost:
    agent_ms: float
    """Processor time of all replicas for each chat, without their idle time."""
    idle_ms_per_s: float
    """Of one replica without chats."""
    server_ms: float
    answer_ms: float
    """Median."""


async def _cost(stage: Stage, part: Part, count: int, scale: Scale) -> Cost:
    seconds = scale.of(30, quick=4)
    group = Group(stage, part)
    for number in range(max(count, 1)):
        await group.start(number)
    pids = [child.pid for child in group.running.values()]
    server = [*stage.service_pids.values()][:1]
    try:
        await asyncio.sleep(1.0)
        idle = sum(map(cpu_of, pids))
        await asyncio.sleep(seconds / 3)
        idle_per_s = (sum(map(cpu_of, pids)) - idle) / (seconds / 3)
        async with _talking(stage, part.account.jid) as people:
            await asyncio.sleep(2.0)  # Each conversation begins, and connections are opened.
            began, chats = time.monotonic(), _answered(people)
            before, server_before = sum(map(cpu_of, pids)), sum(map(cpu_of, server))
            await asyncio.sleep(seconds)
            spent, served = sum(map(cpu_of, pids)) - before, sum(map(cpu_of, server))
            elapsed, chats = time.monotonic() - began, _answered(people) - chats
        times = [took for one in people for took in one.took_s.values()]
    finally:
        await group.close()
    return Cost(
        agent_ms=1000 * (spent - idle_per_s * elapsed) / chats,
        idle_ms_per_s=1000 * idle_per_s / len(pids),
        server_ms=1000 * (served - server_before) / chats,
        answer_ms=1000 * statistics.median(times),
    )


def _answered(people: list[Person]) -> int:
    return sum(len(one.took_s) for one in people)


@dataclass(frozen=True, slots=True, kw_only=True)
class Faults:
    rounds: int
    people: list[Person]


async def _faults(stage: Stage, part: Part, scale: Scale) -> Faults:
    """In turn, a replica of three is killed, or leaves; it joins again half a round later."""
    rounds = scale.of(20, quick=2)
    group = Group(stage, part)
    for number in range(3):
        await group.start(number)
    try:
        async with _talking(stage, part.account.jid) as people:
            await asyncio.sleep(ROUND_S / 2)
            for fault in range(rounds):
                await group.end(fault % 3, is_killed=fault % 2 == 0)
                await asyncio.sleep(ROUND_S / 2)
                await group.start(fault % 3)
                await asyncio.sleep(ROUND_S / 2)
    finally:
        await group.close()
    return Faults(rounds=rounds, people=people)


def _cost_rows(server: str, costs: dict[int, Cost]) -> list[Row]:
    one = costs[1].agent_ms
    rows = [
        Row(
            name=f"replicas on {server}: processor of a chat, {_counted(count)}",
            unit="ms",
            ours=cost.agent_ms,
            baseline=one if count else None,
            baseline_name="one replica" if count else "",
            goal=COSTS.get(count),
            note=f"idle {cost.idle_ms_per_s:.1f} ms/s each; server {cost.server_ms:.2f} ms a chat;"
            f" answer {cost.answer_ms:.0f} ms",
        )
        for count, cost in costs.items()
    ]
    foreign_ms = (costs[4].agent_ms - one) / 3
    return [
        *rows,
        Row(
            name=f"replicas on {server}: a message that another replica answers",
            unit="ms",
            ours=foreign_ms,
            goal=Goal(limit=0.2),
            note="from four and one; with database and confirmation",
        ),
    ]


def _counted(count: int) -> str:
    return f"{count} replicas" if count else "one process that is no replica"


def _fault_rows(server: str, faults: Faults) -> list[Row]:
    people = faults.people
    sent = sum(len(one.sent) for one in people)
    note = f"{faults.rounds} faults, {sent} messages"
    counts = {
        "without an answer": sum(one.lost for one in people),
        "answered twice": sum(one.doubled for one in people),
        "error stanzas": sum(one.errors for one in people),
        "answers out of order": sum(one.disordered for one in people),
    }
    rows = [
        Row(name=f"replicas on {server}: {name}", unit="", ours=count, goal=NONE, note=note)
        for name, count in counts.items()
    ]
    times = sorted(took for one in people for took in one.took_s.values())
    return [
        *rows,
        Row(
            name=f"replicas on {server}: slowest answer",
            unit="s",
            ours=times[-1],
            goal=SLOWEST,
            note=f"median {statistics.median(times):.2f} s,"
            f" p95 {times[int(len(times) * 0.95)]:.2f}",
        ),
    ]
