"""Dispatcher: queues per conversation, concurrency limits, deadlines, graceful shutdown (drain).

The stages of a request, in order:

- `identified` (authorization): may its sender speak for the principal that it names?
- `receive` → `_admit` (capacity): into the queue of its conversation, or refused as busy.
- `_serve_conversation` (order): one after the other, paced, each in a concurrency slot.
- `_answer_once` (deduplication): a repeated request gets the answer from the log.
- `_answer` (error boundary): exactly one answer, whatever happens.
- `_run_handler` (deadline): within its time, traced.
- `Delivery.deliver` (reply): sent, and for a person retried until it has arrived.

Conversations are served concurrently; their number and the length of each queue are bounded.
"""

from __future__ import annotations

import asyncio
import logging
from collections import Counter, deque
from collections.abc import (
    AsyncIterator,
    Awaitable,
    Callable,
    Collection,
    Coroutine,
    Hashable,
    Iterator,
    Sequence,
)
from contextlib import asynccontextmanager, contextmanager, nullcontext, suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import TYPE_CHECKING

from spade_llm.core.errors import (
    Busy,
    Cancelled,
    DeadlinePassed,
    Failure,
    Interrupted,
    SpadeLLMError,
    StorageFailed,
    Unauthorised,
    UnknownOntology,
)
from spade_llm.core.tracing import Tracer
from spade_llm.messaging import CHAT_TEXT, MAX_BODY_BYTES, AclMessage, Encoding, Performative, bare
from spade_llm.messaging.body import bounded_text, error_answer
from spade_llm.messaging.delivery import Delivery
from spade_llm.messaging.message import STABLE_ID_PREFIX, origin_of, with_checked_principal
from spade_llm.messaging.request import Idempotency, Job, Request, RequestHistory, StoppedRequests

if TYPE_CHECKING:
    from spade_llm.messaging.answer_log import AnswerLog, LoggedRequest
    from spade_llm.messaging.request import Route
    from spade_llm.messaging.transport import Send

logger = logging.getLogger(__name__)

RateLimitDelay = Callable[["AclMessage"], float]
"""Seconds that a request which was received just now waits before it is run. Must not raise."""

IsConnected = Callable[[str], Awaitable[bool]]
"""Check whether a full JID is connected; returns True if that cannot be determined."""

NO_TRACER = Tracer(None, service="", instance="")
MAX_REFUSALS_WAITING = 256
"""Busy answers that wait for the network; beyond, excess requests are dropped without one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DispatcherLoad:
    """Load of a dispatcher."""

    running: int
    queued: int


@dataclass(frozen=True, slots=True, kw_only=True)
class DispatcherLimits:
    """Limits of one dispatcher (admission control); counts include running requests."""

    max_queued: int = 10_000
    max_per_peer: int = 4096
    """Maximum number of requests of one bare JID: a flood leaves room for others."""
    max_per_conversation: int = 64
    max_running: int = 512
    max_time_s: float = 600.0
    """A handler is stopped after this, or at its requester's deadline if that is earlier; where
    its route gives it another time, after that."""
    patience_s: float = 3.0
    """Interval between two checks whether a program is still connected; it has left if two in a row
    fail."""
    clock_skew: timedelta = timedelta(seconds=30)
    """Tolerated lag of a requester's clock behind ours, added to its deadline."""


