"""How many calls run at once, and how many may wait. Knows no tool."""

from __future__ import annotations

import asyncio

from spade_llm.errors import Busy

MAX_WAITING = 256
"""Calls that wait for a place; one more is refused."""


class Places:
    """First come, first served."""

    def __init__(self, count: int, *, of: str, max_waiting: int = MAX_WAITING) -> None:
        """`of`: what the places are for, as a refusal names it."""
        self._semaphore = asyncio.Semaphore(count)
        self._of = of
        self._max_waiting = max_waiting
        self._waiting = 0
        self._taken = 0

    @property
    def is_idle(self) -> bool:
        return not (self._taken or self._waiting)

    async def take(self) -> None:
        """Wait for a place; it is the taker's until `free`.

        Raises:
            Busy: too many wait.
        """
        if self._waiting >= self._max_waiting:
            raise Busy(f"too many calls of {self._of} are waiting; ask again later")
        self._waiting += 1
        try:
            await self._semaphore.acquire()
        finally:
            self._waiting -= 1
        self._taken += 1

    def free(self) -> None:
        self._taken -= 1
        self._semaphore.release()
