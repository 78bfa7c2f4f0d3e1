"""Search of a memory index: hybrid ranking, deduplicated hits, score explanations."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from spade_llm.search import bm25, memory_fusion
from spade_llm.search.bm25 import K1, MemoryBm25
from spade_llm.search.memory_query import IndexHit, ScoreExplanation, SearchMode, SortBy
from spade_llm.search.memory_table import MAX_GAP_S, scope_mask
from spade_llm.search.query_analysis import asks_for_several, asks_for_things, find_names
from spade_llm.search.table import top_k
from spade_llm.search.terms import MAX_KEYWORDS, MAX_WORDS, query_words
from spade_llm.search.vectors import COMPUTED_ROWS, EXACT_ROWS

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from spade_llm.search.memory_index import IndexSnapshot
    from spade_llm.search.memory_query import GrantScope, MemoryQuery
    from spade_llm.search.memory_table import MemoryRows
    from spade_llm.search.postings import PostingList

    Row = NDArray[np.float32]
    Rows = NDArray[np.intp]
    Values = NDArray[np.float32] | NDArray[np.float64]

DAY_S = 86_400.0
# FSRS 6's default; by the factor, 0.9 is kept after as many days as the stability says.
FSRS_DECAY = 0.1542
FSRS_FACTOR = 0.9 ** (-1 / FSRS_DECAY) - 1
INITIAL_STABILITY = 2.3
"""Days, of what was never reviewed: FSRS's after a first `good`."""
MIN_RETRIEVABILITY = 0.7
"""A bare multiplier costs 17 points of recall@5."""
HALF_LIFE_DAYS = 30.0
SCORE_DECIMALS = 5
"""Number of decimals of a score; rows with equal rounded scores are ordered by age."""
TIE_BREAKER = 0.05
"""Share of a recall's score that is multiplied by its retrievability."""

OVERSAMPLING = 3
"""Number of rows ordered at first, as a multiple of the limit: some repeat others' content."""
OCCASION_DISCOUNT = 0.975
"""Factor of a hit's score for each better hit of the same occasion, if the question asks for
things: further answers are rather told on other occasions."""
MAX_DISCOUNTS = 3
DISCOUNTED_RANKS = 30
"""Number of best hits that are discounted; the same for any limit, so that pages agree."""


def retrievability(table: MemoryRows, rows: NDArray[np.intp], now: float) -> NDArray[np.float32]:
    """Probability that a memory is still remembered (FSRS), MIN_RETRIEVABILITY…1."""
    stability = table.stability.rows[rows]
    since = np.maximum(table.reviewed_at.rows[rows], table.created_at.rows[rows])
    days = (np.maximum(0.0, now - since) / DAY_S).astype(np.float32)
    stability = np.where(stability > 0, stability, np.float32(INITIAL_STABILITY))
    kept = (1 + np.float32(FSRS_FACTOR) * days / stability) ** np.float32(-FSRS_DECAY)
    return np.asarray(MIN_RETRIEVABILITY + (1 - MIN_RETRIEVABILITY) * kept, np.float32)


def recency(table: MemoryRows, rows: NDArray[np.intp], now: float) -> NDArray[np.float32]:
    """Recency, 0…1: 1 now, a half after a month."""
    days = np.maximum(0.0, now - table.created_at.rows[rows]) / DAY_S
    return np.exp2(-days / HALF_LIFE_DAYS).astype(np.float32)


