"""Registry: namespaces, documents and chunks of a library, with their quota."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from spade_llm.core.errors import InvalidArguments, NotFound, QuotaExceeded
from spade_llm.rag.contract import DocumentPage
from spade_llm.rag.names import PERSONAL_PATTERN, document_id, is_personal_namespace
from spade_llm.rag.store.rows import (
    CHUNK_COLUMNS,
    DOCUMENT_COLUMNS,
    EMBEDDABLE_COLUMNS,
    NAMESPACE_COLUMNS,
    DocumentRecord,
    EmbeddableChunk,
    Namespace,
    StoredChunk,
    StoredDocument,
    chunk_from,
    chunk_rows,
    document_from,
    embeddable_from,
    namespace_from,
)
from spade_llm.rag.store.schema import (
    INSERT_ASKED_NAMESPACE,
    INSERT_KEYWORDS,
    INSERT_METADATA,
    INSERT_VECTORS,
    metadata_rows,
)
from spade_llm.search.passage_index import RECORD_VERSION, assign_chunk_ids

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    import aiosqlite

    from spade_llm.rag.store.database import LibraryDatabase, SqlValue

__all__ = [
    "DocumentRecord",
    "Namespace",
    "Registry",
    "StoredChunk",
    "StoredDocument",
]

MAX_NAMESPACES = 256
"""Maximum number of namespaces of one owner, without the personal ones."""
MAX_PERSONAL_NAMESPACES = 4096
"""Maximum number of personal namespaces of one owner."""
GLANCED_CHUNKS = 32
"""Maximum number of chunks that are read in the event loop thread."""

_NAMESPACES = f"""
    SELECT {NAMESPACE_COLUMNS} FROM namespaces n
    WHERE n.owner = ?1 AND (?2 IS NULL OR n.name = ?2) ORDER BY n.name LIMIT ?3
"""
_SELECT_COMMON = f"""
    SELECT {NAMESPACE_COLUMNS} FROM namespaces n
    WHERE n.owner = ?1 AND n.name NOT GLOB ?2 ORDER BY n.name LIMIT ?3
"""
_COUNT = "SELECT count(*) FROM namespaces WHERE owner = ?1 AND (name GLOB ?2) = ?3"
_ADD_NAMESPACE = "INSERT INTO namespaces (owner, name, updated_at) VALUES (?, ?, ?)"
_SET_MODEL = "UPDATE namespaces SET model = ?, dimension = ? WHERE id = ? AND model IS NULL"
_DOCUMENT = """
    SELECT content_hash, state, chunk_count, version FROM documents
    WHERE namespace_id = ? AND source = ?
"""
_SAVE_DOCUMENT = """
    INSERT INTO documents (namespace_id, source, content_hash, version, state, chunk_count,
        metadata, created_at, updated_at, uid)
    VALUES (?1, ?2, ?3, 1, ?4, ?5, ?6, ?7, ?7, ?8)
    ON CONFLICT (namespace_id, source) DO UPDATE SET
        version = version + (content_hash <> ?3), content_hash = ?3,
        state = ?4, chunk_count = ?5, metadata = ?6, updated_at = ?7
    RETURNING id, version
"""
_REMOVE_FACTS = "DELETE FROM document_facts WHERE document_id = ?"
# Chunk ids come from loose_vectors, so that a vector left by a crash is listed there.
_RESERVE = """
    WITH RECURSIVE number (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM number WHERE i < ?1)
    INSERT INTO loose_vectors (namespace_id) SELECT ?2 FROM number RETURNING chunk_id
"""
_MARK_ORPHANS = """
    INSERT OR IGNORE INTO loose_vectors (chunk_id, namespace_id)
    SELECT c.id, d.namespace_id FROM chunks c JOIN documents d ON d.id = c.document_id
    WHERE d.namespace_id = ? AND d.source = ? AND d.state = 'embedded'
"""
_SELECT_ORPHANS = """
    SELECT l.chunk_id, n.id, n.edition
    FROM loose_vectors l JOIN namespaces n ON n.id = l.namespace_id
"""
_UNMARK_ORPHAN = "DELETE FROM loose_vectors WHERE chunk_id = ?"
_REMOVE_CHUNKS = """
    DELETE FROM chunks WHERE document_id =
        (SELECT id FROM documents WHERE namespace_id = ? AND source = ?)
"""
_ADD_CHUNK = """
    INSERT INTO chunks (id, document_id, scope, position, start, stop, heading, text, page)
    VALUES (?, ?, '', ?, ?, ?, ?, ?, ?)
