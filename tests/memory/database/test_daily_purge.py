"""A memory that is open for long is purged once a day, also after a day on which that failed."""

from __future__ import annotations

import asyncio

from spade_llm.core.errors import Busy
from spade_llm.memory.database.maintenance import PURGE_INTERVAL_S, DailyPurge


class Days:
    """A clock that the test moves."""

    def __init__(self) -> None:
        self.slept: asyncio.Queue[float] = asyncio.Queue()
        self.over = asyncio.Semaphore(0)

    async def sleep(self, seconds: float) -> None:
        self.slept.put_nowait(seconds)
        await self.over.acquire()


class Memory:
    def __init__(self) -> None:
        self.purges = 0

    async def purge(self) -> int:
        self.purges += 1
        if self.purges == 1:
            raise Busy("too many writes")
        return 3


async def test_a_memory_is_purged_once_a_day() -> None:
    days, memory = Days(), Memory()

    async with DailyPurge(memory, sleep=days.sleep), asyncio.timeout(5):
        waits = [await days.slept.get()]
        for _ in range(2):
            days.over.release()
            waits.append(await days.slept.get())

    assert waits == [PURGE_INTERVAL_S] * 3
    assert memory.purges == 2
