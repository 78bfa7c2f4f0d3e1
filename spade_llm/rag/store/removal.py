"""Removal of documents and namespaces; orphaned vectors are collected."""

from __future__ import annotations

import asyncio
import logging
from contextlib import contextmanager
from typing import TYPE_CHECKING

from spade_llm.core.errors import NotFound, StorageFailed, Unauthorised
from spade_llm.rag.contract import Access
from spade_llm.rag.names import check_source, parse_address
from spade_llm.rag.store.chroma_index import CollectionKey

if TYPE_CHECKING:
    from collections.abc import Iterator

    from spade_llm.rag.names import NamespaceAddress
    from spade_llm.rag.store.chroma_index import ChromaIndex
    from spade_llm.rag.store.grants import NamespaceGrants
    from spade_llm.rag.store.registry import Namespace, Registry

READERS_TIMEOUT_S = 15.0
"""A query has answered by then, or its embedder's deadline has passed."""


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
        """Return when all that read now have ended."""
        if self._reading:
            await asyncio.wait(set(self._reading), timeout=READERS_TIMEOUT_S)


_log = logging.getLogger(__name__)


class OrphanCollector:
    def __init__(self, registry: Registry, index: ChromaIndex) -> None:
        self._registry = registry
        self._index = index
        self._in_making: set[CollectionKey] = set()
        self.alone = asyncio.Lock()
        self.readers = ActiveReaders()

    @contextmanager
    def making(self, place: CollectionKey) -> Iterator[None]:
        """Protect a new collection from the sweep while it is filled but not yet in use."""
        self._in_making.add(place)
        try:
            yield
        finally:
            self._in_making.discard(place)

    async def sweep(self) -> None:
        """Remove orphaned collections and vectors. The caller holds `alone`."""
        await self._sweep_collections()
        for (namespace_id, edition), ids in (await self._registry.loose_places()).items():
            place = CollectionKey(namespace_id=namespace_id, edition=edition)
            await self._index.remove(place, sorted(ids))
            await self._registry.settle_vectors(sorted(ids))

    async def try_to_sweep(self) -> None:
        """The same after a change that is done, whatever becomes of what it left behind."""
        try:
            await self.sweep()
        except StorageFailed as error:
            _log.warning("vectors that are not used any more will be removed later: %s", error)

    async def _sweep_collections(self) -> None:
        loose = [
            CollectionKey(namespace_id=namespace_id, edition=edition)
            for namespace_id, edition in await self._registry.loose_collections()
        ]
        unused = [place for place in loose if place not in self._in_making]
        if unused:
            await self.readers.leave()
        for place in unused:
            await self._index.drop(place)
            # The entry goes last: after a crash the next sweep finds it again.
            await self._registry.settle_collection(place.namespace_id, place.edition)


class DocumentRemoval:
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
        async with self._sweeping.alone:
            namespace = await self._namespace(asker, address)
            removed = await self._remove(asker, namespace, source)
            await self._sweeping.try_to_sweep()
            # secure_delete overwrites the database only; the write-ahead log still holds the text.
            await self._registry.empty_log()
        return removed

    async def _namespace(self, asker: str, address: NamespaceAddress) -> Namespace:
        for namespace in await self._grants.reached(address, asker=asker, access=Access.WRITE):
            return namespace
        raise NotFound(f"there is no namespace {address.seen_by(asker)!r}")

    async def _remove(self, asker: str, namespace: Namespace, source: str | None) -> int:
        if source is None:
            if namespace.owner != asker:
                raise Unauthorised("a whole namespace is for its owner to delete")
            return await self._registry.remove_namespace(namespace)
        if not await self._registry.remove_document(namespace, source):
            raise NotFound(f"there is no {source[:80]!r} in namespace {namespace.name!r}")
        return 1
