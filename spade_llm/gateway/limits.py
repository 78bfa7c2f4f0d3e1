"""How often one principal may ask, and how much it may hold at once. Knows no HTTP."""

from __future__ import annotations

import time
from collections import Counter, OrderedDict
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


class Shares:
    """What there may be at once of all together, half of it of one principal."""

    def __init__(self, most: int, *, busy: str) -> None:
        """`busy`: what is the most, with `{}` for how much that is."""
        self._most = most
        self._of_one = max(1, most // 2)
        self._busy = busy
        self._of: Counter[str] = Counter()
        self.open = 0

    @contextmanager
    def held(self, principal: str, amount: int = 0) -> Iterator[Callable[[int], None]]:
        """So much, and what is added within the block, until its end. Raises Busy."""
        held = 0

        def add(more: int) -> None:
            nonlocal held
            self._check(principal, more)
            held += more
            self.open += more
            self._of[principal] += more

        try:
            add(amount)
            yield add
        finally:
            self.open -= held
            self._of[principal] -= held
            if not self._of[principal]:
                del self._of[principal]

    def _check(self, principal: str, more: int) -> None:
        for had, most in ((self._of[principal], self._of_one), (self.open, self._most)):
            if had + more > most:
                raise Busy(f"{self._busy.format(most)}, which is the most: try again")
