"""Hits of a memory search: order, deduplication, score explanations."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from spade_llm.search.memory_filters import scope_mask
from spade_llm.search.memory_query import IndexHit, ScoreExplanation, SearchMode, SortBy
from spade_llm.search.memory_search import SCORE_DECIMALS, recency, retrievability

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from spade_llm.search.memory_query import GrantScope, MemoryQuery
    from spade_llm.search.memory_search import MemorySearch
    from spade_llm.search.memory_table import MemoryRows

    Row = NDArray[np.float32]
    Rows = NDArray[np.intp]
    Values = NDArray[np.float32] | NDArray[np.float64]

OVERSAMPLING = 3
"""Number of rows ordered at first, as a multiple of the limit: some repeat others' content."""


def rank_hits(
    search: MemorySearch,
    table: MemoryRows,
    query: MemoryQuery,
    *,
    now: float,
    scopes: Sequence[GrantScope] | None,
) -> list[IndexHit]:
    rows, scores = search.ranked()
    matching = np.flatnonzero((scores > 0) & (scores >= query.min_score))
    chosen = _select_rows(table, query, rows[matching], scores[matching])
    exact = search.exact_scores(chosen).astype(np.float64).round(SCORE_DECIMALS)
    explainer = (
        _ScoreExplainer(search, table, query, now=now, scopes=scopes) if query.explain else None
    )
    return [
        IndexHit(
            key=int(table.key.rows[row]), score=score, why=explainer.of(row) if explainer else None
        )
        for row, score in zip(chosen.tolist(), exact.tolist(), strict=True)
    ]


def order_rows(table: MemoryRows, rows: Rows, scores: Values) -> Rows:
    """Highest first; equal ones newest first, then by key."""
    keys, made = table.key.rows[rows], table.created_at.rows[rows]
    return rows[np.lexsort((keys, -made, -scores))]


def _select_rows(table: MemoryRows, query: MemoryQuery, rows: Rows, scores: Row) -> Rows:
    """Hits in the order of the query: chosen by score and then sorted; with `min_score` 0, sorted
    at once."""
    if query.sort_by is SortBy.RELEVANCE:
        return _top_rows(table, query, rows, scores)
    by = table.created_at.rows
    if query.sort_by is SortBy.IMPORTANCE:
        by = table.importance.rows.astype(np.float64)
    if query.min_score > 0:
        best = _top_rows(table, query, rows, scores)
        return order_rows(table, best, by[best])
    return _top_rows(table, query, rows, by[rows])


def _top_rows(table: MemoryRows, query: MemoryQuery, rows: Rows, values: Values) -> Rows:
    """The first ones in order."""
    count = OVERSAMPLING * query.limit
    while count < len(rows):
        # Includes all rows equal to the last one, since ties are ordered afterwards.
        high = np.flatnonzero(values >= np.partition(values, -count)[-count])
        part = _deduplicate_rows(table, query, order_rows(table, rows[high], values[high]))
        if len(part) >= query.limit:
            return part[: query.limit]
        count *= 4
    return _deduplicate_rows(table, query, order_rows(table, rows, values))[: query.limit]


def _deduplicate_rows(table: MemoryRows, query: MemoryQuery, rows: Rows) -> Rows:
    """Entries are told apart by their ids, tags and metadata, messages by their content alone. What
    RECALL finds is quoted to a model: there a text costs its tokens once."""
    _, first = np.unique(table.content_hash.rows[rows], return_index=True)
    is_new = np.zeros(len(rows), np.bool_)
    is_new[first] = True
    if query.mode is not SearchMode.RECALL:
        is_new |= ~table.is_message[rows]
    return rows[is_new]


class _ScoreExplainer:
    def __init__(
        self,
        search: MemorySearch,
        table: MemoryRows,
        query: MemoryQuery,
        *,
        now: float,
        scopes: Sequence[GrantScope] | None,
    ) -> None:
        self._search, self._table, self._query, self._now = search, table, query, now
        self._keywords, self._vectors = search.keyword_scores, search.vector_scores
        self._grants = [(scope.grant, scope_mask(table, scope)) for scope in scopes or ()]

    def of(self, row: int) -> ScoreExplanation:
        return ScoreExplanation(
            keyword_score=float(self._keywords[row]),
            keyword_rank=self._rank(self._keywords, row),
            vector_score=float(self._vectors[row]),
            vector_rank=self._rank(self._vectors, row),
            bonuses=self._bonuses(row),
            age_s=max(0.0, self._now - float(self._table.created_at.rows[row])),
            grant=next((grant for grant, mask in self._grants if mask[row]), None),
        )

    def _rank(self, scores: Row, row: int) -> int | None:
        if scores[row] <= 0:
            return None
        return int(np.count_nonzero(scores[self._search.rows] > scores[row])) + 1

    def _bonuses(self, row: int) -> Mapping[str, float]:
        at, found = np.array([row]), self._search.bonuses(row)
        if self._query.mode is SearchMode.RECALL:
            found["retrievability"] = float(retrievability(self._table, at, self._now)[0])
        if self._query.importance_weight:
            found["importance"] = float(self._table.importance.rows[row])
        if self._query.recency_weight:
            found["recency"] = float(recency(self._table, at, self._now)[0])
        return {name: value for name, value in found.items() if value}
