"""BM25 keyword scores of memories, spread to adjacent messages, and of passages.

A score is a share of the maximum that the words of the query could reach.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from spade_llm.search.terms import CONTENT_WEIGHT, PREFIX_CHARS, prefix_hash, query_words

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from spade_llm.search.memory_index import IndexSnapshot
    from spade_llm.search.passage_index import PassageIndex
    from spade_llm.search.postings import PostingList
    from spade_llm.search.terms import QueryWord

    Row = NDArray[np.float32]

Figure = TypeVar("Figure", float, "NDArray[np.float32]")

K1, B = 1.2, 0.75
MAX_QUERY_WORDS = 32
"""Further words of a query are not looked up."""
RANK_WEIGHT = 0.05
"""Share of the keyword score that BM25 decides: the order among passages with the same words."""
NO_SPREAD: Mapping[int, float] = {}
NO_NEIGHBOURS: Mapping[int, NDArray[np.int32]] = {}
LATER_SHARE, EARLIER_SHARE = 0.65, 0.5
NEIGHBOUR_SPREAD: Mapping[int, float] = {
    1: LATER_SHARE,
    2: LATER_SHARE**2,
    -1: EARLIER_SHARE,
    -2: EARLIER_SHARE**2,
}
"""Share of a message's word frequencies that its neighbours get, by offset: the next message (1)
gets 0.65. Later messages get more than earlier ones, since an answer follows its question."""

SMALL_ROWS, DENSE_RATIO = 1500, 8
"""Rows of a table, and rows for each one with the word, up to which shares are read for all rows at
once instead of being added row by row: for a speaker's name among 100 000 messages, a tenth of the
time."""


class MemoryBm25:
    """BM25 scoring of one query. `universe`: mask of the rows accessible to the caller; None:
    all."""

    def __init__(self, parts: IndexSnapshot, *, universe: NDArray[np.bool_] | None) -> None:
        self._parts = parts
        self._universe = universe
        self._is_there = parts.table.is_alive.rows if universe is None else universe
        self._count = int(np.count_nonzero(self._is_there))

    def words(self, words: Sequence[QueryWord]) -> list[PostingList]:
        """Find, for each word, the rows that contain it."""
        found = self._parts.table.postings.find([word.terms for word in words])
        return [self._known(posting) for posting in found]

    def beginnings(self, words: Sequence[QueryWord]) -> list[PostingList]:
        """Find, for each word, the rows with a word that has the same prefix."""
        prefixes = [prefix_hash(word.text) for word in words if len(word.text) >= PREFIX_CHARS]
        found = self._parts.table.postings.find_beginnings(prefixes)
        return [self._known(posting) for posting in found]

    def shares(
        self, postings: Sequence[PostingList], spread: Mapping[int, float]
    ) -> NDArray[np.float32]:
        """0…1 + K1 for each row; 1 is a row of mean length that has each word once."""
        # One more for a missing neighbour, which is index -1; not 0, so that the division is
        # defined.
        norm = np.append(self._parts.lengths(spread, self._universe), np.float32(1))
        times, total = np.zeros((2, len(norm)), np.float32)
        possible = 0.0
        for posting in postings:
            found_in = len(posting.rows)
            # The form of BM25's inverse document frequency that is never negative.
            rarity = float(np.log1p((self._count - found_in + 0.5) / (found_in + 0.5)))
            possible += rarity
            rows, heard = self._heard(posting, spread, times)
            # A row that stands in `rows` twice is added once: numpy writes the same value again.
            total[rows] += np.float32(rarity * (K1 + 1)) * heard / (heard + norm[rows])
        total /= np.float32(possible or 1.0)
        return total[:-1]

    def _heard(
        self, posting: PostingList, spread: Mapping[int, float], times: NDArray[np.float32]
    ) -> tuple[NDArray[np.int32] | slice, NDArray[np.float32]]:
        """Return the rows that contain the word or get a share of it from a neighbour (some more
        than once; or all rows), and their term frequencies. The last element stands for a missing
        neighbour. `times` is a work array that is all zeros before and after the call."""
        said = posting.weights.astype(np.float32) / np.float32(CONTENT_WEIGHT)
        if not spread or not len(self._parts.linked):
            return posting.rows, said
        times[posting.rows] = said
        if len(times) <= SMALL_ROWS + DENSE_RATIO * len(said):
            heard = times.copy()
            for place, share in spread.items():
                # What a row hears comes from the other side.
                heard += np.float32(share) * times[self._parts.reach[-place]]
            times[posting.rows] = 0
            return slice(None), heard
        places = [posting.rows]
        for place, share in spread.items():
            rows = self._parts.reach[place][posting.rows]
            times[rows] += np.float32(share) * said
            places.append(rows)
        rows = np.concatenate(places)
        heard = times[rows]
        # Only what was touched, instead of the whole array for each word.
        times[rows] = 0
        return rows, heard

    def _known(self, posting: PostingList) -> PostingList:
        if self._count == len(self._is_there):
            return posting
        kept = self._is_there[posting.rows]
        return posting if kept.all() else posting.only(kept)


def bm25_norms(
    words: NDArray[np.uint16],
    universe: NDArray[np.bool_],
    reach: Mapping[int, NDArray[np.int32]] = NO_NEIGHBOURS,
    spread: Mapping[int, float] = NO_SPREAD,
) -> NDArray[np.float32]:
    """BM25 length norms of the rows, with the shares that they get from neighbours: K1 for a row of
    mean length."""
    room = np.append(words.astype(np.float32) / np.float32(CONTENT_WEIGHT), np.float32(0))
    room[:-1][~universe] = 0
    total = room.copy()
    for place, share in spread.items():
        # What a row hears comes from the other side.
        total += np.float32(share) * room[reach[-place]]
    mean = float(total[:-1].sum(dtype=np.float64)) / max(1, int(np.count_nonzero(universe)))
    return np.asarray(K1 * (1 - B) + K1 * B / max(mean, 1e-9) * total[:-1], np.float32)


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
    # Each word once, whatever its ending; of several, the first one decides the order.
    by_terms = {word.terms: word for word in reversed(query_words(query))}
    words = list(reversed(by_terms.values()))[:MAX_QUERY_WORDS]
    terms = [word.terms for word in words]
    found = [index.find(terms) for index in indexes]
    chunks = sum(index.live_rows for index in indexes)
    # A rare word weighs more; a word that is not found weighs most.
    counts = [sum(len(postings[at].rows) for postings in found) for at in range(len(words))]
    weights = [
        inverse_document_frequency(found_in=count, of=max(chunks, count)) for count in counts
    ]
    pairs = zip(indexes, found, strict=True)
    return [_score_rows(index, postings, weights) for index, postings in pairs]


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


def keyword_score(share: Figure, rank: Figure) -> Figure:
    """Both 0…1, of one passage or a row of them; never more than the share of words deserves."""
    return share * (1 - RANK_WEIGHT * (1 - rank))


def inverse_document_frequency(*, found_in: int, of: int) -> float:
    """Inverse document frequency, smoothed so that it is sensible in a library of one passage."""
    return math.log(1 + (of + 10) / (found_in + 1))
