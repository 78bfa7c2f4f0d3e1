"""Requester: requests to another agent: retries with back-off, deadlines, streaming, cancel; Node:
an agent's requester and dispatcher."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Protocol

from spade_llm.core import tracing
from spade_llm.core.concurrency import async_no_op
from spade_llm.core.errors import (
    PeerUnavailable,
    ProtocolError,
    RequestError,
    RequestFailed,
    RequestRefused,
    RequestTimeout,
)
from spade_llm.messaging import TERMINAL, AclMessage, Encoding, Performative, bare, new_id, peek_op
from spade_llm.messaging.body import (
    ERROR_BY_PERFORMATIVE,
    is_error_source,
    read_error,
    unavailable_error,
    unsendable_error,
)
from spade_llm.messaging.dispatcher import Dispatcher, DispatcherLimits
from spade_llm.messaging.message import STABLE_ID_PREFIX

if TYPE_CHECKING:
    from spade_llm.core.tracing import Tracer
    from spade_llm.messaging.answer_log import AnswerLog
    from spade_llm.messaging.transport import Bounce, Send

logger = logging.getLogger(__name__)

FIRST_RETRY_S = 0.8
"""Silence after which the same id is sent again; doubles each time."""
MAX_SILENCE_S = 5.0
"""Maximum retry interval for a peer that has not responded yet: it may just have reconnected."""
# After a part or an `agree` only the answer can have been lost: that is not urgent.
MAX_RETRY_S = 15.0
CANCEL_S = 2.0
"""Time limit for sending a cancel."""
MAX_PARTS = 4096
"""Unread parts of one stream; a peer that sends more is cut off."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OutgoingRequest:
    """Request without its sender and deadline."""

    peer: str
    ontology: str
    content: str
    conversation_id: str = ""
    id: str = field(default_factory=new_id)
    """Equal ids get equal answers; give your own to make a request repeatable across restarts."""
    language: str = "json"
    encoding: Encoding = Encoding.ACL
    is_news: bool = False
    """Parts are independent, such as progress reports: parts after a lost one, or of a peer that
    restarted, are accepted too."""
    acts_for: str = ""
    """Bare JID for which a gateway asks; empty: the request is our own."""


_Answer = AclMessage | RequestError


@dataclass(slots=True, eq=False)
class _Pending:
    request: AclMessage
    deadline: float
    """Deadline on the event loop's clock."""
    inbox: asyncio.Queue[_Answer]
    is_news: bool = False
    is_over: bool = False
    """True once the request has ended, so that no cancel is sent."""
    is_agreed: bool = False
    parts_seen: int = 0

    @property
    def is_at_work(self) -> bool:
        """The peer has shown that it has the request."""
        return self.is_agreed or self.parts_seen > 0

    def expects(self, sequence: int) -> bool:
        return self.is_news or sequence == self.parts_seen


class RequestSender(Protocol):
    """The part of a Requester that clients of services need."""

    async def ask(self, question: OutgoingRequest, *, timeout_s: float) -> AclMessage:
        """Send a request and return its answer. Raises RequestError."""

    def stream(self, question: OutgoingRequest, *, timeout_s: float) -> AsyncGenerator[AclMessage]:
        """Send a request; yield its intermediate answers and the last one. Raises
        RequestError."""


