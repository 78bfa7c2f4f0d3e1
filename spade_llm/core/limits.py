"""Limits: rate limiting (token bucket, sliding window), concurrency limiter, quota, LRU dictionary.

The modules that use these classes decide the limits. The classes read only the clock that they are
given, and they do not log.
"""

from __future__ import annotations

import asyncio
from collections import Counter, OrderedDict, deque
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from math import inf
from typing import Generic, TypeVar

from spade_llm.core.errors import Busy

K = TypeVar("K")
V = TypeVar("V")

MAX_WAITING = 256
"""Default bound of a concurrency limiter's queue; one more is refused."""


class LruDict(OrderedDict[K, V]):
    """Dictionary of bounded size that evicts the least recently set entry.

    Reading an entry does not count as use: set it again to keep it.
    """

    def __init__(self, max_size: int) -> None:
        super().__init__()
        self._max_size = max_size

    def __setitem__(self, key: K, value: V) -> None:
        super().__setitem__(key, value)
        self.move_to_end(key)
        while len(self) > self._max_size:
            self.popitem(last=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Rate:
    """Rate limit: a burst at once, then a steady rate."""

    per_s: float
    burst: int
    """Tokens available at once after a rest."""


class TokenBucket:
    """Rate limiter (token bucket), full at first. A clock that went back refills nothing."""

    __slots__ = ("_updated_at_s", "_left", "_rate")

    def __init__(self, rate: Rate, now_s: float) -> None:
        self._rate = rate
        self._left = float(rate.burst)
        self._updated_at_s = now_s

    def take(self, now_s: float) -> bool:
        """Take one token; False if there is none."""
        self._refill(now_s)
        if self._left < 1.0:
            return False
        self._left -= 1.0
        return True

    def wait_s(self, now_s: float, *, tokens: float = 1.0) -> float:
        """Seconds until the bucket holds so many tokens; 0: it does."""
        self._refill(now_s)
        return max(0.0, (tokens - self._left) / self._rate.per_s)

    def borrow(self, now_s: float, *, tokens: float = 1.0) -> None:
        """Take tokens that may not be there yet: whatever comes next waits longer."""
        self._refill(now_s)
        self._left -= tokens

    def refund(self, tokens: float) -> None:
        """Put tokens back, up to the burst."""
        self._left = min(self._left + tokens, float(self._rate.burst))

    def _refill(self, now_s: float) -> None:
        grown = max(now_s - self._updated_at_s, 0.0) * self._rate.per_s
        self._left = min(self._left + grown, float(self._rate.burst))
        self._updated_at_s = max(now_s, self._updated_at_s)


class TokenBuckets(Generic[K]):
    """Token buckets by key; an evicted key starts again with a full bucket."""

    def __init__(self, max_keys: int) -> None:
        self._buckets: LruDict[K, TokenBucket] = LruDict(max_keys)

    def __len__(self) -> int:
        return len(self._buckets)

    def of(self, key: K, rate: Rate, now_s: float) -> TokenBucket:
        """The key's bucket; a new one has this rate."""
        bucket = self._buckets.get(key) or TokenBucket(rate, now_s)
        # Set again even if it was there: this is what keeps it from eviction.
        self._buckets[key] = bucket
        return bucket


class SlidingWindow(Generic[K]):
    """Counts the events of the last `period_s` seconds, in total and per key.

    Bounded by its user, which adds nothing beyond its limit.
    """

    def __init__(self, period_s: float, clock: Callable[[], float]) -> None:
        self._period_s = period_s
        self._clock = clock
        self._events: deque[tuple[float, K]] = deque()
        self._of_key: Counter[K] = Counter()

    def add(self, key: K) -> None:
        self._events.append((self._clock(), key))
        self._of_key[key] += 1

    def count(self, key: K | None = None) -> int:
        """Events of this key; None: of all."""
        before = self._clock() - self._period_s
        while self._events and self._events[0][0] <= before:
            _, expired = self._events.popleft()
            self._of_key[expired] -= 1
            if not self._of_key[expired]:
                del self._of_key[expired]
        return len(self._events) if key is None else self._of_key[key]


class FailureThrottle:
    """Throttles log lines about a lasting failure: one per `period_s`."""

    def __init__(self, period_s: float, clock: Callable[[], float]) -> None:
        self._period_s = period_s
        self._clock = clock
        self._failed_s = self._logged_s = -inf

    @property
    def is_failing(self) -> bool:
        """True if the last failure is less than `period_s` ago."""
        return self._clock() - self._failed_s < self._period_s

    def record(self) -> bool:
        """Note a failure; returns whether the log should name it."""
        self._failed_s = now_s = self._clock()
        is_due = now_s - self._logged_s >= self._period_s
        if is_due:
            self._logged_s = now_s
        return is_due


class ConcurrencyLimiter:
    """Limits how much runs at once; the rest waits in order of arrival (weighted semaphore)."""

    def __init__(self, limit: int, *, name: str, max_waiting: int | None = MAX_WAITING) -> None:
        """`name`: what is limited, as a refusal names it. `max_waiting=None`: the number of callers
        is bounded elsewhere."""
        self._limit = limit
        self._name = name
        self._max_waiting = max_waiting
        self._used = 0
        self._waiting: OrderedDict[asyncio.Future[None], int] = OrderedDict()

    @property
    def is_idle(self) -> bool:
        return not (self._used or self._waiting)

    @property
    def is_full(self) -> bool:
        """True if the next caller has to wait."""
        return self._used >= self._limit or bool(self._waiting)

    async def acquire(self, size: int = 1) -> None:
        """Wait for a slot (for `size` of them; more than the limit is served alone), to be given
        back by `release` with the same size.

        Raises:
            Busy: too many wait.
        """
        size = min(size, self._limit)
        # In order, even if a later one fits: otherwise a large one would starve.
        if not self._waiting and self._used + size <= self._limit:
            self._used += size
            return
        if self._max_waiting is not None and len(self._waiting) >= self._max_waiting:
            raise Busy(f"too many calls of {self._name} are waiting; ask again later")
        admitted: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting[admitted] = size
        try:
            await admitted
        except BaseException:
            self._waiting.pop(admitted, None)
            if admitted.done() and not admitted.cancelled():
                self._used -= size  # It was admitted and cancelled in the same iteration.
            # The next ones may fit if a large one at the head of the queue gives up.
            self._admit()
            raise

    def release(self, size: int = 1) -> None:
        self._used -= min(size, self._limit)
        self._admit()

    @asynccontextmanager
    async def slot(self, size: int = 1) -> AsyncIterator[None]:
        """Hold a slot for the block. Raises Busy."""
        await self.acquire(size)
        try:
            yield
        finally:
            self.release(size)

    @asynccontextmanager
    async def slot_within(self, timeout_s: float) -> AsyncIterator[bool]:
        """Hold a slot for the block; False: none was free in time. Raises Busy."""
        try:
            async with asyncio.timeout(timeout_s if self.is_full else None):
                await self.acquire()
        except TimeoutError:
            yield False
            return
        try:
            yield True
        finally:
            self.release()

    def _admit(self) -> None:
        while self._waiting:
            admitted, size = next(iter(self._waiting.items()))
            # A cancelled future stays in the queue until its own task has run.
            if not admitted.done():
                if self._used + size > self._limit:
                    return
                self._used += size
                admitted.set_result(None)
            del self._waiting[admitted]


class ConcurrencyQuota:
    """Limits how much is held at once by all keys together, and half of it by one key."""

    def __init__(self, limit: int, *, message: str) -> None:
        """`message`: error message, with `{}` for the limit."""
        self._limit = limit
        # Half of it, so that one key alone cannot keep all others out.
        self._limit_per_key = max(1, limit // 2)
        self._message = message
        self._held_by: Counter[str] = Counter()
        self.held = 0

    @contextmanager
    def hold(self, key: str, amount: int = 0) -> Iterator[Callable[[int], None]]:
        """Hold so much, and what is added within the block, until its end. Raises Busy."""
        held = 0

        def add(more: int) -> None:
            nonlocal held
            self._check(key, more)
            held += more
            self.held += more
            self._held_by[key] += more

        try:
            add(amount)
            yield add
        finally:
            self.held -= held
            self._held_by[key] -= held
            if not self._held_by[key]:
                del self._held_by[key]

    def _check(self, key: str, more: int) -> None:
        limits = ((self._held_by[key], self._limit_per_key), (self.held, self._limit))
        for held, limit in limits:
            if held + more > limit:
                raise Busy(f"limit reached ({self._message.format(limit)}); try again later")
