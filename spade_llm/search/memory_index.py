"""OwnerIndex: the memories of one owner in RAM, searched by keywords and vectors."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from spade_llm.search import query_analysis
from spade_llm.search.bm25 import NEIGHBOUR_SPREAD, NO_SPREAD, MemoryBm25, bm25_norms
from spade_llm.search.memory_fusion import length_bonus, neighbourhood_lengths
from spade_llm.search.memory_query import ANY_MEMORY, IndexHit, MemoryFilter, MemoryQuery
from spade_llm.search.memory_search import MemorySearch, order_rows, rank_hits
from spade_llm.search.memory_table import AdjacentMessages, MemoryRows, granted_rows, matching_rows
from spade_llm.search.postings import read_items
from spade_llm.search.table import NO_ROW
from spade_llm.search.terms import MAX_WORDS, QUESTION_FLAG, QueryWord
from spade_llm.search.vectors import QuantizedVectors, split_packed

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from numpy.typing import NDArray

    from spade_llm.search.memory_query import GrantScope
    from spade_llm.search.memory_table import IndexColumns


class IndexSnapshot:
    """State of the index between two changes of rows, with arrays derived from it."""

    def __init__(
        self,
        table: MemoryRows,
        vectors: QuantizedVectors,
        neighbours: AdjacentMessages,
    ) -> None:
        self.table, self.vectors = table, vectors
        self._neighbours = neighbours
        self._around: tuple[int, NDArray[np.float32]] | None = None

    @cached_property
    def reach(self) -> Mapping[int, NDArray[np.int32]]:
        return self._neighbours.reach()

    @cached_property
    def linked(self) -> NDArray[np.intp]:
        """Rows that have a neighbour."""
        return np.flatnonzero((self.reach[-1][:-1] >= 0) | (self.reach[1][:-1] >= 0))

    @cached_property
    def questions(self) -> NDArray[np.intp]:
        return np.flatnonzero(self.table.flags.rows & QUESTION_FLAG)

    @cached_property
    def substance(self) -> NDArray[np.float32]:
        return length_bonus(self.table)

    def lengths_around(self) -> NDArray[np.float32]:
        """Lengths of the sums of neighbouring vectors, for RECALL. They are computed again when
        vectors change, since vectors are added later than their rows."""
        if self._around is None or self._around[0] != self.vectors.version:
            around = neighbourhood_lengths(self.vectors.has, self.reach[-1], self.reach[1])
            self._around = (self.vectors.version, around)
        return self._around[1]

    def lengths(
        self, spread: Mapping[int, float], universe: NDArray[np.bool_] | None = None
    ) -> NDArray[np.float32]:
        """BM25 length norms, see `bm25_norms`. `universe`: mask of the rows; None: all live rows
        (cached)."""
        if universe is not None:
            return bm25_norms(self.table.length.rows, universe, self.reach, spread)
        return self._spread if spread is NEIGHBOUR_SPREAD else self._alone

    @cached_property
    def _spread(self) -> NDArray[np.float32]:
        return self.lengths(NEIGHBOUR_SPREAD, self.table.is_alive.rows)

    @cached_property
    def _alone(self) -> NDArray[np.float32]:
        return self.lengths(NO_SPREAD, self.table.is_alive.rows)


class OwnerIndex:
    """Memory index of one owner."""

    def __init__(self) -> None:
        self._table = MemoryRows()
        self._vectors = QuantizedVectors()
        self._neighbours = AdjacentMessages(self._table)
        self._parts = self._new_parts()

    def __len__(self) -> int:
        """Return the number of searchable rows."""
        return self._table.live_rows

    @property
    def size_bytes(self) -> int:
        parts = (self._table, self._vectors, self._neighbours)
        return sum(part.size_bytes for part in parts) + 16 * len(self._table)

    @property
    def without_vector(self) -> int:
        """Number of rows that can be found by keywords only."""
        return int(np.count_nonzero(self._table.is_alive.rows & ~self._vectors.has))

    def keys_without_vector(self) -> list[int]:
        """Keys of the rows that can be found by keywords only."""
        rows = np.flatnonzero(self._table.is_alive.rows & ~self._vectors.has)
        keys: list[int] = self._table.key.rows[rows].tolist()
        return keys

    def has_vector(self, key: int) -> bool:
        (row,) = self._table.rows_of([key]).tolist()
        return row != NO_ROW and bool(self._vectors.has[row])

    @property
    def needs_rebuild(self) -> bool:
        return self._table.needs_rebuild

    @property
    def speakers(self) -> list[str]:
        """Names of the speakers of the messages."""
        return self._table.codes["speaker"].texts

    def without_names(self, text: str) -> str:
        """The query as it is to be embedded for RECALL: without the speakers' names."""
        return query_analysis.remove_names(text, self.speakers)

    def put(self, columns: IndexColumns) -> None:
        """Add rows, or replace those with these keys. Each key once.

        A row with the same content keeps its vector. Raises ValueError for terms of another
        version, and for more than 16 million rows.
        """
        if not len(columns):
            return
        self._table.check_capacity(len(columns))
        values = self._table.encoded(columns)
        old = self._table.rows_of(columns.key)
        same = old != NO_ROW
        if len(self._table):
            same &= self._table.digest.rows[old] == values["digest"]
        kept = {name: value[same] for name, value in values.items()}
        self._overwrite(old[same], kept)
        new = np.flatnonzero(~same)
        if len(new):
            fresh = {name: value[new] for name, value in values.items()}
            self._append(old[new], fresh, [columns.terms[at] for at in new.tolist()])

    def remove(self, keys: Sequence[int]) -> None:
        """Remove rows. Unknown keys are ignored."""
        rows = self._table.known_rows(keys)
        if len(rows):
            self._bury(rows)
            # Erased, not only hidden: what is forgotten must leave RAM, too.
            self._vectors.drop(rows)

    def set_packed(self, keys: Sequence[int], records: Sequence[bytes]) -> None:
        """Set vectors packed by `vectors.pack_vectors`. Unknown keys are ignored."""
        rows = self._table.rows_of(keys)
        known = rows != NO_ROW
        if known.any():
            self._vectors.put(rows[known], split_packed(records)[0][known])

    def search(
        self,
        query: MemoryQuery,
        vector: NDArray[np.float32] | None,
        *,
        now: float,
        scopes: Sequence[GrantScope] | None = None,
    ) -> list[IndexHit]:
        """Search; returns the hits, best first (or as `sort_by` says).

        `vector`: vector of the query's text (in RECALL: `without_names`), of length 1; None:
        keywords only. `scopes`: grants of a caller that is not the owner; None: the owner asks.
        """
        universe = None if scopes is None else granted_rows(self._table, scopes)
        mask = matching_rows(self._table, query.which, now=now, with_messages=query.with_messages)
        mask &= self._table.is_alive.rows if universe is None else universe
        rows = np.flatnonzero(mask)
        if not len(rows):
            # Common: each statement of a person without facts is compared with their facts.
            return []
        search = MemorySearch(self._parts, query, vector, universe=universe, rows=rows, now=now)
        return rank_hits(search, self._table, query, now=now, scopes=scopes)

    def lacks_vectors(
        self, which: MemoryFilter, *, now: float, scopes: Sequence[GrantScope] | None = None
    ) -> bool:
        """Check whether some of the matching entries have no vector and can be found by keywords
        only."""
        mask = matching_rows(self._table, which, now=now, with_messages=False) & ~self._vectors.has
        if scopes is None:
            return bool((mask & self._table.is_alive.rows).any())
        return bool((mask & granted_rows(self._table, scopes)).any())

    def similar(
        self,
        key: int,
        *,
        now: float,
        which: MemoryFilter = ANY_MEMORY,
        limit: int = 10,
        min_score: float = 0.0,
        scopes: Sequence[GrantScope] | None = None,
    ) -> list[IndexHit]:
        """Find the entries most similar to this one; by keywords if one of the two has no
        vector."""
        (row,) = self._table.rows_of([key]).tolist()
        if row == NO_ROW:
            return []
        universe = None if scopes is None else granted_rows(self._table, scopes)
        mask = matching_rows(self._table, which, now=now, with_messages=False)
        mask &= self._table.is_alive.rows if universe is None else universe
        mask[row] = False
        rows = np.flatnonzero(mask)
        scores = self._likeness(row, rows, universe)
        chosen = (scores > 0) & (scores >= min_score)
        best = order_rows(self._table, rows[chosen], scores[chosen])[:limit]
        found = dict(zip(rows.tolist(), scores.tolist(), strict=True))
        return [
            IndexHit(key=int(self._table.key.rows[at]), score=found[at]) for at in best.tolist()
        ]

    @property
    def needs_merge(self) -> bool:
        return self._table.needs_merge

    def merge_job(self) -> Callable[[], Callable[[], None]]:
        return self._table.merge_job()

    def _overwrite(
        self, rows: NDArray[np.int32], values: Mapping[str, NDArray[np.generic]]
    ) -> None:
        if not len(rows):
            return
        changed = self._table.content_hash.rows[rows] != values["content_hash"]
        self._vectors.drop(rows[changed])
        moved = self._table.session.rows[rows] != values["session"]
        moved |= self._table.created_at.rows[rows] != values["created_at"]
        sessions = set(self._table.session.rows[rows[moved]].tolist())
        self._table.overwrite(rows, values)
        if moved.any():
            self._relink(sessions | set(self._table.session.rows[rows[moved]].tolist()))

    def _append(
        self,
        old: NDArray[np.int32],
        values: Mapping[str, NDArray[np.generic]],
        terms: Sequence[bytes],
    ) -> None:
        first, replaced = len(self._table), old != NO_ROW
        # First: it takes the keys of the old rows away, and append() gives them to the new ones.
        self._bury(old[replaced])
        rows = self._table.append(values)
        self._table.add_terms(read_items(terms, first))
        self._vectors.extend(len(rows))
        # A row with the same content keeps its vector; what was replaced must not stay in RAM.
        before, after, hashes = old[replaced], rows[replaced], self._table.content_hash.rows
        is_same = hashes[before] == hashes[after]
        self._vectors.move(before[is_same], after[is_same])
        self._vectors.drop(before)
        self._neighbours.add(rows)
        self._parts = self._new_parts()

    def _bury(self, rows: NDArray[np.int32]) -> None:
        if not len(rows):
            return
        self._table.mark_dead(rows)
        self._parts = self._new_parts()
        self._relink(set(self._table.session.rows[rows[self._table.is_message[rows]]].tolist()))

    def _relink(self, sessions: set[int]) -> None:
        if sessions:
            self._neighbours.relink(sessions)
            self._parts = self._new_parts()

    def _new_parts(self) -> IndexSnapshot:
        """Create a snapshot; needed after every change of rows."""
        return IndexSnapshot(self._table, self._vectors, self._neighbours)

    def _likeness(
        self, row: int, rows: NDArray[np.intp], universe: NDArray[np.bool_] | None
    ) -> NDArray[np.float32]:
        vector, has = self._vectors.of(row), self._vectors.has[rows]
        if vector is None:
            return self._likeness_by_words(row, rows, universe)
        likeness = np.clip(self._vectors.all_cosines(vector), 0, 1)[rows].round(5)
        if has.all():
            return likeness
        return np.where(has, likeness, self._likeness_by_words(row, rows, universe))

    def _likeness_by_words(
        self, row: int, rows: NDArray[np.intp], universe: NDArray[np.bool_] | None
    ) -> NDArray[np.float32]:
        terms = sorted(self._table.postings.weights_of_row(row))[:MAX_WORDS]
        words = [QueryWord(text="", terms=(term,)) for term in terms]
        leg = MemoryBm25(self._parts, universe=universe)
        return np.minimum(leg.shares(leg.words(words), NO_SPREAD), 1)[rows].round(5)
