"""Remote memory (`spade-llm.memory/1`): service of the memory agent, and its client.

An operation is added in three steps: the method in a Protocol of `contract.py` with its
implementation in `database/store.py`, and a line in `MemoryClient`, from which both ends of the
wire are derived (`messaging/operation.py`). Only where the wire differs from the method (a paged
answer, an effect on cached answers) it also has a method in `MemoryEndpoint`.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import replace
from itertools import count
from typing import TYPE_CHECKING, ClassVar, TypeVar

from spade_llm.core.errors import InvalidArguments
from spade_llm.memory.contract import (
    BatchError,
    BatchResult,
    ClearingStore,
    ConsentStore,
    DecayStore,
    GrantStore,
    HistoryStore,
    LinkStore,
    MemoryBackend,
    MemoryChange,
    MemoryDraft,
    MemoryEntry,
    MemoryPage,
    MemoryStore,
    ObservedMessage,
    OnError,
    OwnedMemory,
    SearchResult,
)
from spade_llm.memory.remote_endpoint import MAX_LIMIT, ONTOLOGY, MemoryBody, MemoryEndpoint
from spade_llm.memory.validation import MAX_ROWS, check_number
from spade_llm.messaging import MAX_BODY_BYTES, Body, Dispatcher, Request, RequestSender
from spade_llm.messaging.body import peek_field
from spade_llm.messaging.operation import Operation
from spade_llm.messaging.request import Idempotency
from spade_llm.messaging.rpc import RpcClient, RpcService
from spade_llm.search.memory_query import ANY_MEMORY, MemoryFilter, MemoryQuery

READ, WRITE = Idempotency.READ, Idempotency.WRITE

MAX_AT_ONCE = 40
"""Conversations that one request clears: their names fit into it, however long."""


T = TypeVar("T")

ROOM_BYTES = MAX_BODY_BYTES - 2048
"""Maximum size of one message's items in bytes; the rest is for envelope and XML escapes."""


def _replica_key(content: str, id: str) -> str:
    """Person that a request is about, whose messages are then stored in their order, and searched
    with vectors that are known there; else its id: other requests have no order."""
    return peek_field(content, "subject") or id


class MemoryService:
    """Service of the memory agent: each owner reaches its own memory.

    `on_observed` is called when there may be something to learn: a conversation has gone on, or a
    person has given consent. It must neither wait nor fail.
    """

    def __init__(
        self, backend: MemoryBackend, *, on_observed: Callable[[], None] = lambda: None
    ) -> None:
        self._backend = backend
        self._on_observed = on_observed

    def attach(self, dispatcher: Dispatcher) -> None:
        def endpoint(request: Request) -> MemoryEndpoint:
            store = self._backend.for_owner(request.message.owner)
            return MemoryEndpoint(store, request, dispatcher, self._on_observed)

        service = RpcService(ONTOLOGY, replica_key=_replica_key)
        service.serve(MemoryClient, endpoint)
        service.attach(dispatcher)


