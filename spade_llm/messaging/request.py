"""Requests: route, idempotency, queued job with its deadline and cancellation, request history."""

from __future__ import annotations

import asyncio
import time
from collections import Counter, deque
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import AbstractAsyncContextManager, nullcontext
from dataclasses import dataclass, field
from datetime import UTC, datetime
from enum import Enum, auto
from itertools import count
from typing import TYPE_CHECKING

from spade_llm.core.limits import FailureThrottle
from spade_llm.core.sqlite_file import FAILING_S
from spade_llm.messaging import AclMessage, Performative, peek_op
from spade_llm.messaging.body import read_error

if TYPE_CHECKING:
    from spade_llm.core.errors import Cancelled
    from spade_llm.messaging.transport import Send

MAX_KEPT = 200
"""Maximum number of requests in the history."""
MINUTE_S = 60


class Idempotency(Enum):
    """Effect of running a handler a second time for the same request.

    Answers of all but READ are logged by the request's id: a retry gets the logged answer. A
    request with the same id and a *new deadline* is a new attempt. It runs again where that is
    safe: after a refusal (nothing changed), and after a failure of WRITE and RESUME.
    """

    READ = auto()
    """No effect: a repeated request runs again."""
    WRITE = auto()
    """No further effect: the handler is idempotent by the request's id."""
    RESUME = auto()
    """As WRITE, and resumed after the process died while the request ran or waited."""
    ONCE = auto()
    """Harmful: if the process died while the handler ran, the request fails as `interrupted`."""


@dataclass(frozen=True, slots=True)
class Request:
    """A request as its handler sees it."""

    message: AclMessage
    _send: Send
    logged_at: float = 0.0
    """Unix time at which the request was written into the answer log; unchanged when it is resumed
    after a kill. 0: it is not logged."""
    _numbers: Iterator[int] = field(default_factory=count)
    _aside: Callable[[], AbstractAsyncContextManager[None]] = nullcontext

    async def part(self, content: str) -> None:
        """Send the next part of a stream. The answer repeats the whole: a part may be lost."""
        number = next(self._numbers)
        await self._send(self.message.reply(Performative.INFORM, content, sequence=number))

    async def agree(self) -> None:
        """Announce that the answer will take longer than half of the deadline."""
        await self._send(self.message.reply(Performative.AGREE, ""))

    def set_aside(self) -> AbstractAsyncContextManager[None]:
        """Release the concurrency slot and suspend the time limit while the handler waits for a
        person.

        A deadline set by the asker still applies. The conversation waits as well, except messages
        that the route diverts; the wait needs a timeout of its own.
        """
        return self._aside()


Handler = Callable[[Request], Awaitable[str]]
ReplicaKey = Callable[[str, str], str]
"""Takes content and id of a request. Called by each replica for each request: it must be cheap, and
must not raise."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Route:
    """Route of one ontology: its handler, limits and idempotency."""

    handler: Handler
    effect_of: Callable[[AclMessage], Idempotency]
    max_time_s_of: Callable[[AclMessage], float | None] = lambda _: None
    """Time limit of the handler, if it differs from `DispatcherLimits.max_time_s`: for requests
    whose work grows with their content. Their service limits how many run at once."""
    divert: Callable[[AclMessage], Handler | None] = lambda _message: None
    """Handler that serves a message at once instead of queueing it, because the request that runs
    in its conversation waits for it; None: it is queued. Called for each message on arrival; must
    not raise."""
    replica_key: ReplicaKey | None = None
    """Key by which replicas divide the requests of one asker, which are in no conversation and so
    have no order: of a person, a subject, or the request's id; empty: by the asker alone. None: all
    requests of an asker go to one replica."""
    ends_with_asker: bool = False
    """Stop the request when its asker has disconnected, unless its id is stable. Not for people:
    their server stores the answer until they are back."""


@dataclass(slots=True, eq=False)
class Job:
    """Running request, with its slot and its cancellation."""

    request: AclMessage
    effect: Idempotency
    since_s: float = field(default_factory=time.monotonic)
    """Arrival time, on the monotonic clock."""
    pause_s: float = 0.0
    """Delay after arrival before it may take a slot, imposed by the rate limiter on its sender."""
    diverted_to: Handler | None = None
    """Handler that replaces the route's."""
    has_slot: bool = False
    """True while it holds a concurrency slot."""
    scope: asyncio.Timeout | None = None
    """Deadline; set while the handler runs. Cancelling the job moves it to now."""
    waits: int = 0
    """Number of parts of its handler that are waiting for a person."""
    left_s: float = 0.0
    """Time left when the deadline was suspended."""
    cancelled: Cancelled | None = None
    """Error to answer with, once the job is cancelled."""
    logged_at: float = 0.0
    """As in Request."""
    is_left: bool = False
    """True if its caller has disconnected, so that no answer is sent."""
    has_ended: asyncio.Event = field(default_factory=asyncio.Event)

    @property
    def pause_left_s(self) -> float:
        return self.since_s + self.pause_s - time.monotonic()

    @property
    def is_cancelled(self) -> bool:
        return self.cancelled is not None

    def stop(self, reason: Cancelled) -> None:
        """Cancel the job, running or queued; the first reason applies."""
        if self.scope and not self.is_cancelled and not self.scope.expired():
            # Not `task.cancel()`: the task is the conversation's worker and serves the next job.
            self.scope.reschedule(asyncio.get_running_loop().time())
        self.cancelled = self.cancelled or reason

    def begin_wait(self) -> bool:
        """Suspend the deadline, unless the asker has set one. False: it is suspended already,
        because several parts of the handler may wait at once."""
        self.waits += 1
        if self.waits > 1:
            return False
        if scope := self._adjustable_scope():
            now_s = asyncio.get_running_loop().time()
            self.left_s = (scope.when() or now_s) - now_s
            scope.reschedule(None)
        return True

    def end_wait(self) -> bool:
        """Resume the deadline when the last part of the handler has stopped waiting; return True
        then."""
        self.waits -= 1
        if self.waits:
            return False
        if scope := self._adjustable_scope():
            scope.reschedule(asyncio.get_running_loop().time() + self.left_s)
        return True

    def _adjustable_scope(self) -> asyncio.Timeout | None:
        """Deadline of the handler, if it may be moved."""
        # A deadline that the asker has set stays: the asker does not wait any longer.
        if self.scope is None or self.request.reply_by is not None:
            return None
        return None if self.scope.expired() or self.is_cancelled else self.scope


