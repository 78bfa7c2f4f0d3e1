"""Graceful shutdown: refuses new requests and drains those in flight."""

from __future__ import annotations

import asyncio
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

GRACE_S = 5.0
"""Grace period in seconds for requests in flight when the gateway stops."""
SHUTTING_DOWN = "The gateway is stopping; try again in a few seconds."


class GracefulShutdown:
    def __init__(self, end: Callable[[], None]) -> None:
        """`end`: makes what still runs after the grace period fail."""
        self._end = end
        self._running = 0
        self._is_idle = asyncio.Event()
        self._is_idle.set()
        self.has_begun = False

    @contextmanager
    def running(self) -> Iterator[None]:
        """Count a request as in flight, from its head to the end of its response."""
        self._running += 1
        self._is_idle.clear()
        try:
            yield
        finally:
            self._running -= 1
            if not self._running:
                self._is_idle.set()

    async def drain(self) -> None:
        """Return when no request is in flight, or GRACE_S later, when they were told to end."""
        self.has_begun = True
        try:
            async with asyncio.timeout(GRACE_S):
                await self._is_idle.wait()
        except TimeoutError:
            self._end()
