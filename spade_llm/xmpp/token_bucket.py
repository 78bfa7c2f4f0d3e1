"""How often something may happen: a burst at once, then so many per second. Knows no clock."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Rate:
    per_s: float
    burst: int
    """At once, after a rest."""


class TokenBucket:
    """Full at first."""

    __slots__ = ("_at_s", "_left", "_rate")

    def __init__(self, rate: Rate, now_s: float) -> None:
        self._rate = rate
        self._left = float(rate.burst)
        self._at_s = now_s

    def take(self, now_s: float) -> bool:
        """One of them; False if there is none left. A clock that went back fills nothing."""
        self._refill(now_s)
        if self._left < 1.0:
            return False
        self._left -= 1.0
        return True

    def wait_s(self, now_s: float) -> float:
        """Seconds until there is one; 0: there is."""
        self._refill(now_s)
        return max(0.0, (1.0 - self._left) / self._rate.per_s)

    def borrow(self, now_s: float) -> None:
        """Take one that may not be there yet: what comes next waits longer."""
        self._refill(now_s)
        self._left -= 1.0

    def _refill(self, now_s: float) -> None:
        grown = max(now_s - self._at_s, 0.0) * self._rate.per_s
        self._left = min(self._left + grown, float(self._rate.burst))
        self._at_s = max(now_s, self._at_s)
