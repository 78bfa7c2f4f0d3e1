"""Brings a request to its handler and its one answer back. Knows no service and no network.

In order within a conversation, concurrent across conversations, bounded in both; what does not
fit is refused as busy at once. The one error boundary of the project is here.
"""

from __future__ import annotations

import asyncio
import logging
from collections import Counter, deque
from collections.abc import Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import TYPE_CHECKING, TypeVar

from spade_llm.acl import (
    CHAT_TEXT,
    MAX_BODY_BYTES,
    AclMessage,
    Encoding,
    ErrorBody,
    Performative,
    bare,
)
from spade_llm.acl.body import MAX_DETAIL
from spade_llm.errors import (
    Busy,
    Cancelled,
    DeadlinePassed,
    Failure,
    Interrupted,
    ModelError,
    ProtocolError,
    RateLimited,
    Refusal,
    RequestError,
    ServiceError,
    SpadeLLMError,
    StorageFailed,
    Unauthorised,
    UnknownOntology,
)
from spade_llm.runtime.gateways import identified
from spade_llm.runtime.job import Job, Stopped, come_back, step_aside, stop
from spade_llm.runtime.recent import Recent
from spade_llm.runtime.route import Effect, Request
from spade_llm.tracing import Tracer

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Collection, Coroutine, Hashable, Iterator, Sequence

    from spade_llm.runtime.answer_log import AnswerLog, Logged
    from spade_llm.runtime.route import Handler, Route
    from spade_llm.runtime.transport import Send

logger = logging.getLogger(__name__)

T = TypeVar("T")

PauseOf = Callable[["AclMessage"], float]
"""Seconds that a request which was received just now waits before it is run. Must not raise."""

IsThere = Callable[[str], Awaitable[bool]]
"""Whether a full JID is connected; True where nobody can tell."""

HasArrived = Callable[[], Awaitable[None]]
"""Returns once all that was sent until now has reached our server; raises RequestError where
nobody will know."""

NO_TRACES = Tracer(None, service="", instance="")
MAX_REFUSALS_WAITING = 256
"""Busy answers that wait for the network; beyond, what does not fit is not even refused."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Load:
    """How busy a dispatcher is."""

    running: int
    queued: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """What one dispatcher takes on; counts include what runs."""

    max_queued: int = 10_000
    max_per_peer: int = 4096
    """Of one bare JID, so that a flood from one leaves room for the others."""
    max_per_conversation: int = 64
    max_running: int = 512
    max_time_s: float = 600.0
    """A handler is stopped after this, or at its requester's deadline if that is earlier; where
    its route gives it another time, after that."""
    patience_s: float = 3.0
    """Between two looks at whether a program is still there; it is gone when both miss it."""
    clock_skew: timedelta = timedelta(seconds=30)
    """How far a requester's clock may be behind ours before its deadline is taken at its word."""


