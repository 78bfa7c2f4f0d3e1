"""HybridSearch: passages that answer a question, by vectors and keywords; search filters."""

from __future__ import annotations

import asyncio
import logging
import math
from collections.abc import Callable, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from spade_llm.core.errors import Busy, InvalidArguments, ModelUnavailable, StorageFailed
from spade_llm.rag.contract import Retrieval, RetrievalOptions
from spade_llm.rag.passage_embedding import check_model, embed_query
from spade_llm.rag.ranking import (
    CANDIDATE_POOL,
    VECTOR_TIMEOUT_S,
    Ranking,
    find_nearest,
    group_chunks,
    scored_passages,
)
from spade_llm.rag.store.schema import MAX_KEY_CHARS, fact_text
from spade_llm.rag.store.vector_index import current_collection
from spade_llm.search.bm25 import keyword_scores
from spade_llm.search.terms import content_hash

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from numpy.typing import NDArray

    from spade_llm.providers.model import Embedder
    from spade_llm.rag.contract import Chunk, Scalar
    from spade_llm.rag.keyword_index_cache import PassageIndexCache
    from spade_llm.rag.ranking import ChunkGroup, FoundChunk, NearestChunks, VectorIndex
    from spade_llm.rag.store.library_database import LibraryDatabase, SqlValue
    from spade_llm.rag.store.registry import Namespace, Registry
    from spade_llm.search.passage_index import PassageIndex
    from spade_llm.search.query_vector import QueryVector

    Mask = NDArray[np.bool_]
    Where = Mapping[str, Scalar]

_log = logging.getLogger(__name__)

MIN_SCORE = 0.3
"""Default minimum score of a passage (see tests/rag/test_relevance.py)."""
PAUSE_S = 5.0
"""Maximum wait in seconds for the lock on changes."""
ATTEMPTS = 5
READ_TIMEOUT_S = 4.0
"""Maximum wait in seconds for the keyword indexes of the namespaces to be loaded."""
CANDIDATES_PER_RESULT = 3
"""Maximum number of cosines to compute per requested passage, for rows found by keywords only."""

_CHANGED_MEANWHILE = "documents were replaced during the search; try again"
_NO_EMBEDDER = "no embeddings: keywords only"

