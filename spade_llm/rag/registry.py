"""What the library holds: namespaces, documents, chunks. Knows words and rows, no vectors.

Source of truth: a chunk that is not here does not exist, whatever another store says.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from spade_llm.errors import InvalidArguments
from spade_llm.rag.documents import NamespaceSummary
from spade_llm.rag.retriever import Chunk

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Callable, Mapping, Sequence

    import aiosqlite

    from spade_llm.rag.database import Database, SqlValue
    from spade_llm.rag.splitter import Passage

MAX_NAMESPACES = 256
"""Of one owner."""

_NAMESPACES = """
    SELECT id, name, owner, model, dimension, documents, words_only, chunks, updated_at
    FROM namespaces WHERE owner = ?1 AND (?2 IS NULL OR name = ?2) ORDER BY name LIMIT ?3
"""
_ADD_NAMESPACE = "INSERT INTO namespaces (owner, name, updated_at) VALUES (?, ?, ?)"
_SET_MODEL = "UPDATE namespaces SET model = ?, dimension = ? WHERE id = ? AND model IS NULL"
_DOCUMENT = """
    SELECT content_hash, state, chunk_count FROM documents
    WHERE namespace_id = ? AND source = ?
"""
_SAVE_DOCUMENT = """
    INSERT INTO documents (namespace_id, source, content_hash, version, state, chunk_count,
        metadata, created_at, updated_at)
    VALUES (?1, ?2, ?3, 1, ?4, ?5, ?6, ?7, ?7)
    ON CONFLICT (namespace_id, source) DO UPDATE SET content_hash = ?3, version = version + 1,
        state = ?4, chunk_count = ?5, metadata = ?6, updated_at = ?7
    RETURNING id
"""
_RESERVE = """
    WITH RECURSIVE number (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM number WHERE i < ?1)
    INSERT INTO loose_vectors (namespace_id) SELECT ?2 FROM number RETURNING chunk_id
"""
_LOOSEN = """
    INSERT OR IGNORE INTO loose_vectors (chunk_id, namespace_id)
    SELECT c.id, d.namespace_id FROM chunks c JOIN documents d ON d.id = c.document_id
    WHERE d.namespace_id = ? AND d.source = ? AND d.state = 'embedded'
"""
_LOOSE = "SELECT chunk_id, namespace_id FROM loose_vectors"
_SETTLE = "DELETE FROM loose_vectors WHERE chunk_id = ?"
_REMOVE_CHUNKS = """
    DELETE FROM chunks WHERE document_id =
        (SELECT id FROM documents WHERE namespace_id = ? AND source = ?)
"""
_ADD_CHUNK = """
    INSERT INTO chunks (id, document_id, scope, position, start, stop, heading, text)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?)
