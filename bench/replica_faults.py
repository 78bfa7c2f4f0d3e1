"""Faults of replicas under load: kills, joins and leaves, a killed database, a killed server node;
and a rolling upgrade from another version and back.
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import time
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from bench.replica_people import Person
from bench.replica_timeline import Timelines
from bench.servers import EjabberdCluster

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    from bench.account import Account, Part
    from bench.replica_people import Period
    from bench.stage import Child, Stage
    from tests.postgres_server import PostgresProcess

PEOPLE = 20
ROUND_S = 6.0
"""Interval between two faults."""
REPLICAS = 3
LATE_S = 5.0
FAULTS = (
    *(("kill", 0), ("node", 1), ("leave", 1), ("database", 0)),
    *(("kill", 2), ("node", 0), ("leave", 0), ("kill", 1)),
)
"""In turn: a replica is killed or leaves, a node of a cluster or the database is killed; each comes
back half a round later. Replicas log in at the node of their number, or at another one while it is
down: in this order, one of them is always connected to the node that is not killed."""


@dataclass
class Group:
    """Replicas that run, by number."""

    stage: Stage
    part: Part
    running: dict[int, Child] = field(default_factory=dict)
    stacks: dict[int, AsyncExitStack] = field(default_factory=dict)

    async def start(self, number: int, *, checkout: Path | None = None) -> None:
        """`checkout`: of another version."""
        data = self.part.account.data / str(number)
        data.mkdir(exist_ok=True)
        account = on_node(self.stage, self.part.account.model_copy(update={"data": data}), number)
        part = self.part.model_copy(update={"account": account})
        stack = self.stacks[number] = AsyncExitStack()
        process = self.stage.process("assistant", part, checkout=checkout)
        self.running[number] = await stack.enter_async_context(process)

    async def end(self, number: int, *, is_killed: bool = False) -> None:
        child = self.running.pop(number)
        if is_killed:
            os.kill(child.pid, signal.SIGKILL)
        await self.stacks.pop(number).aclose()

    async def close(self) -> None:
        for number in [*self.running]:
            await self.end(number)


@dataclass(frozen=True, slots=True, kw_only=True)
class Suffered:
    """What came of the messages of people during faults."""

    name: str
    people: list[Person]
    unserved: list[Period]
    """Periods without a living replica."""
    lost_by_server: list[str] = field(default_factory=list)
    """Ids of messages that the server took and gave to no replica, and of those whose answer it
    took and did not give to its person."""

    def counts(self) -> dict[str, int]:
        people = self.people
        missing = sum(len(self.missing(one)) for one in people)
        return {
            "without an answer": missing - len(self.lost_by_server),
            "answered twice": sum(one.doubled for one in people),
            "repeated under their ids": sum(len(one.repeated) for one in people),
            "answers out of order": sum(len(one.disordered) for one in people),
            "answered with a failure": sum(len(one.failures) for one in people),
            "error stanzas": sum(one.errors for one in people),
        }

    def missing(self, person: Person) -> list[int]:
        return [one for one in person.lost if not person.overlaps(one, self.unserved)]

    def times(self) -> list[float]:
        return sorted(
            took
            for one in self.people
            for number, took in one.took_s.items()
            if not one.overlaps(number, self.unserved)
        )

    @property
    def sent(self) -> int:
        return sum(len(one.sent) for one in self.people)

    @property
    def sent_unserved(self) -> int:
        people = self.people
        return sum(one.overlaps(n, self.unserved) for one in people for n in one.sent)

    def explain(self, folder: Path) -> None:
        """Print the timelines of messages that are unanswered, late, out of order or answered
        again, and see which of them the server has lost. `folder`: of the replicas' folders."""
        told = [event for one in self.people for event in one.events]
        timelines = Timelines(folder, told)
        for one in self.people:
            missing, disordered = self.missing(one), one.disordered
            late = [
                number
                for number, took in one.took_s.items()
                if took > LATE_S and not one.overlaps(number, self.unserved)
            ]
            ids = [one.ids[number] for number in missing]
            self.lost_by_server.extend(filter(timelines.is_lost_by_server, ids))
            later = [number + 1 for number in disordered if number + 1 in one.sent]
            for number in sorted({*missing, *disordered, *later, *late, *one.repeated}):
                id = one.ids[number]
                kinds = [
                    *(["lost by the server"] if id in self.lost_by_server else []),
                    *(["unanswered"] if number in missing else []),
                    *(["late"] if number in late else []),
                    *(["out of order"] if number in disordered else []),
                    *(["answered again"] if number in one.repeated else []),
                ]
                print(f"{self.name}, {', '.join(kinds)}: {id}", file=sys.stderr)
                print(*timelines.told(id), sep="\n", file=sys.stderr)

    def say(self, event: str) -> None:
        """Print what came of the messages so far; some still wait for their answers."""
        told = ", ".join(f"{count} {name}" for name, count in self.counts().items())
        slowest_s = max(self.times(), default=0.0)
        print(
            f"{self.name}, {event}: {self.sent} messages, {told}, slowest {slowest_s:.1f} s",
            file=sys.stderr,
            flush=True,
        )