class Dispatcher:
    def __init__(
        self,
        send: Send,
        log: AnswerLog,
        *,
        limits: Limits | None = None,
        tracer: Tracer | None = None,
    ) -> None:
        self._send = send
        self._log = log
        self._tracer = tracer or NO_TRACES
        self.gateways: frozenset[str] = frozenset()
        """Bare JIDs that may speak for others here."""
        self.recent = Recent()
        self._limits = limits or Limits()
        self._slots = asyncio.Semaphore(self._limits.max_running)
        self._routes: dict[str, Route] = {}
        self._lanes: dict[Hashable, deque[Job]] = {}
        self._open_of: Counter[str] = Counter()
        self._open = 0
        self._running = 0
        self._tasks: set[asyncio.Task[None]] = set()
        self._long: set[asyncio.Task[object]] = set()
        """Of those, the ones whose handler has more time than others, or whose request is paced."""
        self._resending = asyncio.Lock()
        self._is_closing = False
        self._has_left = asyncio.Event()
        self.load_changed = asyncio.Event()
        """Set whenever a request comes or goes; cleared by who looks at `load`."""
        self._notes: set[asyncio.Task[None]] = set()
        self._on_their_way: dict[tuple[str, str], asyncio.Task[None]] = {}
        """By receiver and id: who sees to it that what was sent to a person arrives."""
        self.has_arrived: HasArrived | None = None
        """Set by whoever knows the network, where what is sent may be lost."""
        self.pause_of: PauseOf | None = None
        """Set by the rate limiter, where there is one."""
        self.is_there: IsThere | None = None
        """Set by whoever knows the network: programs that have left are worked for no longer."""

    def route(self, ontology: str, route: Route) -> None:
        self._routes[ontology] = route

    def speaks(self, ontology: str) -> bool:
        return ontology in self._routes

    def is_serving(self, owner: str) -> bool:
        """Whether a request of this bare JID runs or waits."""
        return owner in self._open_of

    @property
    def ontologies(self) -> frozenset[str]:
        """Those that it speaks."""
        return frozenset(self._routes)

    @property
    def is_closing(self) -> bool:
        """What runs is ended now, and taken up again at the next start where it may be."""
        return self._is_closing

    @property
    def load(self) -> Load:
        return Load(running=self._running, queued=self._open - self._running)

    def identified(self, message: AclMessage) -> AclMessage | None:
        """The message, with its principal if a gateway of ours sent it; None: its sender may not
        speak for others, and is told. Before anybody reads whose it is."""
        try:
            return identified(message, self.gateways)
        except Unauthorised as error:
            logger.warning("%s may not speak for %.80r", message.sender, message.acts_for)
            if message.performative is Performative.REQUEST:
                self._refuse(message, error)
            return None

    def receive(self, message: AclMessage) -> None:
        """Accept one request or cancel; anything else is ignored. Never blocks, never raises."""
        if message.performative is Performative.CANCEL:
            self._cancel(message)
        elif message.performative is Performative.REQUEST:
            self._accept(message)

    def stop(
        self, peer: str, conversation_id: str | None, ontologies: Collection[str], *, only: str = ""
    ) -> Stopped:
        """End what this asker waits for in one conversation (None: in all), running or waiting,
        where it may be run again (`Effect.RESUME`). Programs are answered `cancelled`, people not
        at all.

        `only`: nothing but the message of this id, or its latest version, if none came after it.
        """
        found = [
            job
            for job in self._jobs()
            if job.request.asker == peer
            and conversation_id in (None, job.request.conversation_id)
            and job.request.ontology in ontologies
            and job.effect is Effect.RESUME
            and not (job.diverted_to or job.is_cancelled)
        ]
        if only:
            found = [job for job in found[-1:] if _is_version(job.request, only)]
        for job in found:
            is_person = job.request.encoding is Encoding.PLAIN
            stop(job, Cancelled("" if is_person else "it was stopped"))
        return Stopped(jobs=tuple(found))

    async def resume(self) -> None:
        """Take up what a killed process left unfinished: call once, when connected."""
        for logged in await self._log.unfinished():
            request = self.identified(logged)
            if request is not None and self.effect_of(request) is Effect.RESUME:
                self._accept(request)

    async def resend(self) -> None:
        """Send people the answers that could not leave: call after each connection."""
        async with self._resending:
            for answer in await self._log.unsent():
                if answer.ontology == CHAT_TEXT and not self._is_coming(answer):
                    await self._deliver(answer)

    async def say(self, message: AclMessage) -> None:
        """Send a chat message that nobody asked for: once for its id, and if it cannot leave now,
        after the next connection.

        Raises:
            ProtocolError: the network takes no such message.
        """
        if not await self._is_new(message):
            return
        try:
            await self._send(message)
        except RequestError as error:
            logger.warning("a message to %s waits for a connection: %s", message.receiver, error)
            return
        except ProtocolError:
            await self._erase(message)
            raise
        await self._follow(message)

    async def _is_new(self, message: AclMessage) -> bool:
        try:
            return await self._log.keep(message)
        except StorageFailed as error:
            logger.warning("conversation %s: not durable: %s", message.conversation_id, error)
            return True

    async def has_room(self, *, below: int) -> None:
        """Return once fewer than this are running or waiting."""
        while self._open >= below:
            self._has_left.clear()
            await self._has_left.wait()

    async def not_sent(self, answer: AclMessage) -> None:
        """What arrived was returned, for a reason that passes: the next `resend` takes it."""
        if following := self._on_their_way.pop(_sent_id(answer), None):
            following.cancel()
        try:
            await self._log.restore(answer)
        except StorageFailed as error:
            logger.warning("an answer to %s is lost: %s", answer.receiver, error)

    async def written_down(self) -> None:
        """Return once what was received until now and is to survive a kill does."""
        if self._notes:
            await asyncio.wait(set(self._notes))

    async def scrub(self, path: str, values: Sequence[str], *, peer: str | None = None) -> None:
        """No answer that is remembered shows any more what a store has forgotten: AnswerLog.scrub.

        Raises:
            StorageFailed: the disk refuses.
        """
        await self._log.scrub(path, values, peer=peer)

    async def scrub_asked(self, asker: str, conversations: Sequence[str] | None = None) -> None:
        """No answer is remembered any more that this asker got (in these conversations):
        AnswerLog.scrub_asked.

        Raises:
            StorageFailed: the disk refuses.
        """
        await self._log.scrub_asked(asker, conversations)

    async def close(self, *, patience_s: float = 10.0) -> None:
        """Refuse what comes, let what runs end within `patience_s`, then cancel it.

        What may go on for hours is not waited for: it is taken up again at the next start.
        """
        self._is_closing = True
        for task in self._long:
            task.cancel()
        with suppress(TimeoutError):
            async with asyncio.timeout(patience_s):
                # What is sent at the end is followed until it has arrived.
                while self._tasks:
                    await asyncio.wait(self._tasks)
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def _accept(self, message: AclMessage) -> None:
        if any(_is_same(job.request, message) for job in self._jobs_near(message)):
            return
        diverted_to = self._diverted(message)
        key = _id(message) if diverted_to else _conversation(message, _id(message))
        lane = self._lanes.get(key, _NOTHING)
        if self._is_full(lane, message.owner):
            self._refuse(message, Busy("too many requests; ask again later"))
            return
        self._open += 1
        self.load_changed.set()
        self._open_of[message.owner] += 1
        pause_s = self.pause_of(message) if self.pause_of else 0.0
        job = Job(message, self.effect_of(message), diverted_to=diverted_to, pause_s=pause_s)
        self._enqueue(key, job)

    def _jobs(self) -> Iterator[Job]:
        return (job for lane in self._lanes.values() for job in lane)

    def _diverted(self, message: AclMessage) -> Handler | None:
        route = self._routes.get(message.ontology)
        return route.divert(message) if route else None

    def _jobs_near(self, message: AclMessage, asked: _Id | None = None) -> list[Job]:
        """Of its conversation, and what was diverted from it; `asked`: another request's id."""
        asked = asked or _id(message)
        keys = {_conversation(message, asked), asked}
        return [job for key in keys for job in self._lanes.get(key, _NOTHING)]

    def _is_full(self, lane: deque[Job], peer: str) -> bool:
        return (
            self._is_closing
            or self._open >= self._limits.max_queued
            or len(lane) >= self._limits.max_per_conversation
            or self._open_of[peer] >= self._limits.max_per_peer
        )

    def _refuse(self, message: AclMessage, why: SpadeLLMError) -> None:
        beside = len(self._lanes) + len(self._on_their_way)
        if len(self._tasks) - beside < MAX_REFUSALS_WAITING:
            self._spawn(self._deliver(_error(message, why)))

    def _enqueue(self, key: Hashable, job: Job) -> None:
        if job.effect is Effect.RESUME:
            note = self._spawn(self._write_down(job.request))
            self._notes.add(note)
            note.add_done_callback(self._notes.discard)
        if key in self._lanes:
            self._lanes[key].append(job)
        else:
            self._lanes[key] = deque([job])
            self._spawn(self._serve_lane(key, self._lanes[key]))

    async def _write_down(self, message: AclMessage) -> None:
        """At arrival, so that what waits for its turn survives a kill too, and in its order."""
        try:
            await self._log.note(message)
        except StorageFailed as error:
            logger.warning("conversation %s: not durable: %s", message.conversation_id, error)

    async def _serve_lane(self, key: Hashable, lane: deque[Job]) -> None:
        try:
            while lane:
                await self._serve_in_place(lane[0])
                self._leave(lane.popleft())
        finally:
            for job in lane:
                self._leave(job)
            del self._lanes[key]

    async def _serve_in_place(self, job: Job) -> None:
        if job.pause_left_s > 0 and not self._is_closing:
            await self._noted_as_long(asyncio.sleep(job.pause_left_s))
        await self._take_place(job)
        try:
            await self._serve(job)
        finally:
            if job.has_place:
                self._slots.release()

    @asynccontextmanager
    async def _aside(self, job: Job) -> AsyncIterator[None]:
        """Request.set_aside. Whoever is stopped meanwhile needs no place any more; who goes on
        after an error does."""
        if step_aside(job):
            self._slots.release()
            job.has_place = False
        try:
            yield
        except Exception:
            await self._come_back(job)
            raise
        except BaseException:
            come_back(job)
            raise
        await self._come_back(job)

    async def _come_back(self, job: Job) -> None:
        if come_back(job):
            await self._take_place(job)

    async def _take_place(self, job: Job) -> None:
        await self._slots.acquire()
        job.has_place = True

    def _leave(self, job: Job) -> None:
        job.has_ended.set()
        self._has_left.set()
        peer = job.request.owner
        self._open -= 1
        self.load_changed.set()
        self._open_of[peer] -= 1
        if not self._open_of[peer]:
            del self._open_of[peer]

    async def _serve(self, job: Job) -> None:
        message = job.request
        if not self.speaks(message.ontology):
            reason = UnknownOntology(f"unknown ontology {message.ontology!r}")
            await self._deliver(_error(message, reason))
        elif job.effect is Effect.READ:
            await self._deliver(await self._answer(job))
        else:
            await self._serve_once(job)

    async def _serve_once(self, job: Job) -> None:
        """Answer a request that changes something: whoever sends it again gets the same answer."""
        try:
            answer = await self._remembered(job)
        except StorageFailed as error:
            self.recent.note_storage_failure()
            answer = _error(job.request, error)
        if answer is not None:
            await self._deliver(answer)

    async def _remembered(self, job: Job) -> AclMessage | None:
        """The answer of the first time, or the first answer; None if it was sent and erased."""
        row = await self._log.find(job.request)
        if row is not None and not _may_run_again(job, row):
            return None if row.is_erased else row.answer or _error(job.request, _INTERRUPTED)
        if row is None or row.answer is not None:
            await self._log.start(job.request)
        answer = await self._answer(job)
        if job.is_left:
            await self._log.forget(job.request)
            return None
        await self._log.finish(job.request, answer)
        return answer

    async def _answer(self, job: Job) -> AclMessage:
        answer = await self._answer_or_error(job)
        self.recent.note(job.request, answer, since_s=job.since_s)
        return answer

    async def _answer_or_error(self, job: Job) -> AclMessage:
        """The error boundary: every request gets exactly one answer, and no peer our internals."""
        message = job.request
        try:
            return message.reply(Performative.INFORM, await self._outcome(job))
        except Unauthorised as error:
            logger.warning("%s may not do this: %s", _who(message), error)
            return _error(message, error)
        except SpadeLLMError as error:
            if isinstance(error, StorageFailed) and self.recent.note_storage_failure():
                logger.error("requests fail: %s: %r", error, error.__cause__)
            logger.info("conversation %s: %s", message.conversation_id, error)
            return _error(message, error)
        except Exception:
            logger.exception("conversation %s: the handler failed", message.conversation_id)
            return _error(message, SpadeLLMError())

    async def _outcome(self, job: Job) -> str:
        """Who stopped a turn gets none of it, also where it was ready at that moment."""
        content = await self._run(job)
        if job.cancelled is not None and job.effect is Effect.RESUME:
            raise job.cancelled
        return content

    async def _run(self, job: Job) -> str:
        if job.cancelled is not None:
            raise job.cancelled
        route = self._routes[job.request.ontology]
        handler = job.diverted_to or route.handler
        max_time_s = route.max_time_s_of(job.request)
        self._running += 1
        try:
            async with asyncio.timeout(self._time_left_s(job.request, max_time_s)) as job.scope:
                request = Request(job.request, self._send, _aside=partial(self._aside, job))
                work = self._traced(handler, request)
                if max_time_s is not None:
                    work = self._noted_as_long(work)
                if route.ends_with_asker and self.is_there is not None:
                    work = self._ended_with_asker(job, work, self.is_there)
                return _bounded(await work)
        except (TimeoutError, asyncio.CancelledError) as error:
            raise _why_stopped(job, error) from None
        finally:
            job.scope = None
            self._running -= 1

    async def _ended_with_asker(
        self, job: Job, work: Coroutine[object, object, str], is_there: IsThere
    ) -> str:
        watch = asyncio.create_task(self._watch(job, is_there))
        try:
            return await work
        finally:
            watch.cancel()

    async def _watch(self, job: Job, is_there: IsThere) -> None:
        """Missed twice: a line that was cut is back soon."""
        missed = 0
        while missed < 2:
            await asyncio.sleep(self._limits.patience_s)
            missed = 0 if await is_there(job.request.sender) else missed + 1
        job.is_left = True
        stop(job, Cancelled("its asker has left"))

    async def _traced(self, handler: Handler, request: Request) -> str:
        message = request.message
        with self._tracer.serving(message.ontology, message.trace_parent) as span:
            if span.is_recorded:
                span.quote({"enduser.id": message.owner})
            return await handler(request)

    async def _noted_as_long(self, work: Coroutine[object, object, T]) -> T:
        task = asyncio.current_task()
        assert task is not None  # It runs in one of ours.
        self._long.add(task)
        try:
            return await work
        finally:
            self._long.discard(task)

    def _time_left_s(self, message: AclMessage, wanted_s: float | None) -> float:
        max_time_s = self._limits.max_time_s if wanted_s is None else wanted_s
        if message.reply_by is None:
            return max_time_s
        left = message.reply_by - datetime.now(UTC) + self._limits.clock_skew
        if left <= timedelta(0):
            raise DeadlinePassed("reply-by was over before the request could be started")
        return min(max_time_s, left.total_seconds())

    async def _deliver(self, answer: AclMessage) -> None:
        """An answer without words is none, in a chat."""
        try:
            if answer.content or answer.ontology != CHAT_TEXT:
                await self._send_or_fail(answer)
        except RequestError as error:
            logger.warning("an answer to %s waits for a retry: %s", answer.receiver, error)
        except Exception:
            logger.exception("conversation %s: no answer could be sent", answer.conversation_id)
        else:
            await self._follow(answer)

    async def _follow(self, sent: AclMessage) -> None:
        """What a person is to read stays written down until it has arrived: a program asks again,
        a person does not."""
        if sent.ontology != CHAT_TEXT:
            return
        if self.has_arrived is None:
            await self._erase(sent)
            return
        following = self._spawn(self._see_arrived(sent, self.has_arrived))
        self._on_their_way[_sent_id(sent)] = following

    async def _see_arrived(self, sent: AclMessage, has_arrived: HasArrived) -> None:
        try:
            while not await _is_known(has_arrived):
                await self._send(sent)
            await self._erase(sent)
        except RequestError as error:
            logger.warning("an answer to %s waits for a connection: %s", sent.receiver, error)
        finally:
            if self._on_their_way.get(_sent_id(sent)) is asyncio.current_task():
                del self._on_their_way[_sent_id(sent)]

    async def _send_or_fail(self, answer: AclMessage) -> None:
        """An answer that is more than the network takes becomes a failure that is not."""
        try:
            await self._send(answer)
        except ProtocolError as error:
            content = _content(answer, Failure(f"the answer cannot be sent: {error}"))
            await self._send(replace(answer, performative=Performative.FAILURE, content=content))

    async def _erase(self, answer: AclMessage) -> None:
        try:
            await self._log.erase(answer)
        except StorageFailed as error:
            logger.warning("to %s: sent, but not marked as sent: %s", answer.receiver, error)

    def effect_of(self, message: AclMessage) -> Effect:
        """What the route says; a message that it cannot read is left to its handler to refuse."""
        route = self._routes.get(message.ontology)
        try:
            return route.effect_of(message) if route else Effect.READ
        except Exception:
            logger.debug("conversation %s: unreadable", message.conversation_id, exc_info=True)
            return Effect.READ

    def _cancel(self, message: AclMessage) -> None:
        """Stop what runs, and drop what waits, for this very sender (of a gateway: for the same
        principal); it is answered `cancelled`."""
        asked = (message.sender, message.principal, message.in_reply_to)
        for job in self._jobs_near(message, asked):
            if _id(job.request) == asked:
                stop(job, Cancelled("it was cancelled"))

    def _is_coming(self, answer: AclMessage) -> bool:
        """It was sent, or will be by whoever is at it."""
        asked = (answer.receiver, "", answer.in_reply_to)
        return _sent_id(answer) in self._on_their_way or any(
            _id(job.request) == asked for job in self._jobs_near(answer, asked)
        )

    def _spawn(self, work: Coroutine[object, object, None]) -> asyncio.Task[None]:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task


