"""Remote memory entries: add, read, update, merge and link, both ends of the wire."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from spade_llm.memory import contract
from spade_llm.memory.contract import BatchResult, MemoryChange, MemoryDraft, MemoryEntry, OnError
from spade_llm.memory.remote_protocol import MemoryBody, MemoryCount, send_in_batches
from spade_llm.messaging import Encoding, Idempotency
from spade_llm.messaging.answer_log import fingerprint
from spade_llm.messaging.rpc import truncated_to_message

if TYPE_CHECKING:
    from collections.abc import Sequence

    from spade_llm.memory.remote_protocol import StoreOf
    from spade_llm.messaging import AclMessage, Body, Request
    from spade_llm.messaging.rpc import RpcClient, RpcService


class AddMemoryRequest(MemoryBody):
    op: ClassVar[str] = "add"
    draft: MemoryDraft
    merge: bool = True


class AddMemoriesRequest(MemoryBody):
    op: ClassVar[str] = "add_many"
    drafts: tuple[MemoryDraft, ...]
    on_error: OnError = OnError.ROLLBACK


class GetMemoriesRequest(MemoryBody):
    op: ClassVar[str] = "get"
    id: str


class PeekMemoriesRequest(MemoryBody):
    op: ClassVar[str] = "peek"
    ids: tuple[str, ...]
    skip: int = 0
    """Number of existing entries to skip, since earlier responses contained them."""


class UpdateMemoryRequest(MemoryBody):
    op: ClassVar[str] = "update"
    change: MemoryChange


class UpdateMemoriesRequest(MemoryBody):
    op: ClassVar[str] = "update_many"
    changes: tuple[MemoryChange, ...]
    on_error: OnError = OnError.ROLLBACK


class SetImportanceRequest(MemoryBody):
    op: ClassVar[str] = "set_importance"
    id: str
    score: float
    reason: str


class ReplaceMemoryRequest(MemoryBody):
    op: ClassVar[str] = "replace"
    ids: tuple[str, ...]
    draft: MemoryDraft
    keep: bool


class MergeMemoriesRequest(MemoryBody):
    op: ClassVar[str] = "merge"
    into: str
    others: tuple[str, ...]


class EntryResponse(MemoryBody):
    entry: MemoryEntry


class EntriesResponse(MemoryBody):
    entries: tuple[MemoryEntry, ...]
    """Entries that fit into one message."""
    left: int = 0
    """Number of entries that do not fit."""


class BatchResponse(MemoryBody):
    result: BatchResult


class ImportanceResponse(MemoryBody):
    score: float


class EntriesService:
    """The request's id is the key of what it adds: the same request again adds nothing."""

    def __init__(self, store_of: StoreOf) -> None:
        self._store = store_of

    def attach(self, service: RpcService) -> None:
        service.on(AddMemoryRequest, self._add, effect=Idempotency.WRITE)
        service.on(AddMemoriesRequest, self._add_many, effect=Idempotency.WRITE)
        service.on(GetMemoriesRequest, self._get)
        service.on(PeekMemoriesRequest, self._peek)
        service.on(UpdateMemoryRequest, self._update, effect=Idempotency.WRITE)
        service.on(UpdateMemoriesRequest, self._update_many, effect=Idempotency.WRITE)
        service.on(SetImportanceRequest, self._set_importance, effect=Idempotency.WRITE)
        service.on(ReplaceMemoryRequest, self._replace, effect=Idempotency.WRITE)
        service.on(MergeMemoriesRequest, self._merge, effect=Idempotency.WRITE)

    async def _add(self, request: Request, body: AddMemoryRequest) -> EntryResponse:
        key = _idempotency_key(request.message)
        return EntryResponse(
            entry=await self._store(request).add(body.draft, key=key, merge=body.merge)
        )

    async def _add_many(self, request: Request, body: AddMemoriesRequest) -> BatchResponse:
        key = _idempotency_key(request.message)
        result = await self._store(request).add_many(body.drafts, key=key, on_error=body.on_error)
        return BatchResponse(result=result)

    async def _get(self, request: Request, body: GetMemoriesRequest) -> EntryResponse:
        return EntryResponse(entry=await self._store(request).get(body.id))

    async def _peek(self, request: Request, body: PeekMemoriesRequest) -> Body:
        entries = (await self._store(request).peek(body.ids))[body.skip :]
        return truncated_to_message(
            entries,
            lambda some: EntriesResponse(entries=tuple(some), left=len(entries) - len(some)),
        )

    async def _update(self, request: Request, body: UpdateMemoryRequest) -> EntryResponse:
        return EntryResponse(entry=await self._store(request).update(body.change))

    async def _update_many(self, request: Request, body: UpdateMemoriesRequest) -> BatchResponse:
        store = self._store(request)
        return BatchResponse(result=await store.update_many(body.changes, on_error=body.on_error))

    async def _set_importance(
        self, request: Request, body: SetImportanceRequest
    ) -> ImportanceResponse:
        store = self._store(request)
        return ImportanceResponse(
            score=await store.set_importance(body.id, body.score, reason=body.reason)
        )

    async def _replace(self, request: Request, body: ReplaceMemoryRequest) -> EntryResponse:
        key = _idempotency_key(request.message)
        entry = await self._store(request).replace(body.ids, body.draft, keep=body.keep, key=key)
        return EntryResponse(entry=entry)

    async def _merge(self, request: Request, body: MergeMemoriesRequest) -> EntryResponse:
        return EntryResponse(entry=await self._store(request).merge(body.into, body.others))