class Dispatcher:
    """Serves requests: the handler of their ontology, in order within a conversation."""

    def __init__(
        self,
        send: Send,
        log: AnswerLog,
        *,
        limits: DispatcherLimits | None = None,
        tracer: Tracer | None = None,
    ) -> None:
        self._send = send
        self._log = log
        self._tracer = tracer or NO_TRACER
        self.gateways: frozenset[str] = frozenset()
        """Bare JIDs of gateways that may act for other JIDs here."""
        self.recent = RequestHistory()
        self.delivery = Delivery(send, log, self._spawn)
        self._limits = limits or DispatcherLimits()
        self._slots = asyncio.Semaphore(self._limits.max_running)
        self._routes: dict[str, Route] = {}
        self._queues: dict[Hashable, deque[Job]] = {}
        """Jobs by conversation; the first of each is being served."""
        self._open_of: Counter[str] = Counter()
        self._ordered_of: Counter[str] = Counter()
        """Those of `_open_of` that replicas do not divide."""
        self._open = 0
        self._running = 0
        self._tasks: set[asyncio.Task[None]] = set()
        self._cancelled_at_close: set[asyncio.Task[object]] = set()
        """Tasks to cancel at once on close: their handler may run for long, or their request is
        paced."""
        self._resending = asyncio.Lock()
        self._is_closing = False
        self._has_ended = asyncio.Event()
        self.load_changed = asyncio.Event()
        """Set whenever a request comes or goes; cleared by the reader of `load`."""
        self._notes: set[asyncio.Task[None]] = set()
        self.pause_of: RateLimitDelay | None = None
        """Set by the rate limiter, if there is one."""
        self.is_there: IsConnected | None = None
        """Set where the network can tell: work for a program that has left is stopped."""

    def route(self, ontology: str, route: Route) -> None:
        """Serve requests of this ontology by this route."""
        self._routes[ontology] = route

    def speaks(self, ontology: str) -> bool:
        """True if requests of this ontology are served."""
        return ontology in self._routes

    def is_serving(self, owner: str) -> bool:
        """True if a request of this bare JID is running or queued, other than those that replicas
        divide."""
        return owner in self._ordered_of

    def is_ordered(self, message: AclMessage) -> bool:
        """True unless replicas divide the requests of its asker (`Route.replica_key`)."""
        route = self._routes.get(message.ontology)
        return route is None or route.replica_key is None or bool(message.conversation_id)

    def replica_key(self, ontology: str, content: str, id: str) -> str:
        """Key of a request without a conversation among those of its asker, by which replicas
        divide them; empty: they are answered by the same replica."""
        route = self._routes.get(ontology)
        return route.replica_key(content, id) if route and route.replica_key else ""

    @property
    def ontologies(self) -> frozenset[str]:
        """Ontologies that have a route."""
        return frozenset(self._routes)

    @property
    def is_closing(self) -> bool:
        """True while running requests are ended; they are resumed at the next start if allowed."""
        return self._is_closing

    @property
    def load(self) -> DispatcherLoad:
        """Number of running and of queued requests."""
        return DispatcherLoad(running=self._running, queued=self._open - self._running)

    def identified(self, message: AclMessage) -> AclMessage | None:
        """Authorize a message; return it with its principal if a trusted gateway sent it.

        None: the sender may not act for others; a request is refused. Call this before any other
        code reads the owner of the message.
        """
        if not message.acts_for:
            return message
        try:
            return with_checked_principal(message, self.gateways)
        except Unauthorised as error:
            logger.warning("%s may not act for %.80r", message.sender, message.acts_for)
            if message.performative is Performative.REQUEST:
                self._refuse(message, error)
            return None

    def receive(self, message: AclMessage) -> None:
        """Accept one request or cancel; anything else is ignored. Never blocks, never raises."""
        if message.performative is Performative.CANCEL:
            self._cancel(message)
        elif message.performative is Performative.REQUEST:
            self._admit(message)

    def _admit(self, message: AclMessage) -> None:
        """Queue a request behind the others of its conversation; refuse it beyond a limit.

        A repeat of a request that waits or runs is dropped: its answer is on its way.
        """
        if any(_is_repeated(job.request, message) for job in self._jobs_near(message)):
            return
        route = self._routes.get(message.ontology)
        diverted_to = route.divert(message) if route else None
        # In the queue of its conversation it would wait behind the handler that waits for it.
        key = _request_key(message) if diverted_to else _queue_key(message, _request_key(message))
        queue = self._queues.get(key, _NO_JOBS)
        if self._is_full(queue, message.owner):
            self._refuse(message, Busy("too many requests; ask again later"))
            return
        self._open += 1
        self.load_changed.set()
        self._open_of[message.owner] += 1
        if self.is_ordered(message):
            self._ordered_of[message.owner] += 1
        pause_s = self.pause_of(message) if self.pause_of else 0.0
        job = Job(message, self.effect_of(message), diverted_to=diverted_to, pause_s=pause_s)
        if job.effect is Idempotency.RESUME:
            # At arrival, so that what waits for its turn survives a kill too, and in its order.
            note = self._spawn(self._note(message))
            self._notes.add(note)
            note.add_done_callback(self._notes.discard)
        if key in self._queues:
            self._queues[key].append(job)
        else:
            self._queues[key] = deque([job])
            self._spawn(self._serve_conversation(key, self._queues[key]))

    def _is_full(self, queue: deque[Job], peer: str) -> bool:
        return (
            self._is_closing
            or self._open >= self._limits.max_queued
            or len(queue) >= self._limits.max_per_conversation
            or self._open_of[peer] >= self._limits.max_per_peer
        )

    def _refuse(self, message: AclMessage, why: SpadeLLMError) -> None:
        # What is left of the tasks are mostly refusals: a flood must not make one task per request.
        others = len(self._queues) + self.delivery.unconfirmed
        if len(self._tasks) - others < MAX_REFUSALS_WAITING:
            self._spawn(self.delivery.deliver(error_answer(message, why)))

    async def _note(self, message: AclMessage) -> None:
        try:
            await self._log.note(message)
        except StorageFailed as error:
            logger.warning("conversation %s: not durable: %s", message.conversation_id, error)

    async def _serve_conversation(self, key: Hashable, queue: deque[Job]) -> None:
        """Worker of one conversation: serves its requests in order, until there are none."""
        try:
            while queue:
                # It stays in the queue until it is answered, so that repeats and cancels find it.
                job = queue[0]
                if job.pause_left_s > 0 and not self._is_closing:
                    with self._not_awaited_at_close():
                        await asyncio.sleep(job.pause_left_s)
                # After the pause: a conversation that is paced takes no slot from others.
                await self._take_slot(job)
                try:
                    answer = await self._answer_once(job)
                    if answer is not None:
                        await self.delivery.deliver(answer)
                finally:
                    # A handler that was cancelled while it was set aside has no slot to give back.
                    if job.has_slot:
                        self._slots.release()
                self._end(queue.popleft())
        finally:
            # Only a cancelled worker leaves any: their counts and waiters must not stay for ever.
            for job in queue:
                self._end(job)
            del self._queues[key]

    async def _take_slot(self, job: Job) -> None:
        await self._slots.acquire()
        job.has_slot = True

    def _end(self, job: Job) -> None:
        """Release the job's place in all counts, and wake its waiters."""
        job.has_ended.set()
        self._has_ended.set()
        peer = job.request.owner
        self._open -= 1
        self.load_changed.set()
        self._open_of[peer] -= 1
        if not self._open_of[peer]:
            del self._open_of[peer]
        if self.is_ordered(job.request):
            # In-place subtraction drops counts of 0, so that the table stays bounded.
            self._ordered_of -= Counter((peer,))

    async def _answer_once(self, job: Job) -> AclMessage | None:
        """Deduplicate: a request that was answered before gets the same answer from the log.

        None: the answer was delivered and erased, the asker has left, or another replica answers.
        """
        request = job.request
        if not self.speaks(request.ontology):
            return error_answer(request, UnknownOntology(f"unknown ontology {request.ontology!r}"))
        if job.effect is Idempotency.READ:
            return await self._answer(job)
        try:
            row = await self._log.find(request)
            if row is not None and not _may_run_again(job, row):
                is_sent = row.is_erased and request.ontology == CHAT_TEXT
                return None if is_sent or row.is_elsewhere else _logged_answer(row, request)
            # A row without an answer was written at arrival, or before a kill: it stays as it is.
            must_start = row is None or row.answer is not None or row.is_erased
            if must_start and not await self._log.start(request):
                return None
            if must_start and job.effect is Idempotency.RESUME:
                row = await self._log.find(request)
            job.logged_at = row.at if row is not None else 0.0
            answer = await self._answer(job)
            if job.is_left:
                await self._log.forget(request)
                return None
            # Before the answer leaves: a kill between the two must not run the request twice.
            is_ours = await self._log.finish(request, answer)
        except StorageFailed as error:
            self.recent.note_storage_failure()
            return error_answer(request, error)
        return answer if is_ours else None

    async def _answer(self, job: Job) -> AclMessage:
        """Error boundary: every request gets exactly one answer, without internal details."""
        request = job.request
        try:
            answer = request.reply(Performative.INFORM, await self._run_handler(job))
        except Unauthorised as error:
            principal = f" for {request.principal}" if request.principal else ""
            logger.warning(
                "%s%s may not do this: %s", request.sender, principal, bounded_text(error)
            )
            answer = error_answer(request, error)
        except SpadeLLMError as error:
            if isinstance(error, StorageFailed) and self.recent.note_storage_failure():
                logger.error("requests fail: %s: %r", error, error.__cause__)
            logger.info("conversation %s: %s", request.conversation_id, bounded_text(error))
            answer = error_answer(request, error)
        except Exception:
            logger.exception("conversation %s: the handler failed", request.conversation_id)
            answer = error_answer(request, SpadeLLMError())
        self.recent.note(request, answer, since_s=job.since_s)
        return answer

    async def _run_handler(self, job: Job) -> str:
        """Run the handler within its deadline, in a span of its own; returns its content.

        Raises:
            DeadlinePassed: the asker's deadline was over before.
            Cancelled: the request was stopped.
            Failure: it took too long, or its answer is too large.
        """
        # It was cancelled while it waited in its queue.
        if job.cancelled is not None:
            raise job.cancelled
        message, route = job.request, self._routes[job.request.ontology]
        handler = job.diverted_to or route.handler
        max_time_s = route.max_time_s_of(message)
        self._running += 1
        try:
            async with asyncio.timeout(self._time_left_s(message, max_time_s)) as job.scope:
                request = Request(
                    message, self._send, job.logged_at, _aside=partial(self._waiting, job)
                )
                with (
                    self._stopped_without_asker(job) if route.ends_with_asker else _NO_CONTEXT,
                    self._not_awaited_at_close() if max_time_s is not None else _NO_CONTEXT,
                    self._tracer.serving(message.ontology, message.trace_parent) as span,
                ):
                    if span.is_recorded:
                        span.quote({"enduser.id": message.owner})
                    content = await handler(request)
                if len(content.encode()) > MAX_BODY_BYTES:
                    raise Failure(f"the answer has over {MAX_BODY_BYTES} bytes; ask for less")
        except (TimeoutError, asyncio.CancelledError) as error:
            raise _stop_reason(job, error) from None
        finally:
            job.scope = None
            self._running -= 1
        if job.cancelled is not None and job.effect is Idempotency.RESUME:
            # A stopped turn shows nothing, even if its answer was ready at that moment.
            raise job.cancelled
        return content

    def _time_left_s(self, message: AclMessage, wanted_s: float | None) -> float:
        max_time_s = self._limits.max_time_s if wanted_s is None else wanted_s
        if message.reply_by is None:
            return max_time_s
        left = message.reply_by - datetime.now(UTC) + self._limits.clock_skew
        if left <= timedelta(0):
            raise DeadlinePassed("reply-by was over before the request could be started")
        return min(max_time_s, left.total_seconds())

    @asynccontextmanager
    async def _waiting(self, job: Job) -> AsyncIterator[None]:
        """Request.set_aside: gives the slot to others while the handler waits for a person."""
        if job.begin_wait():
            self._slots.release()
            job.has_slot = False
        try:
            yield
        except Exception:
            # The handler may go on after an error: it needs a slot again.
            await self._end_wait(job)
            raise
        except BaseException:
            job.end_wait()
            raise
        await self._end_wait(job)

    async def _end_wait(self, job: Job) -> None:
        if job.end_wait():
            await self._take_slot(job)

    @contextmanager
    def _not_awaited_at_close(self) -> Iterator[None]:
        """`close` cancels the current task at once while it is in this block."""
        task = asyncio.current_task()
        assert task is not None  # It runs in one of ours.
        self._cancelled_at_close.add(task)
        try:
            yield
        finally:
            self._cancelled_at_close.discard(task)

    @contextmanager
    def _stopped_without_asker(self, job: Job) -> Iterator[None]:
        """Stops the job when its asker's connection has ended, where the network can tell."""
        # A request with a stable id (Idempotency-Key) is repeated by its client: its answer is
        # kept for that, and what it does is done once.
        if self.is_there is None or job.request.reply_with.startswith(STABLE_ID_PREFIX):
            yield
            return
        watch = asyncio.create_task(self._watch_asker(job, self.is_there))
        try:
            yield
        finally:
            watch.cancel()

    async def _watch_asker(self, job: Job, is_there: IsConnected) -> None:
        missed = 0
        while missed < 2:  # Twice in a row: a connection that broke is back soon.
            await asyncio.sleep(self._limits.patience_s)
            missed = 0 if await is_there(job.request.sender) else missed + 1
        job.is_left = True
        job.stop(Cancelled("its asker has left"))

    def effect_of(self, message: AclMessage) -> Idempotency:
        """Return the idempotency that the route declares; READ for a message that it cannot parse,
        which the handler then refuses."""
        route = self._routes.get(message.ontology)
        try:
            return route.effect_of(message) if route else Idempotency.READ
        except Exception:
            logger.debug("conversation %s: unreadable", message.conversation_id, exc_info=True)
            return Idempotency.READ

    def _cancel(self, message: AclMessage) -> None:
        """Stop the request that a `cancel` of its own sender (for a gateway: of the same principal)
        names, running or queued; it is answered `cancelled`."""
        id, principal = message.in_reply_to, message.principal
        origin = origin_of(message.sender, id, message.encoding, principal=principal)
        asked = origin, principal, id
        for job in self._jobs_near(message, asked):
            if _request_key(job.request) == asked:
                job.stop(Cancelled("it was cancelled"))

    def stop(
        self, peer: str, conversation_id: str | None, ontologies: Collection[str], *, only: str = ""
    ) -> StoppedRequests:
        """Stop the requests of this asker in one conversation (None: in all), running or waiting,
        if they may be run again (`Idempotency.RESUME`). Programs are answered `cancelled`, people
        get no answer.

        `only`: the message of this id alone, or its latest version, if none came after it.
        """
        found = [
            job
            for queue in self._queues.values()
            for job in queue
            if job.request.asker == peer
            and conversation_id in (None, job.request.conversation_id)
            and job.request.ontology in ontologies
            and job.effect is Idempotency.RESUME
            and not (job.diverted_to or job.is_cancelled)
        ]
        if only:
            found = [
                job
                for job in found[-1:]
                if only in (job.request.reply_with, job.request.said.corrects)
            ]
        for job in found:
            is_person = job.request.encoding is Encoding.PLAIN
            job.stop(Cancelled("" if is_person else "it was stopped"))
        return StoppedRequests(jobs=tuple(found))

    def _jobs_near(self, message: AclMessage, asked: _RequestKey | None = None) -> list[Job]:
        """Jobs of the request's conversation, and those diverted from it. `asked`: id of another
        request."""
        asked = asked or _request_key(message)
        keys = {_queue_key(message, asked), asked}
        return [job for key in keys for job in self._queues.get(key, _NO_JOBS)]

    async def resume(self) -> None:
        """Resume the requests that a killed process left unfinished; call once, when connected."""
        for logged in await self._log.unfinished():
            self.take_up(logged)

    def is_resumed(self, request: AclMessage) -> bool:
        """True if an unfinished request of the log is run again by itself."""
        return self.effect_of(request) is Idempotency.RESUME

    def take_up(self, logged: AclMessage) -> bool:
        """Resume an unfinished request of the log, if it may be resumed."""
        # The log keeps the gateway's claim, not its check: trust may have ended since.
        request = self.identified(logged)
        if request is None or not self.is_resumed(request):
            return False
        self._admit(request)
        return True

    async def resend(self) -> None:
        """Send people the answers that could not be sent; call after each connection."""
        async with self._resending:
            with self.delivery.resending():
                for answer in await self._log.unsent():
                    # Programs ask again by themselves; people do not.
                    if answer.ontology != CHAT_TEXT or self.delivery.is_sent(answer):
                        continue
                    asked = (answer.receiver, "", answer.in_reply_to)
                    jobs = self._jobs_near(answer, asked)
                    # A job that is not over yet sends its answer itself.
                    if not any(_request_key(job.request) == asked for job in jobs):
                        await self.delivery.deliver(answer, is_resent=True)

    async def has_room(self, *, below: int) -> None:
        """Wait until fewer than `below` requests are running or queued."""
        while self._open >= below:
            # In one step with the check above: no end can come between the two.
            self._has_ended.clear()
            await self._has_ended.wait()

    async def written_down(self) -> None:
        """Wait until every resumable request received so far is in the log."""
        if self._notes:
            await asyncio.wait(set(self._notes))

    async def scrub(self, path: str, values: Sequence[str], *, peer: str | None = None) -> None:
        """Remove deleted data from logged answers: AnswerLog.scrub.

        Raises:
            StorageFailed: the disk refuses.
        """
        await self._log.scrub(path, values, peer=peer)

    async def scrub_asked(self, asker: str, conversations: Sequence[str] | None = None) -> None:
        """Delete the logged answers to this asker (in these conversations): AnswerLog.scrub_asked.

        Raises:
            StorageFailed: the disk refuses.
        """
        await self._log.scrub_asked(asker, conversations)

    async def close(self, *, patience_s: float = 10.0) -> None:
        """Graceful shutdown: refuse new requests, drain running ones for `patience_s`, then cancel.

        Requests that may run for hours are cancelled at once: they are resumed at the next start.
        """
        self._is_closing = True
        for task in self._cancelled_at_close:
            task.cancel()
        with suppress(TimeoutError):
            async with asyncio.timeout(patience_s):
                # New tasks may start meanwhile, such as the delivery of the last answers.
                while self._tasks:
                    await asyncio.wait(self._tasks)
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def _spawn(self, work: Coroutine[object, object, None]) -> asyncio.Task[None]:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task


