"""Conversations verbatim, of `spade-llm.memory/1`: bodies, handlers and client."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from spade_llm.acl import Empty
from spade_llm.memory.limits import MAX_ROWS, check_number
from spade_llm.memory.store import ObservedMessage
from spade_llm.runtime import Effect
from spade_llm.services.memory_body import Count, MemoryBody
from spade_llm.services.service import fitting

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from spade_llm.acl import Body
    from spade_llm.runtime import Request
    from spade_llm.services.memory_body import StoreOf
    from spade_llm.services.service import Peer, Service


MAX_AT_ONCE = 40
"""Conversations that one request clears: their names fit into it, however long."""


class Observe(MemoryBody):
    op: ClassVar[str] = "observe"
    conversation: str
    messages: tuple[ObservedMessage, ...]
    subject: str | None = None


class History(MemoryBody):
    op: ClassVar[str] = "history"
    conversation: str
    limit: int = 50
    before: str | None = None
    """None: the latest. A memory of version 0.1.0 gives them whatever stands here."""


class CloseConversation(MemoryBody):
    op: ClassVar[str] = "close_conversation"
    conversation: str


class Retract(MemoryBody):
    op: ClassVar[str] = "retract"
    conversation: str
    ids: tuple[str, ...]


class ClearMessages(MemoryBody):
    op: ClassVar[str] = "clear_messages"
    conversations: tuple[str, ...]


class EpisodeMessages(MemoryBody):
    op: ClassVar[str] = "episode_messages"
    id: str


class Messages(MemoryBody):
    messages: tuple[ObservedMessage, ...]
    left: int = 0
    """How many more were asked for that do not fit into one message."""

    @classmethod
    def of(cls, messages: Sequence[ObservedMessage], *, count: int) -> Messages:
        return cls(messages=tuple(messages), left=count - len(messages))


class HistoryService:
    def __init__(self, store_of: StoreOf, *, on_observed: Callable[[], None]) -> None:
        self._store = store_of
        self._on_observed = on_observed

    def attach(self, service: Service) -> None:
        service.on(Observe, self._observe, effect=Effect.WRITE)
        service.on(History, self._history)
        service.on(Retract, self._retract, effect=Effect.WRITE)
        service.on(CloseConversation, self._close, effect=Effect.WRITE)
        service.on(ClearMessages, self._clear, effect=Effect.WRITE)
        service.on(EpisodeMessages, self._episode)

    async def _observe(self, request: Request, body: Observe) -> Count:
        count = await self._store(request).observe(
            body.conversation, body.messages, subject=body.subject
        )
        self._on_observed()
        return Count(count=count)

    async def _history(self, request: Request, body: History) -> Body:
        store = self._store(request)
        messages = await store.history(body.conversation, limit=body.limit, before=body.before)
        count = len(messages)
        return fitting(messages[::-1], lambda some: Messages.of(some[::-1], count=count))

    async def _retract(self, request: Request, body: Retract) -> Count:
        return Count(count=await self._store(request).retract(body.conversation, body.ids))

    async def _close(self, request: Request, body: CloseConversation) -> Empty:
        await self._store(request).close_conversation(body.conversation)
        return Empty()

    async def _clear(self, request: Request, body: ClearMessages) -> Count:
        count = await self._store(request).clear_messages(body.conversations)
        self._on_observed()  # What was cleared is over, and can be learned from.
        return Count(count=count)

    async def _episode(self, request: Request, body: EpisodeMessages) -> Body:
        messages = await self._store(request).episode_messages(body.id)
        count = len(messages)
        return fitting(messages, lambda some: Messages.of(some, count=count))


class HistoryClient:
    """The same, asked of another agent."""

    def __init__(self, peer: Peer) -> None:
        self._peer = peer

    async def observe(
        self, conversation: str, messages: Sequence[ObservedMessage], *, subject: str | None = None
    ) -> int:
        body = Observe(conversation=conversation, messages=tuple(messages), subject=subject)
        return (await self._peer.ask(body, Count)).count

    async def history(
        self, conversation: str, *, limit: int = 50, before: str | None = None
    ) -> Sequence[ObservedMessage]:
        body = History(conversation=conversation, limit=limit, before=before)
        return (await self._peer.ask(body, Messages)).messages

    async def retract(self, conversation: str, ids: Sequence[str]) -> int:
        body = Retract(conversation=conversation, ids=tuple(ids))
        return (await self._peer.ask(body, Count)).count

    async def close_conversation(self, conversation: str) -> None:
        await self._peer.ask(CloseConversation(conversation=conversation), Empty)

    async def clear_messages(self, conversations: Sequence[str]) -> int:
        """More than MAX_AT_ONCE go in several requests, each a transaction of its own."""
        check_number("conversations", len(conversations), 0, MAX_ROWS)
        count = 0
        for start in range(0, len(conversations), MAX_AT_ONCE):
            some = tuple(conversations[start : start + MAX_AT_ONCE])
            count += (await self._peer.ask(ClearMessages(conversations=some), Count)).count
        return count

    async def episode_messages(self, id: str) -> Sequence[ObservedMessage]:
        return (await self._peer.ask(EpisodeMessages(id=id), Messages)).messages
