"""Ranking of passages: nearest vectors, hybrid scores, adjacent chunks merged in a token budget."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING, Protocol

import numpy as np

from spade_llm.core.text import estimate_tokens
from spade_llm.rag.contract import ScoredChunk
from spade_llm.search.table import NO_ROW, top_k

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from spade_llm.rag.contract import Chunk
    from spade_llm.rag.store.chroma_index import VectorCollection
    from spade_llm.search.bm25 import KeywordScores
    from spade_llm.search.passage_index import PassageIndex

MAX_JOINED = 4
"""Chunks in one passage: more of them are several, one behind the other."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundChunk:
    """A chunk that may be answered."""

    id: int
    document: int
    position: int
    score: float


@dataclass(frozen=True, slots=True)
class ChunkGroup:
    """Chunks of one document in a row, in its order."""

    members: tuple[FoundChunk, ...]

    @property
    def best(self) -> FoundChunk:
        return max(self.members, key=lambda found: found.score)

    def is_next_to(self, other: ChunkGroup) -> bool:
        mine, its = self.members, other.members
        return mine[0].document == its[0].document and (
            mine[-1].position + 1 == its[0].position or its[-1].position + 1 == mine[0].position
        )


def group_chunks(found: Iterable[FoundChunk], k: int, *, merge: bool) -> list[ChunkGroup]:
    """The k best groups, best first. `found`: best first, each once."""
    groups: list[ChunkGroup] = []
    for one in found:
        group = ChunkGroup((one,))
        for other in [other for other in groups if merge and group.is_next_to(other)]:
            if len(group.members) + len(other.members) <= MAX_JOINED:
                groups.remove(other)
                group = _unite_groups(group, other)
        # Checked after merging: a chunk that joins one of the k groups makes no new one.
        if len(groups) == k:
            break
        groups.append(group)
    return sorted(groups, key=_group_order)


def scored_passages(
    groups: Sequence[ChunkGroup], chunks: Mapping[int, Chunk], *, max_tokens: int | None
) -> tuple[ScoredChunk, ...]:
    """Build the scored passages in order. A group that does not fit into `max_tokens` is reduced to
    its best chunk, or left out if that does not fit either."""
    left = max_tokens
    answered: list[ScoredChunk] = []
    for group in groups:
        passage = _fit_group(group, chunks, left)
        if passage is not None:
            answered.append(ScoredChunk(chunk=passage, score=group.best.score))
            left = None if left is None else left - estimate_tokens(passage.text)
    return tuple(answered)


def join_chunks(chunks: Sequence[Chunk]) -> Chunk:
    """Join consecutive chunks into one passage, with their overlap only once."""
    first, last = chunks[0], chunks[-1]
    text = first.text
    for before, chunk in pairwise(chunks):
        text += _gap_text(chunk.start - before.end) + chunk.text[max(0, before.end - chunk.start) :]
    return replace(first, text=text, count=len(chunks), end=last.end)


def _group_order(group: ChunkGroup) -> tuple[float, int, int]:
    return (-group.best.score, group.members[0].document, group.members[0].position)


def _unite_groups(one: ChunkGroup, other: ChunkGroup) -> ChunkGroup:
    return ChunkGroup(
        tuple(sorted((*one.members, *other.members), key=lambda found: found.position))
    )


def _fit_group(group: ChunkGroup, chunks: Mapping[int, Chunk], left: int | None) -> Chunk | None:
    for members in (group.members, (group.best,)):
        passage = join_chunks([chunks[found.id] for found in members])
        if left is None or estimate_tokens(passage.text) <= left:
            return passage
    return None


def _gap_text(chars: int) -> str:
    """Return white space for the gap between two chunks, as long as the gap, so that offsets
    hold."""
    return " " if chars == 1 else "\n" * max(0, chars)


if TYPE_CHECKING:
    Vector = NDArray[np.float32]

CANDIDATE_POOL = 40
"""Candidates of each leg."""
MIN_DISTINCT_TEXTS = 20
"""Different texts among them: as many as can be asked for."""
MAX_NEAREST = 2560
"""However many of them are not wanted, no more are looked at."""
VECTOR_TIMEOUT_S = 3.0


