"""DocumentLibrary: documents of all owners, and the view of one owner."""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

from spade_llm.core.concurrency import concurrent_task
from spade_llm.core.database import check_unused_file
from spade_llm.core.errors import ConfigurationError, InvalidArguments, NotFound
from spade_llm.core.imports import require_extra
from spade_llm.rag.contract import (
    DEFAULT_NAMESPACE,
    MAX_PAGE,
    MAX_QUERY_CHARS,
    Access,
    NamespaceStats,
    Retrieval,
    RetrievalOptions,
)
from spade_llm.rag.ingestion import FolderIngestion, Ingestion, ProgressReporter
from spade_llm.rag.keyword_index_cache import CacheWarmup, PassageIndexCache
from spade_llm.rag.loading.chunking import Splitting
from spade_llm.rag.loading.loader import Loader, SkippedFile
from spade_llm.rag.names import parse_address
from spade_llm.rag.passage_embedding import SharedBatches, is_model_of
from spade_llm.rag.reindexing import Reindexing
from spade_llm.rag.search import MIN_SCORE, HybridSearch, MetadataFilters
from spade_llm.rag.store.chroma_client import check_url
from spade_llm.rag.store.chroma_index import ChromaIndex
from spade_llm.rag.store.grants import NamespaceGrants
from spade_llm.rag.store.index_records import KeywordStore, VectorCopyStore
from spade_llm.rag.store.library_file import DATABASE_FILE, LibraryFile, has_documents
from spade_llm.rag.store.postgres_library import PostgresLibrary, PostgresVectors
from spade_llm.rag.store.registry import Registry
from spade_llm.rag.store.replica_locks import ReplicaLocks
from spade_llm.rag.store.schema import MIGRATIONS
from spade_llm.rag.store.vector_index import current_collection
from spade_llm.rag.store.writer import DocumentRemoval, DocumentWriter, OrphanCollector

if TYPE_CHECKING:
    from collections.abc import Sequence
    from contextlib import AbstractAsyncContextManager
    from pathlib import Path
    from typing import Self

    from spade_llm.core.postgres import PostgresServer
    from spade_llm.providers.model import Embedder
    from spade_llm.rag.contract import (
        DocumentPage,
        Ingested,
        NamespaceGrant,
        NamespaceSummary,
        OnProgress,
        PathKind,
        ScoredChunk,
        SourceDocument,
    )
    from spade_llm.rag.loading.loader import LoadLimits
    from spade_llm.rag.store.library_database import LibraryDatabase
    from spade_llm.rag.store.rows import Namespace
    from spade_llm.rag.store.vector_index import VectorStorage


@dataclass(frozen=True, slots=True, kw_only=True)
class LibraryParts:
    """Components of a library, shared by the views of all owners."""

    embedder: Embedder | None
    registry: Registry
    grants: NamespaceGrants
    index: VectorStorage
    sweeping: OrphanCollector
    batches: SharedBatches | None
    storing: DocumentWriter
    ingestion: Ingestion
    removal: DocumentRemoval
    reindexing: Reindexing
    loader: Loader
    files: FolderIngestion
    search: HybridSearch


MAX_K = 20
MAX_OFFSET = 2**53
MAX_NAMED = 256
"""Maximum number of namespaces named in one query."""