"""
_REMOVE_DOCUMENT = "DELETE FROM documents WHERE namespace_id = ? AND source = ?"
_REMOVE_NAMESPACE = "DELETE FROM namespaces WHERE id = ?"
_FORGET_LOOSE = "DELETE FROM loose_vectors WHERE namespace_id = ?"
_DROP = "INSERT OR IGNORE INTO dropped_namespaces (namespace_id) VALUES (?)"
_DROPPED = "SELECT namespace_id FROM dropped_namespaces"
_SETTLE_DROPPED = "DELETE FROM dropped_namespaces WHERE namespace_id = ?"
_CHUNKS = """
    SELECT c.id, c.position, c.start, c.stop, c.heading, c.text, d.source, n.name, n.id
    FROM chunks c JOIN documents d ON d.id = c.document_id
        JOIN namespaces n ON n.id = d.namespace_id
    WHERE c.id IN (SELECT value FROM json_each(?))
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Namespace:
    """A row of `namespaces`, with what it holds in all."""

    id: int
    """Never used again for another one."""
    name: str
    owner: str
    model: str | None
    """Which embedder made its vectors; None while it has none."""
    dimension: int | None
    documents: int
    words_only: int
    """How many of the documents have no vectors."""
    chunks: int
    updated_at: datetime

    @property
    def scope(self) -> str:
        """The word that every chunk of it has in the index, and no other."""
        return scope_word(self.id)

    def summary(self) -> NamespaceSummary:
        return NamespaceSummary(
            name=self.name,
            documents=self.documents,
            chunks=self.chunks,
            updated_at=self.updated_at,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredDocument:
    content_hash: str
    has_vectors: bool
    chunks: int


@dataclass(frozen=True, slots=True, kw_only=True)
class DocumentRecord:
    """A document as it is to be stored, with its passages and their reserved ids."""

    source: str
    content_hash: str
    metadata: Mapping[str, str | int | float | bool]
    passages: Sequence[Passage]
    ids: Sequence[int]
    model: str | None
    """None: it has no vectors."""
    dimension: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredChunk:
    id: int
    namespace_id: int
    chunk: Chunk


def scope_word(namespace_id: int) -> str:
    return f"n{namespace_id}"


def utc_now() -> datetime:
    return datetime.now(UTC)


class Registry:
    """Reads and changes the tables; every change is one transaction."""

    def __init__(self, database: Database, *, now: Callable[[], datetime] = utc_now) -> None:
        self._database = database
        self._now = now

    async def namespaces(self, owner: str, name: str | None = None) -> tuple[Namespace, ...]:
        """All of an owner's, by name, or the one of this name."""
        rows = await self._database.read_often(_NAMESPACES, (owner, name, MAX_NAMESPACES))
        return tuple(_namespace(row) for row in rows)

    async def add_namespace(self, owner: str, name: str) -> Namespace:
        """The one of this name, made if need be."""
        held = await self.namespaces(owner)
        for namespace in held:
            if namespace.name == name:
                return namespace
        if len(held) >= MAX_NAMESPACES:
            raise InvalidArguments(f"you have {MAX_NAMESPACES} namespaces already; delete one")
        async with self._database.transaction() as writer:
            await writer.execute(_ADD_NAMESPACE, (owner, name, self._now().isoformat()))
        (added,) = await self.namespaces(owner, name)
        return added

    async def document(self, namespace_id: int, source: str) -> StoredDocument | None:
        rows = await self._database.read(_DOCUMENT, (namespace_id, source))
        for content_hash, state, count in rows:
            return StoredDocument(
                content_hash=content_hash, has_vectors=state == "embedded", chunks=count
            )
        return None

    async def reserve(self, namespace_id: int, count: int) -> tuple[int, ...]:
        """Ids for `count` chunks, loose until `replace` makes them stay."""
        if count == 0:
            return ()
        async with self._database.transaction() as writer:
            rows = await writer.execute_fetchall(_RESERVE, (count, namespace_id))
        return tuple(sorted(row[0] for row in rows))

    async def replace(self, namespace: Namespace, record: DocumentRecord) -> None:
        """Put the document in the place of what had its source; the old vectors come loose."""
        where = (namespace.id, record.source)
        async with self._database.transaction() as writer:
            await writer.execute(_LOOSEN, where)
            await writer.execute(_REMOVE_CHUNKS, where)
            document_id = await self._save(writer, namespace, record)
            await writer.executemany(_ADD_CHUNK, _chunk_rows(namespace, record, document_id))
            await writer.executemany(_SETTLE, [(chunk_id,) for chunk_id in record.ids])

    async def remove_document(self, namespace: Namespace, source: str) -> int:
        async with self._database.transaction() as writer:
            await writer.execute(_LOOSEN, (namespace.id, source))
            removed = await writer.execute(_REMOVE_DOCUMENT, (namespace.id, source))
            return removed.rowcount

    async def remove_namespace(self, namespace: Namespace) -> int:
        async with self._database.transaction() as writer:
            await writer.execute(_REMOVE_NAMESPACE, (namespace.id,))
            await writer.execute(_FORGET_LOOSE, (namespace.id,))
            await writer.execute(_DROP, (namespace.id,))
        return namespace.documents

    async def loose_vectors(self) -> Mapping[int, frozenset[int]]:
        """Ids of chunks, by namespace, whose vectors are not wanted (yet, or any more)."""
        found: dict[int, set[int]] = {}
        for chunk_id, namespace_id in await self._database.read_often(_LOOSE):
            found.setdefault(namespace_id, set()).add(chunk_id)
        return {namespace_id: frozenset(ids) for namespace_id, ids in found.items()}

    async def settle_vectors(self, ids: Sequence[int]) -> None:
        """These vectors are gone."""
        async with self._database.transaction() as writer:
            await writer.executemany(_SETTLE, [(chunk_id,) for chunk_id in ids])

    async def dropped_namespaces(self) -> Sequence[int]:
        """Those whose vectors are still to be removed."""
        return [row[0] for row in await self._database.read(_DROPPED)]

    async def settle_dropped(self, namespace_id: int) -> None:
        async with self._database.transaction() as writer:
            await writer.execute(_SETTLE_DROPPED, (namespace_id,))

    async def chunks(self, ids: Sequence[int]) -> Mapping[int, StoredChunk]:
        """Those of them that exist now, in one view of the store."""
        rows = await self._database.read(_CHUNKS, (json.dumps(list(ids)),))
        return {row[0]: _stored_chunk(row) for row in rows}

    async def _save(
        self, writer: aiosqlite.Connection, namespace: Namespace, record: DocumentRecord
    ) -> int:
        if record.model is not None:
            await writer.execute(_SET_MODEL, (record.model, record.dimension, namespace.id))
        state = "words-only" if record.model is None else "embedded"
        values: tuple[SqlValue, ...] = (
            namespace.id,
            record.source,
            record.content_hash,
            state,
            len(record.passages),
            json.dumps(dict(record.metadata)),
            self._now().isoformat(),
        )
        (row,) = await writer.execute_fetchall(_SAVE_DOCUMENT, values)
        return int(row[0])


def _chunk_rows(
    namespace: Namespace, record: DocumentRecord, document_id: int
) -> list[tuple[SqlValue, ...]]:
    pairs = zip(record.ids, record.passages, strict=True)
    return [
        (
            chunk_id,
            document_id,
            namespace.scope,
            position,
            passage.start,
            passage.end,
            passage.heading,
            passage.text,
        )
        for position, (chunk_id, passage) in enumerate(pairs)
    ]


def _namespace(row: sqlite3.Row) -> Namespace:
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
    )


def _stored_chunk(row: sqlite3.Row) -> StoredChunk:
    chunk = Chunk(
        index=row[1],
        start=row[2],
        end=row[3],
        heading=row[4],
        text=row[5],
        source=row[6],
        namespace=row[7],
    )
    return StoredChunk(id=row[0], namespace_id=row[8], chunk=chunk)
