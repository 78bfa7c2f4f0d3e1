"""How many turns ask a service at once. Knows no service.

A service that is asked by a thousand turns at once answers each of them too late: all deadlines run
while each waits for all others. With a place the deadline begins when the service has time for it.
"""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

AT_ONCE = 16
"""Keeps a service busy, and is answered within the deadline by one that takes 0.1 s for each."""
PATIENCE_S = 10.0
"""For a place; a turn goes on without the service then."""


class Places:
    """First come, first served."""

    def __init__(self, count: int = AT_ONCE, *, patience_s: float = PATIENCE_S) -> None:
        self._free = asyncio.Semaphore(count)
        self._patience_s = patience_s

    @property
    def are_taken(self) -> bool:
        """Who comes now waits."""
        return self._free.locked()

    @asynccontextmanager
    async def place(self) -> AsyncIterator[bool]:
        """False: none was free in time."""
        has_place = await self._is_taken()
        try:
            yield has_place
        finally:
            if has_place:
                self._free.release()

    async def _is_taken(self) -> bool:
        if not self.are_taken:
            return await self._free.acquire()
        try:
            async with asyncio.timeout(self._patience_s):
                return await self._free.acquire()
        except TimeoutError:
            return False