class OwnedLibrary:
    """Library of one owner: its documents, and those granted to it."""

    def __init__(self, owner: str, parts: LibraryParts) -> None:
        self._owner = owner
        self._parts = parts

    async def retrieve(
        self, query: str, *, k: int = 5, options: RetrievalOptions | None = None
    ) -> Retrieval:
        if not 1 <= k <= MAX_K:
            raise InvalidArguments(f"k is {k}; it must be 1 to {MAX_K}")
        if len(query) > MAX_QUERY_CHARS:
            raise InvalidArguments(f"query is longer than {MAX_QUERY_CHARS} characters")
        options = options or RetrievalOptions()
        # The collections in use are not dropped before this search has ended.
        with self._parts.sweeping.readers.reading():
            namespaces = await self._readable(options)
            found = await self._parts.search.search(namespaces, query, k, options)
        chunks: list[ScoredChunk] = []
        for scored in found.chunks:
            # A namespace of the reader is addressed by its bare name.
            address = parse_address(scored.chunk.namespace, asker=self._owner)
            chunk = replace(scored.chunk, namespace=address.seen_by(self._owner))
            chunks.append(replace(scored, chunk=chunk))
        return replace(found, chunks=tuple(chunks))

    async def ingest(
        self, document: SourceDocument, *, splitting: Splitting | None = None
    ) -> Ingested:
        return await self._parts.ingestion.ingest(self._owner, document, splitting)

    async def ingest_path(
        self,
        path: str,
        *,
        namespace: str = DEFAULT_NAMESPACE,
        is_recursive: bool = True,
        only: PathKind | None = None,
        splitting: Splitting | None = None,
        on_progress: OnProgress | None = None,
    ) -> Sequence[Ingested]:
        # Write access is checked before any file is read.
        address = parse_address(namespace, asker=self._owner)
        await self._parts.grants.reached(address, asker=self._owner, access=Access.WRITE)
        loader, files = self._parts.loader, self._parts.files
        found = await asyncio.to_thread(loader.find, path, is_recursive=is_recursive, only=only)
        take = partial(self.ingest, splitting=splitting)
        told = ProgressReporter(len(found), on_progress)
        # A single file raises its own error instead of being reported as left out.
        if len(found) == 1 and not isinstance(found[0], SkippedFile):
            return [await told.tell(await files.ingest_one(found[0], take, namespace))]
        results = await files.ingest(found, take, namespace=namespace, told=told)
        if all(result.left_out for result in results):
            first = results[0]
            raise InvalidArguments(
                f"{path!r} has no readable file (first: {first.source!r}: {first.left_out})"
            )
        return results

    async def namespaces(self) -> Sequence[NamespaceSummary]:
        """List the owner's namespaces by name, then the granted ones by address."""
        mine = await self._parts.registry.namespaces(self._owner)
        granted = await self._parts.grants.granted(self._owner)
        return [row.summary(self._owner, Access.WRITE) for row in mine] + [
            row.summary(self._owner, access) for row, access in granted
        ]

    async def stats(self, namespace: str) -> NamespaceStats:
        address = parse_address(namespace, asker=self._owner)
        name = address.seen_by(self._owner)
        for row in await self._parts.grants.reached(address, asker=self._owner):
            collection = current_collection(row)
            return NamespaceStats(
                name=name,
                exists=True,
                documents=row.documents,
                chunks=row.chunks,
                vectors=0 if collection is None else await self._parts.index.count(collection.key),
                dimension=row.dimension,
                model=row.model,
                updated_at=row.updated_at,
            )
        return NamespaceStats(name=name, exists=False)

    async def documents(
        self, *, namespace: str | None = None, limit: int = 100, offset: int = 0
    ) -> DocumentPage:
        if not 1 <= limit <= MAX_PAGE:
            raise InvalidArguments(f"limit is {limit}; it must be 1 to {MAX_PAGE}")
        if not 0 <= offset <= MAX_OFFSET:
            raise InvalidArguments(f"offset is {offset}; it must be 0 or more")
        if namespace is None:
            rows = await self._parts.registry.common(self._owner)
        else:
            address = parse_address(namespace, asker=self._owner)
            rows = await self._parts.grants.reached(address, asker=self._owner)
            if not rows:
                raise NotFound(f"there is no namespace {address.name!r}")
        return await self._parts.registry.documents(
            rows, reader=self._owner, limit=limit, offset=offset
        )

    async def delete(self, *, namespace: str, source: str | None = None) -> int:
        return await self._parts.removal.delete(self._owner, namespace, source)

    async def reindex(
        self, *, namespace: str | None = None, on_progress: OnProgress | None = None
    ) -> int:
        if namespace is None:
            rows = await self._parts.registry.namespaces(self._owner)
        else:
            rows = (await self._parts.grants.own(namespace, owner=self._owner),)
        return await self._parts.reindexing.reindex(rows, on_progress)

    async def grant(self, namespace: str, *, to: str, access: Access = Access.READ) -> None:
        await self._parts.grants.grant(self._owner, namespace, to=to, access=access)

    async def revoke(self, namespace: str, *, to: str) -> bool:
        return await self._parts.grants.revoke(self._owner, namespace, to=to)

    async def grants(self) -> Sequence[NamespaceGrant]:
        return await self._parts.grants.given(self._owner)

    async def _readable(self, options: RetrievalOptions) -> Sequence[Namespace]:
        for field, named in (("namespaces", options.namespaces), ("shared", options.shared or ())):
            if len(named) > MAX_NAMED:
                raise InvalidArguments(f"{field}: limit reached ({MAX_NAMED} names)")
        rows = await self._parts.grants.readable(self._owner, options)
        embedder = self._parts.embedder
        if embedder is None or (options.namespaces and not options.person):
            return rows
        # Vectors of another model in a namespace of another owner are ignored, since only that
        # owner can reindex it: a grant must not block a search of the caller's own documents.
        return [
            row
            if row.owner == self._owner or is_model_of(embedder, row)
            else replace(row, model=None, dimension=None, words_only=row.documents)
            for row in rows
        ]


