"""BM25 keyword scores of passages, and hybrid fusion with cosine similarity."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from spade_llm.search.arrays import top_k
from spade_llm.search.terms import CONTENT_WEIGHT, query_words

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from spade_llm.search.passage_index import PassageIndex
    from spade_llm.search.postings import PostingList
    from spade_llm.search.terms import QueryWord

Figure = TypeVar("Figure", float, "NDArray[np.float32]")

WORD_WEIGHT = 0.6
"""Maximum that shared words add if the passage also has a cosine: a passage with every word of the
query and cosine 0 gets this score; half of the words add a quarter of it."""
RANK_WEIGHT = 0.05
"""Share of the keyword score that BM25 decides: the order among passages with the same words."""


def inverse_document_frequency(*, found_in: int, of: int) -> float:
    """Inverse document frequency, smoothed so that it is sensible in a library of one passage."""
    return math.log(1 + (of + 10) / (found_in + 1))


def hybrid_score(cosine: float, share: float) -> float:
    """Combine the cosine (base) with `share`, the weighted share of the query's words in the
    passage.

    The share closes part of the gap to 1, by its square: a query in a passage's own words is about
    that passage; a query that shares some words with it may not be.
    """
    base = min(max(cosine, 0.0), 1.0)
    return base + (1 - base) * WORD_WEIGHT * share**2


def keyword_score(share: Figure, rank: Figure) -> Figure:
    """Both 0…1, of one passage or a row of them; never more than the share of words deserves."""
    return share * (1 - RANK_WEIGHT * (1 - rank))


if TYPE_CHECKING:
    Row = NDArray[np.float32]

MAX_QUERY_WORDS = 32
"""Further words of a query are not looked up."""
OVERSAMPLING = 4
"""Number of rows examined, as a multiple of the limit: some repeat the text of others."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class KeywordScores:
    """Keyword scores of the rows of one namespace."""

    shares: Row
    """The weighted share of the query's words that are in it, 0…1."""
    ranks: Row
    """BM25 as a share of the most that these words could give, 0…1."""

    @property
    def scores(self) -> Row:
        return keyword_score(self.shares, self.ranks)


def keyword_scores(query: str, indexes: Sequence[PassageIndex]) -> list[KeywordScores]:
    """Score the rows of each index; the word weights are the same for all indexes."""
    words = _query_words(query)
    found = [[index.find(word.terms) for word in words] for index in indexes]
    weights = _word_weights(words, found, chunks=sum(index.live_rows for index in indexes))
    pairs = zip(indexes, found, strict=True)
    return [_score_rows(index, postings, weights) for index, postings in pairs]


def top_rows(
    scores: Row, texts: NDArray[np.int64], allowed: NDArray[np.bool_] | None, limit: int
) -> NDArray[np.intp]:
    """The highest above 0, in order, each text once; of equal ones the first."""
    rows = np.flatnonzero(scores > 0 if allowed is None else (scores > 0) & allowed)
    count = OVERSAMPLING * limit
    while len(rows) > count:
        some = _deduplicate_texts(rows[top_k(scores[rows], count)], scores, texts)
        if len(some) >= limit:
            return some[:limit]
        count *= OVERSAMPLING
    return _deduplicate_texts(rows, scores, texts)[:limit]


def _deduplicate_texts(
    rows: NDArray[np.intp], scores: Row, texts: NDArray[np.int64]
) -> NDArray[np.intp]:
    ordered = rows[np.lexsort((rows, -scores[rows]))]
    _, first = np.unique(texts[ordered], return_index=True)
    return np.asarray(ordered[np.sort(first)])


def _query_words(query: str) -> list[QueryWord]:
    """Each once, whatever its ending."""
    words = {word.terms: word for word in reversed(query_words(query))}
    return list(reversed(words.values()))[:MAX_QUERY_WORDS]


def _word_weights(
    words: Sequence[QueryWord], found: Sequence[Sequence[PostingList]], *, chunks: int
) -> list[float]:
    """Weights of the words: a rare word weighs more, a word that is not found weighs most."""
    counts = [sum(len(postings[at].rows) for postings in found) for at in range(len(words))]
    return [inverse_document_frequency(found_in=count, of=max(chunks, count)) for count in counts]


def _score_rows(
    index: PassageIndex, postings: Sequence[PostingList], weights: Sequence[float]
) -> KeywordScores:
    shares, ranks = np.zeros((2, len(index)), np.float32)
    norms = index.bm25_norms
    for posting, weight in zip(postings, weights, strict=True):
        times = posting.weights * np.float32(1 / CONTENT_WEIGHT)
        shares[posting.rows] += np.float32(weight)
        ranks[posting.rows] += np.float32(weight) * times / (times + norms[posting.rows])
    total = np.float32(sum(weights) or 1.0)
    return KeywordScores(shares=np.minimum(shares / total, 1), ranks=np.minimum(ranks / total, 1))
