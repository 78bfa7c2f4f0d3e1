"""Puts documents into the library: split, embed, store, in an order that survives a crash.

Vectors are stored under reserved ids first; then one transaction puts the chunks in the place of
the old ones; then the old vectors go. Dying in between leaves loose vectors, that no query shows
and the next `sweep` removes.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import logging
from typing import TYPE_CHECKING

from spade_llm.errors import InvalidArguments, ModelUnavailable
from spade_llm.rag.chroma_index import Shelf
from spade_llm.rag.documents import Ingested
from spade_llm.rag.embedding import check_model, embedded
from spade_llm.rag.loader import MAX_FILE_BYTES
from spade_llm.rag.names import check_namespace, check_source
from spade_llm.rag.registry import DocumentRecord
from spade_llm.rag.splitter import split

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    from numpy.typing import NDArray

    from spade_llm.providers.embedder import Embedder
    from spade_llm.rag.chroma_index import ChromaIndex
    from spade_llm.rag.documents import Document
    from spade_llm.rag.registry import Namespace, Registry, StoredDocument
    from spade_llm.rag.splitter import Passage, Splitting

_log = logging.getLogger(__name__)

_PLAIN_SUFFIXES = (".txt", ".log", ".csv", ".json", ".py", ".rst", ".html")
MAX_METADATA_CHARS = 10_000


class Ingestion:
    """Changes to the library; the storing part of each runs alone."""

    def __init__(
        self,
        registry: Registry,
        index: ChromaIndex,
        *,
        embedder: Embedder | None,
        splitting: Splitting,
    ) -> None:
        self._registry = registry
        self._index = index
        self._embedder = embedder
        self._splitting = splitting
        self._one_at_a_time = asyncio.Lock()

    async def ingest(
        self, owner: str, document: Document, splitting: Splitting | None = None
    ) -> Ingested:
        """`splitting=None`: as this library splits."""
        _check(document)
        held = await self._held(owner, document)
        splitting = splitting or self._splitting
        content_hash = await asyncio.to_thread(_content_hash, document, splitting)
        if held is not None and self._is_current(held, content_hash):
            return _ingested(document, held.chunks, was_unchanged=True)
        passages = await asyncio.to_thread(_split, document, splitting)
        vectors = await self._vectors(document, passages)
        async with self._one_at_a_time:
            await self._store(owner, document, content_hash, passages, vectors)
        return _ingested(document, len(passages))

    async def delete(self, owner: str, name: str, source: str | None) -> int:
        """How many documents went."""
        async with self._one_at_a_time:
            removed = 0
            for namespace in await self._registry.namespaces(owner, name):
                removed += await self._removed(namespace, source)
            await self._sweep()
            return removed

    async def sweep(self) -> None:
        """Remove the vectors that an interrupted change left behind."""
        async with self._one_at_a_time:
            await self._sweep()

    async def _held(self, owner: str, document: Document) -> StoredDocument | None:
        for namespace in await self._registry.namespaces(owner, document.namespace):
            if self._embedder is not None:
                check_model(namespace, self._embedder)
            return await self._registry.document(namespace.id, document.source)
        return None

    def _is_current(self, held: StoredDocument, content_hash: str) -> bool:
        has_all = held.has_vectors or held.chunks == 0 or self._embedder is None
        return held.content_hash == content_hash and has_all

    async def _vectors(
        self, document: Document, passages: Sequence[Passage]
    ) -> NDArray[np.float32] | None:
        """None: it must do without, until it is ingested again."""
        if self._embedder is None:
            return None
        try:
            return await embedded(self._embedder, [_to_embed(passage) for passage in passages])
        except ModelUnavailable as error:
            _log.warning("%r is stored without vectors: %s", document.source, error)
            return None

    async def _store(
        self,
        owner: str,
        document: Document,
        content_hash: str,
        passages: Sequence[Passage],
        vectors: NDArray[np.float32] | None,
    ) -> None:
        namespace = await self._registry.add_namespace(owner, document.namespace)
        shelf = None if vectors is None else self._shelf(namespace, vectors.shape[1])
        ids = await self._registry.reserve(namespace.id, len(passages))
        if shelf is not None and vectors is not None and len(ids):
            await self._index.add(shelf, ids, vectors)
        record = DocumentRecord(
            source=document.source,
            content_hash=content_hash,
            metadata=document.metadata,
            passages=passages,
            ids=ids,
            model=shelf.model if shelf else None,
            dimension=shelf.dimension if shelf else None,
        )
        await self._registry.replace(namespace, record)
        await self._sweep()

    def _shelf(self, namespace: Namespace, dimension: int) -> Shelf | None:
        if self._embedder is None:
            return None
        check_model(namespace, self._embedder)
        return Shelf(
            namespace_id=namespace.id,
            owner=namespace.owner,
            namespace=namespace.name,
            model=self._embedder.name,
            dimension=dimension,
        )

    async def _removed(self, namespace: Namespace, source: str | None) -> int:
        if source is None:
            return await self._registry.remove_namespace(namespace)
        return await self._registry.remove_document(namespace, source)

    async def _sweep(self) -> None:
        for namespace_id in await self._registry.dropped_namespaces():
            await self._index.drop(namespace_id)
            await self._registry.settle_dropped(namespace_id)
        for namespace_id, ids in (await self._registry.loose_vectors()).items():
            await self._index.remove(namespace_id, sorted(ids))
            await self._registry.settle_vectors(sorted(ids))


def _check(document: Document) -> None:
    check_namespace(document.namespace)
    check_source(document.source)
    if len(document.text) > MAX_FILE_BYTES:
        raise InvalidArguments(f"text is longer than {MAX_FILE_BYTES} characters")
    try:
        size = len(document.text.encode()) + len(document.source.encode())
    except UnicodeEncodeError as error:
        raise InvalidArguments("text or source holds half a surrogate pair") from error
    if size > MAX_FILE_BYTES:
        raise InvalidArguments(f"text is larger than {MAX_FILE_BYTES} bytes")
    if len(json.dumps(dict(document.metadata))) > MAX_METADATA_CHARS:
        raise InvalidArguments(f"metadata is larger than {MAX_METADATA_CHARS} characters")


def _content_hash(document: Document, splitting: Splitting) -> str:
    """Of everything that decides what is stored, so that another chunk size counts as a change."""
    rest = json.dumps(
        [splitting.size, splitting.overlap, dict(sorted(document.metadata.items()))]
    ).encode()
    return hashlib.sha256(rest + b"\0" + document.text.encode()).hexdigest()


def _split(document: Document, splitting: Splitting) -> list[Passage]:
    is_markdown = not document.source.lower().endswith(_PLAIN_SUFFIXES)
    return list(split(document.text, splitting, is_markdown=is_markdown))


def _to_embed(passage: Passage) -> str:
    """The headings say what a passage is about when it does not say it itself."""
    return f"{passage.heading}\n{passage.text}" if passage.heading else passage.text


def _ingested(document: Document, chunks: int, *, was_unchanged: bool = False) -> Ingested:
    return Ingested(
        source=document.source,
        namespace=document.namespace,
        chunks=chunks,
        was_unchanged=was_unchanged,
    )