class Requester:
    """Sends requests to other agents; more than `max_pending` open ones are refused here."""

    def __init__(
        self, send: Send, *, max_pending: int = 4096, first_retry_s: float = FIRST_RETRY_S
    ) -> None:
        self._send = send
        self._max_pending = max_pending
        self._first_retry_s = first_retry_s
        self._pending: dict[str, _Pending] = {}
        self._cancels: set[asyncio.Task[None]] = set()
        self.is_closing: Callable[[], bool] = lambda: False
        """True while the agent stops: what it interrupts is resumed at its next start."""

    async def close(self) -> None:
        """Wait until the cancels of abandoned requests are sent, at most CANCEL_S."""
        await asyncio.gather(*self._cancels)

    async def ask(self, question: OutgoingRequest, *, timeout_s: float) -> AclMessage:
        """The `inform` that answers the question.

        Raises:
            RequestRefused, RequestFailed, RequestNotUnderstood: the peer's terminal answer, or
                refused here: `busy`, too many questions are open; `malformed`, too large to send.
            PeerUnavailable: the server returned the request.
            RequestTimeout: no terminal answer within `timeout_s`.
        """
        with self._open(question, timeout_s) as pending:
            await self._send_in_time(pending)
            while not (answer := await self._next(pending)).is_terminal:
                continue
            return answer

    async def stream(
        self, question: OutgoingRequest, *, timeout_s: float
    ) -> AsyncGenerator[AclMessage]:
        """The parts in order, each once, then the terminal `inform`. Raises as `ask`.

        A lost part ends the parts, not the stream: what follows it is left out (unless the
        question `is_news`), and the terminal answer repeats the whole. Leaving the iteration early
        cancels the request at the peer: at once inside `contextlib.aclosing`, else when Python
        collects the generator.
        """
        with self._open(question, timeout_s) as pending:
            await self._send_in_time(pending)
            answer = None
            while answer is None or not answer.is_terminal:
                answer = await self._next(pending)
                yield answer

    def receive(self, message: AclMessage) -> bool:
        """Accept an answer; False if no open request expects it from this peer."""
        pending = self._pending.get(message.in_reply_to)
        if pending is None or not _is_answer(message, pending.request.receiver):
            return False
        if message.performative is Performative.AGREE:
            pending.is_agreed = True
        elif message.sequence is None or pending.expects(message.sequence):
            pending.parts_seen += message.sequence is not None
            pending.is_over = pending.is_over or message.is_terminal
            _deliver(pending, message)
        return True

    def bounced(self, bounce: Bounce) -> bool:
        """Fail the request that the server returned; False if it is not one of ours."""
        pending = self._pending.get(bounce.message_id)
        if pending is None or not is_error_source(bounce.peer, pending.request.receiver):
            return False
        pending.is_over = True
        _deliver(pending, unavailable_error(pending.request, bounce.condition))
        return True

    async def send_again(self) -> None:
        """Resend all open requests after a reconnect, because the lost connection may have lost
        them: no request has to wait for its next retry. Peers recognize a request by its id."""
        # A copy: requests begin and end while one is being sent.
        for pending in tuple(self._pending.values()):
            try:
                await self._send(pending.request)
            except PeerUnavailable:
                return  # lost again: the next connection begins anew
            except ProtocolError:
                continue  # its asker is told

    @contextmanager
    def _open(self, question: OutgoingRequest, timeout_s: float) -> Iterator[_Pending]:
        if len(self._pending) >= self._max_pending or question.id in self._pending:
            reason = "too many requests are open, or this one already is; ask again later"
            raise RequestRefused(reason, peer=question.peer, wire_code="busy")
        deadline = asyncio.get_running_loop().time() + timeout_s
        # Detached, because this block is held open across the `yield` of `stream`.
        with tracing.detached_span(question.ontology, tracing.SpanKind.CLIENT) as span:
            request, inbox = (
                _addressed(question, timeout_s, span),
                asyncio.Queue[_Answer](MAX_PARTS),
            )
            pending = _Pending(request, deadline, inbox, is_news=question.is_news)
            self._pending[question.id] = pending
            try:
                yield pending
            finally:
                del self._pending[question.id]
                # Left early, by an error or by the caller: the peer need not go on with it. A
                # resumed request repeats those with a stable id, and needs their answers.
                is_repeated = question.id.startswith(STABLE_ID_PREFIX) and self.is_closing()
                if not (pending.is_over or is_repeated):
                    self._cancel(pending.request)

    async def _next(self, pending: _Pending) -> AclMessage:
        """The next answer, sending the same id again after each silence."""
        retry_s = MAX_RETRY_S if pending.is_at_work else self._first_retry_s
        while True:
            silence_ends = asyncio.get_running_loop().time() + retry_s
            try:
                async with asyncio.timeout_at(min(pending.deadline, silence_ends)):
                    answer = await pending.inbox.get()
            except TimeoutError:
                if asyncio.get_running_loop().time() >= pending.deadline:
                    raise _timeout(pending.request) from None
                # A peer that is working is asked at longer intervals: its answer may be lost, but
                # is not urgent.
                if retry_s >= MAX_RETRY_S or not pending.is_at_work:
                    await self._send_in_time(pending)
                retry_s = MAX_RETRY_S if pending.is_at_work else min(retry_s * 2, MAX_SILENCE_S)
            else:
                return _checked(answer)

    async def _send_in_time(self, pending: _Pending) -> None:
        try:
            async with asyncio.timeout_at(pending.deadline):
                await self._send(pending.request)
        except TimeoutError:
            raise _timeout(pending.request) from None
        except ProtocolError as error:
            pending.is_over = True
            raise unsendable_error(pending.request, error) from error

    def _cancel(self, request: AclMessage) -> None:
        """Send the peer a cancel in the background."""
        task = asyncio.create_task(self._send_cancel(request))
        self._cancels.add(task)
        task.add_done_callback(self._cancels.discard)

    async def _send_cancel(self, request: AclMessage) -> None:
        cancel = AclMessage(
            performative=Performative.CANCEL,
            sender=request.sender,
            receiver=request.receiver,
            content="",
            ontology=request.ontology,
            conversation_id=request.conversation_id,
            in_reply_to=request.reply_with,
            acts_for=request.acts_for,
            encoding=request.encoding,
        )
        try:
            async with asyncio.timeout(CANCEL_S):
                await self._send(cancel)
        except (RequestError, TimeoutError):
            logger.debug("cancel of %s could not be sent", request.reply_with)