class DocumentLibrary:
    """Documents of all owners in one directory or database. Open it with `async with`, in one
    process at a time unless `is_replica`."""

    def __init__(
        self,
        directory: Path,
        *,
        embedder: Embedder | None,
        roots: Sequence[Path] = (),
        splitting: Splitting | None = None,
        limits: LoadLimits | None = None,
        min_score: float = MIN_SCORE,
        chroma_url: str | None = None,
        server: PostgresServer | None = None,
        is_replica: bool = False,
    ) -> None:
        """`embedder=None`: keywords only. `roots`: where files may be read; none, no files.
        `chroma_url`: a Chroma server that keeps the vectors. `server`: PostgreSQL for the
        documents, opened by the caller. Without them, both are in the directory. `is_replica`:
        other processes use the same documents and vectors in PostgreSQL.

        Raises:
            ConfigurationError: `chroma_url` is no server's URL; the extra `documents` is missing;
                a replica has no `server`, or a `chroma_url`.
        """
        if is_replica and (server is None or chroma_url is not None):
            raise ConfigurationError(
                "is_replica: replicas share documents and vectors in PostgreSQL: give `server`, and"
                " no `chroma_url`"
            )
        require_extra("documents")
        if chroma_url is not None:
            check_url(chroma_url)
        self._directory = directory
        self._server = server
        self._file = directory / DATABASE_FILE
        self._database: LibraryDatabase
        index: VectorStorage
        locks = ReplicaLocks(server) if is_replica and server else None
        if server is None:
            self._database = LibraryFile(self._file, migrations=MIGRATIONS)
            copies = VectorCopyStore(self._database)
            index = ChromaIndex(directory / "chroma", url=chroma_url, copies=copies)
        else:
            self._database = PostgresLibrary(server, locks=locks)
            index = (
                ChromaIndex(directory / "chroma", url=chroma_url)
                if chroma_url
                else PostgresVectors(self._database, replica=locks.token if locks else None)
            )
        registry = Registry(self._database)
        grants = NamespaceGrants(self._database, registry)
        sweeping = OrphanCollector(registry, index, locks)
        words = PassageIndexCache(KeywordStore(self._database))
        batches = None if embedder is None else SharedBatches(embedder)
        storing = DocumentWriter(registry, index, grants, sweeping, embedder=embedder)
        loader = Loader(roots, limits=limits)
        model = embedder.name if embedder is not None else None
        self._warming = CacheWarmup(registry, words, index, model=model)
        self._parts = LibraryParts(
            embedder=embedder,
            registry=registry,
            grants=grants,
            index=index,
            sweeping=sweeping,
            batches=batches,
            storing=storing,
            ingestion=Ingestion(
                registry,
                grants,
                storing,
                embedder=embedder,
                batches=batches,
                splitting=splitting or Splitting(),
            ),
            removal=DocumentRemoval(registry, grants, sweeping),
            reindexing=Reindexing(registry, index, sweeping, embedder=embedder, batches=batches),
            loader=loader,
            files=FolderIngestion(loader),
            search=HybridSearch(
                registry,
                words,
                MetadataFilters(self._database),
                index,
                embedder=embedder,
                min_score=min_score,
                changes=sweeping.alone,
                on_asked=self._warming.asked,
            ),
        )
        self._opened = AsyncExitStack()

    async def __aenter__(self) -> Self:
        if self._server is None:
            self._directory.mkdir(parents=True, exist_ok=True)
        # Closed in reverse: batches, warm-up and writer end before the index and the database.
        async with AsyncExitStack() as stack:
            await stack.enter_async_context(self._database)
            if self._server is not None and await asyncio.to_thread(has_documents, self._file):
                has_copy = not await self._parts.registry.is_empty()
                check_unused_file(
                    self._file, what="documents", place=self._server.name, has_copy=has_copy
                )
            stack.push_async_callback(self._parts.index.close)
            stack.push_async_callback(asyncio.to_thread, self._parts.loader.close)
            async with self._parts.sweeping.alone():
                # Before the first use of the index: the names of collections depend on it.
                self._parts.index.belong_to(await self._parts.registry.library_id())
                # What an interrupted change left behind; later if the vector store is unavailable.
                await self._parts.sweeping.try_to_sweep()
            stack.push_async_callback(self._parts.storing.close)
            stack.push_async_callback(self._warming.close)
            self._warming.start()
            if self._parts.batches is not None:
                stack.push_async_callback(self._parts.batches.close)
            self._opened = stack.pop_all()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._opened.aclose()

    def replica_jobs(self) -> AbstractAsyncContextManager[object]:
        """Run the background jobs of all replicas beside the block, in one of them."""
        return concurrent_task(self._parts.sweeping.sweep_periodically())

    def for_owner(self, owner: str) -> OwnedLibrary:
        if not owner:
            raise InvalidArguments("owner must not be empty")
        return OwnedLibrary(owner, self._parts)
