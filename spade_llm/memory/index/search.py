"""One search of one owner's rows: legs, fusion, order. Reads an index, changes nothing.

In a large index cosines are first estimated by sketches, for all rows; the best of that order are
then computed exactly, and ordered again.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from spade_llm.memory.index import keywords, recall
from spade_llm.memory.index.freshness import recency, retrievability
from spade_llm.memory.index.keywords import K1, Keywords
from spade_llm.memory.index.names import named_in
from spade_llm.memory.index.recall import Legs
from spade_llm.memory.index.terms import query_words
from spade_llm.memory.store import SearchMode, SortBy

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from spade_llm.memory.index.keywords import Lengths
    from spade_llm.memory.index.postings import Postings
    from spade_llm.memory.index.recall import Around
    from spade_llm.memory.index.row_table import RowTable
    from spade_llm.memory.index.segment import Posting
    from spade_llm.memory.index.vectors import Vectors
    from spade_llm.memory.store import MemoryQuery

    Row = NDArray[np.float32]
    Rows = NDArray[np.intp]

EXACT_ROWS = 8192
"""Up to these all cosines are computed: 0.4 ms."""
RESCORED_ROWS = 1024
"""Else the best ones by their sketches."""
DECIMALS = 5
"""Of a score: what is equal to these goes by age."""
TIE_BREAKER = 0.05
"""Share of a recall's score that is multiplied by its retrievability."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Parts:
    """What an index is made of, at one moment."""

    table: RowTable
    postings: Postings
    vectors: Vectors
    reach: Mapping[int, NDArray[np.int32]]
    around: Around