class MemorySearch:
    """Hybrid scoring of one query. `rows`: rows that match the filter. `universe`: mask of the rows
    accessible to the caller; None: all."""

    def __init__(
        self,
        parts: IndexSnapshot,
        query: MemoryQuery,
        vector: NDArray[np.float32] | None,
        *,
        universe: NDArray[np.bool_] | None,
        rows: Rows,
        now: float,
    ) -> None:
        self.rows = rows
        self._has_all = len(rows) == len(parts.table)
        self._parts, self._query, self._now = parts, query, now
        self._vector = vector if parts.vectors.any else None
        self._universe = universe
        self._cosines = np.append(self._estimated(), np.float32(0))
        """Cosines of all rows, and 0 for a missing neighbour."""

    def ranked(self) -> tuple[Rows, Row]:
        """Return the candidates for the best rows, unordered, with their scores; 0 means no
        match."""
        if not self.is_estimated:
            return self.rows, self._scores(self.rows)
        # Ordered by another value without a minimum score, every match counts.
        if self._query.sort_by is not SortBy.RELEVANCE and self._query.min_score == 0:
            return self.rows, self._relevance(None)[self.rows].round(SCORE_DECIMALS)
        best = self._best_by_estimate()
        self._compute(best)
        # No longer that of the estimates.
        self._balance = self._balance_among(best)
        return best, self._scores(best)

    def exact_scores(self, rows: Rows) -> Row:
        if self.is_estimated:
            self._compute(rows)
        return self._scores(rows)

    @property
    def is_estimated(self) -> bool:
        is_asked = self._vector is not None and self._query.mode is not SearchMode.KEYWORD
        return is_asked and len(self._parts.table) > EXACT_ROWS

    @cached_property
    def keyword_scores(self) -> Row:
        """0…1, of all rows. In SEMANTIC only rows without a vector have one."""
        share = np.minimum(self._keyword / np.float32(K1 + 1), 1)
        return np.asarray(share * (2 - share))

    @property
    def vector_scores(self) -> Row:
        return np.clip(self._cosines[:-1], 0, 1)

    def bonuses(self, row: int) -> dict[str, float]:
        """Bonuses of a row in RECALL, by name."""
        if self._query.mode is not SearchMode.RECALL:
            return {}
        vectors, others = self._balance
        found = {name: float(bonus[row]) * others for name, bonus in self._bonuses.items()}
        near = float(self._near(np.array([row]))[0])
        return {**found, "neighbourhood": memory_fusion.AROUND * near * vectors}

    @property
    def _is_semantic(self) -> bool:
        return self._query.mode is SearchMode.SEMANTIC

    def _estimated(self) -> Row:
        vectors = self._parts.vectors
        if self._vector is None or self._query.mode is SearchMode.KEYWORD:
            return np.zeros(len(self._parts.table), np.float32)
        if self.is_estimated:
            return vectors.near_cosines(self._vector)
        return vectors.all_cosines(self._vector)

    def _best_by_estimate(self) -> Rows:
        rows, count = self.rows, max(COMPUTED_ROWS, 2 * self._query.limit)
        if len(rows) <= count:
            return rows
        relevance = self._relevance(None)
        relevance = relevance if self._has_all else relevance[rows]
        scores = self._weighed(rows, relevance)
        return rows[top_k(scores, count)]

    def _compute(self, rows: Rows) -> None:
        if self._vector is None:
            return
        is_needed = np.zeros(len(self._cosines), np.bool_)
        is_needed[rows] = True
        if self._query.mode is SearchMode.RECALL:
            for place in (-1, 1):
                is_needed[self._parts.reach[place][rows]] = True
        needed = np.flatnonzero(is_needed[:-1])
        self._cosines[needed] = self._parts.vectors.cosines(needed, self._vector)

    def _scores(self, rows: Rows) -> Row:
        relevance = self._relevance(rows)
        if self._query.mode is SearchMode.RECALL:
            kept = retrievability(self._parts.table, rows, self._now)
            relevance *= 1 - np.float32(TIE_BREAKER) * (1 - kept)
        return self._weighed(rows, relevance).round(SCORE_DECIMALS)

    def _weighed(self, rows: Rows, relevance: Row) -> Row:
        importance, newness = self._query.importance_weight, self._query.recency_weight
        if importance == 0 and newness == 0:
            return relevance
        whole = max(1.0, importance + newness)
        score = np.float32(1 - (importance + newness) / whole) * relevance
        score += np.float32(importance / whole) * self._parts.table.importance.rows[rows]
        score += np.float32(newness / whole) * recency(self._parts.table, rows, self._now)
        # Importance and newness alone are no match.
        return np.where(relevance > 0, score, np.float32(0))

    def _relevance(self, rows: Rows | None) -> Row:
        """Relevance of these rows, or of all (None)."""
        # For all rows a slice is a view; indexing would copy every array.
        if rows is self.rows and self._has_all:
            rows = None
        at = slice(None) if rows is None else rows
        mode = self._query.mode
        if mode is SearchMode.RECALL:
            return self._recalled(rows)
        if mode is SearchMode.KEYWORD:
            return self.keyword_scores[at]
        words, meaning = self.keyword_scores[at], self.vector_scores[at]
        weight = np.float32(1 if self._vector is None else self._query.keyword_weight)
        both = meaning if self._is_semantic else weight * words + (1 - weight) * meaning
        return np.where(self._parts.vectors.has[at], both, words)

    def _recalled(self, rows: Rows | None) -> Row:
        at, date = slice(None) if rows is None else rows, self._bonuses.get("date")
        return memory_fusion.fuse_scores(
            keyword=self._keyword[at],
            vector=self._cosines[:-1][at],
            near=self._near(rows) if len(self._parts.linked) else None,
            bonus=self._bonus[at],
            date=None if date is None else date[at],
            balance=self._balance,
            is_about_several=asks_for_several(self._query.text),
        )

    @cached_property
    def _balance(self) -> tuple[float, float]:
        return self._balance_among(self.rows)

    def _balance_among(self, rows: Rows) -> tuple[float, float]:
        if self._vector is None:
            return (1.0, 1.0)
        # For all rows a slice is a view; indexing would copy the array.
        cosines = self._cosines[:-1] if len(rows) == len(self._cosines) - 1 else self._cosines[rows]
        return memory_fusion.vector_balance(float(cosines.max(initial=0)))

    def _near(self, rows: Rows | None) -> Row:
        """Cosine with the sum of a row's vector and its neighbours', nearly."""
        reach, cosines = self._parts.reach, self._cosines
        at = slice(None, -1) if rows is None else rows
        if not len(self._parts.linked):
            return np.asarray(cosines[at])
        total = cosines[at] + cosines[reach[-1][at]]
        total += cosines[reach[1][at]]
        lengths = self._parts.lengths_around()
        total /= lengths if rows is None else lengths[rows]
        return total

    @cached_property
    def _bonus(self) -> Row:
        first, *others = self._bonuses.values()
        total = first.copy()
        for bonus in others:
            total += bonus
        return total

    @cached_property
    def _bonuses(self) -> Mapping[str, Row]:
        asked = memory_fusion.RecallQuery(text=self._query.text, named=self._named, now=self._now)
        return memory_fusion.recall_bonuses(self._parts, asked, self._keyword)

    @cached_property
    def _named(self) -> str | None:
        """Speaker named in the query, if exactly one with accessible messages is named."""
        table = self._parts.table
        codes = table.codes["speaker"]
        said = find_names(self._query.text, codes.texts)
        speakers = table.speaker.rows[self.rows] if said else np.empty(0, np.int32)
        named = [name for name in said if (speakers == codes.find(name)).any()]
        return named[0] if len(named) == 1 else None

    @cached_property
    def _keyword(self) -> Row:
        """0…1 + K1. Without a match beginnings of words are tried."""
        is_alone = self._query.mode is SearchMode.KEYWORD
        words = query_words(self._query.text, limit=MAX_KEYWORDS if is_alone else MAX_WORDS)
        has = self._parts.vectors.has
        is_needed = not self._is_semantic or not has[self.rows].all()
        if not (words and is_needed):
            return np.zeros(len(self._parts.table), np.float32)
        leg = MemoryBm25(self._parts, universe=self._universe)
        shares = self._shares(leg, leg.words(words))
        if not (shares if self._has_all else shares[self.rows]).any():
            shares = self._shares(leg, leg.beginnings(words))
        return np.where(has, np.float32(0), shares) if self._is_semantic else shares

    def _shares(self, leg: MemoryBm25, postings: Sequence[PostingList]) -> Row:
        is_recall = self._query.mode is SearchMode.RECALL
        return leg.shares(postings, bm25.NEIGHBOUR_SPREAD if is_recall else bm25.NO_SPREAD)


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
    is_by_relevance = query.mode is SearchMode.RECALL and query.sort_by is SortBy.RELEVANCE
    is_spread = is_by_relevance and query.with_messages and asks_for_things(query.text)
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
    is_recall = query.mode is SearchMode.RECALL
    shown = _entries_before_messages(table, rows[matching], chosen) if is_recall else chosen
    return [
        IndexHit(key=key, score=score, why=explainer.of(row, discount) if explainer else None)
        for key, row, score, discount in zip(
            table.key.rows[shown].tolist(),
            chosen.tolist(),
            exact.tolist(),
            discounts.tolist(),
            strict=True,
        )
    ]


