"""Finds the passages that answer a question: by meaning and by words. Changes nothing."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import TYPE_CHECKING

from spade_llm.errors import ModelUnavailable
from spade_llm.rag.embedding import check_model, embedded_query
from spade_llm.rag.fusion import by_meaning_and_words, by_words
from spade_llm.rag.retriever import Retrieval, ScoredChunk
from spade_llm.rag.shelves import shelf_of
from spade_llm.rag.words import query_words

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import numpy as np
    from numpy.typing import NDArray

    from spade_llm.providers.embedder import Embedder
    from spade_llm.rag.chroma_index import ChromaIndex
    from spade_llm.rag.keywords import KeywordHits, KeywordSearch
    from spade_llm.rag.registry import Namespace, Registry, StoredChunk

MIN_SCORE = 0.3
"""Below it a passage has nothing to say (see tests/rag/test_relevance.py)."""
POOL = 40
"""Candidates of each leg."""
MAX_LOOSE = 2000
"""How many loose vectors a query looks past."""
ATTEMPTS = 3

_NO_EMBEDDER = "no embeddings: keywords only"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Question:
    namespaces: Sequence[Namespace]
    words: Sequence[str]
    vector: NDArray[np.float32] | None
    k: int


@dataclass(frozen=True, slots=True, kw_only=True)
class _ByWords:
    """What is known before the question's vector is: one look at the database."""

    loose: Mapping[int, frozenset[int]]
    hits: KeywordHits


@dataclass(frozen=True, slots=True, kw_only=True)
class _Candidates:
    chunks: Sequence[StoredChunk]
    cosines: Mapping[int, float]
    hits: KeywordHits
    is_complete: bool
    """False: a document was replaced while we looked."""


