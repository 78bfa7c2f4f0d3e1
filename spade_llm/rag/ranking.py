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
    from spade_llm.rag.store.vector_index import VectorCollection
    from spade_llm.search.bm25 import KeywordScores
    from spade_llm.search.passage_index import PassageIndex

MAX_JOINED = 4
"""Maximum number of chunks joined to one passage."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundChunk:
    """A chunk found by a query."""

    id: int
    document: int
    position: int
    score: float


@dataclass(frozen=True, slots=True)
class ChunkGroup:
    """Consecutive chunks of one document, in order."""

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
    """Group adjacent chunks; returns the k best groups, best first. `found`: best first, each
    once."""
    groups: list[ChunkGroup] = []
    for one in found:
        group = ChunkGroup((one,))
        for other in [other for other in groups if merge and group.is_next_to(other)]:
            if len(group.members) + len(other.members) <= MAX_JOINED:
                groups.remove(other)
                members = (*group.members, *other.members)
                group = ChunkGroup(tuple(sorted(members, key=lambda found: found.position)))
        # Checked after merging: a chunk that joins one of the k groups makes no new one.
        if len(groups) == k:
            break
        groups.append(group)
    return sorted(
        groups,
        key=lambda group: (-group.best.score, group.members[0].document, group.members[0].position),
    )


def scored_passages(
    groups: Sequence[ChunkGroup], chunks: Mapping[int, Chunk], *, max_tokens: int | None
) -> tuple[ScoredChunk, ...]:
    """Build the scored passages in order. A group that does not fit into `max_tokens` is reduced to
    its best chunk, or left out if that does not fit either."""
    left = max_tokens
    answered: list[ScoredChunk] = []
    for group in groups:
        for members in (group.members, (group.best,)):
            passage = join_chunks([chunks[found.id] for found in members])
            tokens = estimate_tokens(passage.text)
            if left is None or tokens <= left:
                answered.append(ScoredChunk(chunk=passage, score=group.best.score))
                left = None if left is None else left - tokens
                break
    return tuple(answered)


def join_chunks(chunks: Sequence[Chunk]) -> Chunk:
    """Join consecutive chunks into one passage, with their overlap only once."""
    first, last = chunks[0], chunks[-1]
    text = first.text
    for before, chunk in pairwise(chunks):
        gap = chunk.start - before.end
        # White space as long as the gap, so that offsets hold.
        text += " " if gap == 1 else "\n" * max(0, gap)
        text += chunk.text[max(0, -gap) :]
    return replace(first, text=text, count=len(chunks), end=last.end)


if TYPE_CHECKING:
    Vector = NDArray[np.float32]

CANDIDATE_POOL = 40
"""Number of candidates from the vectors, and from the keywords."""
MIN_DISTINCT_TEXTS = 20
"""Minimum number of different texts among them: the maximum `k` of a query."""
MAX_NEAREST = 2560
"""Maximum number of nearest vectors examined, however many repeat the text of others."""
VECTOR_TIMEOUT_S = 3.0


class VectorIndex(Protocol):
    """Vector search that the ranking needs."""

    async def follow(self) -> None:
        """Apply what other replicas have changed to what is in RAM."""
        ...

    async def nearest(
        self,
        collection: VectorCollection,
        vector: Vector,
        limit: int,
        *,
        among: Sequence[int] | None = None,
    ) -> Mapping[int, float]:
        """Find the nearest vectors (of `among`, if given); cosines by id, nearest first."""
        ...

    async def cosines(
        self, collection: VectorCollection, vector: Vector, ids: Sequence[int]
    ) -> Mapping[int, float]:
        """Cosines by id; ids without a vector are left out."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class NearestChunks:
    """Chunks nearest to a query, with their cosines."""

    cosines: Mapping[int, float]
    is_all: bool
    """True if no other chunk of the namespace has a vector."""

    @property
    def floor(self) -> float:
        """Upper bound of the cosines of all other chunks."""
        return min(self.cosines.values(), default=-1.0)


async def find_nearest(
    index: VectorIndex,
    collection: VectorCollection,
    vector: Vector,
    *,
    words: PassageIndex,
    allowed: NDArray[np.bool_] | None,
    pool: int = CANDIDATE_POOL,
) -> NearestChunks:
    """Find the nearest chunks, with enough different texts. Raises StorageFailed, TimeoutError."""
    among = None if allowed is None else words.key.rows[allowed].tolist()
    limit = pool
    async with asyncio.timeout(VECTOR_TIMEOUT_S):
        while True:
            found = await index.nearest(collection, vector, limit, among=among)
            is_all = len(found) < limit
            rows = words.rows_of(list(found))
            distinct = len(np.unique(words.text.rows[rows[rows != NO_ROW]]))
            if is_all or limit >= MAX_NEAREST or distinct >= min(MIN_DISTINCT_TEXTS, pool // 2):
                return NearestChunks(cosines=found, is_all=is_all)
            # Copies of one text may fill the answer. 40, 320, 2560: the last is MAX_NEAREST.
            limit *= 8


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
    """Rows with the highest scores above 0, in order, each text once; of equal scores the first
    row."""
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
    """Scores of rows. Rows found by keywords only may wait for their cosines."""

    def __init__(
        self,
        index: PassageIndex,
        words: KeywordScores,
        near: NearestChunks | None,
        *,
        allowed: NDArray[np.bool_] | None,
        pool: int,
    ) -> None:
        """`near=None`: keywords only."""
        self.index, self._words, self._near = index, words, near
        self._by_words = words.scores
        self.scores: dict[int, float] = {}
        """Scores by row, 0…1."""
        if near is not None:
            self._add_near(near.cosines, allowed)
        rows = top_rows(self._by_words, index.text.rows, allowed, pool).tolist()
        self._waiting = [row for row in rows if row not in self.scores]
        """Rows found by keywords whose cosine is not known yet."""
        if near is None or near.is_all:
            self._settle_by_words()

    def promising(self, bar: float, *, has_wordy: bool, limit: int) -> Sequence[int]:
        """Drop the waiting rows that cannot reach the bar, and return the others. `has_wordy`: some
        rows have no vector, and are scored by keywords only."""
        floor = -1.0 if self._near is None else self._near.floor

        def highest_score(row: int) -> float:
            by_both = self._score(row, floor)
            return max(by_both, float(self._by_words[row])) if has_wordy else by_both

        self._waiting = [row for row in self._waiting if highest_score(row) >= bar][:limit]
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

    def _score(self, row: int, cosine: float) -> float:
        share = float(self._words.shares[row])
        return round(hybrid_score(cosine, share), DECIMALS)
