"""Upkeep: purges a memory once a day while it is open. Knows no table."""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING, Protocol, Self

from spade_llm.errors import ServiceError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from types import TracebackType

logger = logging.getLogger(__name__)

EVERY_S = 86_400.0


class Purging(Protocol):
    async def purge(self) -> int: ...


class Upkeep:
    """Use it with `async with`, inside that of the memory."""

    def __init__(
        self, memory: Purging, *, sleep: Callable[[float], Awaitable[object]] = asyncio.sleep
    ) -> None:
        self._memory = memory
        self._sleep = sleep
        self._task: asyncio.Task[None] | None = None

    async def __aenter__(self) -> Self:
        self._task = asyncio.create_task(self._run(), name="memory-upkeep")
        return self

    async def __aexit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait([self._task])

    async def _run(self) -> None:
        while True:
            await self._sleep(EVERY_S)
            try:
                count = await self._memory.purge()
                logger.info("the daily purge removed %d memories", count)
            except ServiceError as error:
                logger.warning("the daily purge failed, the next one is tomorrow: %s", error)
