"""Retries of model calls: deadline, back-off with jitter, Retry-After, concurrency limit."""

from __future__ import annotations

import asyncio
import logging
import math
import random
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

from spade_llm.core.errors import (
    EmptyModelOutput,
    ModelError,
    ModelFailure,
    ModelUnavailable,
    RateLimited,
)

logger = logging.getLogger(__name__)

LONGEST_RETRY_AFTER_S = 86_400.0

RETRYABLE_ERRORS = (ModelUnavailable, RateLimited, EmptyModelOutput)
"""Errors after which another attempt may succeed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelLimits:
    """Limits of one model call: deadline, attempts, back-off, concurrency and answer size."""

    deadline_s: float = 120.0
    """Deadline of a call in seconds: the wait for a slot, all attempts and all pauses."""
    attempts: int = 4
    """The first one included."""
    first_pause_s: float = 0.5
    """Doubles after every attempt; each pause is shortened by up to half at random."""
    longest_pause_s: float = 8.0
    max_concurrency: int = 64
    """Calls in flight at once; the others wait in order."""
    max_answer_bytes: int = 1_000_000
    jitter: Callable[[], float] = field(default=random.random, repr=False)
    """Random number from 0 to 1; tests replace it by a constant."""

    def pause_s(self, attempt: int, retry_after_s: float | None) -> float:
        """Back-off after attempt number `attempt` (from 1); at least the server's pause."""
        # Exponential back-off; jitter of half to all of it spreads clients that failed together.
        backoff = min(self.longest_pause_s, self.first_pause_s * 2.0 ** (attempt - 1))
        return max(retry_after_s or 0.0, backoff * (1 - self.jitter() / 2))


def retry_after_s(headers: Mapping[str, str], *, now: datetime | None = None) -> float | None:
    """The pause that the server asks for (RFC 9110 §10.2.3: seconds or a date), at most a day."""
    # Not in the RFC, but more precise; the OpenAI SDK reads it first, too.
    seconds = _number(headers.get("retry-after-ms"), scale=1000)
    if seconds is None:
        seconds = _number(headers.get("retry-after"), scale=1)
    if seconds is None:
        seconds = _until(headers.get("retry-after"), now or datetime.now(UTC))
    return None if seconds is None else min(max(seconds, 0.0), LONGEST_RETRY_AFTER_S)


PauseListener = Callable[[float], Awaitable[None]]
pause_listener: ContextVar[PauseListener | None] = ContextVar("pause_listener", default=None)
"""Callback of the current task for a pause of some seconds that a model's server asks for."""
MIN_TOLD_PAUSE_S = 3.0
"""Shorter pauses, in seconds, are not told."""


class Attempts:
    """Deadline and attempt counter of one call."""

    def __init__(self, limits: ModelLimits, *, server: str) -> None:
        self._limits = limits
        self._server = server
        self._loop = asyncio.get_running_loop()
        self._ends_at = self._loop.time() + limits.deadline_s
        self._failed = 0

    @asynccontextmanager
    async def timeout(self, timeout_s: float) -> AsyncIterator[None]:
        """Limit the block to `timeout_s`, and to the deadline of the call. Raises ModelUnavailable:
        it took longer."""
        try:
            async with asyncio.timeout_at(min(self._loop.time() + timeout_s, self._ends_at)):
                yield
        except TimeoutError:
            raise ModelUnavailable(
                f"The model at {self._server} did not answer in time.", cause=ModelFailure.TIMEOUT
            ) from None

    async def pause_after(self, error: ModelError) -> None:
        """Sleep before the next attempt, or raise `error` if there can be none."""
        if not isinstance(error, RETRYABLE_ERRORS):
            raise error
        self._failed += 1
        retry_after_s = error.retry_after if isinstance(error, RateLimited) else None
        pause_s = self._limits.pause_s(self._failed, retry_after_s)
        is_last = self._failed >= self._limits.attempts
        # A pause beyond the deadline cannot help: the call fails at once.
        if is_last or self._loop.time() + pause_s >= self._ends_at:
            raise error
        logger.info(
            "Attempt %d at %s failed (%s); next in %.1f s",
            self._failed,
            self._server,
            error.code,
            pause_s,
        )
        began, listener = self._loop.time(), pause_listener.get()
        if listener is not None and isinstance(error, RateLimited) and pause_s >= MIN_TOLD_PAUSE_S:
            await listener(pause_s)
        await asyncio.sleep(began + pause_s - self._loop.time())


def _number(text: str | None, *, scale: int) -> float | None:
    try:
        number = float(text or "") / scale
    except ValueError:
        return None
    # float() accepts `nan` and `inf`.
    return number if math.isfinite(number) else None


def _until(text: str | None, now: datetime) -> float | None:
    try:
        at = parsedate_to_datetime(text or "")
    except ValueError:
        return None
    # parsedate_to_datetime gives a naive datetime for the zone -0000.
    return (at.replace(tzinfo=at.tzinfo or UTC) - now).total_seconds()
