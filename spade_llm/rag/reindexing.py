"""Reindexing: embeds stored passages again with the current model, then switches over."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from spade_llm.core.errors import Busy, InvalidArguments, NotFound
from spade_llm.rag.contract import Progress
from spade_llm.rag.passage_embedding import BATCH, text_to_embed
from spade_llm.rag.store.vector_index import CollectionKey, collection_for_model

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from spade_llm.core.advisory_lock import HeldLock
    from spade_llm.providers.model import Embedder
    from spade_llm.rag.contract import OnProgress
    from spade_llm.rag.passage_embedding import SharedBatches
    from spade_llm.rag.store.registry import Registry
    from spade_llm.rag.store.rows import EmbeddableChunk, Namespace
    from spade_llm.rag.store.vector_index import VectorStorage
    from spade_llm.rag.store.writer import OrphanCollector

PAGE_CHUNKS = 4 * BATCH
"""Number of chunks that are read, embedded and stored at once."""


class ReindexProgress:
    """Progress over all namespaces together; a document counts as done when the next one begins."""

    def __init__(self, documents: int, on_progress: OnProgress | None) -> None:
        self._total = documents
        self._on_progress = on_progress
        self._done = self.chunks = 0
        self._source: str | None = None

    async def tell(self, page: Sequence[EmbeddableChunk]) -> None:
        for chunk in page:
            self._done += self._source is not None and chunk.source != self._source
            self._source = chunk.source
        self.chunks += len(page)
        await self._tell(min(self._done, self._total))

    def end_namespace(self) -> None:
        self._done += self._source is not None
        self._source = None

    async def end(self) -> None:
        await self._tell(self._total)

    async def _tell(self, done: int) -> None:
        if self._on_progress is not None:
            await self._on_progress(
                Progress(
                    done=done, total=self._total, chunks=self.chunks, source=self._source or ""
                )
            )


@dataclass(slots=True, kw_only=True)
class _ReindexedCopy:
    """The new vectors of one namespace."""

    namespace: Namespace
    edition: int
    done: set[int] = field(default_factory=set)
    """Chunks."""
    model: str | None = None
    """Name of the model; None while there is no vector."""
    dimension: int | None = None

    @property
    def key(self) -> CollectionKey:
        return CollectionKey(namespace_id=self.namespace.id, edition=self.edition)


class Reindexing:
    """Reindexing of namespaces, one after another; a namespace is reindexed by one call at a
    time."""

    def __init__(
        self,
        registry: Registry,
        index: VectorStorage,
        sweeping: OrphanCollector,
        *,
        embedder: Embedder | None,
        batches: SharedBatches | None,
    ) -> None:
        self._registry = registry
        self._index = index
        self._sweeping = sweeping
        self._embedder = embedder
        self._batches = batches
        self._at_work: set[int] = set()

    async def reindex(self, namespaces: Sequence[Namespace], on_progress: OnProgress | None) -> int:
        """Reindex the namespaces and return the number of chunks.

        Raises:
            InvalidArguments: there is no embedder.
            Busy: one of the namespaces is already being reindexed.
            ModelUnavailable: the embedder failed; the namespaces not done keep their old vectors.
        """
        if self._embedder is None or self._batches is None:
            raise InvalidArguments("this agent has no embedder, so there is nothing to reindex")
        documents = sum(namespace.documents for namespace in namespaces)
        progress = ReindexProgress(documents, on_progress)
        for namespace in namespaces:
            try:
                with self._alone_at(namespace):
                    async with self._sweeping.filling(namespace.id) as held:
                        await self._renew(namespace, progress, held)
            finally:
                # Drops the old edition after a switch, and the unfinished new one after a failure.
                async with self._sweeping.alone():
                    await self._sweeping.try_to_sweep()
            progress.end_namespace()
        await progress.end()
        return progress.chunks

    @contextmanager
    def _alone_at(self, namespace: Namespace) -> Iterator[None]:
        if namespace.id in self._at_work:
            raise Busy(f"namespace {namespace.name!r} is already being reindexed; try again later")
        self._at_work.add(namespace.id)
        try:
            yield
        finally:
            self._at_work.discard(namespace.id)

    async def _renew(
        self, namespace: Namespace, progress: ReindexProgress, held: HeldLock | None
    ) -> None:
        """`held`: keeps other replicas away from the new edition."""
        edition = await self._registry.new_edition(namespace)
        copy = _ReindexedCopy(namespace=namespace, edition=edition)
        with self._sweeping.making(copy.key):
            # The stored chunks, and those added meanwhile.
            after = 0
            while page := await self._registry.embeddable(
                namespace, after=after, limit=PAGE_CHUNKS
            ):
                await self._add(copy, page)
                after = page[-1].id
                await progress.tell(page)
                if held is not None:
                    await held.check()
            # Locked, so that no change falls between the comparison and the switch.
            async with self._sweeping.alone():
                if held is not None:
                    await held.check()
                await self._switch(copy)

    async def _add(self, copy: _ReindexedCopy, page: Sequence[EmbeddableChunk]) -> None:
        if self._embedder is None or self._batches is None:
            return
        vectors = await self._batches.embed([text_to_embed(one.heading, one.text) for one in page])
        model, dimension = self._embedder.name, vectors.shape[1]
        collection = collection_for_model(
            copy.namespace, model=model, dimension=dimension, edition=copy.edition
        )
        ids = [one.id for one in page]
        await self._index.add(collection, ids, vectors)
        copy.model, copy.dimension = model, dimension
        copy.done.update(ids)

    async def _switch(self, copy: _ReindexedCopy) -> None:
        """Switch to the new vectors, after the changes made meanwhile are applied. The caller holds
        the lock on changes."""
        namespace = await self._registry.namespace(copy.namespace.owner, copy.namespace.name)
        # Another namespace of the same name: ids are never used again.
        if namespace.id != copy.namespace.id:
            raise NotFound(f"namespace {namespace.name!r} was deleted during the reindexing")
        ids = await self._registry.chunk_ids(namespace)
        if missed := sorted(ids - copy.done):
            await self._add(copy, await self._registry.embeddable_among(missed))
        await self._index.remove(copy.key, sorted(copy.done - ids))
        await self._registry.switch(
            namespace, copy.edition, model=copy.model, dimension=copy.dimension
        )
