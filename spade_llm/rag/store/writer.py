"""DocumentWriter: stores documents in groups, in a crash-safe order; removal, orphaned vectors."""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from contextlib import asynccontextmanager, contextmanager, nullcontext
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from spade_llm.core.concurrency import BackgroundTask
from spade_llm.core.errors import Busy, NotFound, Refusal, StorageFailed, Unauthorised
from spade_llm.rag.contract import Access, Ingested
from spade_llm.rag.names import check_source, document_id, parse_address
from spade_llm.rag.passage_embedding import check_model
from spade_llm.rag.store.index_records import quantize_document
from spade_llm.rag.store.registry import DocumentRecord
from spade_llm.rag.store.vector_index import (
    CollectionKey,
    collection_for_model,
    current_collection_key,
)

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterable, Iterator, Sequence
    from contextlib import AbstractAsyncContextManager

    from numpy.typing import NDArray

    from spade_llm.core.advisory_lock import HeldLock
    from spade_llm.providers.model import Embedder
    from spade_llm.rag.contract import SourceDocument
    from spade_llm.rag.loading.chunking import Passage
    from spade_llm.rag.names import NamespaceAddress
    from spade_llm.rag.store.grants import NamespaceGrants
    from spade_llm.rag.store.registry import Namespace, Registry
    from spade_llm.rag.store.replica_locks import ReplicaLocks
    from spade_llm.rag.store.vector_index import VectorStorage
    from spade_llm.search.passage_index import KeywordRecord

