"""Adding, reading and changing entries, of `spade-llm.memory/1`: bodies, handlers and client."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from spade_llm.acl import Encoding
from spade_llm.memory.store import BatchResult, MemoryChange, MemoryDraft, MemoryEntry, OnError
from spade_llm.runtime import Effect
from spade_llm.runtime.answer_log import fingerprint
from spade_llm.services.memory_batches import in_messages
from spade_llm.services.memory_body import MemoryBody
from spade_llm.services.service import fitting

if TYPE_CHECKING:
    from collections.abc import Sequence

    from spade_llm.acl import AclMessage, Body
    from spade_llm.runtime import Request
    from spade_llm.services.memory_body import StoreOf
    from spade_llm.services.service import Peer, Service


class Add(MemoryBody):
    op: ClassVar[str] = "add"
    draft: MemoryDraft
    merge: bool = True


class AddMany(MemoryBody):
    op: ClassVar[str] = "add_many"
    drafts: tuple[MemoryDraft, ...]
    on_error: OnError = OnError.ROLLBACK


class Get(MemoryBody):
    op: ClassVar[str] = "get"
    id: str


class Peek(MemoryBody):
    op: ClassVar[str] = "peek"
    ids: tuple[str, ...]
    skip: int = 0
    """How many of those that there are were answered before."""


class Update(MemoryBody):
    op: ClassVar[str] = "update"
    change: MemoryChange


class UpdateMany(MemoryBody):
    op: ClassVar[str] = "update_many"
    changes: tuple[MemoryChange, ...]
    on_error: OnError = OnError.ROLLBACK


class SetImportance(MemoryBody):
    op: ClassVar[str] = "set_importance"
    id: str
    score: float
    reason: str


class Replace(MemoryBody):
    op: ClassVar[str] = "replace"
    ids: tuple[str, ...]
    draft: MemoryDraft
    keep: bool


class Merge(MemoryBody):
    op: ClassVar[str] = "merge"
    into: str
    others: tuple[str, ...]


class Entry(MemoryBody):
    entry: MemoryEntry


class Entries(MemoryBody):
    entries: tuple[MemoryEntry, ...]
    """As many as fit into one message."""
    left: int = 0
    """How many do not."""


class Batch(MemoryBody):
    result: BatchResult


class Score(MemoryBody):
    score: float


class EntriesService:
    """The request's id is the key of what it adds: the same request again adds nothing."""

    def __init__(self, store_of: StoreOf) -> None:
        self._store = store_of

    def attach(self, service: Service) -> None:
        service.on(Add, self._add, effect=Effect.WRITE)
        service.on(AddMany, self._add_many, effect=Effect.WRITE)
        service.on(Get, self._get)
        service.on(Peek, self._peek)
        service.on(Update, self._update, effect=Effect.WRITE)
        service.on(UpdateMany, self._update_many, effect=Effect.WRITE)
        service.on(SetImportance, self._set_importance, effect=Effect.WRITE)
        service.on(Replace, self._replace, effect=Effect.WRITE)
        service.on(Merge, self._merge, effect=Effect.WRITE)

    async def _add(self, request: Request, body: Add) -> Entry:
        key = _key(request.message)
        return Entry(entry=await self._store(request).add(body.draft, key=key, merge=body.merge))

    async def _add_many(self, request: Request, body: AddMany) -> Batch:
        key = _key(request.message)
        result = await self._store(request).add_many(body.drafts, key=key, on_error=body.on_error)
        return Batch(result=result)

    async def _get(self, request: Request, body: Get) -> Entry:
        return Entry(entry=await self._store(request).get(body.id))

    async def _peek(self, request: Request, body: Peek) -> Body:
        entries = (await self._store(request).peek(body.ids))[body.skip :]
        return fitting(
            entries, lambda some: Entries(entries=tuple(some), left=len(entries) - len(some))
        )

    async def _update(self, request: Request, body: Update) -> Entry:
        return Entry(entry=await self._store(request).update(body.change))

    async def _update_many(self, request: Request, body: UpdateMany) -> Batch:
        store = self._store(request)
        return Batch(result=await store.update_many(body.changes, on_error=body.on_error))

    async def _set_importance(self, request: Request, body: SetImportance) -> Score:
        store = self._store(request)
        return Score(score=await store.set_importance(body.id, body.score, reason=body.reason))

    async def _replace(self, request: Request, body: Replace) -> Entry:
        key = _key(request.message)
        entry = await self._store(request).replace(body.ids, body.draft, keep=body.keep, key=key)
        return Entry(entry=entry)

    async def _merge(self, request: Request, body: Merge) -> Entry:
        return Entry(entry=await self._store(request).merge(body.into, body.others))