_INTERRUPTED = Interrupted("it was interrupted, and is not run twice")
_EXECUTED = Interrupted("it was run before, and is not run twice; its answer is not kept any more")
_NO_CONTEXT = nullcontext()
_NO_JOBS: deque[Job] = deque(maxlen=0)
_REFUSALS_WITHOUT_EFFECT = frozenset({Performative.REFUSE, Performative.NOT_UNDERSTOOD})
_RequestKey = tuple[str, str, str]
"""Key of a request: its origin, principal and id."""


def _logged_answer(row: LoggedRequest, request: AclMessage) -> AclMessage:
    """The logged answer for the process that asks now, which may be another one of its account."""
    if row.answer is None:
        return error_answer(request, _EXECUTED if row.is_erased else _INTERRUPTED)
    return replace(row.answer, receiver=request.sender)


def _request_key(message: AclMessage) -> _RequestKey:
    return message.origin, message.principal, message.reply_with


def _is_repeated(one: AclMessage, other: AclMessage) -> bool:
    """Check whether one message repeats the other. The id alone does not tell: SPADE programs and
    some clients reuse it for another request."""
    return (
        _request_key(one) == _request_key(other)
        # Another process of the same account is answered, too, behind the first.
        and one.sender == other.sender
        and one.ontology == other.ontology
        and one.content == other.content
    )


