"""A turn's time limit, which stands still while somebody else is waited for. Knows no turn."""

from __future__ import annotations

import asyncio
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator


class TurnClock:
    """Several may be waited for at once: it goes on when the last of them is done."""

    def __init__(self, scope: asyncio.Timeout) -> None:
        self._scope = scope
        self._waiting = 0
        self._left_s = 0.0

    @contextmanager
    def standing_still(self) -> Iterator[None]:
        self._waiting += 1
        if self._waiting == 1:
            self._stop()
        try:
            yield
        finally:
            self._waiting -= 1
            if not self._waiting:
                self._go_on()

    def _stop(self) -> None:
        now = asyncio.get_running_loop().time()
        self._left_s = (self._scope.when() or now) - now
        self._scope.reschedule(None)

    def _go_on(self) -> None:
        if not self._scope.expired():
            self._scope.reschedule(asyncio.get_running_loop().time() + self._left_s)
