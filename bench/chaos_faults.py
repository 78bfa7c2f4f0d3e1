"""What breaks in a chaos run, one thing after another. Knows nobody who is hurt by it."""

from __future__ import annotations

import asyncio
import logging
import random
from collections import Counter
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

    from tests.processes.deployment import Deployment
    from tests.processes.proxy import Line

logger = logging.getLogger(__name__)

DOWN_S = (0.0, 3.0)
HELD_S = (1.0, 8.0)
SLOW_S = (3.0, 8.0)
LAG_S = 0.15


class Faults:
    """Each fault is over, and what it broke is back, before the same loop begins the next one."""

    def __init__(
        self, deployment: Deployment, lines: Sequence[Line], *, every_s: tuple[float, float]
    ) -> None:
        self._deployment = deployment
        self._lines = lines
        self._every_s = every_s
        self.times: Counter[str] = Counter()

    async def of_agents(self, over: asyncio.Event) -> None:
        names = tuple(self._deployment.processes)
        await self._go_on([(f"kill {name}", self._killing(name)) for name in names], over)

    async def of_the_network(self, over: asyncio.Event) -> None:
        faults = [
            ("kill server", self._kill_server),
            ("cut lines", self._cut),
            ("hold lines", self._hold),
            ("slow lines", self._slow),
        ]
        await self._go_on(faults, over)

    async def _go_on(
        self, faults: Sequence[tuple[str, Callable[[], Awaitable[None]]]], over: asyncio.Event
    ) -> None:
        """All in turn, in an order of chance: each comes about equally often."""
        left: list[tuple[str, Callable[[], Awaitable[None]]]] = []
        while not await _is_over(over, random.uniform(*self._every_s)):
            left = left or random.sample(faults, len(faults))
            name, break_it = left.pop()
            self.times[name] += 1
            logger.info("%s", name)
            await break_it()
            logger.info("%s is over", name)

    def _killing(self, name: str) -> Callable[[], Awaitable[None]]:
        async def kill() -> None:
            await self._deployment.kill(name)
            await asyncio.sleep(random.uniform(*DOWN_S))
            await self._deployment.start(name)

        return kill

    async def _kill_server(self) -> None:
        await self._deployment.kill_server()
        await asyncio.sleep(random.uniform(*DOWN_S))
        await self._deployment.server.start()

    async def _cut(self) -> None:
        for line in self._lines:
            line.cut()

    async def _hold(self) -> None:
        line = random.choice(self._lines)
        line.hold()
        await asyncio.sleep(random.uniform(*HELD_S))
        line.let_go()

    async def _slow(self) -> None:
        for line in self._lines:
            line.lag_s = LAG_S
        await asyncio.sleep(random.uniform(*SLOW_S))
        for line in self._lines:
            line.lag_s = 0.0


async def _is_over(over: asyncio.Event, seconds: float) -> bool:
    try:
        async with asyncio.timeout(seconds):
            await over.wait()
    except TimeoutError:
        return False
    return True