def on_node(stage: Stage, account: Account, number: int) -> Account:
    """An account that logs in at the node of this number, or at the others."""
    if not isinstance(stage.server, EjabberdCluster):
        return account
    ports = stage.server.ports
    first = number % len(ports)
    update = {"port": ports[first], "other_ports": (*ports[first + 1 :], *ports[:first])}
    return account.model_copy(update=update)


@asynccontextmanager
async def talking(
    stage: Stage, to: str, *, count: int = PEOPLE, watch_s: float = 0.0
) -> AsyncIterator[list[Person]]:
    """People that write until the block ends, then wait for their last answers, and for what comes
    in `watch_s`."""
    accounts = await stage.people(count)
    people = [Person(on_node(stage, one, number)) for number, one in enumerate(accounts)]
    for one in people:
        await one.log_in()
    is_over = asyncio.Event()
    talks = asyncio.gather(*(one.talk(to, is_over) for one in people))
    try:
        yield people
    finally:
        is_over.set()
        await talks
        await asyncio.sleep(watch_s)
        for one in people:
            await one.log_out()


async def faults(
    name: str,
    stage: Stage,
    part: Part,
    postgres: PostgresProcess,
    *,
    rounds: int,
    watch_s: float,
    only: str = "",
) -> Suffered:
    """`only`: the kind of all faults; empty: all kinds in turn."""
    cluster = stage.server if isinstance(stage.server, EjabberdCluster) else None
    group = Group(stage, part.model_copy(update={"is_traced": True}))
    kinds = [one for one in FAULTS if one[0] != "node" or cluster is not None]
    kinds = [one for one in kinds if only in ("", one[0])]
    for number in range(REPLICAS):
        await group.start(number)
    try:
        async with talking(stage, part.account.jid, watch_s=watch_s) as people:
            suffered = Suffered(name=name, people=people, unserved=[])
            await asyncio.sleep(ROUND_S / 2)
            for fault in range(rounds):
                kind, number = kinds[fault % len(kinds)]
                if kind == "node" and cluster is not None:
                    is_served = await cluster.serves(part.account.jid, 1 - number)
                    began = time.monotonic()
                    await cluster.kill(number)
                    await asyncio.sleep(ROUND_S / 2)
                    if not is_served:
                        suffered.unserved.append((began, time.monotonic()))
                    await cluster.start_again(number)
                elif kind == "database":
                    began = time.monotonic()
                    await asyncio.to_thread(_kill_database, postgres)
                    suffered.say(f"the database was away for {time.monotonic() - began:.1f} s")
                else:
                    await group.end(number, is_killed=kind == "kill")
                    await asyncio.sleep(ROUND_S / 2)
                    await group.start(number)
                await asyncio.sleep(ROUND_S / 2)
                suffered.say(f"fault {fault + 1} of {rounds}, {kind} {number}")
        suffered.explain(part.account.data)
        suffered.say(f"watched for {watch_s:.0f} s after the last fault")
    finally:
        await group.close()
    return suffered


def _kill_database(postgres: PostgresProcess) -> None:
    postgres.kill()
    postgres.start()
    postgres.wait_until_ready()


async def upgrade(name: str, stage: Stage, part: Part, other: Path) -> Suffered:
    """Replace another version by ours, and back, while people write: replicas one by one; of a
    version without replicas the one process, which stops before ours start."""
    group = Group(stage, part.model_copy(update={"is_traced": True}))
    has_replicas = (other / "spade_llm/messaging/replicas.py").exists()
    for number in range(REPLICAS if has_replicas else 1):
        await group.start(number, checkout=other)
    try:
        async with talking(stage, part.account.jid, watch_s=ROUND_S) as people:
            suffered = Suffered(name=name, people=people, unserved=[])
            await asyncio.sleep(ROUND_S)
            if has_replicas:
                await _replace_one_by_one(group, other, suffered)
            else:
                await _replace_process(group, other, suffered)
        suffered.explain(part.account.data)
    finally:
        await group.close()
    return suffered


async def _replace_one_by_one(group: Group, other: Path, suffered: Suffered) -> None:
    for checkout, event in ((None, "new"), (other, "old")):
        for number in range(REPLICAS):
            await group.end(number)
            await group.start(number, checkout=checkout)
            await asyncio.sleep(ROUND_S / 2)
            suffered.say(f"replica {number} is {event}")


async def _replace_process(group: Group, other: Path, suffered: Suffered) -> None:
    for numbers, checkout, event in (
        (range(1, REPLICAS + 1), None, "replicas instead of one process"),
        (range(1), other, "one process instead of replicas"),
    ):
        await group.close()
        for number in numbers:
            await group.start(number, checkout=checkout)
        # Answered before: the version that has come knows it by the log of the other one.
        for one in suffered.people:
            one.say(group.part.account.jid, 0)
        await asyncio.sleep(ROUND_S)
        suffered.say(event)