OnSearched = Callable[[Sequence["Namespace"]], None]
ChangeLock = Callable[[], AbstractAsyncContextManager[None]]
"""Makes the context manager that holds the lock on changes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _SearchQuestion:
    text: str
    namespaces: Sequence[Namespace]
    vector: NDArray[np.float32] | None
    k: int
    min_score: float
    options: RetrievalOptions


@dataclass(frozen=True, slots=True, kw_only=True)
class _IndexView:
    """Snapshot of the searchable rows, with one item per namespace in each field."""

    indexes: Sequence[PassageIndex]
    losses: Sequence[int]
    allowed: Sequence[NDArray[np.bool_] | None]

    @property
    def is_untouched(self) -> bool:
        """True if no row was removed from the indexes since."""
        return [index.losses for index in self.indexes] == self.losses

    def is_part_of(self, later: _IndexView) -> bool:
        """True if no row of this view is missing in the later one."""
        same = all(a is b for a, b in zip(self.indexes, later.indexes, strict=True))
        return same and self.losses == later.losses


@dataclass(frozen=True, slots=True, kw_only=True)
class _SearchLeg:
    near: NearestChunks | None
    """Nearest vectors; None if the namespace has no vectors or they are unavailable."""
    is_away: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class _SearchAnswer:
    groups: Sequence[ChunkGroup]
    chunks: Mapping[int, Chunk]
    degraded: str
    is_settled: bool
    """False if a document was replaced during the search."""


class HybridSearch:
    """Hybrid search by vectors and keywords, joined into one ranking."""

    def __init__(
        self,
        registry: Registry,
        words: PassageIndexCache,
        filters: MetadataFilters,
        index: VectorIndex,
        *,
        embedder: Embedder | None,
        min_score: float = MIN_SCORE,
        pool: int = CANDIDATE_POOL,
        changes: ChangeLock = asyncio.Lock,
        on_asked: OnSearched | None = None,
        patience_s: float = READ_TIMEOUT_S,
    ) -> None:
        """`changes`: the lock that a change of the library holds. `on_asked` is called with the
        namespaces that are searched."""
        self._on_asked, self._patience_s = on_asked, patience_s
        self._changes = changes
        self._registry, self._words, self._filters = registry, words, filters
        self._index = index
        self._embedder = embedder
        self._min_score = min_score
        self._pool = pool

    async def search(
        self,
        namespaces: Sequence[Namespace],
        query: str,
        k: int,
        options: RetrievalOptions | None = None,
    ) -> Retrieval:
        """Search the namespaces. Raises InvalidArguments."""
        options = options or RetrievalOptions()
        check_options(options)
        model = None if self._embedder is None else self._embedder.name
        # While vectors of another model are being replaced, they are not searched.
        namespaces = [
            replace(one, model=None, dimension=None, words_only=one.documents)
            if one.is_reindexing and one.model not in (None, model)
            else one
            for one in namespaces
            if one.chunks
        ]
        if not namespaces or not query.strip():
            return Retrieval(chunks=())
        if self._on_asked is not None:
            self._on_asked(namespaces)
        vector, degraded = await self._vector(namespaces, query, options.vector)
        ready = await self._words.ready([one.id for one in namespaces], patience_s=self._patience_s)
        unread = ", ".join(one.name for one in namespaces if one.id not in ready)
        if unread:
            unread = f"{unread} not searched: still loading after a start; try again in seconds"
        question = _SearchQuestion(
            text=query,
            namespaces=[one for one in namespaces if one.id in ready],
            vector=vector,
            k=k,
            min_score=self._min_score if options.min_score is None else options.min_score,
            options=options,
        )
        answer = await self._settled(question)
        passages = scored_passages(answer.groups, answer.chunks, max_tokens=options.max_tokens)
        return Retrieval(
            chunks=passages, degraded="; ".join(filter(None, (unread, degraded or answer.degraded)))
        )

    async def _vector(
        self, namespaces: Sequence[Namespace], query: str, given: QueryVector | None
    ) -> tuple[NDArray[np.float32] | None, str]:
        if self._embedder is None:
            return None, _NO_EMBEDDER
        for namespace in namespaces:
            check_model(namespace, self._embedder)
        if all(namespace.model is None for namespace in namespaces):
            return None, _NO_EMBEDDER
        try:
            vector = await embed_query(self._embedder, query, given)
        except ModelUnavailable:
            return None, "embedder unavailable: keywords only"
        count = sum(namespace.words_only for namespace in namespaces)
        return vector, f"{count} document(s) without embeddings: keywords only" if count else ""

    async def _settled(self, question: _SearchQuestion) -> _SearchAnswer:
        answer = await self._looked(question)
        for _ in range(ATTEMPTS - 1):
            if answer.is_settled:
                break
            answer = await self._looked(question)
        return answer if answer.is_settled else await self._looked_alone(question, answer)

    async def _looked_alone(
        self, question: _SearchQuestion, unsettled: _SearchAnswer
    ) -> _SearchAnswer:
        """Search with the lock on changes held, so that the next change waits."""
        async with AsyncExitStack() as stack:
            try:
                async with asyncio.timeout(PAUSE_S):
                    await stack.enter_async_context(self._changes())
            except (TimeoutError, Busy, StorageFailed):
                why = "; ".join(filter(None, (unsettled.degraded, _CHANGED_MEANWHILE)))
                return replace(unsettled, degraded=why)
            return await self._looked(question)

    async def _looked(self, question: _SearchQuestion) -> _SearchAnswer:
        before = await self._view(question)
        legs, degraded = await self._near(question, before)
        # A second view: vectors are searched concurrently, while documents may change.
        view = await self._view(question)
        rankings = self._rankings(question, view, legs)
        if question.vector is not None:
            await self._settle(question, rankings)
        groups = group_chunks(
            _best_chunks(question, rankings), question.k, merge=question.options.merge_neighbours
        )
        ids = [found.id for group in groups for found in group.members]
        # Read in one transaction: missing chunks were replaced since the search.
        stored = await self._registry.chunks(ids) if ids else {}
        return _SearchAnswer(
            groups=[group for group in groups if all(one.id in stored for one in group.members)],
            chunks={number: one.chunk for number, one in stored.items()},
            degraded=degraded,
            is_settled=len(stored) == len(ids)
            and view.is_untouched
            and (question.vector is None or before.is_part_of(view)),
        )

    async def _view(self, question: _SearchQuestion) -> _IndexView:
        numbers = [namespace.id for namespace in question.namespaces]
        indexes = await self._words.current(numbers)
        # Behind the keywords: the vectors of a passage are stored before it.
        await self._index.follow()
        masks = await self._filters.masks(question.options.where, numbers, indexes)
        return _IndexView(
            indexes=indexes,
            losses=[index.losses for index in indexes],
            allowed=masks if masks is not None else [None] * len(indexes),
        )

    async def _near(
        self, question: _SearchQuestion, view: _IndexView
    ) -> tuple[Sequence[_SearchLeg], str]:
        """Find the nearest vectors of each namespace; the text names those that are unavailable."""
        if question.vector is None:
            return [_SearchLeg(near=None)] * len(view.indexes), ""
        trios = zip(question.namespaces, view.indexes, view.allowed, strict=True)
        legs = await asyncio.gather(*(self._leg(question, *trio) for trio in trios))
        pairs = zip(question.namespaces, legs, strict=True)
        away = ", ".join(namespace.name for namespace, leg in pairs if leg.is_away)
        return legs, f"vectors of {away} unavailable: keywords only there" if away else ""

    async def _leg(
        self,
        question: _SearchQuestion,
        namespace: Namespace,
        words: PassageIndex,
        allowed: NDArray[np.bool_] | None,
    ) -> _SearchLeg:
        collection = current_collection(namespace)
        if (
            collection is None
            or question.vector is None
            or (allowed is not None and not allowed.any())
        ):
            return _SearchLeg(near=None)
        try:
            near = await find_nearest(
                self._index,
                collection,
                question.vector,
                words=words,
                allowed=allowed,
                pool=self._pool,
            )
        except (StorageFailed, TimeoutError) as error:
            _log.warning("namespace %d is searched by keywords only: %s", namespace.id, error)
            return _SearchLeg(near=None, is_away=True)
        return _SearchLeg(near=near)

    def _rankings(
        self, question: _SearchQuestion, view: _IndexView, legs: Sequence[_SearchLeg]
    ) -> Sequence[Ranking]:
        scored = keyword_scores(question.text, view.indexes)
        parts = zip(view.indexes, scored, legs, view.allowed, strict=True)
        return [
            Ranking(index, words, leg.near, allowed=allowed, pool=self._pool)
            for index, words, leg, allowed in parts
        ]

    async def _settle(self, question: _SearchQuestion, rankings: Sequence[Ranking]) -> None:
        """Compute the cosines of rows found by keywords only that may still be among the best."""
        scores = sorted((score for one in rankings for score in one.scores.values()), reverse=True)
        kth_best = scores[question.k - 1] if len(scores) >= question.k else 0.0
        bar = max(question.min_score, kth_best)
        # In sequence: vectors in RAM are read at once, before a document can change.
        for namespace, ranking in zip(question.namespaces, rankings, strict=True):
            await self._settle_one(question, bar, namespace, ranking)

    async def _settle_one(
        self, question: _SearchQuestion, bar: float, namespace: Namespace, ranking: Ranking
    ) -> None:
        rows = ranking.promising(
            bar, has_wordy=namespace.words_only > 0, limit=CANDIDATES_PER_RESULT * question.k
        )
        collection = current_collection(namespace)
        if not rows or collection is None or question.vector is None:
            return
        ids = ranking.index.key.rows[rows].tolist()
        try:
            async with asyncio.timeout(VECTOR_TIMEOUT_S):
                ranking.settle(await self._index.cosines(collection, question.vector, ids))
        except (StorageFailed, TimeoutError) as error:
            _log.warning("namespace %d is searched by keywords only: %s", namespace.id, error)
            ranking.settle({})


def _best_chunks(question: _SearchQuestion, rankings: Sequence[Ranking]) -> Iterator[FoundChunk]:
    """Chunks with the minimum score, best first, each text once."""
    seen: set[int] = set()
    candidates = [found for ranking in rankings for found in ranking.found()]
    candidates.sort(key=lambda one: (-one[1].score, one[1].document, one[1].position))
    for text, found in candidates:
        if found.score >= question.min_score and found.score > 0 and text not in seen:
            seen.add(text)
            yield found


MAX_CONDITIONS = 16
MAX_VALUE_CHARS = 1024

_DOCUMENT_CONDITIONS = {"source": "source = ?", "document": "uid = ?"}
_CHUNK_KEYS = ("heading", "page")
_METADATA_CONDITION = """
    id IN (SELECT document_id FROM document_facts WHERE key = ? AND value = ?)
