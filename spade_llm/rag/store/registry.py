"""Registry: namespaces, documents and chunks of a library, with their quota."""

from __future__ import annotations

import json
import secrets
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from spade_llm.core.database import DialectSql
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
    BOUND_CHANGES,
    DELETE_ASKED_NAMESPACE,
    INSERT_ASKED_NAMESPACE,
    INSERT_CHANGE,
    INSERT_KEYWORDS,
    INSERT_METADATA,
    INSERT_VECTORS,
    metadata_rows,
)
from spade_llm.search.passage_index import RECORD_VERSION, assign_chunk_ids

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Mapping, Sequence

    from spade_llm.rag.store.library_database import LibraryDatabase, LibraryWriter, SqlValue

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
    WHERE n.owner = ?1 AND (n.name = ?2 OR ?2 IS NULL) ORDER BY n.name LIMIT ?3
"""
_ALL_NAMESPACES = f"SELECT {NAMESPACE_COLUMNS} FROM namespaces n ORDER BY n.id"
_SELECT_COMMON = DialectSql(
    *(
        f"""
    SELECT {NAMESPACE_COLUMNS} FROM namespaces n
    WHERE n.owner = ?1 AND {is_common} ORDER BY n.name LIMIT ?3
"""
        for is_common in ("n.name NOT GLOB ?2", "n.name !~ ('^' || ?2 || '$')")
    )
)
_SELECT_NAMES = "SELECT name FROM namespaces WHERE owner = ?"
_ADD_NAMESPACE = "INSERT INTO namespaces (owner, name, updated_at) VALUES (?, ?, ?)"
_SET_MODEL = "UPDATE namespaces SET model = ?, dimension = ? WHERE id = ? AND model IS NULL"
_SELECT_STATES = """
    SELECT source, id, version, state, chunk_count FROM documents
    WHERE namespace_id = ? AND source IN (SELECT value FROM json_each(?))
"""
_DOCUMENT = """
    SELECT content_hash, state, chunk_count, version FROM documents
    WHERE namespace_id = ? AND source = ?
"""
_SAVE_DOCUMENT = """
    INSERT INTO documents (namespace_id, source, content_hash, version, state, chunk_count,
        metadata, created_at, updated_at, uid)
    VALUES (?1, ?2, ?3, 1, ?4, ?5, ?6, ?7, ?7, ?8)
    ON CONFLICT (namespace_id, source) DO UPDATE SET
        version = documents.version + CASE WHEN documents.content_hash = ?3 THEN 0 ELSE 1 END,
        content_hash = ?3, state = ?4, chunk_count = ?5, metadata = ?6, updated_at = ?7
"""
_ADD_TOTALS = """
    UPDATE namespaces SET documents = documents + ?2, chunks = chunks + ?3,
        words_only = words_only + ?4,
        updated_at = CASE WHEN updated_at > ?5 THEN updated_at ELSE ?5 END
    WHERE id = ?1
"""
_REMOVE_FACTS = "DELETE FROM document_facts WHERE document_id = ?"
# Chunk ids come from loose_vectors, so that a vector left by a crash is listed there.
_RESERVE = """
    WITH RECURSIVE number (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM number WHERE i < ?1)
    INSERT INTO loose_vectors (namespace_id) SELECT CAST(?2 AS BIGINT) FROM number
    RETURNING chunk_id
"""
_MARK_ORPHANS = """
    INSERT INTO loose_vectors (chunk_id, namespace_id)
    SELECT c.id, d.namespace_id FROM chunks c JOIN documents d ON d.id = c.document_id
    WHERE d.id = ? AND d.state = 'embedded' ON CONFLICT (chunk_id) DO NOTHING
"""
_SELECT_ORPHANS = """
    SELECT l.chunk_id, n.id, n.edition
    FROM loose_vectors l JOIN namespaces n ON n.id = l.namespace_id