class MemoryClient(RpcClient):
    """Memory client: all Protocols of `memory/contract.py` over RPC. The owner is the caller's
    JID. Operations with a leading underscore are one message of a method that sends several."""

    body_base: ClassVar[type[Body]] = MemoryBody

    def __init__(self, requester: RequestSender, jid: str, *, timeout_s: float = 10.0) -> None:
        super().__init__(requester, jid, ONTOLOGY, timeout_s=timeout_s)

    add = Operation(MemoryStore.add, WRITE, "entry")
    _add_many = Operation(MemoryStore.add_many, WRITE, "result")
    get = Operation(MemoryStore.get, READ, "entry")
    _peek = Operation(MemoryEndpoint.peek)
    update = Operation(MemoryStore.update, WRITE, "entry")
    _update_many = Operation(MemoryStore.update_many, WRITE, "result")
    set_importance = Operation(MemoryStore.set_importance, WRITE, "score")
    replace = Operation(MemoryStore.replace, WRITE, "entry")
    merge = Operation(MemoryStore.merge, WRITE, "entry")
    _search = Operation(MemoryEndpoint.search)
    _similar = Operation(MemoryEndpoint.similar)
    _list = Operation(MemoryEndpoint.list)
    stats = Operation(MemoryStore.stats, READ, "stats")
    _delete = Operation(MemoryEndpoint.delete, WRITE)
    forget = Operation(MemoryStore.forget, WRITE, "count")
    forget_subject = Operation(MemoryStore.forget_subject, WRITE, "count")
    forget_session = Operation(MemoryStore.forget_session, WRITE, "cleared")
    reviewed = Operation(MemoryStore.reviewed, WRITE)

    observe = Operation(HistoryStore.observe, WRITE, "count")
    _history = Operation(MemoryEndpoint.history)
    retract = Operation(HistoryStore.retract, WRITE, "count")
    close_conversation = Operation(HistoryStore.close_conversation, WRITE)
    _episode_messages = Operation(MemoryEndpoint.episode_messages)
    _clear_messages = Operation(ClearingStore.clear_messages, WRITE, "count")
    clear_subject = Operation(ClearingStore.clear_subject, WRITE, "cleared")

    link = Operation(LinkStore.link, WRITE, "links", in_list=True)
    unlink = Operation(LinkStore.unlink, WRITE, "count")
    links = Operation(LinkStore.links, READ, "links")

    grant = Operation(GrantStore.grant, WRITE, "grants", in_list=True)
    _revoke = Operation(MemoryEndpoint.revoke, WRITE, "count")
    grants = Operation(GrantStore.grants, READ, "grants")

    configure_decay = Operation(DecayStore.configure_decay, WRITE, "status")
    _run_decay = Operation(MemoryEndpoint.run_decay, WRITE)
    decay_status = Operation(DecayStore.decay_status, READ, "status")

    consent = Operation(ConsentStore.consent, READ, "consent")
    set_consent = Operation(ConsentStore.set_consent, WRITE, "consent")
    learned = Operation(ConsentStore.learned, READ, "changes")
    undo_learned = Operation(ConsentStore.undo_learned, WRITE, "count")

    retrieve = Operation(MemoryEndpoint.retrieve, READ, "text")
    session_context = Operation(MemoryEndpoint.session_context, READ, "context")

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
            # With one key for all messages, the second would be taken for the first one again.
            id = f"{key}.{number}" if key and number else key
            return await self._add_many(some, key=id, on_error=on_error)

        def size(draft: MemoryDraft) -> int:
            return MemoryClient._add_many.body([draft]).size_bytes

        return await send_in_batches(drafts, send, size=size, on_error=on_error)

    async def update_many(
        self, changes: Sequence[MemoryChange], *, on_error: OnError = OnError.ROLLBACK
    ) -> BatchResult:
        """Update in as many messages as necessary, like `add_many`."""

        async def send(some: Sequence[MemoryChange], _number: int) -> BatchResult:
            return await self._update_many(some, on_error=on_error)

        def size(change: MemoryChange) -> int:
            return MemoryClient._update_many.body([change]).size_bytes

        return await send_in_batches(changes, send, size=size, on_error=on_error)

    async def peek(self, ids: Sequence[str]) -> Sequence[MemoryEntry]:
        """Fetch entries in as many responses as necessary."""
        entries: list[MemoryEntry] = []
        while True:
            answer = await self._peek(ids, skip=len(entries))
            entries.extend(answer.entries)
            # An answer without entries brings nothing further: asking again would never end.
            if not (answer.left and answer.entries):
                return entries

    async def search(self, query: MemoryQuery) -> SearchResult:
        return (await self._search(query)).as_result()

    async def similar(
        self, id: str, *, limit: int = 10, min_score: float = 0.0, which: MemoryFilter = ANY_MEMORY
    ) -> SearchResult:
        answer = await self._similar(id, limit=limit, min_score=min_score, which=which)
        return answer.as_result()

    async def list(
        self, which: MemoryFilter = ANY_MEMORY, *, limit: int = 20, offset: int = 0
    ) -> MemoryPage:
        """List entries in as many responses as necessary."""
        entries: list[MemoryEntry] = []
        while True:
            answer = await self._list(
                which, limit=limit - len(entries), offset=offset + len(entries)
            )
            page = answer.page
            entries.extend(page.entries)
            if not page.entries or len(entries) >= min(limit, page.total - offset):
                return MemoryPage(entries=tuple(entries), total=page.total)

    async def delete(
        self,
        which: MemoryFilter,
        *,
        ids: Sequence[str] | None = None,
        limit: int | None = None,
    ) -> Sequence[str]:
        """Delete in steps of MAX_LIMIT, each a transaction of its own."""
        deleted: list[str] = []
        is_all = False
        while not is_all:
            left = None if limit is None else limit - len(deleted)
            answer = await self._delete(which, ids, left)
            deleted.extend(answer.ids)
            is_all = answer.is_all or len(deleted) == limit
        return deleted

    async def history(
        self, conversation: str, *, limit: int = 50, before: str | None = None
    ) -> Sequence[ObservedMessage]:
        return (await self._history(conversation, limit, before)).messages

    async def episode_messages(self, id: str) -> Sequence[ObservedMessage]:
        return (await self._episode_messages(id)).messages

    async def clear_messages(self, conversations: Sequence[str]) -> int:
        """Clear in requests of at most MAX_AT_ONCE conversations, each a transaction of its own."""
        check_number("conversations", len(conversations), 0, MAX_ROWS)
        count = 0
        for start in range(0, len(conversations), MAX_AT_ONCE):
            count += await self._clear_messages(conversations[start : start + MAX_AT_ONCE])
        return count

    async def revoke(self, id: str) -> bool:
        return await self._revoke(id) > 0

    async def run_decay(self, *, dry_run: bool = True) -> Sequence[str]:
        """Run or simulate the decay. The ids are limited to one response (about 3000);
        `decay_status` has the full count."""
        return (await self._run_decay(dry_run=dry_run)).ids


