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
        grown = max(now_s - self._at_s, 0.0) * self._rate.per_s
        self._left = min(self._left + grown, float(self._rate.burst))
        self._at_s = max(now_s, self._at_s)
        if self._left < 1.0:
            return False
        self._left -= 1.0
        return True
