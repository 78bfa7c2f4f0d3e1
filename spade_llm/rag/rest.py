"""Long work in a thread of its own that leaves others their share of Python. Knows no work."""

from __future__ import annotations

import time

SHARE = 2.0
"""So many times as long as it worked it rests: whoever waits for an answer comes first."""


class Rest:
    """`take` it between two parts of the work."""

    def __init__(self, *, after_s: float) -> None:
        """Work that is done by then needs no rest."""
        self._from = time.monotonic() + after_s
        self._began = time.monotonic()

    def take(self) -> None:
        """As long as the last part took, times SHARE."""
        now = time.monotonic()
        if now > self._from:
            time.sleep(SHARE * (now - self._began))
        self._began = time.monotonic()
