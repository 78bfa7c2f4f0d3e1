"""Whether somebody who failed is worth asking now: not for a while, then by one of us. No model."""

from __future__ import annotations

import time
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

PAUSE_S = 30.0
"""After the first failure; doubles with each further one."""
LONGEST_PAUSE_S = 300.0


@dataclass(slots=True, kw_only=True)
class Circuit:
    """Closed: ask. Open: don't, until the pause is over; then one probe decides."""

    now: Callable[[], float] = field(default=time.monotonic, repr=False)
    _failures: int = 0
    _paused_until: float = 0.0
    _is_probed: bool = False

    @property
    def is_open(self) -> bool:
        """It failed when it was asked last."""
        return self._failures > 0

    @property
    def may_be_asked(self) -> bool:
        """It works, as far as known, or it is time for a probe and nobody else does it."""
        return not self.is_open or (not self._is_probed and self.now() >= self._paused_until)

    @contextmanager
    def asking(self) -> Iterator[None]:
        """While one of us asks; of somebody who failed before, that is the probe."""
        is_probe = self.is_open
        self._is_probed = self._is_probed or is_probe
        try:
            yield
        finally:
            self._is_probed = self._is_probed and not is_probe

    def succeed(self) -> None:
        self._failures = 0

    def fail(self, *, asked_s: float | None = None) -> None:
        """`asked_s`: the pause that it asks for itself; no pause is longer than LONGEST_PAUSE_S."""
        pause_s = max(PAUSE_S * 2.0 ** min(self._failures, 10), asked_s or 0.0)
        self._failures += 1
        self._paused_until = self.now() + min(pause_s, LONGEST_PAUSE_S)