"""
"""`scope` was for the first version's index of words."""
_REMOVE_DOCUMENT = "DELETE FROM documents WHERE namespace_id = ? AND source = ?"
_REMOVE_NAMESPACE = "DELETE FROM namespaces WHERE id = ?"
_DELETE_ORPHANS = "DELETE FROM loose_vectors WHERE namespace_id = ?"
_MARK_ORPHAN_COLLECTION = """
    INSERT OR IGNORE INTO loose_collections (namespace_id, edition) VALUES (?, ?)
"""
_SELECT_ORPHAN_COLLECTIONS = "SELECT namespace_id, edition FROM loose_collections"
_UNMARK_ORPHAN_COLLECTION = "DELETE FROM loose_collections WHERE namespace_id = ? AND edition = ?"
_NEW_EDITION = """
    INSERT INTO loose_collections (namespace_id, edition)
    SELECT n.id, 1 + max(n.edition, coalesce(
        (SELECT max(edition) FROM loose_collections WHERE namespace_id = n.id), 0))
    FROM namespaces n WHERE n.id = ? RETURNING edition
"""
_SWITCH_EDITION = """
    UPDATE namespaces SET edition = ?2, model = ?3, dimension = ?4 WHERE id = ?1
"""
_ALL_EMBEDDED = """
    UPDATE documents SET state = 'embedded' WHERE namespace_id = ? AND state <> 'embedded'
"""
_EMBEDDABLE = f"""
    SELECT {EMBEDDABLE_COLUMNS} FROM chunks c JOIN documents d ON d.id = c.document_id
    WHERE c.id > ?2 AND d.namespace_id = ?1 ORDER BY c.id LIMIT ?3
"""
_EMBEDDABLE_AMONG = f"""
    SELECT {EMBEDDABLE_COLUMNS} FROM chunks c JOIN documents d ON d.id = c.document_id
    WHERE c.id IN (SELECT value FROM json_each(?)) ORDER BY c.id
"""
_CHUNK_IDS = """
    SELECT c.id FROM chunks c JOIN documents d ON d.id = c.document_id WHERE d.namespace_id = ?
"""
_CHUNKS = f"""
    SELECT {CHUNK_COLUMNS}
    FROM chunks c JOIN documents d ON d.id = c.document_id
        JOIN namespaces n ON n.id = d.namespace_id
    WHERE c.id IN (SELECT value FROM json_each(?))
"""
_SELECT_PAGE = f"""
    SELECT {DOCUMENT_COLUMNS} FROM documents d JOIN namespaces n ON n.id = d.namespace_id
    WHERE n.id IN (SELECT value FROM json_each(?)) ORDER BY n.name, d.source LIMIT ? OFFSET ?
"""
_SELECT_LIBRARY_ID = "SELECT id FROM library"
_LAST_ASKED = f"""
    SELECT {NAMESPACE_COLUMNS} FROM asked_namespaces a JOIN namespaces n ON n.id = a.namespace_id
    ORDER BY a.number DESC LIMIT ?
"""


def utc_now() -> datetime:
    return datetime.now(UTC)