MAX_GROUP_CHUNKS = 1000
"""Maximum number of chunks of a write group; the last document may exceed it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PreparedDocument:
    """A document to be stored, with its passages, keywords and vectors."""

    asker: str
    address: NamespaceAddress
    document: SourceDocument
    content_hash: str
    passages: Sequence[Passage]
    words: KeywordRecord
    vectors: NDArray[np.float32] | None
    """Vectors of the passages; None if the document is stored without."""


class _WriteJob:
    """Queued document, with the future for its result."""

    def __init__(self, prepared: PreparedDocument) -> None:
        self.prepared = prepared
        self.done: asyncio.Future[Ingested] = asyncio.get_running_loop().create_future()

    def fail(self, error: Exception) -> None:
        if not self.done.done():
            self.done.set_exception(error)

    def stored(self, version: int) -> None:
        if not self.done.done():
            self.done.set_result(_ingest_result(self.prepared, version))


@dataclass(slots=True, kw_only=True)
class _PlacedJob:
    """Write job with its namespace, which accepts it."""

    job: _WriteJob
    namespace: Namespace
    ids: Sequence[int] = ()

    @property
    def prepared(self) -> PreparedDocument:
        return self.job.prepared


class DocumentWriter:
    """Writer of documents, one group at a time. Call `close` at the end; documents not stored by
    then are refused."""

    def __init__(
        self,
        registry: Registry,
        index: VectorStorage,
        grants: NamespaceGrants,
        sweeping: OrphanCollector,
        *,
        embedder: Embedder | None,
    ) -> None:
        self._registry = registry
        self._index = index
        self._grants = grants
        self._sweeping = sweeping
        self._embedder = embedder
        self._waiting: deque[_WriteJob] = deque()
        self._worker = BackgroundTask(self._run, name="storing")

    async def store(self, prepared: PreparedDocument) -> Ingested:
        """Store a document; returns when it can be found."""
        job = _WriteJob(prepared)
        self._waiting.append(job)
        self._worker.wake()
        return await job.done

    async def close(self) -> None:
        await self._worker.close()

    async def _run(self) -> None:
        group: list[_WriteJob] = []
        try:
            while group := self._next_group():
                await self._store(group)
        finally:
            for job in (*group, *self._waiting):
                job.fail(StorageFailed("the library was stopped"))

    def _next_group(self) -> list[_WriteJob]:
        group: list[_WriteJob] = []
        chunks = 0
        while self._waiting and chunks < MAX_GROUP_CHUNKS:
            job = self._waiting.popleft()
            if not job.done.done():
                group.append(job)
                chunks += len(job.prepared.passages)
        return group

    async def _store(self, group: Sequence[_WriteJob]) -> None:
        try:
            async with self._sweeping.alone():
                try:
                    await self._commit(await self._placed(group))
                except StorageFailed as error:
                    _fail(group, error)
                await self._sweeping.try_to_sweep()
        # Of the lock: other replicas have it, or the database does not answer.
        except (StorageFailed, Busy) as error:
            _fail(group, error)

    async def _placed(self, group: Sequence[_WriteJob]) -> list[_PlacedJob]:
        placed: list[_PlacedJob] = []
        for job in group:
            try:
                namespace = await self._namespace(job.prepared)
            except Refusal as error:
                job.fail(error)
            else:
                placed.append(_PlacedJob(job=job, namespace=namespace))
        return placed

    async def _namespace(self, prepared: PreparedDocument) -> Namespace:
        # Looked up again: meanwhile a grant may have been revoked or the namespace reindexed.
        asker, address = prepared.asker, prepared.address
        if address.owner == asker:
            namespace = await self._registry.add_namespace(asker, address.name)
        else:
            (namespace,) = await self._grants.reached(address, asker=asker, access=Access.WRITE)
        if self._embedder is not None and prepared.vectors is not None:
            check_model(namespace, self._embedder)
        return namespace

    async def _commit(self, all_placed: Sequence[_PlacedJob]) -> None:
        by_namespace: dict[int, list[_PlacedJob]] = {}
        for placed in all_placed:
            by_namespace.setdefault(placed.namespace.id, []).append(placed)
        # In this order: a vector counts as an orphan until its chunk is committed.
        for namespace_id, some in by_namespace.items():
            total = sum(len(placed.prepared.passages) for placed in some)
            ids = iter(await self._registry.reserve(namespace_id, total))
            for placed in some:
                placed.ids = [next(ids) for _ in placed.prepared.passages]
            await self._add_vectors(some)
        records = [self._record(placed) for placed in all_placed]
        versions = await self._registry.replace(records) if records else ()
        for some in by_namespace.values():
            vector_ids, rows = _embedded_vectors(some)
            if rows:
                key = current_collection_key(some[0].namespace)
                self._index.committed(key, vector_ids, np.concatenate(rows))
        for placed, version in zip(all_placed, versions, strict=True):
            placed.job.stored(version)

    async def _add_vectors(self, some: Sequence[_PlacedJob]) -> None:
        """Add the vectors; all jobs are in one namespace."""
        ids, rows = _embedded_vectors(some)
        if rows and self._embedder is not None:
            dimension = rows[0].shape[1]
            collection = collection_for_model(
                some[0].namespace, model=self._embedder.name, dimension=dimension
            )
            await self._index.add(collection, ids, np.concatenate(rows))

    def _record(self, placed: _PlacedJob) -> DocumentRecord:
        prepared, vectors = placed.prepared, placed.prepared.vectors
        has_vectors = self._embedder is not None and vectors is not None
        copy = None
        if vectors is not None and has_vectors and placed.ids and self._index.has_copies:
            copy = quantize_document(placed.ids, vectors)
        return DocumentRecord(
            namespace=placed.namespace,
            source=prepared.document.source,
            content_hash=prepared.content_hash,
            metadata=prepared.document.metadata,
            passages=prepared.passages,
            ids=placed.ids,
            words=prepared.words,
            model=self._embedder.name if self._embedder and has_vectors else None,
            dimension=vectors.shape[1] if vectors is not None else None,
            copy=copy,
        )


def _fail(group: Sequence[_WriteJob], error: Exception) -> None:
    for job in group:
        job.fail(error)


def _embedded_vectors(some: Sequence[_PlacedJob]) -> tuple[list[int], list[NDArray[np.float32]]]:
    """Return the ids and rows of the chunks that have a vector."""
    pairs = [(one.ids, one.prepared.vectors) for one in some]
    rows = [vectors for ids, vectors in pairs if ids and vectors is not None]
    return [number for ids, vectors in pairs if vectors is not None for number in ids], rows


def _ingest_result(prepared: PreparedDocument, version: int) -> Ingested:
    address, source = prepared.address, prepared.document.source
    return Ingested(
        source=source,
        namespace=address.seen_by(prepared.asker),
        chunks=len(prepared.passages),
        id=document_id(address.owner, address.name, source),
        version=version,
    )


SWEEP_EVERY_S = 15.0
"""Interval between two sweeps of the replica that looks after all: longer than a query."""
READERS_TIMEOUT_S = 15.0
"""Maximum wait in seconds for running queries, longer than the embedder's timeout."""


class ActiveReaders:
    """Tracker of running queries: a collection that a query uses must not be dropped before it
    ends."""

    def __init__(self) -> None:
        self._reading: set[asyncio.Future[None]] = set()

    @contextmanager
    def reading(self) -> Iterator[None]:
        done: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._reading.add(done)
        try:
            yield
        finally:
            self._reading.discard(done)
            done.set_result(None)

    async def leave(self) -> None:
        """Wait until the queries that run now have ended."""
        if self._reading:
            await asyncio.wait(set(self._reading), timeout=READERS_TIMEOUT_S)


_log = logging.getLogger(__name__)


