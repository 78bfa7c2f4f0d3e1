"""Bounds how much of something is under way at once. Knows not what."""

from __future__ import annotations

import asyncio
from collections import deque
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import AsyncIterator


class InFlight:
    """Up to `limit` at a time, in the order of asking; what is larger than that goes alone."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._used = 0
        self._waiting: deque[tuple[int, asyncio.Future[None]]] = deque()

    @asynccontextmanager
    async def taking(self, size: int) -> AsyncIterator[None]:
        share = min(size, self._limit)
        admitted: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append((share, admitted))
        self._admit()
        try:
            await admitted
            yield
        finally:
            self._used -= share if admitted.done() and not admitted.cancelled() else 0
            self._admit()

    def _admit(self) -> None:
        while self._waiting:
            share, admitted = self._waiting[0]
            if admitted.done():
                self._waiting.popleft()
            elif self._used + share <= self._limit:
                self._waiting.popleft()
                self._used += share
                admitted.set_result(None)
            else:
                return
