"""One call's deadline and its attempts: who may try, for how long, and when again. No vendor."""

from __future__ import annotations

import asyncio
import logging
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from spade_llm.errors import EmptyModelOutput, ModelError, ModelUnavailable, RateLimited

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from spade_llm.providers.retry import ModelLimits

logger = logging.getLogger(__name__)

PASSING = (ModelUnavailable, RateLimited, EmptyModelOutput)
"""What another attempt may mend."""


class Attempts:
    """One call's deadline and attempts."""

    def __init__(self, limits: ModelLimits, *, server: str) -> None:
        self._limits = limits
        self._server = server
        self._loop = asyncio.get_running_loop()
        self._ends_at = self._loop.time() + limits.deadline_s
        self._failed = 0

    @asynccontextmanager
    async def within(self, timeout_s: float) -> AsyncIterator[None]:
        """Everything inside has this long, and never longer than the call.

        Raises:
            ModelUnavailable: it took longer.
        """
        try:
            async with asyncio.timeout_at(min(self._loop.time() + timeout_s, self._ends_at)):
                yield
        except TimeoutError:
            raise ModelUnavailable(f"The model at {self._server} did not answer in time.") from None

    async def pause_after(self, error: ModelError) -> None:
        """Sleep before the next attempt, or raise `error` if there can be none."""
        if not isinstance(error, PASSING):
            raise error
        self._failed += 1
        asked_s = error.retry_after if isinstance(error, RateLimited) else None
        pause_s = self._limits.pause_s(self._failed, asked_s)
        is_last = self._failed >= self._limits.attempts
        if is_last or self._loop.time() + pause_s >= self._ends_at:
            raise error
        logger.info(
            "Attempt %d at %s failed (%s); next in %.1f s",
            self._failed,
            self._server,
            error.code,
            pause_s,
        )
        await asyncio.sleep(pause_s)
