"""Ingestion: checks, chunks and embeds documents, also of whole folders."""

from __future__ import annotations

import asyncio
import hashlib
import json
import logging
import math
from bisect import bisect_right
from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING

from spade_llm.core.concurrency import for_each
from spade_llm.core.errors import InvalidArguments, ModelUnavailable
from spade_llm.core.limits import ConcurrencyLimiter
from spade_llm.rag.contract import Access, Ingested, Progress
from spade_llm.rag.loading.chunking import heading_markup, split
from spade_llm.rag.loading.loader import MAX_FILE_BYTES, SkippedFile
from spade_llm.rag.names import check_source, document_id, parse_address
from spade_llm.rag.passage_embedding import check_model, text_to_embed
from spade_llm.rag.store.writer import PreparedDocument
from spade_llm.search.passage_index import make_keyword_record

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping, Sequence
    from typing import TypeVar

    import numpy as np
    from numpy.typing import NDArray

    from spade_llm.providers.model import Embedder
    from spade_llm.rag.contract import OnProgress, Scalar, SourceDocument
    from spade_llm.rag.loading.chunking import Passage, Splitting
    from spade_llm.rag.loading.loader import FoundFile, Loader
    from spade_llm.rag.names import NamespaceAddress
    from spade_llm.rag.passage_embedding import SharedBatches
    from spade_llm.rag.store.grants import NamespaceGrants
    from spade_llm.rag.store.registry import Registry, StoredDocument
    from spade_llm.rag.store.writer import DocumentWriter

    Made = TypeVar("Made")

_log = logging.getLogger(__name__)

MAX_METADATA_CHARS = 10_000
MAX_SOURCE_BYTES = 2000
"""Longer ones do not fit into an index of PostgreSQL (2704 bytes)."""
INLINE_CHARS = 20_000
"""Maximum length of a text that is split in the thread of the event loop, in a millisecond."""


class Ingestion:
    """Ingestion of documents; concurrent ones share batches of the embedder and write groups."""

    def __init__(
        self,
        registry: Registry,
        grants: NamespaceGrants,
        storing: DocumentWriter,
        *,
        embedder: Embedder | None,
        batches: SharedBatches | None,
        splitting: Splitting,
    ) -> None:
        """`batches`: batches of the embedder; None without an embedder."""
        self._registry = registry
        self._grants = grants
        self._storing = storing
        self._embedder = embedder
        self._batches = batches
        self._splitting = splitting

    async def ingest(
        self, asker: str, document: SourceDocument, splitting: Splitting | None = None
    ) -> Ingested:
        """Ingest a document. `splitting`: None means that of the library."""
        _check_document(document)
        address = parse_address(document.namespace, asker=asker)
        rule = splitting or self._splitting
        # Refused before anything is embedded; DocumentWriter checks again when it stores.
        held = await self._held(asker, address, document)
        content_hash = await _prepare_in_thread(document, lambda: _content_hash(document, rule))
        # A document stored while the embedder was unavailable is embedded when it is added again.
        if (
            held is not None
            and held.content_hash == content_hash
            and (held.has_vectors or held.chunks == 0 or self._embedder is None)
        ):
            return _unchanged_result(asker, address, document, held)
        passages = await _prepare_in_thread(document, lambda: _split_document(document, rule))
        prepared = PreparedDocument(
            asker=asker,
            address=address,
            document=document,
            content_hash=content_hash,
            passages=passages,
            words=await _prepare_in_thread(document, lambda: make_keyword_record(passages)),
            vectors=await self._vectors(document, passages),
        )
        return await self._storing.store(prepared)

    async def _held(
        self, asker: str, address: NamespaceAddress, document: SourceDocument
    ) -> StoredDocument | None:
        """Raises Unauthorised; InvalidArguments if the namespace was embedded otherwise."""
        found = await self._grants.reached(address, asker=asker, access=Access.WRITE)
        for namespace in found:
            if self._embedder is not None:
                check_model(namespace, self._embedder)
            return await self._registry.document(namespace.id, document.source)
        return None

    async def _vectors(
        self, document: SourceDocument, passages: Sequence[Passage]
    ) -> NDArray[np.float32] | None:
        """Embed the passages; None if there is no embedder or it failed. The document then has no
        vectors until it is ingested again."""
        if self._batches is None:
            return None
        try:
            return await self._batches.embed(
                [text_to_embed(one.heading, one.text) for one in passages]
            )
        except ModelUnavailable as error:
            _log.warning("a document is stored without vectors: %s", error)
            return None


async def _prepare_in_thread(document: SourceDocument, make: Callable[[], Made]) -> Made:
    if len(document.text) <= INLINE_CHARS:
        return make()
    return await asyncio.to_thread(make)


def _check_document(document: SourceDocument) -> None:
    check_source(document.source)
    # Characters first: encoding an enormous text would copy it.
    if len(document.text) > MAX_FILE_BYTES:
        raise InvalidArguments(f"text is longer than {MAX_FILE_BYTES} characters")
    try:
        source_bytes = len(document.source.encode())
        size = len(document.text.encode()) + source_bytes
        json.dumps(dict(document.metadata), ensure_ascii=False).encode()
    except UnicodeEncodeError as error:
        raise InvalidArguments("text, source or metadata contains a lone surrogate") from error
    if source_bytes > MAX_SOURCE_BYTES:
        raise InvalidArguments(f"source is larger than {MAX_SOURCE_BYTES} bytes")
    if size > MAX_FILE_BYTES:
        raise InvalidArguments(f"text is larger than {MAX_FILE_BYTES} bytes")
    # Pages are looked up by bisection, which needs sorted offsets.
    bounds = (0, *document.page_starts, len(document.text))
    if any(start > following for start, following in pairwise(bounds)):
        raise InvalidArguments("page_starts must rise, from 0 up to the length of text")
    _check_metadata(document.metadata)


