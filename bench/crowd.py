"""Many agents in few processes: time of a start, blocking of the event loop, memory, and processor
time of idle agents.
"""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack, asynccontextmanager
from statistics import median
from typing import TYPE_CHECKING

from bench.crowded_process import Accounts, Order, Report
from bench.processor import cpu_of
from bench.raw import RawClient
from bench.row import Goal, Row, Scale, Spread, check
from bench.stage import started
from bench.timing import Samples

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Sequence

    from bench.account import Account
    from bench.stage import Child, Stage

ASKERS, PROCESSES = 50, 5
TIMES = 20
"""Questions of each asker, all at once."""
BODY = "a kilobyte of ordinary text, & some <markup>. " * 22
START = Goal(limit=1.3, is_ratio=True)
BLOCK_MS = Goal(limit=5)
IDLE_PERCENT = Goal(limit=1)
RESIDENT_MB = Goal(limit=300)


class Crowd:
    """A bench.crowded_process, from outside."""

    def __init__(self, child: Child) -> None:
        self.child = child

    async def grow(self, agents: int) -> Report:
        return await self._order(Order(agents=agents))

    async def ask(self, jid: str, *, times: int) -> Report:
        return await self._order(Order(ask=jid, times=times, body=BODY))

    async def _order(self, order: Order) -> Report:
        return Report.model_validate_json(await self.child.say(order.model_dump_json()))


@asynccontextmanager
async def crowd_of(accounts: Sequence[Account]) -> AsyncIterator[Crowd]:
    told = Accounts(accounts=list(accounts)).model_dump_json()
    async with started("bench.crowded_process", told=told) as child:
        yield Crowd(child)


async def measure(stage: Stage, scale: Scale) -> list[Row]:
    return [*await _growing(stage, scale), await _all_at_once(stage, scale)]


async def _growing(stage: Stage, scale: Scale) -> list[Row]:
    some, many = scale.of(50, quick=5), scale.of(200, quick=10)
    accounts = await stage.crowd(many)
    bare = await _bare_starts(accounts[: scale.of(20, quick=3)])
    async with crowd_of(accounts) as crowd:
        alone = await crowd.grow(1)
        few = await crowd.grow(some)
        all_ = await crowd.grow(many)
        await asyncio.sleep(scale.of(3, quick=1))
        idle = await _idle_percent(crowd.child.pid, seconds=scale.of(20, quick=1))
    each_mb = (all_.resident_mb - alone.resident_mb) / (many - 1)
    starts = [*few.start_ms, *all_.start_ms]
    return [
        Row(
            name="start of each agent in a process, after the first",
            unit="ms",
            ours=median(starts),
            spread=Samples(starts).spread,
            baseline=bare,
            baseline_name="slixmpp",
            goal=START,
            note=f"{some}: {median(few.start_ms):.1f}, {many}: {median(all_.start_ms):.1f}",
        ),
        _block(max(few, all_, key=lambda one: one.longest_work_ms)),
        Row(name="process of 1 agent", unit="MB", ours=alone.resident_mb),
        Row(name="process of 50 agents", unit="MB", ours=few.resident_mb, note=f"{some} of them"),
        Row(
            name="process of 200 agents",
            unit="MB",
            ours=all_.resident_mb,
            goal=RESIDENT_MB,
            note=f"{many} of them; {1024 * each_mb:.0f} kB each",
        ),
        Row(
            name="200 agents that nobody asks: processor",
            unit="%",
            ours=idle,
            goal=IDLE_PERCENT,
            note=f"{many} of them",
        ),
    ]


def _block(report: Report) -> Row:
    return Row(
        name="longest work of the loop in one turn, while agents start",
        unit="ms",
        ours=report.longest_work_ms,
        goal=BLOCK_MS,
        note=f"{report.longest_block_ms:.1f} ms by the clock, other processes' turns included",
    )


async def _bare_starts(accounts: Sequence[Account]) -> float:
    bare = Samples()
    async with AsyncExitStack() as stack:
        for account in accounts:
            client = RawClient(account)
            await bare.add(client.__aenter__)
            stack.push_async_exit(client)
    return bare.median


async def _idle_percent(pid: int, *, seconds: float) -> float:
    before = cpu_of(pid)
    await asyncio.sleep(seconds)
    return 100 * (cpu_of(pid) - before) / seconds


async def _all_at_once(stage: Stage, scale: Scale) -> Row:
    processes, askers = scale.of(PROCESSES, quick=2), scale.of(ASKERS, quick=4)
    accounts, rounds = await stage.crowd(askers), scale.of(3, quick=1)
    shares = [accounts[number::processes] for number in range(processes)]
    async with AsyncExitStack() as stack:
        await stack.enter_async_context(stage.agent("echo", "echo"))
        crowds = [await stack.enter_async_context(crowd_of(share)) for share in shares]
        await asyncio.gather(
            *(one.grow(len(share)) for one, share in zip(crowds, shares, strict=True))
        )
        jid = (await stage.account("echo")).jid
        took = [await _round(crowds, jid, askers * TIMES) for _ in range(rounds)]
    return Row(
        name="50 agents x 20 requests at once",
        unit="s",
        ours=median(took),
        spread=Spread(fastest=min(took), p95=max(took), count=len(took)),
        note=f"{askers} agents in {processes} processes; {askers * TIMES / median(took):.0f} per s",
    )


async def _round(crowds: Sequence[Crowd], jid: str, expected: int) -> float:
    """The slowest process's."""
    reports = await asyncio.gather(*(crowd.ask(jid, times=TIMES) for crowd in crowds))
    right = sum(report.right for report in reports)
    check(right == expected, f"{right} of {expected} echoes are what was said")
    return max(report.took_s for report in reports)