class OrphanCollector:
    """Garbage collection of orphaned vectors and collections, and the lock on changes."""

    def __init__(
        self, registry: Registry, index: VectorStorage, locks: ReplicaLocks | None = None
    ) -> None:
        """`locks`: those of the replicas that share the documents; None: it is one process."""
        self._registry = registry
        self._index = index
        self._locks = locks
        self._in_making: set[CollectionKey] = set()
        self._alone = asyncio.Lock()
        self.readers = ActiveReaders()

    @asynccontextmanager
    async def alone(self) -> AsyncIterator[None]:
        """Hold the lock on changes of the library for the block. Between replicas: raises Busy,
        StorageFailed."""
        async with self._alone, self._locks.exclusive() if self._locks else nullcontext():
            yield

    def filling(self, namespace: int) -> AbstractAsyncContextManager[HeldLock | None]:
        """Keep other replicas from filling or dropping collections of this namespace that are not
        in use. Raises Busy."""
        return self._locks.filling(namespace) if self._locks else nullcontext()

    @contextmanager
    def making(self, key: CollectionKey) -> Iterator[None]:
        """Protect a new collection from the sweep while it is filled but not yet in use."""
        self._in_making.add(key)
        try:
            yield
        finally:
            self._in_making.discard(key)

    async def sweep(self) -> None:
        """Remove orphaned collections and vectors. The caller holds `alone`."""
        await self._sweep_collections()
        for (namespace_id, edition), ids in (await self._registry.loose_places()).items():
            key = CollectionKey(namespace_id=namespace_id, edition=edition)
            await self._index.remove(key, sorted(ids))
            await self._registry.settle_vectors(sorted(ids))

    async def try_to_sweep(self) -> None:
        """Sweep like `sweep`; a failure is only logged, and the next sweep tries again."""
        try:
            await self.sweep()
        except StorageFailed as error:
            _log.warning("orphaned vectors will be removed later: %s", error)

    async def sweep_periodically(self) -> None:
        """Remove what killed replicas left behind, and the collections that were replaced, until
        it is cancelled. One replica does it."""
        seen: set[CollectionKey] = set()
        while True:
            try:
                loose = set(await self._loose_collections())
                if seen & loose or await self._registry.loose_places():
                    async with self.alone():
                        # A replica may still search a collection that was replaced just now.
                        await self._drop(seen & set(await self._loose_collections()))
                        await self.sweep()
                seen = loose
            except (StorageFailed, Busy) as error:
                _log.warning("orphaned vectors will be removed later: %s", error)
            await asyncio.sleep(SWEEP_EVERY_S)

    async def _sweep_collections(self) -> None:
        # Those that were replaced are swept later, where other replicas may search them.
        unused = await self._loose_collections(of_deleted=self._locks is not None)
        if unused:
            await self.readers.leave()
        await self._drop(unused)

    async def _loose_collections(self, *, of_deleted: bool = False) -> list[CollectionKey]:
        """Collections that are not in use, without those that this process fills."""
        rows = await self._registry.loose_collections(of_deleted=of_deleted)
        loose = [CollectionKey(namespace_id=row[0], edition=row[1]) for row in rows]
        return [key for key in loose if key not in self._in_making]

    async def _drop(self, keys: Iterable[CollectionKey]) -> None:
        for key in keys:
            try:
                async with self.filling(key.namespace_id):
                    await self._index.drop(key)
                    # The entry goes last: after a crash the next sweep finds it again.
                    await self._registry.settle_collection(key.namespace_id, key.edition)
            except Busy:
                continue  # Another replica fills it.


class DocumentRemoval:
    """Deletion of documents and namespaces."""

    def __init__(
        self, registry: Registry, grants: NamespaceGrants, sweeping: OrphanCollector
    ) -> None:
        self._registry = registry
        self._grants = grants
        self._sweeping = sweeping

    async def delete(self, asker: str, name: str, source: str | None) -> int:
        """Delete one document, or the whole namespace, and return the number of deleted documents.

        Raises:
            NotFound: there is no such document or namespace.
            Unauthorised: the asker may not write to it, or is not the owner of a whole namespace.
        """
        address = parse_address(name, asker=asker)
        if source is not None:
            check_source(source)
        async with self._sweeping.alone():
            namespace = await self._namespace(asker, address)
            removed = await self._remove(asker, namespace, source)
            await self._sweeping.try_to_sweep()
            await self._registry.erase_deleted()
        return removed

    async def _namespace(self, asker: str, address: NamespaceAddress) -> Namespace:
        for namespace in await self._grants.reached(address, asker=asker, access=Access.WRITE):
            return namespace
        raise NotFound(f"there is no namespace {address.seen_by(asker)!r}")

    async def _remove(self, asker: str, namespace: Namespace, source: str | None) -> int:
        if source is None:
            if namespace.owner != asker:
                raise Unauthorised("only its owner may delete a whole namespace")
            return await self._registry.remove_namespace(namespace)
        if not await self._registry.remove_document(namespace, source):
            raise NotFound(f"there is no {source[:80]!r} in namespace {namespace.name!r}")
        return 1
