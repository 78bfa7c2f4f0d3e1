"""Background task that runs while there is work and is restarted by a wake-up."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable


class BackgroundTask:
    """`work` returns when it finds nothing more to do; `wake` begins it anew."""

    def __init__(self, work: Callable[[], Awaitable[None]], *, name: str) -> None:
        self._work = work
        self._name = name
        self._task: asyncio.Task[None] | None = None

    def wake(self) -> None:
        if self._task is None or self._task.done():
            self._task = asyncio.create_task(self._run(), name=self._name)

    async def close(self) -> None:
        """Stop it where it is."""
        if self._task is not None:
            self._task.cancel()
            with suppress(asyncio.CancelledError):
                await self._task

    async def _run(self) -> None:
        await self._work()
