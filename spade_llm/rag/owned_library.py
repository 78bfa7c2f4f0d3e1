"""What one asker may see and change of a library: Library, Catalogue and Sharing.

Nothing of another owner is reachable that was not granted. Knows no store and no wire.
"""

from __future__ import annotations

import asyncio
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from spade_llm.errors import InvalidArguments, NotFound
from spade_llm.rag.documents import MAX_PAGE, Access, NamespaceStats
from spade_llm.rag.embedding import is_of
from spade_llm.rag.folder import Told
from spade_llm.rag.loader import LeftOut
from spade_llm.rag.names import parse_address
from spade_llm.rag.retriever import (
    DEFAULT_NAMESPACE,
    MAX_QUERY_CHARS,
    Retrieval,
    RetrievalOptions,
)
from spade_llm.rag.shelves import shelf_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from spade_llm.rag.documents import (
        Document,
        DocumentPage,
        Ingested,
        NamespaceGrant,
        NamespaceSummary,
        OnProgress,
        PathKind,
    )
    from spade_llm.rag.parts import LibraryParts
    from spade_llm.rag.retriever import ScoredChunk
    from spade_llm.rag.rows import Namespace
    from spade_llm.rag.splitter import Splitting

MAX_K = 20
MAX_OFFSET = 2**53
MAX_NAMED = 256
"""Namespaces in one question."""


class OwnedLibrary:
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
        with self._parts.readers.reading():
            namespaces = await self._readable(options)
            found = await self._parts.search.search(namespaces, query, k, options)
        return replace(found, chunks=tuple(map(self._as_addressed, found.chunks)))

    async def ingest(self, document: Document, *, splitting: Splitting | None = None) -> Ingested:
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
        await self._check_writable(namespace)
        loader, files = self._parts.loader, self._parts.files
        found = await asyncio.to_thread(loader.find, path, is_recursive=is_recursive, only=only)
        take = partial(self.ingest, splitting=splitting)
        told = Told(len(found), on_progress)
        if len(found) == 1 and not isinstance(found[0], LeftOut):
            return [await told.tell(await files.ingest_one(found[0], take, namespace))]
        results = await files.ingest(found, take, namespace=namespace, told=told)
        if all(result.left_out for result in results):
            raise InvalidArguments(f"{path!r} holds nothing that can be read{_why(results)}")
        return results

    async def namespaces(self) -> Sequence[NamespaceSummary]:
        """By name, then those of others by their address."""
        mine = await self._parts.registry.namespaces(self._owner)
        granted = await self._parts.grants.granted(self._owner)
        return [row.summary(self._owner, Access.WRITE) for row in mine] + [
            row.summary(self._owner, access) for row, access in granted
        ]

    async def stats(self, namespace: str) -> NamespaceStats:
        address = parse_address(namespace, asker=self._owner)
        name = address.seen_by(self._owner)
        for row in await self._parts.grants.reached(address, asker=self._owner):
            return NamespaceStats(
                name=name,
                exists=True,
                documents=row.documents,
                chunks=row.chunks,
                vectors=await self._vectors(row),
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
        rows = await self._listed(namespace)
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
                raise InvalidArguments(f"{field}: name {MAX_NAMED} at the most")
        rows = await self._parts.grants.readable(self._owner, options)
        is_meant = bool(options.namespaces) and not options.person
        return rows if is_meant else [self._as_given(row) for row in rows]

    def _as_given(self, row: Namespace) -> Namespace:
        """Nobody is kept from its own documents by who lets it in: another model's vectors of
        others, which only they can renew, are done without."""
        embedder = self._parts.embedder
        if row.owner == self._owner or embedder is None or is_of(embedder, row):
            return row
        return replace(row, model=None, dimension=None, words_only=row.documents)

    async def _check_writable(self, namespace: str) -> None:
        """Before anything is read for it."""
        address = parse_address(namespace, asker=self._owner)
        await self._parts.grants.reached(address, asker=self._owner, access=Access.WRITE)

    async def _listed(self, namespace: str | None) -> Sequence[Namespace]:
        if namespace is None:
            return await self._parts.registry.common(self._owner)
        address = parse_address(namespace, asker=self._owner)
        rows = await self._parts.grants.reached(address, asker=self._owner)
        if not rows:
            raise NotFound(f"there is no namespace {address.name!r}")
        return rows

    async def _vectors(self, row: Namespace) -> int:
        shelf = shelf_of(row)
        return 0 if shelf is None else await self._parts.index.count(shelf.place)

    def _as_addressed(self, scored: ScoredChunk) -> ScoredChunk:
        """Whoever reads its own documents sees the bare names of its namespaces."""
        chunk = scored.chunk
        seen = parse_address(chunk.namespace, asker=self._owner).seen_by(self._owner)
        return replace(scored, chunk=replace(chunk, namespace=seen))


def _why(results: Sequence[Ingested]) -> str:
    return f" (first: {results[0].source!r}: {results[0].left_out})" if results else ""
