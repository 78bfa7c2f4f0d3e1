"""Times of calls: how long each took, and what is typical of them. Knows no benchmark."""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass, field
from statistics import median, quantiles
from typing import TYPE_CHECKING

from bench.row import Spread

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable


@dataclass(slots=True)
class Samples:
    times_ms: list[float] = field(default_factory=list)

    @property
    def median(self) -> float:
        return median(self.times_ms)

    @property
    def spread(self) -> Spread:
        """Between the fastest and the one that 95 of 100 are below. Of two samples or more."""
        p95 = quantiles(self.times_ms, n=20)[-1]
        return Spread(fastest=min(self.times_ms), p95=p95, count=len(self.times_ms))

    async def add(self, call: Callable[[], Awaitable[object]], *, times: int = 1) -> None:
        """One call after the other."""
        for _ in range(times):
            began = time.perf_counter()
            await call()
            self.times_ms.append((time.perf_counter() - began) * 1000)

    async def add_mean(
        self, call: Callable[[], Awaitable[object]], *, times: int, in_flight: int
    ) -> None:
        """One sample: the time of all calls, `in_flight` at once, divided by their number."""
        left = iter(range(times))

        async def worker() -> None:
            for _ in left:
                await call()

        began = time.perf_counter()
        await asyncio.gather(*(worker() for _ in range(in_flight)))
        self.times_ms.append((time.perf_counter() - began) / times * 1000)
