"""Tells the server what has come (XEP-0198), once it is safe with us. Knows no stanza."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from spade_llm.xmpp.stream_management import StreamManagement


async def _at_once() -> None:
    """Where nothing is written down."""


class Acknowledger:
    """What was acknowledged the server forgets; what was not comes again, or is stored for the next
    session. So a message that is to survive us is written down first."""

    def __init__(self) -> None:
        self.until_safe: Callable[[], Awaitable[None]] = _at_once
        """Returns once what has come until now survives a kill −9, or needs not; must not raise."""
        self._timer: asyncio.TimerHandle | None = None
        self._tasks: set[asyncio.Task[None]] = set()

    def due(self, management: StreamManagement, within_s: float) -> None:
        if not within_s:
            self._begin(management)
        elif self._timer is None:
            loop = asyncio.get_running_loop()
            self._timer = loop.call_later(within_s, self._begin, management)

    async def finish(self, management: StreamManagement) -> None:
        """Before the stream is closed: what the server does not know by then it stores."""
        await self._tell(management)
        self._stop_timer()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def _begin(self, management: StreamManagement) -> None:
        self._stop_timer()
        task = asyncio.create_task(self._tell(management))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _tell(self, management: StreamManagement) -> None:
        mark = management.mark()
        await self.until_safe()
        management.acknowledge(mark)

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
