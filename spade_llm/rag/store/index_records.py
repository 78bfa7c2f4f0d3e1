"""Index records of documents: keyword records and copies of vectors, page by page."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from itertools import groupby
from typing import TYPE_CHECKING

import numpy as np

from spade_llm.rag.store.schema import (
    SAVE_KEYWORDS,
    SAVE_VECTORS,
    SELECT_CHANGES,
    SELECT_CHUNK_IDS,
    SELECT_DOCUMENTS,
    SELECT_EMBEDDED,
    SELECT_KEYWORDS,
    SELECT_LAST_CHANGE,
    SELECT_TEXTS,
    SELECT_VECTORS,
)
from spade_llm.search.passage_index import RECORD_VERSION, KeywordRecord, make_keyword_record
from spade_llm.search.vectors import quantize_vectors

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from spade_llm.rag.store.library_database import LibraryDatabase, Row

PAGE_CHUNKS = 16_384
"""Number of chunks read together, so that not all of a large namespace is in RAM twice."""
MAX_GLANCE_DOCUMENTS = 4
"""Maximum number of changed documents that are read in the event loop thread, so that no other task
runs in between."""
DOCUMENTS_PER_WRITE = 256
"""Number of documents whose texts are read together."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DocumentChange:
    number: int
    document: int
    namespace: int
    is_gone: bool
    """True if the whole namespace was deleted."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _ChunkText:
    text: str
    heading: str
    page: int | None


class KeywordStore:
    """Stored keyword records, and the log of changed documents."""

    def __init__(self, database: LibraryDatabase) -> None:
        self._database = database

    async def last_change(self) -> int:
        ((number,),) = await self._database.read(SELECT_LAST_CHANGE)
        return int(number)

    async def changes(self, after: int) -> Sequence[DocumentChange]:
        """List the changes after number `after`, in order. If the first is not `after + 1`, earlier
        ones have been deleted. It reads the database each time: cached rows lag behind for a moment
        after a commit."""
        return [
            DocumentChange(
                number=number, document=document, namespace=namespace, is_gone=not is_there
            )
            for number, document, namespace, is_there in await self._database.glance(
                SELECT_CHANGES, (after,)
            )
        ]

    async def pages(self, namespace: int) -> Sequence[Sequence[int]]:
        """All documents of a namespace, in pages to be read at once."""
        rows = await self._database.read(SELECT_DOCUMENTS, (namespace,))
        return list(split_pages([(row[0], row[1]) for row in rows]))

    async def records(self, documents: Sequence[int]) -> Mapping[int, KeywordRecord]:
        """Read the records of those documents that exist and have chunks."""
        is_few = len(documents) <= MAX_GLANCE_DOCUMENTS
        read = self._database.glance if is_few else self._database.read
        rows = await read(SELECT_KEYWORDS, (RECORD_VERSION, list(documents)))
        found = {row[0]: KeywordRecord(chunks=row[1], terms=row[2]) for row in rows if row[1]}
        missing = [row[0] for row in rows if not row[1]]
        for start in range(0, len(missing), DOCUMENTS_PER_WRITE):
            found |= await self._made(missing[start : start + DOCUMENTS_PER_WRITE])
        return found

    async def _made(self, documents: Sequence[int]) -> Mapping[int, KeywordRecord]:
        """Make and store the records of documents that have none of this version."""
        rows = await self._database.read(SELECT_TEXTS, (list(documents),))
        made = await asyncio.to_thread(_decode_records, rows)
        first_ids = {document: next(its)[1] for document, its in groupby(rows, _document_of)}
        async with self._database.transaction() as writer:
            for document, record in made.items():
                kept = (document, RECORD_VERSION, record.chunks, record.terms, first_ids[document])
                await writer.execute(SAVE_KEYWORDS, kept)
        return made


def split_pages(documents: Sequence[tuple[int, int]]) -> Iterator[Sequence[int]]:
    """Split (document, number of chunks) pairs into pages of about PAGE_CHUNKS chunks."""
    page: list[int] = []
    chunks = 0
    for document, count in documents:
        page.append(document)
        chunks += count
        if chunks >= PAGE_CHUNKS:
            yield page
            page, chunks = [], 0
    if page:
        yield page


def _decode_records(rows: Sequence[Row]) -> Mapping[int, KeywordRecord]:
    made: dict[int, KeywordRecord] = {}
    for document, its in groupby(rows, _document_of):
        chunks = list(its)
        texts = [_ChunkText(heading=row[2], page=row[3], text=row[4]) for row in chunks]
        made[document] = make_keyword_record(texts, [row[1] for row in chunks])
    return made


def _document_of(row: Row) -> int:
    return int(row[0])


@dataclass(frozen=True, slots=True, kw_only=True)
class VectorCopy:
    """Copy of the vectors of one document."""

    ids: bytes
    """Chunk ids, 64 bits each."""
    vectors: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class VectorPage:
    """Copies of the vectors of some documents."""

    ids: NDArray[np.int64]
    values: NDArray[np.int8]
    missing: Mapping[int, Sequence[int]] = field(default_factory=dict)
    """Chunks by document, of those that have no copy yet."""


def quantize_document(ids: Sequence[int], vectors: NDArray[np.float32]) -> VectorCopy:
    return VectorCopy(
        ids=np.asarray(ids, np.int64).tobytes(), vectors=quantize_vectors(vectors)[0].tobytes()
    )


class VectorCopyStore:
    """Stored copies of the vectors of documents."""

    def __init__(self, database: LibraryDatabase) -> None:
        self._database = database

    async def pages(self, namespace: int) -> tuple[Sequence[Sequence[int]], int]:
        """Documents with vectors, in pages to be read at once, and their number of chunks."""
        rows = [
            (row[0], row[1]) for row in await self._database.read(SELECT_EMBEDDED, (namespace,))
        ]
        return list(split_pages(rows)), sum(count for _, count in rows)

    async def read(self, documents: Sequence[int], edition: int, dimension: int) -> VectorPage:
        rows = await self._database.read(SELECT_VECTORS, (edition, list(documents)))
        found = [row for row in rows if row[1] is not None]
        missing = [row[0] for row in rows if row[1] is None]
        values = np.frombuffer(b"".join(row[2] for row in found), np.int8)
        return VectorPage(
            ids=np.frombuffer(b"".join(row[1] for row in found), np.int64),
            values=values.reshape(-1, dimension),
            missing=await self._chunks(missing) if missing else {},
        )

    async def keep(self, edition: int, copies: Mapping[int, VectorCopy]) -> None:
        """Save copies by document id, for documents that had none."""
        async with self._database.transaction() as writer:
            for document, copy in copies.items():
                # Saved only while its first chunk exists: the document may have been replaced.
                (first,) = np.frombuffer(copy.ids, np.int64, 1).tolist()
                values = (document, edition, copy.ids, copy.vectors, first)
                await writer.execute(SAVE_VECTORS, values)

    async def _chunks(self, documents: Sequence[int]) -> Mapping[int, Sequence[int]]:
        rows = await self._database.read(SELECT_CHUNK_IDS, (list(documents),))
        return {
            document: [row[1] for row in its] for document, its in groupby(rows, lambda row: row[0])
        }
