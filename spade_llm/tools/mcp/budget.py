"""How much a server may send unasked: a bucket of units that refills, and requests refill more.

Who overspends waits, and with it its pipe or socket: a flood stays with the server that makes it.
"""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

BYTES_PER_UNIT = 16 * 1024
BURST_UNITS = 1000.0
UNITS_PER_S = 200.0
"""A message is one unit, and so are 16 KB: 200 small messages or 3 MB per second, for ever."""
UNITS_PER_REQUEST = 20.0


class Budget:
    def __init__(self, *, now: Callable[[], float] = time.monotonic) -> None:
        self._now = now
        self._units = BURST_UNITS
        self._at = now()

    def earn(self) -> None:
        """We have asked something."""
        self._units = min(self._units + UNITS_PER_REQUEST, BURST_UNITS)

    async def spend_message(self) -> None:
        await self._spend(1)

    async def spend_bytes(self, count: int) -> None:
        await self._spend(count / BYTES_PER_UNIT)

    def debt_s(self, units: float) -> float:
        """Take the units; how long to wait for them."""
        now = self._now()
        self._units = min(self._units + (now - self._at) * UNITS_PER_S, BURST_UNITS) - units
        self._at = now
        return max(-self._units / UNITS_PER_S, 0.0)

    async def _spend(self, units: float) -> None:
        wait_s = self.debt_s(units)
        if wait_s:
            await asyncio.sleep(wait_s)
