"""Brings a request to its handler and its one answer back. Knows no service and no network.

In order within a conversation, concurrent across conversations, bounded in both; what does not
fit is refused as busy at once. The one error boundary of the project is here.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from enum import Enum, auto
from typing import TYPE_CHECKING

from spade_llm.acl import CHAT_TEXT, AclMessage, ErrorBody, Performative, bare
from spade_llm.errors import (
    Busy,
    Cancelled,
    DeadlinePassed,
    Failure,
    Interrupted,
    ProtocolError,
    Refusal,
    RequestError,
    ServiceError,
    SpadeLLMError,
    StorageFailed,
    UnknownOntology,
)

if TYPE_CHECKING:
    from collections.abc import Coroutine, Hashable

    from spade_llm.runtime.answer_log import AnswerLog, Logged
    from spade_llm.runtime.transport import Send

logger = logging.getLogger(__name__)

CLOCK_SKEW = timedelta(seconds=30)
"""How far a requester's clock may be behind ours before its deadlines are taken at their word."""
MAX_TIME_S = 600.0
"""A handler without a deadline from its requester is stopped after this."""


class Effect(Enum):
    """What running a handler twice would do."""

    READ = auto()
    """Nothing: a repeated request simply runs again."""
    WRITE = auto()
    """Nothing more (the handler is idempotent by the request's id); the answer is remembered."""
    RESUME = auto()
    """Like WRITE, and taken up again by itself when the process died while it ran."""
    ONCE = auto()
    """Harm: after the process died while it ran, the request fails as `interrupted`."""


@dataclass(frozen=True, slots=True)
class Request:
    """One request as its handler sees it."""

    message: AclMessage
    _send: Send
    _parts: list[int] = field(default_factory=lambda: [0])

    async def part(self, content: str) -> None:
        """Send the next part of a stream."""
        number = self._parts[0]
        self._parts[0] += 1
        await self._send(self.message.reply(Performative.INFORM, content, sequence=number))

    async def agree(self) -> None:
        """Say that the answer will take longer than half of the deadline."""
        await self._send(self.message.reply(Performative.AGREE, ""))


