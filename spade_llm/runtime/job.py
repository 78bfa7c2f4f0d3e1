"""Job: one request on its way through the dispatcher, and how it is ended early. Knows no queue."""

from __future__ import annotations

import asyncio
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from spade_llm.acl import AclMessage
    from spade_llm.errors import Cancelled
    from spade_llm.runtime.route import Effect, Handler


@dataclass(slots=True, eq=False)
class Job:
    request: AclMessage
    effect: Effect
    diverted_to: Handler | None = None
    """Instead of the route's handler."""
    has_place: bool = False
    """Counts as running."""
    scope: asyncio.Timeout | None = None
    """Set while the handler runs; a cancel ends it early."""
    cancelled: Cancelled | None = None
    """What it is answered with, once it is cancelled."""
    is_doubted: bool = False
    """A part of its answer came back: its asker may have left."""
    is_left: bool = False
    """Nobody is there to be answered."""
    has_ended: asyncio.Event = field(default_factory=asyncio.Event)

    @property
    def is_cancelled(self) -> bool:
        return self.cancelled is not None


@dataclass(frozen=True, slots=True, kw_only=True)
class Stopped:
    """What one stop has ended."""

    jobs: tuple[Job, ...]

    @property
    def requests(self) -> tuple[AclMessage, ...]:
        return tuple(job.request for job in self.jobs)

    async def has_ended(self, *, timeout_s: float) -> bool:
        """Once all of it is answered; False if something would not end in time."""
        try:
            async with asyncio.timeout(timeout_s):
                for job in self.jobs:
                    await job.has_ended.wait()
        except TimeoutError:
            return False
        return True


def stop(job: Job, reason: Cancelled) -> None:
    if job.scope and not job.is_cancelled and not job.scope.expired():
        job.scope.reschedule(asyncio.get_running_loop().time())
    job.cancelled = job.cancelled or reason


@contextmanager
def timeless(job: Job) -> Iterator[None]:
    """The handler's own time stands still, if its asker has set no deadline."""
    scope, clock = job.scope, asyncio.get_running_loop().time
    if scope is None or job.request.reply_by is not None:
        yield
        return
    left_s = (scope.when() or clock()) - clock()
    scope.reschedule(None)
    try:
        yield
    finally:
        if not (scope.expired() or job.is_cancelled):
            scope.reschedule(clock() + left_s)