def _key(message: AclMessage) -> str:
    """Plain SPADE agents use an id again for another request (SPADE 4.1.4, `id(self)`): with them
    a key is also what it was used for, so that no memory is taken for one that is there."""
    if message.encoding is Encoding.FORM:
        return f"{message.reply_with} {fingerprint(message)}"
    return message.reply_with


class EntriesClient:
    """The same, asked of another agent."""

    def __init__(self, peer: Peer) -> None:
        self._peer = peer

    async def add(
        self, draft: MemoryDraft, *, key: str | None = None, merge: bool = True
    ) -> MemoryEntry:
        return (await self._peer.ask(Add(draft=draft, merge=merge), Entry, id=key)).entry

    async def add_many(
        self,
        drafts: Sequence[MemoryDraft],
        *,
        key: str | None = None,
        on_error: OnError = OnError.ROLLBACK,
    ) -> BatchResult:
        """What one message cannot carry goes in several, each a transaction of its own; with
        `rollback` it is refused (InvalidArguments) before anything is sent."""

        async def send(some: Sequence[MemoryDraft], number: int) -> BatchResult:
            id = f"{key}.{number}" if key and number else key
            body = AddMany(drafts=tuple(some), on_error=on_error)
            return (await self._peer.ask(body, Batch, id=id)).result

        return await in_messages(
            drafts, send, size=lambda one: AddMany(drafts=(one,)).size_bytes, on_error=on_error
        )

    async def get(self, id: str) -> MemoryEntry:
        return (await self._peer.ask(Get(id=id), Entry)).entry

    async def peek(self, ids: Sequence[str]) -> Sequence[MemoryEntry]:
        """In as many answers as it takes."""
        entries: list[MemoryEntry] = []
        while True:
            answer = await self._peer.ask(Peek(ids=tuple(ids), skip=len(entries)), Entries)
            entries.extend(answer.entries)
            if not (answer.left and answer.entries):
                return entries

    async def update(self, change: MemoryChange) -> MemoryEntry:
        return (await self._peer.ask(Update(change=change), Entry)).entry

    async def update_many(
        self, changes: Sequence[MemoryChange], *, on_error: OnError = OnError.ROLLBACK
    ) -> BatchResult:
        """Larger than one message: as `add_many`."""

        async def send(some: Sequence[MemoryChange], _number: int) -> BatchResult:
            body = UpdateMany(changes=tuple(some), on_error=on_error)
            return (await self._peer.ask(body, Batch)).result

        return await in_messages(
            changes, send, size=lambda one: UpdateMany(changes=(one,)).size_bytes, on_error=on_error
        )

    async def set_importance(self, id: str, score: float, *, reason: str) -> float:
        body = SetImportance(id=id, score=score, reason=reason)
        return (await self._peer.ask(body, Score)).score

    async def replace(
        self, ids: Sequence[str], draft: MemoryDraft, *, keep: bool, key: str | None = None
    ) -> MemoryEntry:
        body = Replace(ids=tuple(ids), draft=draft, keep=keep)
        return (await self._peer.ask(body, Entry, id=key)).entry

    async def merge(self, into: str, others: Sequence[str]) -> MemoryEntry:
        return (await self._peer.ask(Merge(into=into, others=tuple(others)), Entry)).entry