"""
_UNMARK_ORPHAN = "DELETE FROM loose_vectors WHERE chunk_id = ?"
_REMOVE_CHUNKS = "DELETE FROM chunks WHERE document_id = ?"
_ADD_CHUNK = """
    INSERT INTO chunks (id, document_id, scope, position, start, stop, heading, text, page)
    VALUES (?, ?, '', ?, ?, ?, ?, ?, ?)
"""
"""`scope` was for the first version's index of words."""
_REMOVE_DOCUMENT = "DELETE FROM documents WHERE id = ?"
_REMOVE_NAMESPACE = "DELETE FROM namespaces WHERE id = ?"
_DELETE_ORPHANS = "DELETE FROM loose_vectors WHERE namespace_id = ?"
_MARK_ORPHAN_COLLECTION = """
    INSERT INTO loose_collections (namespace_id, edition) VALUES (?, ?)
    ON CONFLICT (namespace_id, edition) DO NOTHING
"""
_SELECT_ORPHAN_COLLECTIONS = """
    SELECT l.namespace_id, l.edition, n.id IS NULL
    FROM loose_collections l LEFT JOIN namespaces n ON n.id = l.namespace_id
"""
_UNMARK_ORPHAN_COLLECTION = "DELETE FROM loose_collections WHERE namespace_id = ? AND edition = ?"
_NEW_EDITION = """
    INSERT INTO loose_collections (namespace_id, edition)
    SELECT n.id, 1 + coalesce((SELECT max(l.edition) FROM loose_collections l
        WHERE l.namespace_id = n.id AND l.edition > n.edition), n.edition)
    FROM namespaces n WHERE n.id = ? RETURNING edition
"""
_SWITCH_EDITION = """
    UPDATE namespaces SET edition = ?2, model = ?3, dimension = ?4, words_only = 0 WHERE id = ?1
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
_SET_LIBRARY_ID = "INSERT INTO library (id) VALUES (?)"
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
        """Return the unique id of this library; a new one gets its id now."""
        for (found,) in await self._database.read(_SELECT_LIBRARY_ID):
            return str(found)
        new = secrets.token_hex(8)
        async with self._database.transaction() as writer:
            await writer.execute(_SET_LIBRARY_ID, (new,))
        return new

    async def is_empty(self) -> bool:
        """True if there is no document of any owner."""
        return not await self._database.read("SELECT 1 FROM documents LIMIT 1")

    async def namespaces(self, owner: str, name: str | None = None) -> tuple[Namespace, ...]:
        """Namespaces of an owner by name, or only the one with this name."""
        limit = MAX_NAMESPACES + MAX_PERSONAL_NAMESPACES
        rows = await self._database.read_often(_NAMESPACES, (owner, name, limit))
        return tuple(namespace_from(row) for row in rows)

    async def all_namespaces(self) -> tuple[Namespace, ...]:
        """Namespaces of all owners, by id."""
        rows = await self._database.read(_ALL_NAMESPACES)
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
            rows = [(number,) for number in ids]
            # Not updated: the number of the new row is its place in the order.
            await writer.execute_many(DELETE_ASKED_NAMESPACE, rows)
            await writer.execute_many(INSERT_ASKED_NAMESPACE, rows)

    async def add_namespace(self, owner: str, name: str) -> Namespace:
        """Get a namespace, or create it."""
        for namespace in await self.namespaces(owner, name):
            return namespace
        await self._check_room(owner, is_of_person=is_personal_namespace(name))
        async with self._database.transaction() as writer:
            await writer.execute(_ADD_NAMESPACE, (owner, name, self._now().isoformat()))
        return await self.namespace(owner, name)

    async def _check_room(self, owner: str, *, is_of_person: bool) -> None:
        names = [str(name) for (name,) in await self._database.read(_SELECT_NAMES, (owner,))]
        held = sum(is_personal_namespace(name) == is_of_person for name in names)
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
        ids = [namespace.id for namespace in namespaces]
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
            rows = await writer.execute(_RESERVE, (count, namespace_id))
        # RETURNING promises no order.
        return tuple(sorted(row[0] for row in rows))

    async def replace(self, records: Sequence[DocumentRecord]) -> Sequence[int]:
        """Add or replace documents by source, in one transaction; the old vectors become orphans.
        Returns the versions."""
        versions: list[int] = []
        async with self._database.transaction() as writer:
            for group in _without_repeats(records):
                versions += await self._replace(writer, group)
            await writer.execute(BOUND_CHANGES)
        return versions

    async def remove_document(self, namespace: Namespace, source: str) -> int:
        """Remove a document; returns the number of removed ones, 0 or 1."""
        async with self._database.transaction() as writer:
            states = await self._states(writer, namespace.id, [source])
            for state in states.values():
                await writer.execute(_MARK_ORPHANS, (state.id,))
                await writer.execute(_REMOVE_DOCUMENT, (state.id,))
                totals = (-1, -state.chunks, -state.is_words_only, "")
                await writer.execute(_ADD_TOTALS, (namespace.id, *totals))
                await writer.execute(INSERT_CHANGE, (namespace.id, state.id))
            await writer.execute(BOUND_CHANGES)
            return len(states)

    async def remove_namespace(self, namespace: Namespace) -> int:
        async with self._database.transaction() as writer:
            # Of no document: it tells that the namespace is gone.
            await writer.execute(INSERT_CHANGE, (namespace.id, 0))
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
            await writer.execute_many(_UNMARK_ORPHAN, [(chunk_id,) for chunk_id in ids])

    async def loose_collections(self, *, of_deleted: bool = False) -> Sequence[tuple[int, int]]:
        """Collections not in use, or not yet: namespace and edition. `of_deleted`: only those of
        deleted namespaces."""
        rows = await self._database.read_often(_SELECT_ORPHAN_COLLECTIONS)
        return [(row[0], row[1]) for row in rows if row[2] or not of_deleted]

    async def settle_collection(self, namespace_id: int, edition: int) -> None:
        """Unmark an orphaned collection that was removed."""
        async with self._database.transaction() as writer:
            await writer.execute(_UNMARK_ORPHAN_COLLECTION, (namespace_id, edition))

    async def new_edition(self, namespace: Namespace) -> int:
        """Reserve an edition; it counts as an orphan until `switch`. Raises NotFound."""
        async with self._database.transaction() as writer:
            for row in await writer.execute(_NEW_EDITION, (namespace.id,)):
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
        rows = await self._database.read(_EMBEDDABLE_AMONG, (list(ids),))
        return [embeddable_from(row) for row in rows]

    async def chunk_ids(self, namespace: Namespace) -> frozenset[int]:
        rows = await self._database.read(_CHUNK_IDS, (namespace.id,))
        return frozenset(row[0] for row in rows)

    async def chunks(self, ids: Sequence[int]) -> Mapping[int, StoredChunk]:
        """Existing chunks by id, read in one transaction."""
        read = self._database.glance if len(ids) <= GLANCED_CHUNKS else self._database.read
        rows = await read(_CHUNKS, (list(ids),))
        return {row[0]: chunk_from(row) for row in rows}

    async def erase_deleted(self) -> bool:
        """Remove deleted text from where the database still keeps it. Returns False if it was not
        yet possible."""
        return await self._database.erase_deleted()

    async def _replace(
        self, writer: LibraryWriter, records: Sequence[DocumentRecord]
    ) -> Sequence[int]:
        """Replace documents with different sources, with one statement for all where it can be."""
        sources: dict[int, list[str]] = {}
        for record in records:
            sources.setdefault(record.namespace.id, []).append(record.source)
        before = {one: await self._states(writer, one, names) for one, names in sources.items()}
        old = [(state.id,) for states in before.values() for state in states.values()]
        # Before the chunks go: the vectors of the old version are found by them.
        await writer.execute_many(_MARK_ORPHANS, old)
        for statement in (_REMOVE_CHUNKS, _REMOVE_FACTS):
            await writer.execute_many(statement, old)
        models = {(one.model, one.dimension, one.namespace.id) for one in records if one.model}
        await writer.execute_many(_SET_MODEL, sorted(models))
        await writer.execute_many(_SAVE_DOCUMENT, [self._document_row(one) for one in records])
        after = {one: await self._states(writer, one, names) for one, names in sources.items()}
        stored = [(one, after[one.namespace.id][one.source]) for one in records]
        await _add_parts(writer, [(one, state.id) for one, state in stored])
        for number, states in after.items():
            totals = _totals(states.values()) - _totals(before[number].values())
            values = (totals.documents, totals.chunks, totals.words_only, self._now().isoformat())
            await writer.execute(_ADD_TOTALS, (number, *values))
        changes = [(one.namespace.id, state.id) for one, state in stored]
        await writer.execute_many(INSERT_CHANGE, changes)
        return [state.version for _, state in stored]

    async def _states(
        self, writer: LibraryWriter, namespace: int, sources: list[str]
    ) -> Mapping[str, _DocumentState]:
        rows = await writer.execute(_SELECT_STATES, (namespace, sources))
        return {
            source: _DocumentState(
                id=number, version=version, is_words_only=state != "embedded", chunks=chunks
            )
            for source, number, version, state, chunks in rows
        }

    def _document_row(self, record: DocumentRecord) -> tuple[SqlValue, ...]:
        namespace = record.namespace
        return (
            namespace.id,
            record.source,
            record.content_hash,
            "words-only" if record.model is None else "embedded",
            len(record.passages),
            json.dumps(dict(record.metadata)),
            self._now().isoformat(),
            document_id(namespace.owner, namespace.name, record.source),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class _DocumentState:
    id: int
    version: int
    is_words_only: bool
    chunks: int


@dataclass(frozen=True, slots=True)
class _Totals:
    documents: int
    chunks: int
    words_only: int

    def __sub__(self, other: _Totals) -> _Totals:
        return _Totals(
            self.documents - other.documents,
            self.chunks - other.chunks,
            self.words_only - other.words_only,
        )


def _totals(states: Collection[_DocumentState]) -> _Totals:
    chunks = sum(one.chunks for one in states)
    return _Totals(len(states), chunks, sum(one.is_words_only for one in states))


def _without_repeats(records: Sequence[DocumentRecord]) -> Iterator[Sequence[DocumentRecord]]:
    """Split the records, in order, into groups in which no source occurs twice."""
    group: dict[tuple[int, str], DocumentRecord] = {}
    for record in records:
        key = (record.namespace.id, record.source)
        if key in group:
            yield list(group.values())
            group = {}
        group[key] = record
    if group:
        yield list(group.values())


async def _add_parts(writer: LibraryWriter, stored: Sequence[tuple[DocumentRecord, int]]) -> None:
    """Add the metadata, chunks, keyword records and copies of vectors of stored documents."""
    facts = [row for one, number in stored for row in metadata_rows(number, one.metadata)]
    await writer.execute_many(INSERT_METADATA, facts)
    chunks = [row for one, number in stored for row in chunk_rows(one, number)]
    await writer.execute_many(_ADD_CHUNK, chunks)
    words = [(number, assign_chunk_ids(one.words, one.ids)) for one, number in stored]
    await writer.execute_many(
        INSERT_KEYWORDS,
        [(number, RECORD_VERSION, record.chunks, record.terms) for number, record in words],
    )
    copies = [
        (number, one.namespace.edition, one.copy.ids, one.copy.vectors)
        for one, number in stored
        if one.copy is not None
    ]
    await writer.execute_many(INSERT_VECTORS, copies)
    # In the same transaction as their chunks: a vector is either listed as loose or in use.
    ids = [(chunk_id,) for one, _ in stored for chunk_id in one.ids]
    await writer.execute_many(_UNMARK_ORPHAN, ids)
