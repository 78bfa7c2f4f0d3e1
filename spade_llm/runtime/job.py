"""Job: one request on its way through the dispatcher, and how it is ended early. Knows no queue."""

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
    """From its arrival until it may take a place: its sender is paced."""
    diverted_to: Handler | None = None
    """Instead of the route's handler."""
    has_place: bool = False
    """Counts as running."""
    scope: asyncio.Timeout | None = None
    """Set while the handler runs; a cancel ends it early."""
    times_aside: int = 0
    """How much of what it does waits for others now."""
    left_s: float = 0.0
    """Of its time, while that stands still."""
    cancelled: Cancelled | None = None
    """What it is answered with, once it is cancelled."""
    is_left: bool = False
    """Nobody is there to be answered."""
    has_ended: asyncio.Event = field(default_factory=asyncio.Event)

    @property
    def pause_left_s(self) -> float:
        return self.since_s + self.pause_s - time.monotonic()

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


def step_aside(job: Job) -> bool:
    """Its own time stands still, if its asker has set no deadline. False: it stands already, for
    several of what it does may wait at once."""
    job.times_aside += 1
    if job.times_aside > 1:
        return False
    is_timed = job.scope is not None and job.request.reply_by is None
    if job.scope is not None and is_timed and not (job.scope.expired() or job.is_cancelled):
        now = asyncio.get_running_loop().time()
        job.left_s = (job.scope.when() or now) - now
        job.scope.reschedule(None)
    return True


def come_back(job: Job) -> bool:
    """True: nothing of it waits any more, and its time goes on."""
    job.times_aside -= 1
    if job.times_aside:
        return False
    is_timed = job.scope is not None and job.request.reply_by is None
    if job.scope is not None and is_timed and not (job.scope.expired() or job.is_cancelled):
        job.scope.reschedule(asyncio.get_running_loop().time() + job.left_s)
    return True
