"""`spade-llm.memory/1`: an agent's memories and conversations, kept by the memory agent.

The owner is the bare JID that the server stamped on the request; no body has a field for it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from pydantic import Field

from spade_llm.acl import Body, Empty
from spade_llm.memory.store import (
    Category,
    MemoryDraft,
    MemoryEntry,
    MemoryPage,
    ObservedMessage,
    ScoredMemory,
)
from spade_llm.runtime import Effect
from spade_llm.services.service import Peer, Service, fitting

if TYPE_CHECKING:
    from collections.abc import Sequence

    from spade_llm.memory.backend import MemoryBackend, OwnedMemory
    from spade_llm.runtime import Dispatcher, Request, Requester

ONTOLOGY = "spade-llm.memory/1"
MAX_LIMIT = 200
"""Most entries of one answer; fewer where they would not fit into one message."""


class Add(Body):
    op: ClassVar[str] = "add"
    draft: MemoryDraft


class Search(Body):
    op: ClassVar[str] = "search"
    query: str = Field(min_length=1, max_length=4000)
    subject: str | None = None
    limit: int = Field(default=10, ge=1, le=MAX_LIMIT)


class List(Body):
    op: ClassVar[str] = "list"
    category: Category | None = None
    subject: str | None = None
    limit: int = Field(default=20, ge=1, le=MAX_LIMIT)
    offset: int = Field(default=0, ge=0)


class Forget(Body):
    op: ClassVar[str] = "forget"
    ids: tuple[str, ...] = Field(min_length=1, max_length=MAX_LIMIT)
    subject: str | None = None


class ForgetSubject(Body):
    op: ClassVar[str] = "forget_subject"
    subject: str = Field(min_length=1)


class Observe(Body):
    op: ClassVar[str] = "observe"
    conversation: str = Field(min_length=1)
    messages: tuple[ObservedMessage, ...] = Field(min_length=1, max_length=MAX_LIMIT)
    subject: str | None = None


class History(Body):
    op: ClassVar[str] = "history"
    conversation: str = Field(min_length=1)
    limit: int = Field(default=50, ge=1, le=MAX_LIMIT)


class CloseConversation(Body):
    op: ClassVar[str] = "close_conversation"
    conversation: str = Field(min_length=1)


class Entry(Body):
    entry: MemoryEntry


class Found(Body):
    results: tuple[ScoredMemory, ...]


class Page(Body):
    page: MemoryPage


class Messages(Body):
    messages: tuple[ObservedMessage, ...]


class Count(Body):
    count: int


class MemoryService:
    """Answers from a backend, to each owner from its own."""

    def __init__(self, backend: MemoryBackend) -> None:
        self._backend = backend

    def attach(self, dispatcher: Dispatcher) -> None:
        service = Service(ONTOLOGY)
        service.on(Add, self._add, effect=Effect.WRITE)
        service.on(Search, self._search)
        service.on(List, self._list)
        service.on(Forget, self._forget, effect=Effect.WRITE)
        service.on(ForgetSubject, self._forget_subject, effect=Effect.WRITE)
        service.on(Observe, self._observe, effect=Effect.WRITE)
        service.on(History, self._history)
        service.on(CloseConversation, self._close, effect=Effect.WRITE)
        service.attach(dispatcher)

    def _store(self, request: Request) -> OwnedMemory:
        return self._backend.for_owner(request.message.owner)

    async def _add(self, request: Request, body: Add) -> Entry:
        key = request.message.reply_with
        return Entry(entry=await self._store(request).add(body.draft, key=key))

    async def _search(self, request: Request, body: Search) -> Body:
        found = await self._store(request).search(
            body.query, subject=body.subject, limit=body.limit
        )
        return fitting(found, lambda some: Found(results=tuple(some)))

    async def _list(self, request: Request, body: List) -> Body:
        page = await self._store(request).list(
            category=body.category, subject=body.subject, limit=body.limit, offset=body.offset
        )
        return fitting(
            page.entries,
            lambda some: Page(page=MemoryPage(entries=tuple(some), total=page.total)),
        )

    async def _forget(self, request: Request, body: Forget) -> Count:
        return Count(count=await self._store(request).forget(body.ids, subject=body.subject))

    async def _forget_subject(self, request: Request, body: ForgetSubject) -> Count:
        return Count(count=await self._store(request).forget_subject(body.subject))

    async def _observe(self, request: Request, body: Observe) -> Count:
        count = await self._store(request).observe(
            body.conversation, body.messages, subject=body.subject
        )
        return Count(count=count)

    async def _history(self, request: Request, body: History) -> Body:
        messages = await self._store(request).history(body.conversation, limit=body.limit)
        newest_first = messages[::-1]
        return fitting(newest_first, lambda some: Messages(messages=tuple(some[::-1])))

    async def _close(self, request: Request, body: CloseConversation) -> Empty:
        await self._store(request).close_conversation(body.conversation)
        return Empty()


class MemoryClient:
    """A MemoryStore and a HistoryStore in another agent; the owner is who we are there."""

    def __init__(self, requester: Requester, jid: str, *, timeout_s: float = 10.0) -> None:
        self.jid = jid
        self._peer = Peer(requester, jid, ONTOLOGY, timeout_s=timeout_s)

    async def add(self, draft: MemoryDraft, *, key: str | None = None) -> MemoryEntry:
        return (await self._peer.ask(Add(draft=draft), Entry, id=key)).entry

    async def search(
        self, query: str, *, subject: str | None = None, limit: int = 10
    ) -> Sequence[ScoredMemory]:
        body = Search(query=query, subject=subject, limit=limit)
        return (await self._peer.ask(body, Found)).results

    async def list(
        self,
        *,
        category: Category | None = None,
        subject: str | None = None,
        limit: int = 20,
        offset: int = 0,
    ) -> MemoryPage:
        body = List(category=category, subject=subject, limit=limit, offset=offset)
        return (await self._peer.ask(body, Page)).page

    async def forget(self, ids: Sequence[str], *, subject: str | None = None) -> int:
        return (await self._peer.ask(Forget(ids=tuple(ids), subject=subject), Count)).count

    async def forget_subject(self, subject: str) -> int:
        return (await self._peer.ask(ForgetSubject(subject=subject), Count)).count

    async def observe(
        self, conversation: str, messages: Sequence[ObservedMessage], *, subject: str | None = None
    ) -> int:
        body = Observe(conversation=conversation, messages=tuple(messages), subject=subject)
        return (await self._peer.ask(body, Count)).count

    async def history(self, conversation: str, *, limit: int = 50) -> Sequence[ObservedMessage]:
        body = History(conversation=conversation, limit=limit)
        return (await self._peer.ask(body, Messages)).messages

    async def close_conversation(self, conversation: str) -> None:
        await self._peer.ask(CloseConversation(conversation=conversation), Empty)


if TYPE_CHECKING:

    def _is_what_the_local_store_is(client: MemoryClient) -> OwnedMemory:
        return client
