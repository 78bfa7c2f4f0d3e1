"""The Ranker role: which rows of one owner speak of a query. Knows no row's text but what it reads.

The store resolves who may see what, asks the ranker for keys, and reads those rows itself.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from spade_llm.memory.store import SortBy

if TYPE_CHECKING:
    from collections.abc import Sequence, Set

    from spade_llm.memory.index.hit import IndexHit
    from spade_llm.memory.index.scope import Scope
    from spade_llm.memory.store import MemoryFilter, MemoryQuery, Outcome


@dataclass(frozen=True, slots=True, kw_only=True)
class Ranked:
    """Rows that were found, best first."""

    outcome: Outcome
    hits: tuple[IndexHit, ...] = ()


class Ranker(Protocol):
    """`scopes` None: all of the owner's; else only what one of them holds."""

    def changed(self, owner: str, keys: Set[int]) -> None:
        """These rows are now different or gone: read them again before the next search. Cheap."""
        ...

    async def search(
        self, owner: str, query: MemoryQuery, *, scopes: Sequence[Scope] | None = None
    ) -> Ranked:
        """Only what is visible and true at the time asked for, and within the filter."""
        ...

    async def similar(
        self,
        owner: str,
        key: int,
        *,
        limit: int,
        min_score: float,
        which: MemoryFilter,
        scopes: Sequence[Scope] | None = None,
    ) -> Ranked:
        """Entries that say nearly the same as the one with this key, without it."""
        ...


def weighs_importance(query: MemoryQuery) -> bool:
    """Hence uses, which are written now and then only, must be known before."""
    return query.importance_weight > 0 or query.sort_by is SortBy.IMPORTANCE
