"""Job: one request on its way through the dispatcher, its deadline, and how it is ended early."""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from spade_llm.acl import AclMessage
    from spade_llm.errors import Cancelled
    from spade_llm.runtime.route import Effect, Handler


@dataclass(slots=True, eq=False)
class Job:
    request: AclMessage
    effect: Effect
    since_s: float = field(default_factory=time.monotonic)
    """When it arrived."""
    pause_s: float = 0.0
    """From its arrival until it may take a slot: its sender is paced by the rate limiter."""
    diverted_to: Handler | None = None
    """Instead of the route's handler."""
    has_slot: bool = False
    """Counts as running."""
    scope: asyncio.Timeout | None = None
    """Deadline; set while the handler runs. Cancelling the job moves it to now."""
    waits: int = 0
    """How many parts of its handler wait for a person now."""
    left_s: float = 0.0
    """Time left when the deadline was suspended."""
    cancelled: Cancelled | None = None
    """What it is answered with, once it is cancelled."""
    is_left: bool = False
    """Its asker has left: there is nobody to answer."""
    has_ended: asyncio.Event = field(default_factory=asyncio.Event)

    @property
    def pause_left_s(self) -> float:
        return self.since_s + self.pause_s - time.monotonic()

    @property
    def is_cancelled(self) -> bool:
        return self.cancelled is not None

    def stop(self, reason: Cancelled) -> None:
        """Cancel it, running or waiting; the first reason holds."""
        if self.scope and not self.is_cancelled and not self.scope.expired():
            self.scope.reschedule(asyncio.get_running_loop().time())
        self.cancelled = self.cancelled or reason

    def begin_wait(self) -> bool:
        """Suspend its deadline, unless its asker has set one. False: it is suspended already, for
        several parts of its handler may wait at once."""
        self.waits += 1
        if self.waits > 1:
            return False
        if scope := self._adjustable_scope():
            now_s = asyncio.get_running_loop().time()
            self.left_s = (scope.when() or now_s) - now_s
            scope.reschedule(None)
        return True

    def end_wait(self) -> bool:
        """True: no part of its handler waits any more, and its time runs again."""
        self.waits -= 1
        if self.waits:
            return False
        if scope := self._adjustable_scope():
            scope.reschedule(asyncio.get_running_loop().time() + self.left_s)
        return True

    def _adjustable_scope(self) -> asyncio.Timeout | None:
        """Its deadline, where it is ours to move."""
        if self.scope is None or self.request.reply_by is not None:
            return None
        return None if self.scope.expired() or self.is_cancelled else self.scope


@dataclass(frozen=True, slots=True, kw_only=True)
class Stopped:
    """The jobs that one call of `Dispatcher.stop` cancelled."""

    jobs: tuple[Job, ...]

    @property
    def requests(self) -> tuple[AclMessage, ...]:
        return tuple(job.request for job in self.jobs)

    async def has_ended(self, *, timeout_s: float) -> bool:
        """Wait until all of them are answered; False if one did not end in time."""
        try:
            async with asyncio.timeout(timeout_s):
                for job in self.jobs:
                    await job.has_ended.wait()
        except TimeoutError:
            return False
        return True