def _idempotency_key(message: AclMessage) -> str:
    """Plain SPADE agents use an id again for another request (SPADE 4.1.4, `id(self)`): with them
    a key is also what it was used for, so that no memory is taken for one that is there."""
    if message.encoding is Encoding.FORM:
        return f"{message.reply_with} {fingerprint(message)}"
    return message.reply_with


class EntriesClient:
    """The same, asked of another agent."""

    def __init__(self, peer: RpcClient) -> None:
        self._peer = peer

    async def add(
        self, draft: MemoryDraft, *, key: str | None = None, merge: bool = True
    ) -> MemoryEntry:
        return (
            await self._peer.ask(AddMemoryRequest(draft=draft, merge=merge), EntryResponse, id=key)
        ).entry

    async def add_many(
        self,
        drafts: Sequence[MemoryDraft],
        *,
        key: str | None = None,
        on_error: OnError = OnError.ROLLBACK,
    ) -> BatchResult:
        """Add drafts in as many messages as necessary, each a separate transaction. With
        `rollback`, a batch larger than one message raises InvalidArguments before anything is sent.
        """

        async def send(some: Sequence[MemoryDraft], number: int) -> BatchResult:
            id = f"{key}.{number}" if key and number else key
            body = AddMemoriesRequest(drafts=tuple(some), on_error=on_error)
            return (await self._peer.ask(body, BatchResponse, id=id)).result

        return await send_in_batches(
            drafts,
            send,
            size=lambda one: AddMemoriesRequest(drafts=(one,)).size_bytes,
            on_error=on_error,
        )

    async def get(self, id: str) -> MemoryEntry:
        return (await self._peer.ask(GetMemoriesRequest(id=id), EntryResponse)).entry

    async def peek(self, ids: Sequence[str]) -> Sequence[MemoryEntry]:
        """Fetch entries in as many responses as necessary."""
        entries: list[MemoryEntry] = []
        while True:
            answer = await self._peer.ask(
                PeekMemoriesRequest(ids=tuple(ids), skip=len(entries)), EntriesResponse
            )
            entries.extend(answer.entries)
            if not (answer.left and answer.entries):
                return entries

    async def update(self, change: MemoryChange) -> MemoryEntry:
        return (await self._peer.ask(UpdateMemoryRequest(change=change), EntryResponse)).entry

    async def update_many(
        self, changes: Sequence[MemoryChange], *, on_error: OnError = OnError.ROLLBACK
    ) -> BatchResult:
        """Larger than one message: as `add_many`."""

        async def send(some: Sequence[MemoryChange], _number: int) -> BatchResult:
            body = UpdateMemoriesRequest(changes=tuple(some), on_error=on_error)
            return (await self._peer.ask(body, BatchResponse)).result

        return await send_in_batches(
            changes,
            send,
            size=lambda one: UpdateMemoriesRequest(changes=(one,)).size_bytes,
            on_error=on_error,
        )

    async def set_importance(self, id: str, score: float, *, reason: str) -> float:
        body = SetImportanceRequest(id=id, score=score, reason=reason)
        return (await self._peer.ask(body, ImportanceResponse)).score

    async def replace(
        self, ids: Sequence[str], draft: MemoryDraft, *, keep: bool, key: str | None = None
    ) -> MemoryEntry:
        body = ReplaceMemoryRequest(ids=tuple(ids), draft=draft, keep=keep)
        return (await self._peer.ask(body, EntryResponse, id=key)).entry

    async def merge(self, into: str, others: Sequence[str]) -> MemoryEntry:
        return (
            await self._peer.ask(
                MergeMemoriesRequest(into=into, others=tuple(others)), EntryResponse
            )
        ).entry


class LinkRequest(MemoryBody):
    op: ClassVar[str] = "link"
    source: str
    target: str
    relation: str = "related"


class UnlinkRequest(MemoryBody):
    op: ClassVar[str] = "unlink"
    source: str
    target: str
    relation: str | None = None


class LinksRequest(MemoryBody):
    op: ClassVar[str] = "links"
    id: str


class LinksResponse(MemoryBody):
    links: tuple[contract.MemoryLink, ...]


class LinksService:
    def __init__(self, store_of: StoreOf) -> None:
        self._store = store_of

    def attach(self, service: RpcService) -> None:
        service.on(LinkRequest, self._link, effect=Idempotency.WRITE)
        service.on(UnlinkRequest, self._unlink, effect=Idempotency.WRITE)
        service.on(LinksRequest, self._links)

    async def _link(self, request: Request, body: LinkRequest) -> LinksResponse:
        store = self._store(request)
        return LinksResponse(
            links=(await store.link(body.source, body.target, relation=body.relation),)
        )

    async def _unlink(self, request: Request, body: UnlinkRequest) -> MemoryCount:
        store = self._store(request)
        return MemoryCount(
            count=await store.unlink(body.source, body.target, relation=body.relation)
        )

    async def _links(self, request: Request, body: LinksRequest) -> Body:
        links = await self._store(request).links(body.id)
        return truncated_to_message(links, lambda some: LinksResponse(links=tuple(some)))


class LinksClient:
    """The same, asked of another agent."""

    def __init__(self, peer: RpcClient) -> None:
        self._peer = peer

    async def link(
        self, source: str, target: str, *, relation: str = "related"
    ) -> contract.MemoryLink:
        body = LinkRequest(source=source, target=target, relation=relation)
        (link,) = (await self._peer.ask(body, LinksResponse)).links
        return link

    async def unlink(self, source: str, target: str, *, relation: str | None = None) -> int:
        body = UnlinkRequest(source=source, target=target, relation=relation)
        return (await self._peer.ask(body, MemoryCount)).count

    async def links(self, id: str) -> Sequence[contract.MemoryLink]:
        return (await self._peer.ask(LinksRequest(id=id), LinksResponse)).links