class HybridSearch:
    """Both legs, and what they find joined into one order."""

    def __init__(
        self,
        registry: Registry,
        keywords: KeywordSearch,
        index: ChromaIndex,
        *,
        embedder: Embedder | None,
        min_score: float = MIN_SCORE,
        pool: int = POOL,
    ) -> None:
        self._registry = registry
        self._keywords = keywords
        self._index = index
        self._embedder = embedder
        self._min_score = min_score
        self._pool = pool

    async def search(self, namespaces: Sequence[Namespace], query: str, k: int) -> Retrieval:
        namespaces = [namespace for namespace in namespaces if namespace.chunks]
        if not namespaces or not query.strip():
            return Retrieval(chunks=())
        words = query_words(query)
        # Side by side: the vector is computed outside of Python's lock, and takes longer.
        by_words, (vector, degraded) = await asyncio.gather(
            self._by_words(namespaces, words), self._vector(namespaces, query)
        )
        question = _Question(namespaces=namespaces, words=words, vector=vector, k=k)
        found = await self._settled(question, by_words)
        return Retrieval(chunks=self._ranked(question, found)[:k], degraded=degraded)

    async def _vector(
        self, namespaces: Sequence[Namespace], query: str
    ) -> tuple[NDArray[np.float32] | None, str]:
        if self._embedder is None:
            return None, _NO_EMBEDDER
        for namespace in namespaces:
            check_model(namespace, self._embedder)
        if all(namespace.model is None for namespace in namespaces):
            return None, _NO_EMBEDDER
        try:
            vector = await embedded_query(self._embedder, query)
        except ModelUnavailable:
            return None, "embedder unavailable: keywords only"
        return vector, _without_vectors(namespaces)

    async def _by_words(self, namespaces: Sequence[Namespace], words: Sequence[str]) -> _ByWords:
        loose = await self._registry.loose_vectors()
        return _ByWords(
            loose=loose, hits=await self._keywords.find(namespaces, words, limit=self._pool)
        )

    async def _settled(self, question: _Question, by_words: _ByWords) -> _Candidates:
        found = await self._candidates(question, by_words)
        for _ in range(ATTEMPTS - 1):
            if found.is_complete:
                break
            by_words = await self._by_words(question.namespaces, question.words)
            found = await self._candidates(question, by_words)
        return found

    async def _candidates(self, question: _Question, by_words: _ByWords) -> _Candidates:
        loose, hits = by_words.loose, by_words.hits
        near = await self._nearest(question, loose)
        cosines = {chunk_id: x for found in near.values() for chunk_id, x in found.items()}
        ids = dict.fromkeys([*cosines, *hits.best(self._pool)])
        chunks = await self._registry.chunks(list(ids))
        hits = await self._keywords.completed(hits, chunks)
        wanted = self._promising(question, chunks, near, hits)
        known_loose = frozenset[int]().union(*loose.values())
        return _Candidates(
            chunks=[chunks[i] for i in cosines if i in chunks] + wanted,
            cosines={**cosines, **await self._cosines(question, wanted)},
            hits=hits,
            is_complete=ids.keys() <= chunks.keys() | known_loose,
        )

    async def _nearest(
        self, question: _Question, loose: Mapping[int, frozenset[int]]
    ) -> dict[int, Mapping[int, float]]:
        """By namespace."""
        near: dict[int, Mapping[int, float]] = {}
        for namespace in question.namespaces:
            shelf = shelf_of(namespace)
            if shelf is not None and question.vector is not None:
                extra = min(len(loose.get(namespace.id, ())), MAX_LOOSE)
                limit = self._pool + extra
                near[namespace.id] = await self._index.nearest(shelf, question.vector, limit)
        return near

    def _promising(
        self,
        question: _Question,
        chunks: Mapping[int, StoredChunk],
        near: Mapping[int, Mapping[int, float]],
        hits: KeywordHits,
    ) -> list[StoredChunk]:
        """Those found by words only that may still be among the k best: none is nearer than the
        last of the nearest. Spares most questions a second look at the vectors."""
        cosines = {i: x for found in near.values() for i, x in found.items() if i in chunks}
        scores = sorted(by_meaning_and_words(x, hits.share(i)) for i, x in cosines.items())
        bar = max(self._min_score, scores[-question.k] if len(scores) >= question.k else 0.0)
        ceilings = _ceilings(question.namespaces, near)
        return [
            stored
            for stored in chunks.values()
            if stored.id not in cosines
            and by_meaning_and_words(ceilings[stored.namespace_id], hits.share(stored.id)) >= bar
        ]

    async def _cosines(
        self, question: _Question, wanted: Sequence[StoredChunk]
    ) -> dict[int, float]:
        far: dict[int, float] = {}
        for namespace in question.namespaces:
            shelf = shelf_of(namespace)
            ids = [stored.id for stored in wanted if stored.namespace_id == namespace.id]
            if ids and shelf is not None and question.vector is not None:
                far.update(await self._index.cosines(shelf, question.vector, ids))
        return far

    def _ranked(self, question: _Question, found: _Candidates) -> tuple[ScoredChunk, ...]:
        scored = [
            ScoredChunk(chunk=stored.chunk, score=_score(question, found, stored.id))
            for stored in found.chunks
        ]
        kept = (one for one in scored if one.score >= self._min_score and one.score > 0)
        return tuple(sorted(kept, key=_order))


def _ceilings(
    namespaces: Sequence[Namespace], near: Mapping[int, Mapping[int, float]]
) -> dict[int, float]:
    """How near a chunk can be that is not among the nearest of its namespace. Where some have no
    vectors, words alone decide about them: no ceiling."""
    return {
        namespace.id: 1.0
        if namespace.words_only
        else min(near.get(namespace.id, {}).values(), default=1.0)
        for namespace in namespaces
    }


def _without_vectors(namespaces: Sequence[Namespace]) -> str:
    count = sum(namespace.words_only for namespace in namespaces)
    return f"{count} document(s) without embeddings: found by keywords only" if count else ""


def _score(question: _Question, found: _Candidates, chunk_id: int) -> float:
    share = found.hits.share(chunk_id)
    if question.vector is not None and chunk_id in found.cosines:
        return round(by_meaning_and_words(found.cosines[chunk_id], share), 4)
    return round(by_words(share, found.hits.ranks.get(chunk_id, 0.0)), 4)


def _order(scored: ScoredChunk) -> tuple[float, str, str, int]:
    chunk = scored.chunk
    return (-scored.score, chunk.namespace, chunk.source, chunk.index)
