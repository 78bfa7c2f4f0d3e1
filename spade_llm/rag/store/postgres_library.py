"""Library in PostgreSQL: the tables of documents, and the vectors of their passages."""

from __future__ import annotations

import asyncio
import logging
from contextlib import asynccontextmanager
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from spade_llm.core.database import StoreTables
from spade_llm.core.errors import StorageFailed
from spade_llm.rag.store.library_database import ReadCache
from spade_llm.rag.store.schema import DOCUMENT_TABLES
from spade_llm.rag.store.vector_index import MAX_CACHE_BYTES, CollectionKey, VectorCache
from spade_llm.search.passage_index import PassageVectors
from spade_llm.search.vectors import quantize_vectors

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Mapping, Sequence
    from typing import Self

    from numpy.typing import NDArray

    from spade_llm.core.database import DialectSql
    from spade_llm.core.postgres import PostgresServer, PostgresTransaction
    from spade_llm.rag.store.library_database import LibraryDatabase, LibraryWriter, Row, SqlValue
    from spade_llm.rag.store.replica_locks import ReplicaLocks
    from spade_llm.rag.store.vector_index import VectorCollection

WRITE_TIMEOUT_S = 60.0
"""Deadline of a transaction: a document of 20 MB has some 25 000 passages, which take seconds."""
CONCURRENT_READS = 4
"""Number of reads at once, half of the agent's connections. Further ones wait, without a deadline
of their own: the ingestion of a folder looks up 512 documents together."""
LOAD_TIMEOUT_S = 2.0
"""Maximum wait in seconds of a query for vectors to be loaded into RAM."""
ADD_BATCH = 1000
"""Number of vectors of one transaction."""
PAGE_VECTORS = 8192
"""Number of vectors that are read at once: 3 MB of 384 dimensions."""
BYTES_BESIDE = 100
"""Overhead of a vector in RAM in bytes, in addition to one byte per dimension."""

VECTOR_TABLES = StoreTables(
    name="vectors",
    what="the vectors of documents",
    is_named_by_agent=False,
    schema="""CREATE TABLE IF NOT EXISTS passage_vectors (
    namespace_id INTEGER NOT NULL,
    edition INTEGER NOT NULL,
    chunk_id INTEGER NOT NULL,
    vector BLOB NOT NULL,
    PRIMARY KEY (namespace_id, edition, chunk_id)
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS changed_vectors (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    namespace_id INTEGER NOT NULL,
    edition INTEGER NOT NULL,
    replica TEXT NOT NULL,
    ids BLOB
);""",
)
"""`changed_vectors` is written by replicas; without `ids` a collection was dropped."""
_ADD = """
    INSERT INTO passage_vectors (namespace_id, edition, chunk_id, vector) VALUES (?, ?, ?, ?)
    ON CONFLICT (namespace_id, edition, chunk_id) DO UPDATE SET vector = excluded.vector
"""
_OF_COLLECTION = "namespace_id = ? AND edition = ?"
_AMONG = "chunk_id IN (SELECT value FROM json_each(?))"
_REMOVE = f"DELETE FROM passage_vectors WHERE {_OF_COLLECTION} AND {_AMONG}"
_DROP = f"DELETE FROM passage_vectors WHERE {_OF_COLLECTION}"
_COUNT = f"SELECT count(*) FROM passage_vectors WHERE {_OF_COLLECTION}"
# As two long values instead of rows: the client would make objects of each row.
_JOINED = """
    SELECT string_agg(int8send(chunk_id), '' ORDER BY chunk_id),
        string_agg(vector, '' ORDER BY chunk_id)
"""
_PAGE = f"""
    {_JOINED} FROM (SELECT chunk_id, vector FROM passage_vectors
        WHERE {_OF_COLLECTION} AND chunk_id > ? ORDER BY chunk_id LIMIT ?) AS page
"""
_SOME = f"{_JOINED} FROM passage_vectors WHERE {_OF_COLLECTION} AND {_AMONG}"
_ADD_CHANGE = """
    INSERT INTO changed_vectors (namespace_id, edition, replica, ids) VALUES (?, ?, ?, ?)
"""
_BOUND_CHANGES = """
    DELETE FROM changed_vectors WHERE number <= (SELECT max(number) FROM changed_vectors) - 1000
"""
_LAST_CHANGE = "SELECT coalesce(max(number), 0) FROM changed_vectors"
_CHANGES = """
    SELECT number, namespace_id, edition, replica, ids FROM changed_vectors WHERE number > ?
    ORDER BY number
"""

