"""Remote conversation history: verbatim messages stored, paged, retracted and cleared."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from spade_llm.memory.contract import ObservedMessage
from spade_llm.memory.remote_protocol import MemoryBody, MemoryCount
from spade_llm.memory.validation import MAX_ROWS, check_number
from spade_llm.messaging import Empty, Idempotency
from spade_llm.messaging.rpc import truncated_to_message

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from spade_llm.memory.remote_protocol import StoreOf
    from spade_llm.messaging import Body, Request
    from spade_llm.messaging.rpc import RpcClient, RpcService


MAX_AT_ONCE = 40
"""Conversations that one request clears: their names fit into it, however long."""


class ObserveRequest(MemoryBody):
    op: ClassVar[str] = "observe"
    conversation: str
    messages: tuple[ObservedMessage, ...]
    subject: str | None = None


class HistoryRequest(MemoryBody):
    op: ClassVar[str] = "history"
    conversation: str
    limit: int = 50
    before: str | None = None
    """Id of a message; only messages before it are returned. None: the latest. Services of version
    0.1.0 ignore it."""


class CloseConversationRequest(MemoryBody):
    op: ClassVar[str] = "close_conversation"
    conversation: str


class RetractRequest(MemoryBody):
    op: ClassVar[str] = "retract"
    conversation: str
    ids: tuple[str, ...]


class ClearMessagesRequest(MemoryBody):
    op: ClassVar[str] = "clear_messages"
    conversations: tuple[str, ...]


class EpisodeMessagesRequest(MemoryBody):
    op: ClassVar[str] = "episode_messages"
    id: str


class MessagesResponse(MemoryBody):
    messages: tuple[ObservedMessage, ...]
    left: int = 0
    """Number of requested messages that did not fit into the response."""

    @classmethod
    def of(cls, messages: Sequence[ObservedMessage], *, count: int) -> MessagesResponse:
        return cls(messages=tuple(messages), left=count - len(messages))


class HistoryService:
    def __init__(self, store_of: StoreOf, *, on_observed: Callable[[], None]) -> None:
        self._store = store_of
        self._on_observed = on_observed

    def attach(self, service: RpcService) -> None:
        service.on(ObserveRequest, self._observe, effect=Idempotency.WRITE)
        service.on(HistoryRequest, self._history)
        service.on(RetractRequest, self._retract, effect=Idempotency.WRITE)
        service.on(CloseConversationRequest, self._close, effect=Idempotency.WRITE)
        service.on(ClearMessagesRequest, self._clear, effect=Idempotency.WRITE)
        service.on(EpisodeMessagesRequest, self._episode)

    async def _observe(self, request: Request, body: ObserveRequest) -> MemoryCount:
        count = await self._store(request).observe(
            body.conversation, body.messages, subject=body.subject
        )
        self._on_observed()
        return MemoryCount(count=count)

    async def _history(self, request: Request, body: HistoryRequest) -> Body:
        store = self._store(request)
        messages = await store.history(body.conversation, limit=body.limit, before=body.before)
        count = len(messages)
        return truncated_to_message(
            messages[::-1], lambda some: MessagesResponse.of(some[::-1], count=count)
        )

    async def _retract(self, request: Request, body: RetractRequest) -> MemoryCount:
        return MemoryCount(count=await self._store(request).retract(body.conversation, body.ids))

    async def _close(self, request: Request, body: CloseConversationRequest) -> Empty:
        await self._store(request).close_conversation(body.conversation)
        return Empty()

    async def _clear(self, request: Request, body: ClearMessagesRequest) -> MemoryCount:
        count = await self._store(request).clear_messages(body.conversations)
        self._on_observed()  # What was cleared is over, and can be learned from.
        return MemoryCount(count=count)

    async def _episode(self, request: Request, body: EpisodeMessagesRequest) -> Body:
        messages = await self._store(request).episode_messages(body.id)
        count = len(messages)
        return truncated_to_message(messages, lambda some: MessagesResponse.of(some, count=count))


class HistoryClient:
    """The same, asked of another agent."""

    def __init__(self, peer: RpcClient) -> None:
        self._peer = peer

    async def observe(
        self, conversation: str, messages: Sequence[ObservedMessage], *, subject: str | None = None
    ) -> int:
        body = ObserveRequest(conversation=conversation, messages=tuple(messages), subject=subject)
        return (await self._peer.ask(body, MemoryCount)).count

    async def history(
        self, conversation: str, *, limit: int = 50, before: str | None = None
    ) -> Sequence[ObservedMessage]:
        body = HistoryRequest(conversation=conversation, limit=limit, before=before)
        return (await self._peer.ask(body, MessagesResponse)).messages

    async def retract(self, conversation: str, ids: Sequence[str]) -> int:
        body = RetractRequest(conversation=conversation, ids=tuple(ids))
        return (await self._peer.ask(body, MemoryCount)).count

    async def close_conversation(self, conversation: str) -> None:
        await self._peer.ask(CloseConversationRequest(conversation=conversation), Empty)

    async def clear_messages(self, conversations: Sequence[str]) -> int:
        """More than MAX_AT_ONCE go in several requests, each a transaction of its own."""
        check_number("conversations", len(conversations), 0, MAX_ROWS)
        count = 0
        for start in range(0, len(conversations), MAX_AT_ONCE):
            some = tuple(conversations[start : start + MAX_AT_ONCE])
            count += (
                await self._peer.ask(ClearMessagesRequest(conversations=some), MemoryCount)
            ).count
        return count

    async def episode_messages(self, id: str) -> Sequence[ObservedMessage]:
        return (await self._peer.ask(EpisodeMessagesRequest(id=id), MessagesResponse)).messages
