"""One process with many agents: `python -m bench.crowded_process`; one line has its accounts.

Told a number, it starts so many and says what that took; told whom to ask, all ask at once.
"""

from __future__ import annotations

import asyncio
import os
import sys
import time
from contextlib import AsyncExitStack, suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from pydantic import BaseModel

from bench.account import Account
from bench.echo import EchoAgent, EchoClient
from bench.process import running
from bench.timing import Samples
from spade_llm.core.concurrency import freeze_gc, gc_paused, run_event_loop
from spade_llm.xmpp.stanzas.vcard import Identity

if TYPE_CHECKING:
    from collections.abc import Sequence

    from spade_llm.agents import AgentOptions

TICK_S = 0.001
PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")


class Accounts(BaseModel):
    accounts: list[Account]


class Order(BaseModel):
    """What it is told: one line."""

    agents: int = 0
    """So many are to run."""
    ask: str = ""
    """Bare JID that all agents ask, at once."""
    times: int = 0
    body: str = ""


class Report(BaseModel):
    """What it answers: one line."""

    start_ms: list[float] = []
    """Of each agent that was started, but the first of all."""
    longest_block_ms: float = 0.0
    """Of the loop meanwhile, by the clock."""
    longest_work_ms: float = 0.0
    """The most processor time that the loop's thread took between two looks."""
    resident_mb: float = 0.0
    right: int = 0
    """Answers that were those to the questions."""
    took_s: float = 0.0


class Ticker:
    """Looks at the clock every millisecond, in the loop that it watches."""

    def __init__(self) -> None:
        self.block_s = self.work_s = 0.0
        self._task: asyncio.Task[None] | None = None

    async def __aenter__(self) -> Ticker:
        self._task = asyncio.create_task(self._watch())
        await asyncio.sleep(TICK_S)
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._task is not None:
            self._task.cancel()
            with suppress(asyncio.CancelledError):
                await self._task

    async def _watch(self) -> None:
        while True:
            clock_s, worked_s = time.perf_counter(), time.thread_time()
            await asyncio.sleep(TICK_S)
            self.block_s = max(self.block_s, time.perf_counter() - clock_s - TICK_S)
            self.work_s = max(self.work_s, time.thread_time() - worked_s)


class Crowd:
    def __init__(self, accounts: Sequence[Account]) -> None:
        self._accounts = accounts
        self._agents: list[EchoAgent] = []
        self._stack = AsyncExitStack()

    async def __aenter__(self) -> Crowd:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._stack.aclose()

    async def obey(self, order: Order) -> Report:
        return await (self._ask(order) if order.ask else self._grow(order.agents))

    async def _grow(self, count: int) -> Report:
        if not self._agents and count:
            await self._start()
        starts = Samples()
        with gc_paused():
            async with Ticker() as ticker:
                await starts.add(self._start, times=count - len(self._agents))
            freeze_gc()
        return Report(
            start_ms=starts.times_ms,
            longest_block_ms=1000 * ticker.block_s,
            longest_work_ms=1000 * ticker.work_s,
            resident_mb=_resident_mb(),
        )

    async def _start(self) -> None:
        account = self._accounts[len(self._agents)]
        agent = EchoAgent(account.jid, account.password, options=_as_deployed(account))
        await self._stack.enter_async_context(running(agent))
        self._agents.append(agent)

    async def _ask(self, order: Order) -> Report:
        clients = [EchoClient(agent.node.requester, order.ask) for agent in self._agents]
        began = time.perf_counter()
        async with Ticker() as ticker:
            answers = await asyncio.gather(
                *(client.ask(order.body) for client in clients for _ in range(order.times))
            )
        return Report(
            right=answers.count(order.body),
            took_s=time.perf_counter() - began,
            longest_block_ms=1000 * ticker.block_s,
            longest_work_ms=1000 * ticker.work_s,
        )


def _as_deployed(account: Account) -> AgentOptions:
    """With a presence that says how busy it is."""
    return replace(account.options, identity=Identity(is_published=False))


def _resident_mb() -> float:
    return int(Path("/proc/self/statm").read_text().split()[1]) * PAGE_BYTES / 1024**2


async def main() -> None:
    accounts = Accounts.model_validate_json(sys.stdin.readline()).accounts
    async with Crowd(accounts) as crowd:
        print("ready", flush=True)
        while line := await asyncio.to_thread(sys.stdin.readline):
            report = await crowd.obey(Order.model_validate_json(line))
            print(report.model_dump_json(), flush=True)


if __name__ == "__main__":
    run_event_loop(main())