_log = logging.getLogger(__name__)


class PostgresLibrary:
    """Tables of a library in PostgreSQL (`LibraryDatabase`). The server is opened before."""

    def __init__(self, server: PostgresServer, *, locks: ReplicaLocks | None = None) -> None:
        """`locks`: those of the replicas that share the tables; None: no other process writes."""
        self._locks = locks
        self._documents = server.database(DOCUMENT_TABLES)
        self._vectors = server.database(VECTOR_TABLES)
        self._one_writer = asyncio.Lock()
        self._readers = asyncio.Semaphore(CONCURRENT_READS)
        self._cache = ReadCache()

    async def __aenter__(self) -> Self:
        """Create missing tables. Raises ConfigurationError."""
        await self._documents.open()
        await self._vectors.open()
        if self._locks is not None:
            await self._locks.open()
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._locks is not None:
            await self._locks.close()
        await self._vectors.close()
        await self._documents.close()

    async def read(self, sql: str | DialectSql, values: Sequence[SqlValue] = ()) -> list[Row]:
        async with self._readers:
            return await self._documents.execute(sql, *values)

    async def glance(self, sql: str, values: Sequence[SqlValue] = ()) -> list[Row]:
        """Read a few rows by key, without waiting for other reads: queries have priority."""
        return await self._documents.execute(sql, *values)

    async def read_often(self, sql: str | DialectSql, values: Sequence[SqlValue] = ()) -> list[Row]:
        """Read with a cache (`ReadCache`), unless others write."""
        if self._locks is not None:
            return await self.read(sql, values)
        return await self._cache.read(sql, values, self.read)

    @asynccontextmanager
    async def transaction(self) -> AsyncIterator[_PostgresWriter]:
        """Run a write transaction, one at a time: changes are then committed in the order of their
        numbers."""
        async with self._one_writer:
            with self._cache.changing():
                async with self._documents.transaction(timeout_s=WRITE_TIMEOUT_S) as execute:
                    if self._locks is not None:
                        await self._locks.begin(execute)
                    yield _PostgresWriter(execute)
                    self._cache.commits()

    async def erase_deleted(self) -> bool:
        """Remove dead rows (`PostgresDatabase.erase_deleted`). False: autovacuum will do it."""
        try:
            await self._documents.erase_deleted()
        except StorageFailed as error:
            _log.warning("deleted documents will be vacuumed later: %s", error)
            return False
        return True


class _PostgresWriter:
    """Statements of one transaction (`LibraryWriter`)."""

    def __init__(self, execute: PostgresTransaction) -> None:
        self._execute = execute

    async def execute(self, sql: str, values: Sequence[SqlValue] = ()) -> list[Row]:
        return await self._execute(sql, *values)

    async def execute_many(self, sql: str, rows: Sequence[Sequence[SqlValue]]) -> None:
        await self._execute.many(sql, rows)