_INTERRUPTED = Interrupted("it was interrupted, and is not run twice")
_NOTHING: deque[Job] = deque(maxlen=0)
_NOTHING_CHANGED = frozenset({Performative.REFUSE, Performative.NOT_UNDERSTOOD})


def _who(message: AclMessage) -> str:
    """For the log."""
    return f"{message.sender} for {message.principal}" if message.principal else message.sender


_Id = tuple[str, str, str]
"""Sender, whom it speaks for, and the request's own id."""


def _id(message: AclMessage) -> _Id:
    return message.sender, message.principal, message.reply_with


async def _is_known(has_arrived: HasArrived) -> bool:
    try:
        await has_arrived()
    except RequestError:
        return False
    return True


def _sent_id(message: AclMessage) -> tuple[str, str]:
    return message.receiver, message.reply_with


def _is_same(one: AclMessage, other: AclMessage) -> bool:
    """The same request once more; SPADE programs and some clients use an id again for another."""
    return (
        _id(one) == _id(other) and one.ontology == other.ontology and one.content == other.content
    )


def _is_version(message: AclMessage, id: str) -> bool:
    """Itself, or what corrects it."""
    return id in (message.reply_with, message.said.corrects)


def _conversation(message: AclMessage, asked: _Id) -> Hashable:
    """What keeps requests in order: a person's chat, or a peer's conversation; else nothing. In a
    room nobody waits for another's question."""
    if message.ontology == CHAT_TEXT or message.conversation_id:
        who = message.said.seat or message.principal or bare(asked[0])
        return message.ontology, who, message.conversation_id
    return asked


