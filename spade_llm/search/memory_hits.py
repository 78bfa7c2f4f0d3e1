"""Hits of a memory search: order, deduplication, score explanations."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from spade_llm.search.memory_query import IndexHit, ScoreExplanation, SearchMode, SortBy
from spade_llm.search.memory_search import SCORE_DECIMALS, recency, retrievability
from spade_llm.search.memory_table import MAX_GAP_S, scope_mask
from spade_llm.search.query_analysis import asks_for_things

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
OCCASION_DISCOUNT = 0.975
"""Factor of a hit's score for each better hit of the same occasion, if the question asks for
things: further answers are rather told on other occasions."""
MAX_DISCOUNTS = 3
DISCOUNTED_RANKS = 30
"""Number of best hits that are discounted; the same for any limit, so that pages agree."""


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
    is_spread = _is_spread_over_occasions(query)
    limit = max(query.limit, DISCOUNTED_RANKS) if is_spread else query.limit
    chosen = _select_rows(table, query, rows[matching], scores[matching], limit)
    exact = search.exact_scores(chosen).astype(np.float64).round(SCORE_DECIMALS)
    discounts = np.ones(len(chosen))
    if is_spread:
        discounts = _occasion_discounts(table, chosen)
        exact = (exact * discounts).round(SCORE_DECIMALS)
        # Later rows stay behind, whatever the discounts: a lower limit gives the first of the same.
        least = exact[:DISCOUNTED_RANKS].min(initial=1.0)
        exact[DISCOUNTED_RANKS:] = np.minimum(exact[DISCOUNTED_RANKS:], least)
        order = np.argsort(-exact, kind="stable")
        order = order[exact[order] >= query.min_score][: query.limit]
        chosen, exact, discounts = chosen[order], exact[order], discounts[order]
    explainer = (
        _ScoreExplainer(search, table, query, now=now, scopes=scopes) if query.explain else None
    )
    return [
        IndexHit(
            key=int(table.key.rows[row]),
            score=score,
            why=explainer.of(row, discount) if explainer else None,
        )
        for row, score, discount in zip(
            chosen.tolist(), exact.tolist(), discounts.tolist(), strict=True
        )
    ]


def order_rows(table: MemoryRows, rows: Rows, scores: Values) -> Rows:
    """Highest first; equal ones newest first, then by key."""
    keys, made = table.key.rows[rows], table.created_at.rows[rows]
    return rows[np.lexsort((keys, -made, -scores))]


def _is_spread_over_occasions(query: MemoryQuery) -> bool:
    is_by_relevance = query.mode is SearchMode.RECALL and query.sort_by is SortBy.RELEVANCE
    return is_by_relevance and query.with_messages and asks_for_things(query.text)


def _occasion_discounts(table: MemoryRows, rows: Rows) -> NDArray[np.float64]:
    """Factors of the scores of rows, which are in order, for better ones of the same occasion."""
    discounts = np.ones(len(rows))
    better = _better_of_occasion(table, rows[:DISCOUNTED_RANKS])
    discounts[:DISCOUNTED_RANKS] = OCCASION_DISCOUNT ** np.minimum(better, MAX_DISCOUNTS)
    return discounts


def _better_of_occasion(table: MemoryRows, rows: Rows) -> NDArray[np.intp]:
    """Number of preceding rows of the same occasion for each row: messages of a conversation with
    less than MAX_GAP_S between them. Entries have none."""
    sessions, made = table.session.rows[rows], table.created_at.rows[rows]
    by_time = np.lexsort((made, sessions))
    is_first = np.ones(len(rows), np.bool_)
    is_first[1:] = (np.diff(sessions[by_time]) != 0) | (np.diff(made[by_time]) >= MAX_GAP_S)
    is_first |= ~table.is_message[rows[by_time]]
    occasions = np.empty(len(rows), np.intp)
    occasions[by_time] = np.cumsum(is_first)
    by_occasion = np.argsort(occasions, kind="stable")
    starts = np.searchsorted(occasions[by_occasion], occasions[by_occasion])
    better = np.empty(len(rows), np.intp)
    better[by_occasion] = np.arange(len(rows)) - starts
    return better


def _select_rows(
    table: MemoryRows, query: MemoryQuery, rows: Rows, scores: Row, limit: int
) -> Rows:
    """Hits in the order of the query: chosen by score and then sorted; with `min_score` 0, sorted
    at once."""
    if query.sort_by is SortBy.RELEVANCE:
        return _top_rows(table, query, rows, scores, limit)
    by = table.created_at.rows
    if query.sort_by is SortBy.IMPORTANCE:
        by = table.importance.rows.astype(np.float64)
    if query.min_score > 0:
        best = _top_rows(table, query, rows, scores, limit)
        return order_rows(table, best, by[best])
    return _top_rows(table, query, rows, by[rows], limit)


def _top_rows(
    table: MemoryRows, query: MemoryQuery, rows: Rows, values: Values, limit: int
) -> Rows:
    """The first ones in order."""
    count = OVERSAMPLING * limit
    while count < len(rows):
        # Includes all rows equal to the last one, since ties are ordered afterwards.
        high = np.flatnonzero(values >= np.partition(values, -count)[-count])
        part = _deduplicate_rows(table, query, order_rows(table, rows[high], values[high]))
        if len(part) >= limit:
            return part[:limit]
        count *= 4
    return _deduplicate_rows(table, query, order_rows(table, rows, values))[:limit]


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

    def of(self, row: int, occasion_discount: float) -> ScoreExplanation:
        return ScoreExplanation(
            keyword_score=float(self._keywords[row]),
            keyword_rank=self._rank(self._keywords, row),
            vector_score=float(self._vectors[row]),
            vector_rank=self._rank(self._vectors, row),
            bonuses=self._bonuses(row, occasion_discount),
            age_s=max(0.0, self._now - float(self._table.created_at.rows[row])),
            grant=next((grant for grant, mask in self._grants if mask[row]), None),
        )

    def _rank(self, scores: Row, row: int) -> int | None:
        if scores[row] <= 0:
            return None
        return int(np.count_nonzero(scores[self._search.rows] > scores[row])) + 1

    def _bonuses(self, row: int, occasion_discount: float) -> Mapping[str, float]:
        at, found = np.array([row]), self._search.bonuses(row)
        if self._query.mode is SearchMode.RECALL:
            found["retrievability"] = float(retrievability(self._table, at, self._now)[0])
        if self._query.importance_weight:
            found["importance"] = float(self._table.importance.rows[row])
        if self._query.recency_weight:
            found["recency"] = float(recency(self._table, at, self._now)[0])
        if occasion_discount < 1:
            found["occasion"] = occasion_discount
        return {name: value for name, value in found.items() if value}
