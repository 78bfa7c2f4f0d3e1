"""How much of what a query says is in each chunk: the words that it shares, and BM25 over them.

Counted over the namespaces that are asked and no others. Knows no meaning.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from spade_llm.rag.fusion import by_words, word_weight
from spade_llm.text.highest import highest
from spade_llm.text.terms import CONTENT_WEIGHT, query_words

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from spade_llm.rag.word_index import WordIndex
    from spade_llm.text.segment import Posting
    from spade_llm.text.terms import QueryWord

    Row = NDArray[np.float32]

MAX_QUERY_WORDS = 32
"""Further words of a query are not looked up."""
SPARE = 4
"""So many times the wanted number are looked at: some repeat the text of others."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class WordScores:
    """Of the rows of one namespace."""

    shares: Row
    """The weighted share of the query's words that are in it, 0…1."""
    ranks: Row
    """BM25 as a share of the most that these words could give, 0…1."""

    @property
    def scores(self) -> Row:
        return by_words(self.shares, self.ranks)


def word_scores(query: str, indexes: Sequence[WordIndex]) -> list[WordScores]:
    """One for each index; the same weights for all."""
    words = _asked(query)
    found = [[index.find(word.terms) for word in words] for index in indexes]
    weights = _weights(words, found, chunks=sum(index.chunks for index in indexes))
    pairs = zip(indexes, found, strict=True)
    return [_scored(index, postings, weights) for index, postings in pairs]


def best_rows(
    scores: Row, texts: NDArray[np.int64], allowed: NDArray[np.bool_] | None, limit: int
) -> NDArray[np.intp]:
    """The highest above 0, in order, each text once; of equal ones the first."""
    rows = np.flatnonzero(scores > 0 if allowed is None else (scores > 0) & allowed)
    count = SPARE * limit
    while len(rows) > count:
        some = _each_once(rows[highest(scores[rows], count)], scores, texts)
        if len(some) >= limit:
            return some[:limit]
        count *= SPARE
    return _each_once(rows, scores, texts)[:limit]


def _each_once(rows: NDArray[np.intp], scores: Row, texts: NDArray[np.int64]) -> NDArray[np.intp]:
    ordered = rows[np.lexsort((rows, -scores[rows]))]
    _, first = np.unique(texts[ordered], return_index=True)
    return np.asarray(ordered[np.sort(first)])


def _asked(query: str) -> list[QueryWord]:
    """Each once, whatever its ending."""
    words = {word.terms: word for word in reversed(query_words(query))}
    return list(reversed(words.values()))[:MAX_QUERY_WORDS]


def _weights(
    words: Sequence[QueryWord], found: Sequence[Sequence[Posting]], *, chunks: int
) -> list[float]:
    """Of each word: a rare one says more, and one that is nowhere says most."""
    counts = [sum(len(postings[at].rows) for postings in found) for at in range(len(words))]
    return [word_weight(found_in=count, of=max(chunks, count)) for count in counts]


def _scored(index: WordIndex, postings: Sequence[Posting], weights: Sequence[float]) -> WordScores:
    shares, ranks = np.zeros((2, len(index)), np.float32)
    norms = index.norms
    for posting, weight in zip(postings, weights, strict=True):
        times = posting.weights * np.float32(1 / CONTENT_WEIGHT)
        shares[posting.rows] += np.float32(weight)
        ranks[posting.rows] += np.float32(weight) * times / (times + norms[posting.rows])
    total = np.float32(sum(weights) or 1.0)
    return WordScores(shares=np.minimum(shares / total, 1), ranks=np.minimum(ranks / total, 1))
