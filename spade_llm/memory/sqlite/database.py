"""MemoryDatabase and Ranker roles: the file as the stores see it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol, TypeVar

from spade_llm.search.memory_query import SortBy

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence, Set
    from datetime import datetime

    from spade_llm.memory.contract import SearchOutcome
    from spade_llm.memory.sqlite.access_counter import AccessCounter, MessageAliases
    from spade_llm.memory.sqlite.connection import Transaction
    from spade_llm.search.memory_query import GrantScope, IndexHit, MemoryFilter, MemoryQuery

T = TypeVar("T")


class MemoryDatabase(Protocol):
    """Reads, and writes that are synced when they return. Raises Busy, StorageFailed."""

    @property
    def now(self) -> Callable[[], datetime]: ...

    @property
    def short_term_ttl_s(self) -> float: ...

    @property
    def is_learned_from(self) -> bool:
        """A learner reads what is said: what is cleared waits for it."""
        ...

    @property
    def ranker(self) -> Ranker: ...

    async def read(self, operation: Callable[[Transaction], T]) -> T:
        """Run in a reader thread; all its statements see the same snapshot of the file."""
        ...

    async def read_inline(self, operation: Callable[[Transaction], T]) -> T:
        """The same in the loop's own thread: a few rows by key. Uses that are only gathered are not
        in them."""
        ...

    async def write(self, operation: Callable[[Transaction], T]) -> T:
        """Run in the writer thread. The operation may be retried; it must raise refusals before any
        change."""
        ...

    @property
    def access_counter(self) -> AccessCounter:
        """Gathered until the next write, or read."""
        ...

    @property
    def message_aliases(self) -> MessageAliases:
        """Messages that searches found lately."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class RankedRows:
    """Rows that were found, best first."""

    outcome: SearchOutcome
    hits: tuple[IndexHit, ...] = ()


class Ranker(Protocol):
    """`scopes` None: all of the owner's; else only what one of them holds."""

    def changed(self, owner: str, keys: Set[int]) -> None:
        """These rows are now different or gone: read them again before the next search. Cheap."""
        ...

    async def search(
        self, owner: str, query: MemoryQuery, *, scopes: Sequence[GrantScope] | None = None
    ) -> RankedRows:
        """Rank the memories that are visible, valid at the requested time, and match the filter."""
        ...

    async def similar(
        self,
        owner: str,
        key: int,
        *,
        limit: int,
        min_score: float,
        which: MemoryFilter,
        scopes: Sequence[GrantScope] | None = None,
    ) -> RankedRows:
        """Entries that say nearly the same as the one with this key, without it."""
        ...


def ranks_by_importance(query: MemoryQuery) -> bool:
    """Hence uses, which are written now and then only, must be known before."""
    return query.importance_weight > 0 or query.sort_by is SortBy.IMPORTANCE
