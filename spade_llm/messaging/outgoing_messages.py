"""Outgoing chat messages that an agent starts itself: notifications, and questions with replies.

The receiver may be a person, a plain SPADE agent, or one of our agents.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Coroutine, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial

from spade_llm.core.errors import ProtocolError, RequestError, RequestRefused, RequestTimeout
from spade_llm.core.limits import LruDict
from spade_llm.messaging import (
    CHAT_TEXT,
    AclMessage,
    Bounce,
    Encoding,
    Node,
    Performative,
    bare,
    new_id,
)
from spade_llm.messaging.body import (
    ERROR_BY_PERFORMATIVE,
    is_error_source,
    unavailable_error,
    unsendable_error,
)

logger = logging.getLogger(__name__)

MAX_OPEN = 1024
"""Maximum number of open questions; further ones are refused locally."""
MAX_CLOSED = 4096
"""Maximum number of closed questions and of sent messages that are remembered by id."""

SpawnTask = Callable[[Coroutine[object, object, None]], object]
"""Starts a background task and keeps a reference to it."""
OnBounce = Callable[[str], None]
"""Told the condition with which a server returned a message. Must not raise."""
_Key = tuple[str, str]
"""The bare JID that was asked, and a question's id or thread."""


def chat_message(
    to: str,
    text: str,
    *,
    thread: str = "",
    id: str | None = None,
    metadata: Mapping[str, str] | None = None,
) -> AclMessage:
    """Build a chat message: plain text, as chat clients send it; with `metadata`, in SPADE's form,
    which programs read and chat clients do not show."""
    return AclMessage(
        performative=Performative.REQUEST,
        sender="",
        receiver=to,
        content=text,
        ontology=CHAT_TEXT,
        conversation_id=thread,
        reply_with=id or new_id(),
        encoding=Encoding.PLAIN if metadata is None else Encoding.FORM,
        extra=dict(metadata or {}),
    )


@dataclass(slots=True, eq=False)
class _PendingQuestion:
    message: AclMessage
    answer: asyncio.Future[AclMessage] = field(default_factory=asyncio.Future)


@dataclass(slots=True, eq=False)
class _SentMessage:
    """Sent message, until it is known whether a server returned it."""

    peer: str
    on_return: OnBounce
    condition: str = ""


class OutgoingMessages:
    """Sends chat messages and questions; as a ReplyListener of its node, it receives replies."""

    def __init__(self, node: Node, *, max_open: int = MAX_OPEN, max_past: int = MAX_CLOSED) -> None:
        self._node = node
        self._max_open = max_open
        self._open: dict[_Key, _PendingQuestion] = {}
        self._past: LruDict[_Key, None] = LruDict(max_past)
        self._said: LruDict[str, _SentMessage] = LruDict(max_past)

    async def say(self, message: AclMessage, *, on_return: OnBounce | None = None) -> None:
        """Send a message, once for its id. Without a connection it is stored and sent later.

        `on_return` is told if a server returns it after this has ended.

        Raises:
            PeerUnavailable: our own server returned it at once.
            RequestRefused: it exceeds the maximum size of a message.
        """
        if self not in self._node.askers:
            # Not before the first message, as no reply can come earlier. After the requester, and
            # before the listeners that take messages which nothing waits for.
            self._node.askers.insert(1, self)
        # Noted before it is sent: a server may return it while `send` still waits.
        said = _SentMessage(message.receiver, lambda condition: None)
        self._said[message.reply_with] = said
        await self._send(message)
        await self._node.confirm()
        if said.condition:
            raise unavailable_error(message, said.condition)
        said.on_return = on_return or partial(
            logger.warning, "a message to %s was returned: %s", message.receiver
        )

    async def tell(self, message: AclMessage) -> None:
        """Send a message like `say`, but log a failure instead of raising it."""
        try:
            await self.say(message)
        except RequestError as error:
            logger.warning("no message could be sent to %s: %s", message.receiver, error)

    async def ask(self, message: AclMessage, *, timeout_s: float) -> AclMessage:
        """Ask a bare JID a question; return its reply to this message's id, or in its thread.

        The thread must belong to this question only: then a late or second reply is not mistaken
        for the reply to another question.

        Raises:
            PeerUnavailable: a server returned the question.
            RequestTimeout: no reply came within `timeout_s`.
            RequestRefused: too many questions are open, or the peer refused.
            RequestFailed, RequestNotUnderstood: the peer said so.
        """
        with self._opened(message) as question:

            def fail(condition: str) -> None:
                if not question.answer.done():
                    question.answer.set_exception(unavailable_error(message, condition))

            try:
                async with asyncio.timeout(timeout_s):
                    await self.say(message, on_return=fail)
                    return _checked(await question.answer)
            # Before TimeoutError, of which RequestTimeout is a subclass.
            except RequestError:
                raise
            except TimeoutError:
                raise RequestTimeout(
                    f"{message.receiver} did not answer within {timeout_s:g} s",
                    peer=message.receiver,
                    conversation_id=message.conversation_id,
                ) from None

    def receive(self, message: AclMessage) -> bool:
        if message.encoding is Encoding.ACL and message.ontology != CHAT_TEXT:
            return False  # A request of one of our agents.
        # Programs name the question's id; chat clients keep at most its thread.
        for name in filter(None, (message.in_reply_to, message.conversation_id)):
            key = message.owner, name
            if key in self._open:
                _take(self._open[key], message)
                return True
            if key in self._past:
                logger.info("ignoring a late answer of %s to %s", *key)
                return True
        return False

    def bounced(self, bounce: Bounce) -> bool:
        said = self._said.get(bounce.message_id)
        if said is None or not is_error_source(bounce.peer, said.peer):
            return False
        said.condition = bounce.condition
        said.on_return(bounce.condition)
        return True

    async def _send(self, message: AclMessage) -> None:
        try:
            await self._node.dispatcher.delivery.say(message)
        except ProtocolError as error:
            raise unsendable_error(message, error) from error

    @contextmanager
    def _opened(self, message: AclMessage) -> Iterator[_PendingQuestion]:
        peer = bare(message.receiver).lower()  # As servers write it.
        names = filter(None, (message.reply_with, message.conversation_id))
        keys = [(peer, name) for name in names]
        # A question is open under two keys, its id and its thread.
        if len(self._open) >= 2 * self._max_open or any(key in self._open for key in keys):
            reason = "too many questions are open, or this one already is; ask again later"
            raise RequestRefused(reason, peer=message.receiver, wire_code="busy")
        question = _PendingQuestion(message)
        self._open.update(dict.fromkeys(keys, question))
        try:
            yield question
        finally:
            for key in keys:
                del self._open[key]
                # A late answer is recognised by this, and does not become a request of its sender.
                self._past[key] = None


def _take(question: _PendingQuestion, message: AclMessage) -> None:
    """Accept the first whole answer; parts of a stream and `agree` do not count."""
    is_whole = message.sequence is None and message.performative not in _NO_ANSWER
    if is_whole and not question.answer.done():
        question.answer.set_result(message)


_NO_ANSWER = (Performative.AGREE, Performative.CANCEL)


def _checked(answer: AclMessage) -> AclMessage:
    error = ERROR_BY_PERFORMATIVE.get(answer.performative)
    if error is not None:
        raise error(answer.content, peer=answer.sender, conversation_id=answer.conversation_id)
    return answer
