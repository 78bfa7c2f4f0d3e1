"""From how many requests are open to what a presence says, without flickering. Pure."""

from __future__ import annotations

import time
from enum import StrEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable


class Level(StrEnum):
    FREE = "free"
    BUSY = "busy"
    SATURATED = "saturated"


class LoadLevel:
    """Begins as FREE. A level is left only when the load is clearly below it, and at most one
    change comes in `every_s`: each is a stanza to every contact."""

    def __init__(
        self, *, busy_at: int, every_s: float, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._busy_at = busy_at
        self._every_s = every_s
        self._clock = clock
        self._changed_at_s = clock() - every_s
        self.now = Level.FREE
        self._described = ""
        self.is_settled = False
        """What is said is what was true at the last look; False: another is due, later."""

    def has_changed(self, open_requests: int, described: str = "") -> bool:
        """Whether `now`, or what is said beside it, is another with this load than it was."""
        state, now_s = (self._level(open_requests), described), self._clock()
        self.is_settled = state == (self.now, self._described)
        if self.is_settled or now_s - self._changed_at_s < self._every_s:
            return False
        (self.now, self._described), self._changed_at_s = state, now_s
        self.is_settled = True
        return True

    def _level(self, open_requests: int) -> Level:
        saturated = self._busy_at if self.now is not Level.SATURATED else self._busy_at / 2
        busy = self._busy_at / 4 if self.now is Level.FREE else self._busy_at / 8
        if open_requests >= saturated:
            return Level.SATURATED
        return Level.BUSY if open_requests >= max(busy, 1.5) else Level.FREE
