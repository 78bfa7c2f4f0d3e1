"""Talking to an assistant: `chat` (a person's plain text) and `spade-llm.chat/1` (programs).

Both reach the same handler; only programs get the answer in parts and with its sources.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import aclosing, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Self

from pydantic import Field

from spade_llm.acl import CHAT_TEXT, Body
from spade_llm.errors import RequestError
from spade_llm.runtime import Effect, Request, Route, fingerprint
from spade_llm.services.service import Peer, Service

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    from spade_llm.acl import AclMessage
    from spade_llm.runtime import Dispatcher, Requester

ONTOLOGY = "spade-llm.chat/1"
TURN_TIMEOUT_S = 180.0
PART_EVERY_S = 0.05
"""A model's tokens come one by one; a stanza for each would cost more than the model."""


class Say(Body):
    op: ClassVar[str] = "say"
    text: str = Field(min_length=1)


class Delta(Body):
    """A part of the answer's text, in order."""

    text: str


class Reply(Body):
    """The whole answer, and what it was built from."""

    text: str
    sources: tuple[str, ...] = ()
    """Documents that were quoted to the model, as `source#chunk`."""
    missing: tuple[str, ...] = ()
    """Services that could not be asked: `memory`, `documents`, `tools`."""
    prompt_tokens: int = 0
    completion_tokens: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Utterance:
    """What somebody said, and how to say something back while the answer is made."""

    id: str
    peer: str
    """Bare JID of who said it."""
    conversation: str
    """The peer, and the thread if the client sent one."""
    text: str
    message: AclMessage
    on_delta: Callable[[str], Awaitable[None]] | None = None
    """Takes the answer's text in pieces; None for people's clients."""


ChatHandler = Callable[[Utterance], Awaitable[Reply]]


class ChatService:
    def __init__(self, handler: ChatHandler) -> None:
        self._handler = handler

    def attach(self, dispatcher: Dispatcher) -> None:
        text = Route(handler=self._answer_text, effect_of=lambda _message: Effect.RESUME)
        dispatcher.route(CHAT_TEXT, text)
        service = Service(ONTOLOGY)
        service.on(Say, self._answer_program, effect=Effect.RESUME)
        service.attach(dispatcher)

    async def _answer_text(self, request: Request) -> str:
        reply = await self._handler(_utterance(request.message, request.message.content))
        return reply.text

    async def _answer_program(self, request: Request, body: Say) -> Reply:
        async with _Parts(request) as parts:
            return await self._handler(_utterance(request.message, body.text, parts.add))


class _Parts:
    """Sends the first piece of an answer at once and later ones together, every PART_EVERY_S."""

    def __init__(self, request: Request) -> None:
        self._request = request
        self._waiting: list[str] = []
        self._flusher: asyncio.Task[None] | None = None

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._flusher is not None:
            self._flusher.cancel()
            await asyncio.wait([self._flusher])
        await self._flush()

    async def add(self, text: str) -> None:
        self._waiting.append(text)
        if self._flusher is None or self._flusher.done():
            await self._flush()
            self._flusher = asyncio.create_task(self._flush_later())

    async def _flush_later(self) -> None:
        await asyncio.sleep(PART_EVERY_S)
        await self._flush()

    async def _flush(self) -> None:
        if self._waiting:
            text = "".join(self._waiting)
            self._waiting.clear()
            # A part that cannot leave is no loss: the terminal answer repeats the whole text.
            with suppress(RequestError):
                await self._request.part(Delta(text=text).encode())


def _utterance(
    message: AclMessage,
    text: str,
    on_delta: Callable[[str], Awaitable[None]] | None = None,
) -> Utterance:
    thread = f"#{message.conversation_id}" if message.conversation_id else ""
    return Utterance(
        # Some clients use an id again for another text: together they tell one utterance.
        id=f"{message.reply_with}.{fingerprint(message)[:12]}",
        peer=message.owner,
        conversation=message.owner + thread,
        text=text,
        message=message,
        on_delta=on_delta,
    )


class ChatClient:
    """Says things to an assistant, as a program does."""

    def __init__(
        self, requester: Requester, jid: str, *, timeout_s: float = TURN_TIMEOUT_S
    ) -> None:
        self._peer = Peer(requester, jid, ONTOLOGY, timeout_s=timeout_s)

    async def say(self, text: str, *, conversation_id: str = "") -> Reply:
        """The whole answer. Raises RequestError."""
        return await self._peer.ask(Say(text=text), Reply, conversation_id=conversation_id)

    async def stream(
        self, text: str, *, conversation_id: str = ""
    ) -> AsyncGenerator[Delta | Reply]:
        """Deltas in order, then the Reply. Leaving early stops the turn. Raises RequestError."""
        answers = self._peer.stream(Say(text=text), conversation_id=conversation_id)
        async with aclosing(answers):
            async for message in answers:
                yield (Reply if message.is_terminal else Delta).decode(message.content)