def _may_run_again(job: Job, row: Logged) -> bool:
    if row.is_erased:
        return False
    if row.answer is None:
        return job.effect is not Effect.ONCE
    is_asked_anew = job.request.reply_by != row.reply_by
    is_unharmed = row.answer.performative in _NOTHING_CHANGED
    has_failed = row.answer.performative is Performative.FAILURE
    return is_asked_anew and (is_unharmed or (has_failed and job.effect is not Effect.ONCE))


def _why_stopped(job: Job, error: BaseException) -> BaseException:
    task = asyncio.current_task()
    if isinstance(error, SpadeLLMError) or (task and task.cancelling()):
        return error
    if job.cancelled is not None or isinstance(error, asyncio.CancelledError):
        return job.cancelled or Cancelled("it was cancelled")
    is_late = job.scope is not None and job.scope.expired()
    return Failure("it took longer than its deadline") if is_late else error


def _bounded(content: str) -> str:
    if len(content.encode()) > MAX_BODY_BYTES:
        raise Failure(f"the answer has over {MAX_BODY_BYTES} bytes; ask for less")
    return content


def _error(message: AclMessage, error: SpadeLLMError) -> AclMessage:
    """The family decides the performative."""
    return message.reply(_performative(error), _content(message, error))


def _content(message: AclMessage, error: SpadeLLMError) -> str:
    """Only errors written for peers show their text; people get it as a plain sentence."""
    detail = _detail(error)
    if message.ontology == CHAT_TEXT:
        return _sentence(detail)
    retry_after_s = error.retry_after if isinstance(error, RateLimited) else None
    body = ErrorBody(code=error.code, detail=_sentence(detail), retry_after_s=retry_after_s)
    return body.encode()


_PUBLIC_DETAIL = "something went wrong here; it has been logged"


def _detail(error: SpadeLLMError) -> str:
    if isinstance(error, ModelError):
        return error.told
    return str(error) if isinstance(error, ServiceError | ProtocolError) else _PUBLIC_DETAIL


def _sentence(detail: str) -> str:
    """Bounded, and text in any encoding: an error must never fail to be answered."""
    return detail[:MAX_DETAIL].encode(errors="replace").decode()


def _performative(error: SpadeLLMError) -> Performative:
    if isinstance(error, ProtocolError):
        return Performative.NOT_UNDERSTOOD
    return Performative.REFUSE if isinstance(error, Refusal) else Performative.FAILURE
