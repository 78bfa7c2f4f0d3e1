"""A clock for memory files that a test sets."""

from __future__ import annotations

from datetime import datetime, timedelta


class Clock:
    """Stands still until it is set."""

    def __init__(self, now: datetime) -> None:
        self.now = now

    def __call__(self) -> datetime:
        return self.now

    def go(self, **how_far: float) -> None:
        """Advance by a timedelta of these units."""
        self.now += timedelta(**how_far)
