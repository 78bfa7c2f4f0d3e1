"""Row mapping: namespaces, documents and chunks as records."""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING

from spade_llm.rag.contract import Access, Chunk, DocumentSummary, NamespaceSummary
from spade_llm.rag.names import NamespaceAddress

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from spade_llm.rag.contract import Scalar
    from spade_llm.rag.loading.chunking import Passage
    from spade_llm.rag.store.index_records import VectorCopy
    from spade_llm.rag.store.library_database import Row, SqlValue
    from spade_llm.search.passage_index import KeywordRecord

NAMESPACE_COLUMNS = """
    n.id, n.name, n.owner, n.model, n.dimension, n.documents, n.words_only, n.chunks, n.updated_at,
    n.edition, EXISTS (SELECT 1 FROM loose_collections l
        WHERE l.namespace_id = n.id AND l.edition > n.edition)
"""
CHUNK_COLUMNS = """
    c.id, c.position, c.start, c.stop, c.heading, c.text, d.source, n.name, n.id, n.owner, c.page,
    d.uid, d.metadata
"""
EMBEDDABLE_COLUMNS = "c.id, c.heading, c.text, d.source"
DOCUMENT_COLUMNS = """
    d.uid, d.source, n.owner, n.name, d.chunk_count, d.version, d.updated_at, d.metadata,
    (SELECT substr(text, 1, 200) FROM chunks WHERE document_id = d.id ORDER BY position LIMIT 1)
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Namespace:
    """A row of `namespaces`, with its totals."""

    id: int
    """Never reused."""
    name: str
    owner: str
    model: str | None
    """Name of the embedder of its vectors; None while it has none."""
    dimension: int | None
    documents: int
    words_only: int
    """Number of documents without vectors."""
    chunks: int
    updated_at: datetime
    edition: int = 0
    """Edition of its vector collection; each reindexing makes a new one."""
    is_reindexing: bool = False

    @property
    def address(self) -> NamespaceAddress:
        return NamespaceAddress(owner=self.owner, name=self.name)

    def summary(self, reader: str, access: Access) -> NamespaceSummary:
        return NamespaceSummary(
            name=self.address.seen_by(reader),
            documents=self.documents,
            chunks=self.chunks,
            updated_at=self.updated_at,
            access=access,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredDocument:
    content_hash: str
    has_vectors: bool
    chunks: int
    version: int


@dataclass(frozen=True, slots=True, kw_only=True)
class DocumentRecord:
    """A document as it is to be stored, with its passages and their reserved ids."""

    namespace: Namespace
    source: str
    content_hash: str
    metadata: Mapping[str, Scalar]
    passages: Sequence[Passage]
    ids: Sequence[int]
    words: KeywordRecord
    """Keyword record of the passages."""
    model: str | None
    """Name of the embedder; None if it has no vectors."""
    dimension: int | None
    copy: VectorCopy | None = None
    """Copy of its vectors in the database; None if there is none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredChunk:
    """Chunk as stored; its `chunk.namespace` is always the full address."""

    id: int
    namespace_id: int
    chunk: Chunk


@dataclass(frozen=True, slots=True, kw_only=True)
class EmbeddableChunk:
    """Fields of a chunk that decide its vector."""

    id: int
    heading: str
    text: str
    source: str


def chunk_rows(record: DocumentRecord, document: int) -> list[tuple[SqlValue, ...]]:
    rows = zip(record.ids, record.passages, strict=True)
    return [
        (
            chunk_id,
            document,
            position,
            passage.start,
            passage.end,
            passage.heading,
            passage.text,
            passage.page,
        )
        for position, (chunk_id, passage) in enumerate(rows)
    ]


def namespace_from(row: Row) -> Namespace:
    """Build a namespace from NAMESPACE_COLUMNS."""
    return Namespace(
        id=row[0],
        name=row[1],
        owner=row[2],
        model=row[3],
        dimension=row[4],
        documents=row[5],
        words_only=row[6],
        chunks=row[7],
        updated_at=datetime.fromisoformat(row[8]),
        edition=row[9],
        is_reindexing=bool(row[10]),
    )


def chunk_from(row: Row) -> StoredChunk:
    """Build a chunk from CHUNK_COLUMNS."""
    chunk = Chunk(
        index=row[1],
        start=row[2],
        end=row[3],
        heading=row[4],
        text=row[5],
        source=row[6],
        namespace=str(NamespaceAddress(owner=row[9], name=row[7])),
        page=row[10],
        document=row[11],
        metadata=json.loads(row[12]),
    )
    return StoredChunk(id=row[0], namespace_id=row[8], chunk=chunk)


def embeddable_from(row: Row) -> EmbeddableChunk:
    """Build a chunk to embed from EMBEDDABLE_COLUMNS."""
    return EmbeddableChunk(id=row[0], heading=row[1], text=row[2], source=row[3])


def document_from(row: Row, reader: str) -> DocumentSummary:
    """Build a document summary from DOCUMENT_COLUMNS."""
    return DocumentSummary(
        id=row[0],
        source=row[1],
        namespace=NamespaceAddress(owner=row[2], name=row[3]).seen_by(reader),
        chunks=row[4],
        version=row[5],
        updated_at=datetime.fromisoformat(row[6]),
        metadata=json.loads(row[7]),
        preview=row[8] or "",
    )