class Search:
    """`rows` are those that the query may find; `universe` those that exist for who asks."""

    def __init__(
        self,
        parts: Parts,
        query: MemoryQuery,
        vector: NDArray[np.float32] | None,
        *,
        universe: NDArray[np.bool_],
        rows: Rows,
        now: float,
    ) -> None:
        self._parts, self._query, self._now = parts, query, now
        self._vector = vector if parts.vectors.any else None
        self._universe, self._rows = universe, rows
        self._cosines = self._estimated()

    def ranked(self) -> tuple[Rows, Row]:
        """What may be among the best, in no order, and how well it matches; 0: not at all."""
        if not self._is_estimated or self._orders_all:
            return self._rows, self._scores(self._rows)
        best = _top(self._rows, self._scores(self._rows), max(RESCORED_ROWS, 2 * self._query.limit))
        return best, self.exact_scores(best)

    def exact_scores(self, rows: Rows) -> Row:
        """With their cosines computed, if they were estimated."""
        if self._is_estimated:
            self._compute(rows)
        return self._scores(rows)

    @property
    def rows(self) -> Rows:
        return self._rows

    def keyword_scores(self) -> Row:
        """0…1, of all rows."""
        share = self._legs_keyword / np.float32(K1 + 1)
        return np.asarray(1 - np.square(1 - np.minimum(share, 1)))

    def vector_scores(self) -> Row:
        return np.clip(self._cosines, 0, 1)

    def bonuses(self, row: int) -> dict[str, float]:
        """By name, what else speaks for a row in RECALL."""
        if self._query.mode is not SearchMode.RECALL:
            return {}
        parts = {**self._bonuses, "neighbourhood": self._near}
        return {name: round(float(bonus[row]), DECIMALS) for name, bonus in parts.items()}

    @property
    def _orders_all(self) -> bool:
        return self._query.sort_by is not SortBy.RELEVANCE and self._query.min_score == 0

    @property
    def _is_estimated(self) -> bool:
        return self._vector is not None and len(self._parts.table) > EXACT_ROWS

    def _estimated(self) -> Row:
        vectors = self._parts.vectors
        if self._vector is None or self._query.mode is SearchMode.KEYWORD:
            return np.zeros(len(self._parts.table), np.float32)
        if self._is_estimated:
            return vectors.near_cosines(self._vector)
        return vectors.all_cosines(self._vector)

    def _compute(self, rows: Rows) -> None:
        if self._query.mode is SearchMode.KEYWORD or self._vector is None:
            return
        if self._query.mode is SearchMode.RECALL:
            around = self._parts.around
            rows = np.unique(np.concatenate([rows, around.before[rows], around.after[rows]]))
            rows = rows[rows >= 0]
        self._cosines[rows] = self._parts.vectors.cosines(rows, self._vector)

    def _scores(self, rows: Rows) -> Row:
        query = self._query
        relevance = self._relevance(rows)
        importance, newness = query.importance_weight, query.recency_weight
        if importance == 0 and newness == 0:
            return relevance.round(DECIMALS)
        whole = max(1.0, importance + newness)
        score = np.float32(1 - (importance + newness) / whole) * relevance
        score += np.float32(importance / whole) * self._parts.table.importance.rows[rows]
        score += np.float32(newness / whole) * recency(self._parts.table, rows, self._now)
        return np.where(relevance > 0, score, np.float32(0)).round(DECIMALS)

    def _relevance(self, rows: Rows) -> Row:
        mode, weight = self._query.mode, np.float32(self._keyword_weight)
        if mode is SearchMode.RECALL:
            return self._recalled(rows)
        if mode is SearchMode.KEYWORD:
            return self.keyword_scores()[rows]
        if mode is SearchMode.SEMANTIC:
            return self.vector_scores()[rows]
        both = weight * self.keyword_scores() + (1 - weight) * self.vector_scores()
        return both[rows]

    def _recalled(self, rows: Rows) -> Row:
        legs = Legs(keyword=self._legs_keyword, vector=self._cosines)
        bonuses = {name: bonus[rows] for name, bonus in self._bonuses.items()}
        found = recall.fused(legs.only(rows), bonuses, self._near[rows])
        kept = retrievability(self._parts.table, rows, self._now)
        return found * (1 - np.float32(TIE_BREAKER) * (1 - kept))

    @property
    def _keyword_weight(self) -> float:
        """Without vectors words are all there is."""
        return 1.0 if self._vector is None else self._query.keyword_weight

    @property
    def _near(self) -> Row:
        return recall.neighbourhood(self._cosines, self._parts.vectors.has, self._parts.around)

    @cached_property
    def _bonuses(self) -> Mapping[str, Row]:
        table = self._parts.table
        asked = recall.Asked(text=self._query.text, named=self._named, now=self._now)
        return recall.bonuses_of(table, asked, self._legs_keyword, self._parts.around)

    @cached_property
    def _named(self) -> str | None:
        table = self._parts.table
        speakers = np.unique(table.speaker.rows[self._rows]).tolist()
        texts = table.codes["speaker"].texts
        named = named_in(self._query.text, [texts[code - 1] for code in speakers if code])
        return named[0] if len(named) == 1 else None

    @cached_property
    def _legs_keyword(self) -> Row:
        """0…1 + K1. Without a match beginnings of words are tried."""
        words = query_words(self._query.text)
        if self._query.mode is SearchMode.SEMANTIC or not words:
            return np.zeros(len(self._parts.table), np.float32)
        leg = Keywords(self._parts.postings, universe=self._universe, reach=self._parts.reach)
        shares = self._shares(leg, leg.words(words))
        if not shares[self._rows].any():
            shares = self._shares(leg, leg.beginnings(words))
        return shares

    def _shares(self, leg: Keywords, postings: Sequence[Posting]) -> Row:
        is_recall = self._query.mode is SearchMode.RECALL
        spread = keywords.SPREAD if is_recall else keywords.ALONE
        return leg.shares(postings, self._lengths(spread), spread)

    def _lengths(self, spread: Mapping[int, float]) -> Lengths:
        parts = self._parts
        return keywords.lengths_of(parts.table.length.rows, self._universe, parts.reach, spread)


def _top(rows: Rows, scores: Row, count: int) -> Rows:
    """Those with the highest scores, in no order."""
    if len(rows) <= count:
        return rows
    return rows[np.argpartition(scores, -count)[-count:]]