class VectorIndex(Protocol):
    """Vector search that the ranking needs."""

    async def nearest(
        self,
        shelf: VectorCollection,
        vector: Vector,
        limit: int,
        *,
        among: Sequence[int] | None = None,
    ) -> Mapping[int, float]:
        """Ids with their cosine, nearest first; of `among`, if given."""
        ...

    async def cosines(
        self, shelf: VectorCollection, vector: Vector, ids: Sequence[int]
    ) -> Mapping[int, float]:
        """Those without a vector are left out."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class NearestChunks:
    cosines: Mapping[int, float]
    is_all: bool
    """Nothing else of the namespace has a vector."""

    @property
    def floor(self) -> float:
        """Nothing else is nearer than this."""
        return min(self.cosines.values(), default=-1.0)


async def find_nearest(
    index: VectorIndex,
    shelf: VectorCollection,
    vector: Vector,
    *,
    words: PassageIndex,
    allowed: NDArray[np.bool_] | None,
    pool: int = CANDIDATE_POOL,
) -> NearestChunks:
    """Raises StorageFailed, TimeoutError."""
    among = None if allowed is None else words.key.rows[allowed].tolist()
    limit = pool
    async with asyncio.timeout(VECTOR_TIMEOUT_S):
        while True:
            found = await index.nearest(shelf, vector, limit, among=among)
            is_all = len(found) < limit
            if (
                is_all
                or limit >= MAX_NEAREST
                or _distinct_texts(words, list(found)) >= min(MIN_DISTINCT_TEXTS, pool // 2)
            ):
                return NearestChunks(cosines=found, is_all=is_all)
            # Copies of one text may fill the answer. 40, 320, 2560: the last is MAX_NEAREST.
            limit *= 8


def _distinct_texts(words: PassageIndex, ids: Sequence[int]) -> int:
    rows = words.rows_of(ids)
    return len(np.unique(words.text.rows[rows[rows != NO_ROW]]))


WORD_WEIGHT = 0.6
"""Maximum that shared words add if the passage also has a cosine: a passage with every word of the
query and cosine 0 gets this score; half of the words add a quarter of it."""
OVERSAMPLING = 4
"""Number of rows examined, as a multiple of the limit: some repeat the text of others."""
DECIMALS = 4


def hybrid_score(cosine: float, share: float) -> float:
    """Combine the cosine (base) with `share`, the weighted share of the query's words in the
    passage.

    The share closes part of the gap to 1, by its square: a query in a passage's own words is about
    that passage; a query that shares some words with it may not be.
    """
    base = min(max(cosine, 0.0), 1.0)
    return base + (1 - base) * WORD_WEIGHT * share**2


def top_rows(
    scores: Vector, texts: NDArray[np.int64], allowed: NDArray[np.bool_] | None, limit: int
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
    rows: NDArray[np.intp], scores: Vector, texts: NDArray[np.int64]
) -> NDArray[np.intp]:
    # lexsort sorts by its last key first.
    ordered = rows[np.lexsort((rows, -scores[rows]))]
    _, first = np.unique(texts[ordered], return_index=True)
    return np.asarray(ordered[np.sort(first)])


class Ranking:
    """Scores of rows; those that only words have found can wait for their cosines."""

    def __init__(
        self,
        index: PassageIndex,
        words: KeywordScores,
        near: NearestChunks | None,
        *,
        allowed: NDArray[np.bool_] | None,
        pool: int,
    ) -> None:
        """`near=None`: words alone decide."""
        self.index, self._words, self._near = index, words, near
        self._by_words = words.scores
        self.scores: dict[int, float] = {}
        """Scores by row, 0…1."""
        if near is not None:
            self._add_near(near.cosines, allowed)
        rows = top_rows(self._by_words, index.text.rows, allowed, pool).tolist()
        self._waiting = [row for row in rows if row not in self.scores]
        """Found by words; whether they are near is not known."""
        if near is None or near.is_all:
            self._settle_by_words()

    def promising(self, bar: float, *, has_wordy: bool, limit: int) -> Sequence[int]:
        """Rows that may still come above the bar; the others are out. `has_wordy`: some have no
        vector, so that words alone decide about them."""
        floor = -1.0 if self._near is None else self._near.floor
        self._waiting = [
            row for row in self._waiting if self._ceiling(row, floor, has_wordy) >= bar
        ][:limit]
        return self._waiting

    def settle(self, cosines: Mapping[int, float]) -> None:
        """Score the waiting rows by the given cosines, keyed by id; rows without one have no
        vector."""
        self._add_near(cosines, None)
        self._settle_by_words()

    def found(self) -> Iterator[tuple[int, FoundChunk]]:
        """Iterate over the scored chunks, each with the hash of its text."""
        rows = list(self.scores)
        columns = (self.index.text, self.index.key, self.index.document, self.index.position)
        numbers = [column.rows[rows].tolist() for column in columns]
        for score, text, number, document, position in zip(
            self.scores.values(), *numbers, strict=True
        ):
            found = FoundChunk(id=number, document=document, position=position, score=score)
            yield text, found

    def _settle_by_words(self) -> None:
        for row in self._waiting:
            self.scores.setdefault(row, round(float(self._by_words[row]), DECIMALS))
        self._waiting = []

    def _add_near(self, cosines: Mapping[int, float], allowed: NDArray[np.bool_] | None) -> None:
        rows = self.index.rows_of(list(cosines)).tolist()
        for row, cosine in zip(rows, cosines.values(), strict=True):
            if row != NO_ROW and (allowed is None or allowed[row]):
                self.scores[row] = self._score(row, cosine)

    def _ceiling(self, row: int, floor: float, has_wordy: bool) -> float:
        by_both = self._score(row, floor)
        return max(by_both, float(self._by_words[row])) if has_wordy else by_both

    def _score(self, row: int, cosine: float) -> float:
        share = float(self._words.shares[row])
        return round(hybrid_score(cosine, share), DECIMALS)