@dataclass(frozen=True, slots=True, kw_only=True)
class StoppedRequests:
    """The jobs that one call of `Dispatcher.stop` cancelled."""

    jobs: tuple[Job, ...]

    @property
    def requests(self) -> tuple[AclMessage, ...]:
        """Requests that were stopped."""
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


@dataclass(frozen=True, slots=True, kw_only=True)
class HandledRequest:
    """Answered request, without its text."""

    at: datetime
    """Time of the answer, UTC."""
    ontology: str
    op: str
    """Operation; empty if the ontology has none, or the request was not understood."""
    asker: str
    """Bare JID of the caller; of a gateway's request, of its principal."""
    conversation: str = ""
    seconds: float
    """Duration since the arrival, including the wait in the queue."""
    outcome: str
    """`inform`; else the code of the error, for a person's chat the performative."""
    trace: str = ""
    """Trace id (W3C Trace Context) of the request."""


class RequestHistory:
    """Latest answered requests and the request rate, without the requests' text."""

    def __init__(self, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._latest: deque[HandledRequest] = deque(maxlen=MAX_KEPT)
        self._by_second: Counter[int] = Counter()
        """Number of answers by second, for a little more than the last minute."""
        self._looked_at = 0
        self.left_out: set[str] = set()
        """Ontologies that are not counted, such as status queries."""
        self.answered = 0
        """Number of answered requests since the start."""
        self._storage_failures = FailureThrottle(FAILING_S, clock)

    @property
    def per_minute(self) -> int:
        """Number of requests answered within the last minute."""
        self._drop_old()
        return self._by_second.total()

    @property
    def is_storage_failing(self) -> bool:
        """True if a request failed within the last minute due to the disk or a database."""
        return self._storage_failures.is_failing

    def note_storage_failure(self) -> bool:
        """Record a storage failure; return whether to log it (once a minute)."""
        return self._storage_failures.record()

    def latest(self, limit: int, *, of: str | None = None) -> Sequence[HandledRequest]:
        """Return the latest requests, newest first; `of`: of this asker only."""
        found = (one for one in reversed(self._latest) if of is None or one.asker == of)
        return [one for _, one in zip(range(limit), found, strict=False)]

    def note(self, request: AclMessage, answer: AclMessage, *, since_s: float) -> None:
        """Record an answered request. `since_s`: its arrival, on the clock."""
        if request.ontology in self.left_out:
            return
        now_s, is_read = self._clock(), answer.performative is not Performative.NOT_UNDERSTOOD
        self.answered += 1
        self._by_second[int(now_s)] += 1
        self._drop_old()
        self._latest.append(
            HandledRequest(
                at=datetime.now(UTC),
                ontology=request.ontology,
                op=peek_op(request.content) if is_read else "",
                asker=request.owner,
                conversation=request.conversation_id,
                seconds=round(now_s - since_s, 6),
                outcome=_outcome(answer),
                # The second field of W3C Trace Context; an empty parent has none.
                trace=(request.trace_parent.split("-") + [""])[1],
            )
        )

    def _drop_old(self) -> None:
        """Drop the counts of seconds before the last minute."""
        now = int(self._clock())
        # Once a second, because a dispatcher answers a thousand requests in one.
        if now == self._looked_at:
            return
        self._looked_at = now
        for second in [one for one in self._by_second if one <= now - MINUTE_S]:
            del self._by_second[second]


def _outcome(answer: AclMessage) -> str:
    if answer.performative is Performative.INFORM:
        return Performative.INFORM
    code = read_error(answer.content).code
    return code or answer.performative