class PrincipalRequester:
    """RequestSender for one principal, a bare JID: the requester of a gateway."""

    def __init__(self, requester: RequestSender, principal: str) -> None:
        self._requester = requester
        self._principal = principal

    async def ask(self, question: OutgoingRequest, *, timeout_s: float) -> AclMessage:
        """Send a request for the principal; see Requester.ask."""
        question = replace(question, acts_for=self._principal)
        return await self._requester.ask(question, timeout_s=timeout_s)

    def stream(self, question: OutgoingRequest, *, timeout_s: float) -> AsyncGenerator[AclMessage]:
        """Stream a request for the principal; see Requester.stream."""
        question = replace(question, acts_for=self._principal)
        return self._requester.stream(question, timeout_s=timeout_s)


def _addressed(question: OutgoingRequest, timeout_s: float, span: tracing.Span) -> AclMessage:
    if span.is_recorded:
        span.rename(f"{question.ontology} {peek_op(question.content)}".strip())
        span.quote({"server.address": question.peer})
    return AclMessage(
        performative=Performative.REQUEST,
        sender="",
        receiver=question.peer,
        content=question.content,
        ontology=question.ontology,
        language=question.language,
        encoding=question.encoding,
        conversation_id=question.conversation_id,
        reply_with=question.id,
        reply_by=datetime.now(UTC) + timedelta(seconds=timeout_s),
        trace_parent=span.trace_parent,
        acts_for=question.acts_for,
    )


def _is_answer(message: AclMessage, peer: str) -> bool:
    # A request to a bare JID is answered from a full one. Ids can be guessed or overheard: an
    # answer from another sender is not taken.
    is_from_peer = message.sender == peer or bare(message.sender) == peer
    return is_from_peer and (
        message.performative in TERMINAL or message.performative is Performative.AGREE
    )


def _deliver(pending: _Pending, answer: AclMessage | RequestError) -> None:
    if pending.inbox.full():
        # One part makes room for the error: `receive` must neither raise nor wait.
        pending.inbox.get_nowait()
        peer = pending.request.receiver
        answer = RequestFailed(f"{peer} sent more parts than were read", peer=peer)
    pending.inbox.put_nowait(answer)


def _checked(answer: AclMessage | RequestError) -> AclMessage:
    """The answer itself if it is an inform; otherwise the error it stands for."""
    if isinstance(answer, RequestError):
        raise answer
    if answer.performative is Performative.INFORM:
        return answer
    body = read_error(answer.content)
    raise ERROR_BY_PERFORMATIVE[answer.performative](
        body.detail or body.code,
        peer=answer.sender,
        conversation_id=answer.conversation_id,
        wire_code=body.code,
        retry_after_s=body.retry_after_s,
    )


def _timeout(request: AclMessage) -> RequestTimeout:
    return RequestTimeout(
        f"{request.receiver} did not answer in time",
        peer=request.receiver,
        conversation_id=request.conversation_id,
    )


class ReplyListener(Protocol):
    """Listener for replies, which do not become requests. Its methods neither block nor raise."""

    def receive(self, message: AclMessage) -> bool:
        """Accept the message. False: it is not for this listener."""

    def bounced(self, bounce: Bounce) -> bool:
        """Handle a returned message. False: this listener did not send it."""


ConfirmSent = Callable[[], Awaitable[None]]
"""Returns once our server has read all that was sent; what it returns at once has come by then."""


class Node:
    """Receiver of an agent: asks through `requester`, answers through `dispatcher`."""

    def __init__(
        self,
        send: Send,
        log: AnswerLog,
        *,
        limits: DispatcherLimits | None = None,
        first_retry_s: float = FIRST_RETRY_S,
        tracer: Tracer | None = None,
        confirm: ConfirmSent = async_no_op,
    ) -> None:
        self.requester = Requester(send, first_retry_s=first_retry_s)
        self.dispatcher = Dispatcher(send, log, limits=limits, tracer=tracer)
        self.requester.is_closing = lambda: self.dispatcher.is_closing
        self.askers: list[ReplyListener] = [self.requester]
        """Asked in this order whether a message is for them."""
        self.confirm = confirm

    def receive(self, message: AclMessage) -> None:
        # First of all: whatever follows reads the owner of the message.
        known = self.dispatcher.identified(message)
        if known is not None and not self.is_awaited(known):
            self.dispatcher.receive(known)

    def is_awaited(self, message: AclMessage) -> bool:
        """Give the message to the listener that waits for it. False: there is none."""
        return any(asker.receive(message) for asker in self.askers)

    def bounced(self, bounce: Bounce) -> None:
        for asker in self.askers:
            if asker.bounced(bounce):
                return

    async def close(self, *, patience_s: float = 10.0) -> None:
        """Close the dispatcher (see `Dispatcher.close`), then the requester."""
        # In this order: handlers that are cancelled leave questions of theirs to be cancelled.
        await self.dispatcher.close(patience_s=patience_s)
        await self.requester.close()