async def send_in_batches(
    items: Sequence[T],
    send: Callable[[Sequence[T], int], Awaitable[BatchResult]],
    *,
    size: Callable[[T], int],
    on_error: OnError,
) -> BatchResult:
    """Send items in as many messages as necessary; `send` gets each part and its number, from 0.

    Raises:
        InvalidArguments: `rollback`, and one message cannot carry all of them.
    """
    sizes = [size(item) for item in items]
    # Each message is a transaction of its own: only within one can all be undone.
    if on_error is OnError.ROLLBACK:
        if sum(sizes) > ROOM_BYTES or len(sizes) > MAX_LIMIT:
            raise InvalidArguments(
                f"{len(sizes)} items of {sum(sizes)} bytes are more than one message carries"
                f" ({MAX_LIMIT} items, {ROOM_BYTES} bytes), and only within one can all be undone:"
                " send fewer at a time, or say on_error continue or stop"
            )
        return await send(items, 0)
    ids: list[str] = []
    errors: list[BatchError] = []
    numbers = count()
    for start, end in _message_ranges(sizes):
        if sizes[start] > ROOM_BYTES:
            reason = (
                f"the item has over {ROOM_BYTES} bytes, more than one message carries: shorten it"
            )
            errors.append(BatchError(index=start, code=InvalidArguments.code, reason=reason))
        else:
            part = await send(items[start:end], next(numbers))
            ids.extend(part.ids)
            errors.extend(replace(error, index=error.index + start) for error in part.errors)
        if errors and on_error is OnError.STOP:
            break
    return BatchResult(ids=tuple(ids), errors=tuple(errors))


def _message_ranges(sizes: Sequence[int]) -> Iterator[tuple[int, int]]:
    """Ranges of items for each message; an item that is too large has a message of its own."""
    start, total = 0, 0
    for index, size in enumerate(sizes):
        if index > start and (total + size > ROOM_BYTES or index - start >= MAX_LIMIT):
            yield start, index
            start, total = index, 0
        total += size
    if start < len(sizes):
        yield start, len(sizes)


if TYPE_CHECKING:

    def _is_what_the_local_store_is(client: MemoryClient) -> OwnedMemory:
        return client