class Registry:
    """Reads and changes the tables; every change is one transaction."""

    def __init__(self, database: LibraryDatabase, *, now: Callable[[], datetime] = utc_now) -> None:
        self._database = database
        self._now = now

    async def library_id(self) -> str:
        """Return the unique id of this library file."""
        ((found,),) = await self._database.read_often(_SELECT_LIBRARY_ID)
        return str(found)

    async def namespaces(self, owner: str, name: str | None = None) -> tuple[Namespace, ...]:
        """Namespaces of an owner by name, or only the one with this name."""
        limit = MAX_NAMESPACES + MAX_PERSONAL_NAMESPACES
        rows = await self._database.read_often(_NAMESPACES, (owner, name, limit))
        return tuple(namespace_from(row) for row in rows)

    async def common(self, owner: str) -> tuple[Namespace, ...]:
        """Namespaces of an owner by name, without personal ones."""
        rows = await self._database.read_often(
            _SELECT_COMMON, (owner, PERSONAL_PATTERN, MAX_NAMESPACES)
        )
        return tuple(namespace_from(row) for row in rows)

    async def namespace(self, owner: str, name: str) -> Namespace:
        """Get a namespace. Raises NotFound."""
        for found in await self.namespaces(owner, name):
            return found
        raise NotFound(f"there is no namespace {name!r}")

    async def last_asked(self, limit: int) -> tuple[Namespace, ...]:
        """Namespaces that were queried last, the latest first."""
        rows = await self._database.read(_LAST_ASKED, (limit,))
        return tuple(namespace_from(row) for row in rows)

    async def note_asked(self, ids: Sequence[int]) -> None:
        """Note queried namespaces. Unknown ids are ignored."""
        async with self._database.transaction() as writer:
            await writer.executemany(INSERT_ASKED_NAMESPACE, [(number,) for number in ids])

    async def add_namespace(self, owner: str, name: str) -> Namespace:
        """Get a namespace, or create it."""
        for namespace in await self.namespaces(owner, name):
            return namespace
        await self._check_room(owner, is_of_person=is_personal_namespace(name))
        async with self._database.transaction() as writer:
            await writer.execute(_ADD_NAMESPACE, (owner, name, self._now().isoformat()))
        return await self.namespace(owner, name)

    async def _check_room(self, owner: str, *, is_of_person: bool) -> None:
        ((held,),) = await self._database.read(_COUNT, (owner, PERSONAL_PATTERN, is_of_person))
        if is_of_person and held >= MAX_PERSONAL_NAMESPACES:
            raise QuotaExceeded(
                f"limit reached ({MAX_PERSONAL_NAMESPACES} people with files); delete some"
            )
        if not is_of_person and held >= MAX_NAMESPACES:
            raise InvalidArguments(f"limit reached ({MAX_NAMESPACES} namespaces); delete one")

    async def document(self, namespace_id: int, source: str) -> StoredDocument | None:
        rows = await self._database.read(_DOCUMENT, (namespace_id, source))
        for content_hash, state, count, version in rows:
            return StoredDocument(
                content_hash=content_hash,
                has_vectors=state == "embedded",
                chunks=count,
                version=version,
            )
        return None

    async def documents(
        self, namespaces: Sequence[Namespace], *, reader: str, limit: int, offset: int
    ) -> DocumentPage:
        """List a page of documents by namespace and source."""
        ids = json.dumps([namespace.id for namespace in namespaces])
        rows = await self._database.read(_SELECT_PAGE, (ids, limit, offset))
        total = sum(namespace.documents for namespace in namespaces)
        return DocumentPage(
            documents=tuple(document_from(row, reader) for row in rows),
            total=total,
            limit=limit,
            offset=offset,
            # Without rows there is no progress, whatever the total says.
            has_more=offset + len(rows) < total and bool(rows),
        )

    async def reserve(self, namespace_id: int, count: int) -> tuple[int, ...]:
        """Reserve chunk ids; they count as orphans until `replace` stores their chunks."""
        if count == 0:
            return ()
        async with self._database.transaction() as writer:
            rows = await writer.execute_fetchall(_RESERVE, (count, namespace_id))
        # RETURNING promises no order.
        return tuple(sorted(row[0] for row in rows))

    async def replace(self, records: Sequence[DocumentRecord]) -> Sequence[int]:
        """Add or replace documents by source, in one transaction; the old vectors become orphans.
        Returns the versions."""
        async with self._database.transaction() as writer:
            return [await self._replace(writer, record) for record in records]

    async def remove_document(self, namespace: Namespace, source: str) -> int:
        async with self._database.transaction() as writer:
            await writer.execute(_MARK_ORPHANS, (namespace.id, source))
            removed = await writer.execute(_REMOVE_DOCUMENT, (namespace.id, source))
            return removed.rowcount

    async def remove_namespace(self, namespace: Namespace) -> int:
        async with self._database.transaction() as writer:
            await writer.execute(_REMOVE_NAMESPACE, (namespace.id,))
            await writer.execute(_DELETE_ORPHANS, (namespace.id,))
            await writer.execute(_MARK_ORPHAN_COLLECTION, (namespace.id, namespace.edition))
        return namespace.documents

    async def loose_places(self) -> Mapping[tuple[int, int], Sequence[int]]:
        """Return the ids of chunks with orphaned or not yet committed vectors, by namespace and
        edition of their collection."""
        found: dict[tuple[int, int], list[int]] = {}
        for chunk_id, namespace_id, edition in await self._database.read_often(_SELECT_ORPHANS):
            found.setdefault((namespace_id, edition), []).append(chunk_id)
        return found

    async def settle_vectors(self, ids: Sequence[int]) -> None:
        """Unmark orphaned vectors that were removed."""
        async with self._database.transaction() as writer:
            await writer.executemany(_UNMARK_ORPHAN, [(chunk_id,) for chunk_id in ids])

    async def loose_collections(self) -> Sequence[tuple[int, int]]:
        """Collections not in use, or not yet: namespace and edition."""
        return [
            (row[0], row[1]) for row in await self._database.read_often(_SELECT_ORPHAN_COLLECTIONS)
        ]

    async def settle_collection(self, namespace_id: int, edition: int) -> None:
        """Unmark an orphaned collection that was removed."""
        async with self._database.transaction() as writer:
            await writer.execute(_UNMARK_ORPHAN_COLLECTION, (namespace_id, edition))

    async def new_edition(self, namespace: Namespace) -> int:
        """Reserve an edition; it counts as an orphan until `switch`. Raises NotFound."""
        async with self._database.transaction() as writer:
            for row in await writer.execute_fetchall(_NEW_EDITION, (namespace.id,)):
                return int(row[0])
        raise NotFound(f"there is no namespace {namespace.name!r}")

    async def switch(
        self, namespace: Namespace, edition: int, *, model: str | None, dimension: int | None
    ) -> None:
        """Switch the namespace to this edition of vectors, and mark all its documents as
        embedded."""
        async with self._database.transaction() as writer:
            await writer.execute(_MARK_ORPHAN_COLLECTION, (namespace.id, namespace.edition))
            await writer.execute(_UNMARK_ORPHAN_COLLECTION, (namespace.id, edition))
            await writer.execute(_SWITCH_EDITION, (namespace.id, edition, model, dimension))
            await writer.execute(_ALL_EMBEDDED, (namespace.id,))

    async def embeddable(
        self, namespace: Namespace, *, after: int, limit: int
    ) -> Sequence[EmbeddableChunk]:
        """Chunks after the chunk `after`, by id."""
        rows = await self._database.read(_EMBEDDABLE, (namespace.id, after, limit))
        return [embeddable_from(row) for row in rows]

    async def embeddable_among(self, ids: Sequence[int]) -> Sequence[EmbeddableChunk]:
        rows = await self._database.read(_EMBEDDABLE_AMONG, (json.dumps(list(ids)),))
        return [embeddable_from(row) for row in rows]

    async def chunk_ids(self, namespace: Namespace) -> frozenset[int]:
        rows = await self._database.read(_CHUNK_IDS, (namespace.id,))
        return frozenset(row[0] for row in rows)

    async def chunks(self, ids: Sequence[int]) -> Mapping[int, StoredChunk]:
        """Existing chunks by id, read in one transaction."""
        read = self._database.glance if len(ids) <= GLANCED_CHUNKS else self._database.read
        rows = await read(_CHUNKS, (json.dumps(list(ids)),))
        return {row[0]: chunk_from(row) for row in rows}

    async def empty_log(self) -> bool:
        """Truncate the write-ahead log, so that deleted text is in no file any more. Returns False
        if it was not yet possible."""
        return await self._database.empty_log()

    async def _replace(self, writer: aiosqlite.Connection, record: DocumentRecord) -> int:
        where = (record.namespace.id, record.source)
        # Before the chunks go: the vectors of the old version are found by them.
        await writer.execute(_MARK_ORPHANS, where)
        await writer.execute(_REMOVE_CHUNKS, where)
        document, version = await self._save(writer, record)
        await writer.executemany(_ADD_CHUNK, chunk_rows(record, document))
        words = assign_chunk_ids(record.words, record.ids)
        await writer.execute(INSERT_KEYWORDS, (document, RECORD_VERSION, words.chunks, words.terms))
        if record.copy is not None:
            edition, copy = record.namespace.edition, record.copy
            await writer.execute(INSERT_VECTORS, (document, edition, copy.ids, copy.vectors))
        # In the same transaction as their chunks: a vector is either listed as loose or in use.
        await writer.executemany(_UNMARK_ORPHAN, [(chunk_id,) for chunk_id in record.ids])
        return version

    async def _save(self, writer: aiosqlite.Connection, record: DocumentRecord) -> tuple[int, int]:
        namespace = record.namespace
        if record.model is not None:
            await writer.execute(_SET_MODEL, (record.model, record.dimension, namespace.id))
        values: tuple[SqlValue, ...] = (
            namespace.id,
            record.source,
            record.content_hash,
            "words-only" if record.model is None else "embedded",
            len(record.passages),
            json.dumps(dict(record.metadata)),
            self._now().isoformat(),
            document_id(namespace.owner, namespace.name, record.source),
        )
        ((document, version),) = await writer.execute_fetchall(_SAVE_DOCUMENT, values)
        await writer.execute(_REMOVE_FACTS, (document,))
        await writer.executemany(INSERT_METADATA, metadata_rows(document, record.metadata))
        return document, version