def order_rows(table: MemoryRows, rows: Rows, scores: Values) -> Rows:
    """Highest first; equal ones newest first, then by key."""
    keys, made = table.key.rows[rows], table.created_at.rows[rows]
    return rows[np.lexsort((keys, -made, -scores))]


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


HASH_BITS = (1 << 14) - 1
"""Bits of a content's hash by which rows are preselected."""


def _entries_before_messages(table: MemoryRows, rows: Rows, chosen: Rows) -> Rows:
    """The chosen rows, in which an entry takes the place of a message with the same content: it
    tells how long it holds, and which of two equal ones has the higher score is by chance."""
    hashes, is_message = table.content_hash.rows, table.is_message
    messages = chosen[is_message[chosen]]
    if not len(messages):
        return chosen
    # Most rows are left out by a few bits of the hash: comparing all of them takes longer.
    wanted = np.zeros(HASH_BITS + 1, np.bool_)
    wanted[hashes[messages] & HASH_BITS] = True
    near = rows[wanted[hashes[rows] & HASH_BITS]]
    entries = near[~is_message[near]]
    by_hash = dict(zip(hashes[entries].tolist(), entries.tolist(), strict=True))
    told = zip(hashes[messages].tolist(), messages.tolist(), strict=True)
    shown = chosen.copy()
    shown[is_message[chosen]] = [by_hash.get(of_content, row) for of_content, row in told]
    return shown


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
