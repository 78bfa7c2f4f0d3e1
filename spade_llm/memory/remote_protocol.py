"""Remote memory protocol: bodies of paged answers, and batches split over several messages."""

from __future__ import annotations

from dataclasses import replace
from itertools import count
from typing import TYPE_CHECKING, ClassVar, TypeVar

from spade_llm.core.errors import InvalidArguments
from spade_llm.memory.contract import (
    BatchError,
    BatchResult,
    MemoryEntry,
    MemoryPage,
    ObservedMessage,
    OnError,
    ScoredMemory,
    SearchOutcome,
    SearchResult,
)
from spade_llm.messaging import MAX_BODY_BYTES, Body

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterator, Sequence

ONTOLOGY = "spade-llm.memory/1"
MAX_LIMIT = 1000
"""Most entries of one answer; fewer where they would not fit into one message."""

ENTRY_ID, ENTRY_SUBJECT, ENTRY_SESSION = "$.entry.id", "$.entry.subject", "$.entry.session"
"""JSON paths of entry ids, subjects and sessions in responses that have one entry."""


class MemoryBody(Body):
    """Records travel without their defaults, which are therefore a part of this version."""

    skips_defaults: ClassVar[bool] = True


class MemorySearchResponse(MemoryBody):
    results: tuple[ScoredMemory, ...]
    outcome: SearchOutcome = SearchOutcome.OK
    left: int = 0
    """Number of further hits that did not fit into one message."""

    @classmethod
    def of(
        cls, outcome: SearchOutcome, hits: Sequence[ScoredMemory], *, count: int
    ) -> MemorySearchResponse:
        return cls(results=tuple(hits), outcome=outcome, left=count - len(hits))

    def as_result(self) -> SearchResult:
        return SearchResult(outcome=self.outcome, hits=self.results, left_out=self.left)


class MemoryPageResponse(MemoryBody):
    page: MemoryPage


class EntriesResponse(MemoryBody):
    entries: tuple[MemoryEntry, ...]
    """Entries that fit into one message."""
    left: int = 0
    """Number of entries that do not fit."""


class MessagesResponse(MemoryBody):
    messages: tuple[ObservedMessage, ...]
    left: int = 0
    """Number of requested messages that did not fit into the response."""


class DeletedMemories(MemoryBody):
    ids: tuple[str, ...]
    is_all: bool = True
    """False: there may be more of them; ask again."""


class MemoryIds(MemoryBody):
    ids: tuple[str, ...]
    """Ids that fit into one message."""
    total: int


T = TypeVar("T")

ROOM_BYTES = MAX_BODY_BYTES - 2048
"""Maximum size of the items of one message in bytes; the rest of the body is for the envelope and
XML escapes."""


async def send_in_batches(
    items: Sequence[T],
    send: Callable[[Sequence[T], int], Awaitable[BatchResult]],
    *,
    size: Callable[[T], int],
    on_error: OnError,
) -> BatchResult:
    """`send` gets each part and its number, from 0.

    Raises:
        InvalidArguments: `rollback`, and one message cannot carry all of them.
    """
    sizes = [size(item) for item in items]
    # Each message is a transaction of its own: only within one can all be undone.
    if on_error is OnError.ROLLBACK:
        _check_fits(sizes)
        return await send(items, 0)
    ids: list[str] = []
    errors: list[BatchError] = []
    numbers = count()
    for start, end in _parts(sizes):
        part = await _sent(items[start:end], sizes[start:end], send, numbers)
        ids.extend(part.ids)
        errors.extend(replace(error, index=error.index + start) for error in part.errors)
        if errors and on_error is OnError.STOP:
            break
    return BatchResult(ids=tuple(ids), errors=tuple(errors))


async def _sent(
    items: Sequence[T],
    sizes: Sequence[int],
    send: Callable[[Sequence[T], int], Awaitable[BatchResult]],
    numbers: Iterator[int],
) -> BatchResult:
    if sizes[0] <= ROOM_BYTES:
        return await send(items, next(numbers))
    reason = f"the item has over {ROOM_BYTES} bytes, more than one message carries: shorten it"
    error = BatchError(index=0, code=InvalidArguments.code, reason=reason)
    return BatchResult(ids=(), errors=(error,))


def _parts(sizes: Sequence[int]) -> Iterator[tuple[int, int]]:
    """Ranges of items for each message; an item that is too large has a message of its own."""
    start, total = 0, 0
    for index, size in enumerate(sizes):
        if index > start and (total + size > ROOM_BYTES or index - start >= MAX_LIMIT):
            yield start, index
            start, total = index, 0
        total += size
    if start < len(sizes):
        yield start, len(sizes)


def _check_fits(sizes: Sequence[int]) -> None:
    if sum(sizes) > ROOM_BYTES or len(sizes) > MAX_LIMIT:
        raise InvalidArguments(
            f"{len(sizes)} items of {sum(sizes)} bytes are more than one message carries"
            f" ({MAX_LIMIT} items, {ROOM_BYTES} bytes), and only within one can all be undone:"
            " send fewer at a time, or say on_error continue or stop"
        )