Handler = Callable[[Request], Awaitable[str]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Route:
    """How requests of one ontology are served."""

    handler: Handler
    effect_of: Callable[[AclMessage], Effect]


@dataclass(frozen=True, slots=True, kw_only=True)
class Load:
    """How busy a dispatcher is."""

    running: int
    queued: int


class Dispatcher:
    def __init__(
        self,
        send: Send,
        log: AnswerLog,
        *,
        max_queued: int = 10_000,
        max_per_conversation: int = 64,
        max_running: int = 512,
    ) -> None:
        self._send = send
        self._log = log
        self._max_queued = max_queued
        self._max_per_conversation = max_per_conversation
        self._slots = asyncio.Semaphore(max_running)
        self._routes: dict[str, Route] = {}
        self._lanes: dict[Hashable, deque[AclMessage]] = {}
        self._open: set[tuple[str, str]] = set()
        self._running: dict[tuple[str, str], asyncio.Task[AclMessage]] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._is_closing = False

    def route(self, ontology: str, route: Route) -> None:
        self._routes[ontology] = route

    def speaks(self, ontology: str) -> bool:
        return ontology in self._routes

    @property
    def load(self) -> Load:
        return Load(running=len(self._running), queued=len(self._open) - len(self._running))

    def receive(self, message: AclMessage) -> None:
        """Accept one request or cancel; anything else is ignored. Never blocks, never raises."""
        if message.performative is Performative.CANCEL:
            self._cancel(message)
        elif message.performative is Performative.REQUEST:
            self._accept(message)

    async def resume(self) -> None:
        """Take up what a killed process left unfinished: call once, when connected."""
        for request in await self._log.unfinished():
            if self._effect(request) is Effect.RESUME:
                self._accept(request)

    async def resend(self) -> None:
        """Send people the answers that could not leave: call after each connection."""
        for answer in await self._log.unsent():
            if answer.ontology == CHAT_TEXT and _asked(answer) not in self._open:
                await self._deliver(answer)

    async def close(self, *, patience_s: float = 10.0) -> None:
        """Refuse what comes, let what runs end within `patience_s`, then cancel it."""
        self._is_closing = True
        if self._tasks:
            await asyncio.wait(self._tasks, timeout=patience_s)
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def _accept(self, message: AclMessage) -> None:
        if _id(message) in self._open:
            return
        key = _conversation(message)
        lane = self._lanes.get(key)
        if self._is_full(lane):
            self._spawn(self._deliver(_error(message, Busy("too many requests; ask again later"))))
            return
        self._open.add(_id(message))
        if lane is None:
            lane = self._lanes[key] = deque()
            self._spawn(self._serve_lane(key, lane))
        lane.append(message)

    def _is_full(self, lane: deque[AclMessage] | None) -> bool:
        is_lane_full = lane is not None and len(lane) >= self._max_per_conversation
        return self._is_closing or is_lane_full or len(self._open) >= self._max_queued

    async def _serve_lane(self, key: Hashable, lane: deque[AclMessage]) -> None:
        """One conversation's messages, one after the other."""
        try:
            while lane:
                async with self._slots:
                    await self._serve(lane[0])
                self._open.discard(_id(lane.popleft()))
        finally:
            self._open.difference_update(_id(message) for message in lane)
            del self._lanes[key]

    async def _serve(self, message: AclMessage) -> None:
        if not self.speaks(message.ontology):
            reason = UnknownOntology(f"unknown ontology {message.ontology!r}")
            await self._deliver(_error(message, reason))
        elif self._effect(message) is Effect.READ:
            await self._deliver(await self._run(message))
        else:
            await self._serve_once(message)

    async def _serve_once(self, message: AclMessage) -> None:
        """Answer a request that changes something: whoever asks again gets the same answer."""
        try:
            row = await self._log.find(message)
            if row is None:
                await self._log.start(message)
            if row is None or self._may_run_again(message, row):
                answer = await self._run(message)
                await self._log.finish(message, answer)
            else:
                answer = row.answer or _error(message, _INTERRUPTED)
        except StorageFailed as error:
            answer = _error(message, error)
        if row is None or not row.is_erased:
            await self._deliver(answer)

    def _may_run_again(self, message: AclMessage, row: Logged) -> bool:
        is_open = row.answer is None and not row.is_erased
        return is_open and self._effect(message) is not Effect.ONCE

    async def _run(self, message: AclMessage) -> AclMessage:
        """The handler's answer. A task of its own, so that a cancel stops this request only."""
        task = self._running[_id(message)] = asyncio.create_task(self._answer(message))
        try:
            await asyncio.wait([task])
        except asyncio.CancelledError:
            task.cancel()
            raise
        finally:
            del self._running[_id(message)]
        return _error(message, Cancelled("it was cancelled")) if task.cancelled() else task.result()

    async def _answer(self, message: AclMessage) -> AclMessage:
        """The error boundary: every request gets exactly one answer, and no peer our internals."""
        try:
            async with asyncio.timeout(_time_left_s(message)):
                request = Request(message, self._send)
                content = await self._routes[message.ontology].handler(request)
        except SpadeLLMError as error:
            logger.info("conversation %s: %s", message.conversation_id, error)
            return _error(message, error)
        except TimeoutError:
            return _error(message, Failure("it took longer than its deadline"))
        except Exception:
            logger.exception("conversation %s: the handler failed", message.conversation_id)
            return _error(message, SpadeLLMError())
        return message.reply(Performative.INFORM, content)

    async def _deliver(self, answer: AclMessage) -> None:
        try:
            await self._send(answer)
        except RequestError as error:
            logger.warning("an answer to %s waits for a retry: %s", answer.receiver, error)
            return
        if answer.ontology == CHAT_TEXT:
            await self._erase(answer)

    async def _erase(self, answer: AclMessage) -> None:
        try:
            await self._log.erase(answer)
        except StorageFailed as error:
            logger.warning(
                "an answer to %s could not be marked as sent: %s", answer.receiver, error
            )

    def _effect(self, message: AclMessage) -> Effect:
        route = self._routes.get(message.ontology)
        return route.effect_of(message) if route else Effect.READ

    def _cancel(self, message: AclMessage) -> None:
        if task := self._running.get((message.sender, message.in_reply_to)):
            task.cancel()

    def _spawn(self, work: Coroutine[object, object, None]) -> None:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)


_INTERRUPTED = Interrupted("it was interrupted, and is not run twice")


def _id(message: AclMessage) -> tuple[str, str]:
    return message.sender, message.reply_with


def _asked(answer: AclMessage) -> tuple[str, str]:
    """The id of the request that this answers."""
    return answer.receiver, answer.in_reply_to


def _conversation(message: AclMessage) -> Hashable:
    """What keeps messages in order: a person's chat, or a peer's conversation; else nothing."""
    if message.ontology == CHAT_TEXT or message.conversation_id:
        return message.ontology, bare(message.sender), message.conversation_id
    return _id(message)


def _time_left_s(message: AclMessage) -> float:
    if message.reply_by is None:
        return MAX_TIME_S
    left = message.reply_by + CLOCK_SKEW - datetime.now(UTC)
    if left <= timedelta(0):
        raise DeadlinePassed("reply-by was over before the request could be started")
    return min(MAX_TIME_S, left.total_seconds())


def _error(message: AclMessage, error: SpadeLLMError) -> AclMessage:
    """The family decides the performative; only errors written for peers show their text."""
    detail = str(error) if isinstance(error, ServiceError | ProtocolError) else _PUBLIC_DETAIL
    if message.ontology == CHAT_TEXT:
        return message.reply(_performative(error), detail)
    body = ErrorBody(code=error.code, detail=detail)
    return message.reply(_performative(error), body.encode())


_PUBLIC_DETAIL = "something went wrong here; it has been logged"


def _performative(error: SpadeLLMError) -> Performative:
    if isinstance(error, ProtocolError):
        return Performative.NOT_UNDERSTOOD
    return Performative.REFUSE if isinstance(error, Refusal) else Performative.FAILURE
