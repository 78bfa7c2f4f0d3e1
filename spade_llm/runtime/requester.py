"""Asks another agent and waits for its one answer. Knows ids and deadlines, no service."""

from __future__ import annotations

import asyncio
import logging
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from spade_llm.acl import AclMessage, Encoding, Performative, bare, new_id
from spade_llm.acl.body import read_error
from spade_llm.errors import (
    PeerUnavailable,
    RequestError,
    RequestFailed,
    RequestNotUnderstood,
    RequestRefused,
    RequestTimeout,
)

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, AsyncIterator

    from spade_llm.runtime.transport import Bounce, Send

logger = logging.getLogger(__name__)

_ERROR_OF = {
    Performative.REFUSE: RequestRefused,
    Performative.FAILURE: RequestFailed,
    Performative.NOT_UNDERSTOOD: RequestNotUnderstood,
}
FIRST_RETRY_S = 2.0
"""Silence after which the same id is sent again; doubles each time."""
MAX_RETRY_S = 15.0
MAX_PARTS = 4096
"""Unread parts of one stream; a peer that sends more is cut off."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """One request, before it is addressed and timed."""

    peer: str
    ontology: str
    content: str
    conversation_id: str = ""
    id: str = field(default_factory=new_id)
    """Equal ids get equal answers; give your own to make a request repeatable across restarts."""
    language: str = "json"
    encoding: Encoding = Encoding.ACL


@dataclass(slots=True)
class _Pending:
    peer: str
    inbox: asyncio.Queue[AclMessage | RequestError]
    is_agreed: bool = False
    parts_seen: int = 0


class Requester:
    """At most `max_pending` questions are open at a time; one more is refused here."""

    def __init__(self, send: Send, *, max_pending: int = 4096) -> None:
        self._send = send
        self._max_pending = max_pending
        self._pending: dict[str, _Pending] = {}
        self._cancels: set[asyncio.Task[None]] = set()

    async def close(self) -> None:
        """Wait until the peers of abandoned requests were told; bounded by FIRST_RETRY_S."""
        await asyncio.gather(*self._cancels)

    async def ask(self, question: Question, *, timeout_s: float) -> AclMessage:
        """The `inform` that answers the question.

        Raises:
            RequestRefused, RequestFailed, RequestNotUnderstood: the peer's terminal answer, or
                (refused, `busy`) too many questions are open here.
            PeerUnavailable: the server returned the request.
            RequestTimeout: no terminal answer within `timeout_s`.
        """
        async with self._open(question, timeout_s) as answers:
            async for answer in answers:
                if answer.is_terminal:
                    return answer
        raise AssertionError("unreachable: answers end with a terminal one or raise")

    async def stream(self, question: Question, *, timeout_s: float) -> AsyncIterator[AclMessage]:
        """The parts in order, each once, then the terminal `inform`. Raises as `ask`.

        Leaving the iteration early cancels the request at the peer.
        """
        async with self._open(question, timeout_s) as answers:
            async for answer in answers:
                yield answer

    def receive(self, message: AclMessage) -> bool:
        """Take an answer; False if no question of ours waits for it, from this peer."""
        pending = self._pending.get(message.in_reply_to)
        if pending is None or not _is_from(message.sender, pending.peer):
            return False
        if message.performative is Performative.AGREE:
            pending.is_agreed = True
        elif message.sequence is None or message.sequence == pending.parts_seen:
            pending.parts_seen += message.sequence is not None
            self._deliver(pending, message)
        return True

    def bounced(self, bounce: Bounce) -> bool:
        """Fail the question that the server returned; False if it is none of ours."""
        pending = self._pending.get(bounce.message_id)
        if pending is None:
            return False
        self._deliver(
            pending,
            PeerUnavailable(
                f"{pending.peer} cannot be reached: {bounce.condition}",
                peer=pending.peer,
                wire_code=bounce.condition,
            ),
        )
        return True

    @asynccontextmanager
    async def _open(
        self, question: Question, timeout_s: float
    ) -> AsyncIterator[AsyncIterator[AclMessage]]:
        self._admit(question)
        pending = _Pending(question.peer, asyncio.Queue(MAX_PARTS))
        request = _addressed(question, timeout_s)
        self._pending[request.reply_with] = pending
        answers = self._answers(request, pending, timeout_s)
        try:
            yield answers
        finally:
            await answers.aclose()
            del self._pending[request.reply_with]

    def _admit(self, question: Question) -> None:
        if len(self._pending) >= self._max_pending or question.id in self._pending:
            reason = "too many requests are open, or this one already is; ask again later"
            raise RequestRefused(reason, peer=question.peer, wire_code="busy")

    async def _answers(
        self, request: AclMessage, pending: _Pending, timeout_s: float
    ) -> AsyncGenerator[AclMessage]:
        is_over = False
        deadline = asyncio.get_running_loop().time() + timeout_s
        try:
            await self._send_in_time(request, deadline)
            while not is_over:
                answer = await self._next(request, pending, deadline)
                is_over = answer.is_terminal
                yield _checked(answer)
        except RequestError:
            is_over = True
            raise
        finally:
            if not is_over:
                self._cancel(request)

    async def _next(self, request: AclMessage, pending: _Pending, deadline: float) -> AclMessage:
        """The next answer, sending the same id again after each silence."""
        retry_s = FIRST_RETRY_S
        while True:
            left_s = deadline - asyncio.get_running_loop().time()
            if left_s <= 0:
                self._cancel(request)
                raise _timeout(request)
            try:
                async with asyncio.timeout(min(left_s, retry_s)):
                    answer = await pending.inbox.get()
            except TimeoutError:
                retry_s = min(retry_s * 2, MAX_RETRY_S)
                if not (pending.is_agreed or pending.parts_seen):
                    await self._send_in_time(request, deadline)
                continue
            if isinstance(answer, RequestError):
                raise answer
            return answer

    async def _send_in_time(self, request: AclMessage, deadline: float) -> None:
        try:
            async with asyncio.timeout_at(deadline):
                await self._send(request)
        except TimeoutError:
            raise _timeout(request) from None

    def _deliver(self, pending: _Pending, answer: AclMessage | RequestError) -> None:
        if pending.inbox.full():
            pending.inbox.get_nowait()
            answer = RequestFailed(f"{pending.peer} sent too many parts", peer=pending.peer)
        pending.inbox.put_nowait(answer)

    def _cancel(self, request: AclMessage) -> None:
        """Tell the peer that nobody waits any more; nobody waits for that either."""
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
            encoding=request.encoding,
        )
        try:
            async with asyncio.timeout(FIRST_RETRY_S):
                await self._send(cancel)
        except (RequestError, TimeoutError):
            logger.debug("cancel of %s could not be sent", request.reply_with)


def _addressed(question: Question, timeout_s: float) -> AclMessage:
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
    )


def _is_from(sender: str, peer: str) -> bool:
    return sender == peer or bare(sender) == peer


def _checked(answer: AclMessage) -> AclMessage:
    """The answer itself if it is an inform; otherwise the error it stands for."""
    if answer.performative is Performative.INFORM:
        return answer
    code, detail = read_error(answer.content)
    raise _ERROR_OF[answer.performative](
        detail or code,
        peer=answer.sender,
        conversation_id=answer.conversation_id,
        wire_code=code,
    )


def _timeout(request: AclMessage) -> RequestTimeout:
    return RequestTimeout(
        f"{request.receiver} did not answer in time",
        peer=request.receiver,
        conversation_id=request.conversation_id,
    )