def _check_metadata(metadata: Mapping[str, Scalar]) -> None:
    for key, value in metadata.items():
        # JSON has neither NaN nor infinity, and SQLite's integers have 64 bits.
        is_bad_float = isinstance(value, float) and not math.isfinite(value)
        is_bad_int = isinstance(value, int) and not -(2**63) <= value < 2**63
        if is_bad_float or is_bad_int:
            raise InvalidArguments(f"metadata {key[:80]!r} must be a finite number of 64 bits")
    if len(json.dumps(dict(metadata))) > MAX_METADATA_CHARS:
        raise InvalidArguments(f"metadata is larger than {MAX_METADATA_CHARS} characters")


def _content_hash(document: SourceDocument, splitting: Splitting) -> str:
    """Hash everything that decides what is stored, so that another chunk size counts as a
    change."""
    rest: list[object] = [
        splitting.size,
        splitting.overlap,
        dict(sorted(document.metadata.items())),
    ]
    if document.page_starts or document.is_markdown is not None:
        rest += [document.page_starts, document.is_markdown]
    # JSON escapes NUL, so the separator is unambiguous.
    return hashlib.sha256(json.dumps(rest).encode() + b"\0" + document.text.encode()).hexdigest()


def _split_document(document: SourceDocument, splitting: Splitting) -> list[Passage]:
    markup = heading_markup(document.source, document.is_markdown)
    passages = list(split(document.text, splitting, markup=markup))
    starts = document.page_starts
    if not starts:
        return passages
    # Text before the start of the first page counts as page 1.
    return [
        replace(passage, page=max(bisect_right(starts, passage.start), 1)) for passage in passages
    ]


def _unchanged_result(
    asker: str, address: NamespaceAddress, document: SourceDocument, held: StoredDocument
) -> Ingested:
    return Ingested(
        source=document.source,
        namespace=address.seen_by(asker),
        chunks=held.chunks,
        id=document_id(address.owner, address.name, document.source),
        version=held.version,
        was_unchanged=True,
    )


MAX_CONCURRENT_FILES = 512
"""Maximum number of concurrent files of one folder: two batches of the embedder, if each file is a
single passage."""
MAX_BYTES = 16_000_000
"""Maximum total size in bytes of the files of a library that are read at a time; a larger file is
read alone."""


class ProgressReporter:
    """Progress counter that reports each document to `on_progress`."""

    def __init__(self, total: int, on_progress: OnProgress | None) -> None:
        self._total = total
        self._on_progress = on_progress
        self._done = self._chunks = 0

    async def tell(self, done: Ingested) -> Ingested:
        self._done += 1
        self._chunks += done.chunks
        if self._on_progress is not None:
            await self._on_progress(
                Progress(
                    done=self._done, total=self._total, chunks=self._chunks, source=done.source
                )
            )
        return done


class FolderIngestion:
    """Ingestion of the files of all folders, within one limit in bytes."""

    def __init__(self, loader: Loader) -> None:
        self._loader = loader
        self._bytes = ConcurrencyLimiter(MAX_BYTES, name="files", max_waiting=None)

    async def ingest(
        self,
        found: Sequence[FoundFile | SkippedFile],
        take: Callable[[SourceDocument], Awaitable[Ingested]],
        *,
        namespace: str,
        told: ProgressReporter,
    ) -> list[Ingested]:
        """Ingest the files concurrently and return the results in the order of `found`. A cancelled
        call leaves no partial document and no task."""
        results: dict[int, Ingested] = {}

        async def ingest(numbered: tuple[int, FoundFile | SkippedFile]) -> None:
            number, entry = numbered
            results[number] = await told.tell(await self._tried(entry, take, namespace))

        await for_each(enumerate(found), ingest, max_concurrent=MAX_CONCURRENT_FILES)
        return [results[number] for number in sorted(results)]

    async def ingest_one(
        self, file: FoundFile, take: Callable[[SourceDocument], Awaitable[Ingested]], namespace: str
    ) -> Ingested:
        """Ingest one file. Raises InvalidArguments if it cannot be read."""
        try:
            size = (await asyncio.to_thread(file.path.stat)).st_size
        except OSError:
            size = 0  # Reading it below fails, and tells why.
        async with self._bytes.slot(size):
            loaded = await self._loader.load(file)
            return await take(loaded.document(file.source, namespace))

    async def _tried(
        self,
        entry: FoundFile | SkippedFile,
        take: Callable[[SourceDocument], Awaitable[Ingested]],
        namespace: str,
    ) -> Ingested:
        if isinstance(entry, SkippedFile):
            return skipped_result(entry.source, namespace, entry.reason)
        try:
            return await self.ingest_one(entry, take, namespace)
        except InvalidArguments as error:
            return skipped_result(entry.source, namespace, str(error))


def skipped_result(source: str, namespace: str, reason: str) -> Ingested:
    return Ingested(source=source, namespace=namespace, chunks=0, left_out=reason)