def _queue_key(message: AclMessage, asked: _RequestKey) -> Hashable:
    """Key of the queue that keeps requests in order: a person's chat, or a peer's conversation;
    else each request has its own. In a room each occupant has a queue."""
    if message.ontology == CHAT_TEXT or message.conversation_id:
        asker = message.said.seat or message.principal or bare(asked[0])
        return message.ontology, asker, message.conversation_id
    return asked


def _may_run_again(job: Job, row: LoggedRequest) -> bool:
    """Check whether a logged request is run again instead of answered from the log."""
    if row.is_elsewhere or (row.is_erased and job.request.ontology == CHAT_TEXT):
        return False
    if row.answer is None:
        return job.effect is not Idempotency.ONCE
    is_asked_anew = job.request.reply_by != row.reply_by
    is_unharmed = row.answer.performative in _REFUSALS_WITHOUT_EFFECT
    has_failed = row.answer.performative is Performative.FAILURE
    return is_asked_anew and (is_unharmed or (has_failed and job.effect is not Idempotency.ONCE))


def _stop_reason(job: Job, error: BaseException) -> BaseException:
    """Error that reports a timeout or cancellation; the same error if the task was cancelled."""
    task = asyncio.current_task()
    # RequestTimeout is a TimeoutError too, and it keeps its own text. `cancelling` tells a
    # cancellation of this task from one that the handler raised or passed on.
    if isinstance(error, SpadeLLMError) or (task and task.cancelling()):
        return error
    if job.cancelled is not None or isinstance(error, asyncio.CancelledError):
        return job.cancelled or Cancelled("it was cancelled")
    is_late = job.scope is not None and job.scope.expired()
    return Failure("it took longer than its deadline") if is_late else error