"""
_SELECT_MATCHING = """
    SELECT id FROM documents WHERE namespace_id IN (SELECT value FROM json_each(?)) AND {conditions}
"""


class MetadataFilters:
    """Metadata conditions of retrievals, evaluated in the database."""

    def __init__(self, database: LibraryDatabase) -> None:
        self._database = database

    async def masks(
        self, where: Where, namespaces: Sequence[int], indexes: Sequence[PassageIndex]
    ) -> list[Mask] | None:
        """Compute the row mask of each index; None means that all rows are allowed."""
        if not where:
            return None
        documents = await self._documents(where, namespaces)
        return [_row_mask(index, where, documents) for index in indexes]

    async def _documents(self, where: Where, namespaces: Sequence[int]) -> NDArray[np.int64] | None:
        """Return the ids of the documents that match; None if no condition concerns documents."""
        wanted = {key: value for key, value in where.items() if key not in _CHUNK_KEYS}
        if not wanted:
            return None
        conditions = " AND ".join(
            _DOCUMENT_CONDITIONS.get(key, _METADATA_CONDITION) for key in wanted
        )
        values: list[SqlValue] = []
        for key, value in wanted.items():
            values += (value,) if key in _DOCUMENT_CONDITIONS else (key, fact_text(value))
        # Only constants go into the text of the statement; every value is bound.
        sql = _SELECT_MATCHING.format(conditions=conditions)
        rows = await self._database.read_often(sql, (list(namespaces), *values))
        return np.array([row[0] for row in rows], np.int64)


def check_where(where: Where) -> None:
    """Validate metadata conditions. Raises InvalidArguments."""
    if len(where) > MAX_CONDITIONS:
        raise InvalidArguments(f"where has more than {MAX_CONDITIONS} conditions")
    for key, value in where.items():
        if len(key) > MAX_KEY_CHARS or (isinstance(value, str) and len(value) > MAX_VALUE_CHARS):
            raise InvalidArguments(
                f"where: keys have up to {MAX_KEY_CHARS} characters, values {MAX_VALUE_CHARS}"
            )
        _check_value(key, value)


def _check_value(key: str, value: Scalar) -> None:
    if key == "page":
        if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value < 1 << 31:
            raise InvalidArguments(f"where: page is {value!r}; it must be a number from 1")
    elif key in ("source", "document", "heading"):
        if not isinstance(value, str):
            raise InvalidArguments(f"where: {key} must be a string")
    elif isinstance(value, float) and not math.isfinite(value):
        raise InvalidArguments(f"where: {key!r} is {value}; it must be finite")
    # SQLite's integers have 64 bits; binding a larger one raises OverflowError.
    elif isinstance(value, int) and abs(value) >= 1 << 63:
        raise InvalidArguments(f"where: {key!r} exceeds 64 bits")


def _row_mask(index: PassageIndex, where: Where, documents: NDArray[np.int64] | None) -> Mask:
    # A copy, because the conditions below change it in place.
    mask = index.is_alive.rows.copy()
    if documents is not None:
        mask &= np.isin(index.document.rows, documents)
    if "heading" in where:
        mask &= index.heading.rows == content_hash(str(where["heading"]))
    if "page" in where:
        mask &= index.page.rows == where["page"]
    return mask


MAX_RETRIEVED_TOKENS = 1_000_000


def check_options(options: RetrievalOptions) -> None:
    """Validate retrieval options. Raises InvalidArguments."""
    if options.min_score is not None and not 0 <= options.min_score <= 1:
        raise InvalidArguments(f"min_score is {options.min_score}; it must be 0 to 1")
    if options.max_tokens is not None and not 1 <= options.max_tokens <= MAX_RETRIEVED_TOKENS:
        raise InvalidArguments(
            f"max_tokens is {options.max_tokens}; it must be 1 to {MAX_RETRIEVED_TOKENS}"
        )
    check_where(options.where)