class PostgresVectors:
    """Vectors in the library's PostgreSQL tables, one byte per dimension (`VectorStorage`).

    Searches are exact and in RAM; collections that do not fit there are read for each query.
    """

    has_copies = False

    def __init__(
        self,
        database: LibraryDatabase,
        *,
        held_bytes: int = MAX_CACHE_BYTES,
        replica: str | None = None,
    ) -> None:
        """`replica`: name of this process among the replicas that write; None: it is alone."""
        self._database = database
        self._replica = replica
        self._seen: int | None = None
        """Number of the last change that vectors in RAM contain; None: nothing was loaded yet."""
        self._following = asyncio.Lock()
        self._cache = VectorCache(max_bytes=held_bytes, patience_s=LOAD_TIMEOUT_S)

    async def close(self) -> None:
        await self._cache.close()

    def belong_to(self, library: str) -> None:
        """Nothing: the tables are of one library."""

    async def add(
        self, collection: VectorCollection, ids: Sequence[int], vectors: NDArray[np.float32]
    ) -> None:
        """Store one row per id; the same id again replaces it."""
        await self.add_values(collection, ids, quantize_vectors(vectors)[0])
        self._cache.added(collection.key, ids, vectors)

    async def add_values(
        self, collection: VectorCollection, ids: Sequence[int], values: NDArray[np.int8]
    ) -> None:
        """Store quantized vectors, without those in RAM."""
        for start in range(0, len(ids), ADD_BATCH):
            part = slice(start, start + ADD_BATCH)
            pairs = zip(ids[part], values[part], strict=True)
            rows = [
                (collection.namespace_id, collection.edition, one, row.tobytes())
                for one, row in pairs
            ]
            async with self._database.transaction() as writer:
                await writer.execute_many(_ADD, rows)
                await self._note_change(writer, collection.key, ids[part])

    def committed(
        self, key: CollectionKey, ids: Sequence[int], vectors: NDArray[np.float32]
    ) -> None:
        """Nothing: vectors are stored before their passages, so that a load finds them."""

    async def warm(self, collection: VectorCollection) -> None:
        """Begin to load a collection into RAM, if it fits."""
        await self._cache.of(collection.key, lambda: self._read(collection))

    async def remove(self, key: CollectionKey, ids: Sequence[int]) -> None:
        """Remove vectors. Unknown ids are ignored."""
        if ids:
            async with self._database.transaction() as writer:
                await writer.execute(_REMOVE, (*_values(key), list(ids)))
                await self._note_change(writer, key, ids)
            # Not before: a load that begins in between would read them again.
            self._cache.removed(key, ids)

    async def drop(self, key: CollectionKey) -> None:
        """Remove a collection. An unknown collection is ignored."""
        async with self._database.transaction() as writer:
            await writer.execute(_DROP, _values(key))
            await self._note_change(writer, key, None)
        self._cache.dropped(key)

    async def _note_change(
        self, writer: LibraryWriter, key: CollectionKey, ids: Sequence[int] | None
    ) -> None:
        """Tell other replicas of a change; `ids=None`: the collection was dropped."""
        if self._replica is not None:
            packed = None if ids is None else np.asarray(ids, np.int64).tobytes()
            await writer.execute(_ADD_CHANGE, (*_values(key), self._replica, packed))
            await writer.execute(_BOUND_CHANGES)

    async def follow(self) -> None:
        """Apply what other replicas have changed to what is in RAM."""
        if self._replica is None:
            return
        async with self._following:
            if self._seen is None:
                ((self._seen,),) = await self._database.glance(_LAST_CHANGE)
                return
            changed: dict[CollectionKey, set[int]] = {}
            for change in await self._database.glance(_CHANGES, (self._seen,)):
                self._note_foreign(change, changed)
            try:
                for key, ids in changed.items():
                    await self._refresh(key, sorted(ids))
            except BaseException:
                for key in changed:
                    self._cache.dropped(key)
                raise

    def _note_foreign(self, change: Row, changed: dict[CollectionKey, set[int]]) -> None:
        number, namespace_id, edition, replica, ids = change
        # Only the last changes are stored; a transaction that was rolled back leaves a gap, too.
        if number != (self._seen or 0) + 1:
            self._cache.clear()
        self._seen = number
        key = CollectionKey(namespace_id=namespace_id, edition=edition)
        if replica == self._replica:
            return
        if ids is None:
            self._cache.dropped(key)
        elif self._cache.is_used(key):
            changed.setdefault(key, set()).update(np.frombuffer(ids, np.int64).tolist())

    async def _refresh(self, key: CollectionKey, ids: Sequence[int]) -> None:
        """Read these vectors again; those that are gone are removed."""
        if len(ids) > PAGE_VECTORS:
            self._cache.dropped(key)
            return
        rows = await self._database.glance(_SOME, (*_values(key), list(ids)))
        ((packed, vectors),) = rows
        # 8 bytes of an id for each vector.
        found, values = _unpacked(rows, 8 * len(vectors) // len(packed) if packed else 1)
        self._cache.changed(key, partial(_replace, ids=ids, found=found, values=values))

    async def count(self, key: CollectionKey) -> int:
        """Return the number of vectors in the collection."""
        ((count,),) = await self._database.read(_COUNT, _values(key))
        return int(count)

    async def nearest(
        self,
        collection: VectorCollection,
        vector: NDArray[np.float32],
        limit: int,
        *,
        among: Sequence[int] | None = None,
    ) -> Mapping[int, float]:
        """The ids nearest to the vector, of `among` if given, with their cosine, nearest first."""
        held = await self._held(collection)
        if held is not None:
            return held.nearest(vector, limit, among)
        if among is not None:
            return (await self._some(collection, among)).nearest(vector, limit)
        found: dict[int, float] = {}
        async for page in self._pages(collection):
            found |= await asyncio.to_thread(page.nearest, vector, limit)
            best = sorted(found.items(), key=lambda one: (-one[1], one[0]))
            found = dict(best[:limit])
        return found

    async def cosines(
        self, collection: VectorCollection, vector: NDArray[np.float32], ids: Sequence[int]
    ) -> Mapping[int, float]:
        """Compute the cosine of each id with the vector; ids without a vector are left out."""
        held = await self._held(collection) or await self._some(collection, ids)
        return held.cosines(vector, ids)

    async def _held(self, collection: VectorCollection) -> PassageVectors | None:
        """Collection in RAM; None: it does not fit. Raises StorageFailed: it is not loaded yet, or
        the database cannot be read."""
        held = await self._cache.of(collection.key, lambda: self._read(collection))
        if held is None and not self._cache.is_too_large(collection.key):
            raise StorageFailed(
                f"the vectors of {collection.namespace!r} could not be loaded in time"
            )
        return held

    async def _read(self, collection: VectorCollection) -> PassageVectors | None:
        if self._seen is None:
            await self.follow()
        size = await self.count(collection.key) * (collection.dimension + BYTES_BESIDE)
        if not self._cache.fits(size):
            return None
        held = PassageVectors()
        async for ids, values in self._stored(collection):
            await asyncio.to_thread(held.put_values, ids, values)
        return held

    async def _pages(self, collection: VectorCollection) -> AsyncIterator[PassageVectors]:
        async for ids, values in self._stored(collection):
            page = PassageVectors()
            page.put_values(ids, values)
            yield page

    async def _stored(
        self, collection: VectorCollection
    ) -> AsyncIterator[tuple[NDArray[np.int64], NDArray[np.int8]]]:
        last = 0
        while True:
            rows = await self._database.read(_PAGE, (*_values(collection.key), last, PAGE_VECTORS))
            ids, values = _unpacked(rows, collection.dimension)
            if len(ids):
                yield ids, values
                last = int(ids[-1])
            if len(ids) < PAGE_VECTORS:
                return

    async def _some(self, collection: VectorCollection, ids: Sequence[int]) -> PassageVectors:
        some = PassageVectors()
        some.put_values(*await self.read_values(collection, ids))
        return some

    async def read_values(
        self, collection: VectorCollection, ids: Sequence[int]
    ) -> tuple[NDArray[np.int64], NDArray[np.int8]]:
        """Read quantized vectors with their ids, in the order of these; ids without a vector are
        left out."""
        rows = await self._database.read(_SOME, (*_values(collection.key), list(ids)))
        return _unpacked(rows, collection.dimension)


def _values(key: CollectionKey) -> tuple[int, int]:
    return key.namespace_id, key.edition


def _unpacked(rows: Sequence[Row], dimension: int) -> tuple[NDArray[np.int64], NDArray[np.int8]]:
    """Ids and vectors of a statement that begins with _JOINED."""
    ((ids, vectors),) = rows
    return (
        np.frombuffer(ids or b"", ">i8").astype(np.int64),
        np.frombuffer(vectors or b"", np.int8).reshape(-1, dimension),
    )


def _replace(
    held: PassageVectors,
    *,
    ids: Sequence[int],
    found: NDArray[np.int64],
    values: NDArray[np.int8],
) -> None:
    held.remove(ids)
    held.put_values(found, values)
