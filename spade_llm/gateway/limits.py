"""How much one principal may ask, and how many answers are written at once. Knows no HTTP."""

from __future__ import annotations

import time
from collections import OrderedDict
from contextlib import contextmanager
from typing import TYPE_CHECKING

from spade_llm.errors import Busy
from spade_llm.latest import keep_latest
from spade_llm.xmpp.token_bucket import Rate, TokenBucket

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

MAX_KNOWN = 10_000
"""Principals whose rate is followed; the one that was away for longest is as a new one."""
BURST_S = 10.0
"""Of requests that may come at once after a rest."""


class RequestRates:
    def __init__(self, per_minute: int, *, clock: Callable[[], float] = time.monotonic) -> None:
        """0: no limit."""
        per_s = per_minute / 60
        self._rate = Rate(per_s=per_s, burst=max(1, int(per_s * BURST_S))) if per_minute else None
        self._clock = clock
        self._buckets: OrderedDict[str, TokenBucket] = OrderedDict()

    def take(self, principal: str) -> bool:
        """One request more; False: too many."""
        if self._rate is None:
            return True
        now = self._clock()
        bucket = self._buckets.get(principal) or TokenBucket(self._rate, now)
        keep_latest(self._buckets, principal, bucket, most=MAX_KNOWN)
        return bucket.take(now)


class Streams:
    """Answers that are being written."""

    def __init__(self, most: int) -> None:
        self._most = most
        self.open = 0

    @contextmanager
    def one_more(self) -> Iterator[None]:
        """Around one. Raises Busy."""
        if self.open >= self._most:
            raise Busy(f"{self._most} answers are being streamed, which is the most: try again")
        self.open += 1
        try:
            yield
        finally:
            self.open -= 1
