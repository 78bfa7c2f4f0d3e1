"""Copy of a library between files and PostgreSQL: tables, and vectors with their copies."""

from __future__ import annotations

import asyncio
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from spade_llm.core.database_copy import (
    CopiedTable,
    copy_store,
    marked_unfinished,
    refuse_unfinished_copy,
    tables_of,
)
from spade_llm.rag.store.chroma_index import ChromaIndex
from spade_llm.rag.store.index_records import VectorCopy, VectorCopyStore
from spade_llm.rag.store.library_file import DATABASE_FILE, LibraryFile, has_documents
from spade_llm.rag.store.postgres_library import PostgresLibrary, PostgresVectors
from spade_llm.rag.store.registry import Registry
from spade_llm.rag.store.schema import DOCUMENT_TABLES, MIGRATIONS
from spade_llm.rag.store.vector_index import current_collection

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from spade_llm.core.database_copy import OnProgress
    from spade_llm.core.postgres import PostgresServer
    from spade_llm.rag.store.library_database import LibraryDatabase
    from spade_llm.rag.store.vector_index import VectorCollection

VECTOR_FOLDER = "chroma"
VECTORS = "passage_vectors"
"""Name of the vectors in the result of a copy."""
_SET_NUMBER = "SELECT setval(pg_get_serial_sequence(?, ?), CAST(? AS BIGINT))"
_LAST_NUMBER = """
    SELECT coalesce(pg_sequence_last_value(CAST(pg_get_serial_sequence(?, ?) AS regclass)), 0)
"""
_RAISE_NUMBER = "UPDATE sqlite_sequence SET seq = max(seq, ?2) WHERE name = ?1"
_ADD_NUMBER = """
    INSERT INTO sqlite_sequence (name, seq)
    SELECT ?1, ?2 WHERE NOT EXISTS (SELECT 1 FROM sqlite_sequence WHERE name = ?1)
"""
# A file gets an id when it is made; it means something with the first namespace.
_FORGET_ID = "DELETE FROM library WHERE NOT EXISTS (SELECT 1 FROM namespaces)"
_FORGET_COPIES = """
    DELETE FROM document_vectors WHERE document_id NOT IN (SELECT id FROM documents)
        OR document_id IN (SELECT id FROM documents WHERE namespace_id = ?)
"""


async def copy_library(
    directory: Path,
    server: PostgresServer,
    *,
    is_dry_run: bool = False,
    may_replace: bool = False,
    progress: OnProgress | None = None,
) -> list[CopiedTable]:
    """Copy the library of this directory, which no other process has open, to the database. A dry
    run creates no tables, and counts no vectors. Vectors of a Chroma server stay there.

    Raises:
        ConfigurationError: the database cannot be used, or has documents that no copy has written;
            or the files are themselves a copy that was not finished.
        StorageFailed: a database does not answer, or vectors are missing.
    """
    await refuse_unfinished_copy(None, directory)
    path = directory / DATABASE_FILE
    async with LibraryFile(path, migrations=MIGRATIONS) as file:
        tables = await copy_store(
            DOCUMENT_TABLES,
            path,
            None if is_dry_run and DOCUMENT_TABLES.what not in await server.stores() else server,
            is_dry_run=is_dry_run,
            may_replace=may_replace,
            progress=progress,
        )
        if is_dry_run:
            return tables
        is_changed = any(table.written for table in tables)
        async with PostgresLibrary(server) as database, marked_unfinished(server, VECTORS):
            await _continue_numbers(file, database)
            if (directory / VECTOR_FOLDER).is_dir():
                tables.append(await _copy_vectors(directory, file, database, is_changed=is_changed))
    return tables


async def copy_library_to_files(
    directory: Path,
    server: PostgresServer,
    *,
    is_dry_run: bool = False,
    may_replace: bool = False,
    progress: OnProgress | None = None,
) -> list[CopiedTable]:
    """Copy the library of the database, which no agent uses, to this directory. A dry run makes no
    file, and counts no vectors.

    Raises:
        ConfigurationError: a place cannot be used, or the files have documents that no copy has
            written.
        StorageFailed: a database does not answer.
    """
    path = directory / DATABASE_FILE
    if is_dry_run and not has_documents(path):
        return await copy_store(DOCUMENT_TABLES, server, None, is_dry_run=True)
    await asyncio.to_thread(directory.mkdir, mode=0o700, parents=True, exist_ok=True)
    async with LibraryFile(path, migrations=MIGRATIONS) as file:
        if not is_dry_run:
            async with file.transaction() as writer:
                await writer.execute(_FORGET_ID)
        tables = await copy_store(
            DOCUMENT_TABLES,
            server,
            path,
            is_dry_run=is_dry_run,
            may_replace=may_replace,
            progress=progress,
        )
        if is_dry_run:
            return tables
        is_changed = any(table.written for table in tables)
        async with PostgresLibrary(server) as database, marked_unfinished(path, VECTORS):
            await _continue_file_numbers(database, file)
            vectors = await _write_vectors(directory, file, database, is_changed=is_changed)
    return [*tables, vectors] if vectors.rows else tables


async def _continue_numbers(file: LibraryFile, database: PostgresLibrary) -> None:
    """Let the database number new rows behind those that the file ever had: ids are never reused,
    and those of passages come from a table that is empty most of the time."""
    numbers = {one.name: one.number for one in tables_of(DOCUMENT_TABLES)}
    last = await file.read("SELECT name, seq FROM sqlite_sequence WHERE seq > 0")
    async with database.transaction() as writer:
        for table, number in last:
            if table in numbers:
                await writer.execute(_SET_NUMBER, (table, numbers[table], number))


async def _copy_vectors(
    directory: Path, file: LibraryFile, database: PostgresLibrary, *, is_changed: bool
) -> CopiedTable:
    """Write the vectors of the files into the database."""
    copies, target = VectorCopyStore(file), PostgresVectors(database, held_bytes=0)
    chroma = ChromaIndex(directory / VECTOR_FOLDER)
    try:
        counts: dict[VectorCollection, int] = {}
        for collection in await _collections(file):
            _, counts[collection] = await copies.pages(collection.namespace_id)
        copy = partial(_copy_collection, copies=copies, chroma=chroma, target=target)
        return await _copy_collections(counts, target, copy, is_changed=is_changed)
    finally:
        await chroma.close()
        await target.close()


async def _collections(library: LibraryDatabase) -> list[VectorCollection]:
    """The collections with the current vectors of all namespaces."""
    namespaces = await Registry(library).all_namespaces()
    return [one for one in map(current_collection, namespaces) if one is not None]


async def _copy_collections(
    counts: Mapping[VectorCollection, int],
    target: ChromaIndex | PostgresVectors,
    copy: Callable[[VectorCollection], Awaitable[None]],
    *,
    is_changed: bool,
) -> CopiedTable:
    """Copy the collections with these numbers of vectors, all if the tables have changed, else
    those of which the target has another number; and count what is there then."""
    written = stored = 0
    for collection, count in counts.items():
        if is_changed or await target.count(collection.key) != count:
            await copy(collection)
            written += count
        stored += await target.count(collection.key)
    rows = sum(counts.values())
    return CopiedTable(name=VECTORS, rows=rows, written=written, is_verified=stored == rows)


async def _copy_collection(
    collection: VectorCollection,
    copies: VectorCopyStore,
    chroma: ChromaIndex,
    target: PostgresVectors,
) -> None:
    await target.drop(collection.key)
    pages, _ = await copies.pages(collection.namespace_id)
    for documents in pages:
        page = await copies.read(documents, collection.edition, collection.dimension)
        await target.add_values(collection, page.ids.tolist(), page.values)
        missing = [number for chunks in page.missing.values() for number in chunks]
        found = await chroma.stored(collection, missing) if missing else {}
        if found:
            await target.add(collection, list(found), np.stack(list(found.values())))


async def _continue_file_numbers(database: PostgresLibrary, file: LibraryFile) -> None:
    """As `_continue_numbers`, for a file."""
    last = {}
    for table in tables_of(DOCUMENT_TABLES):
        if table.number:
            ((last[table.name],),) = await database.read(_LAST_NUMBER, (table.name, table.number))
    async with file.transaction() as writer:
        for name, number in last.items():
            await writer.execute(_RAISE_NUMBER, (name, number))
            await writer.execute(_ADD_NUMBER, (name, number))


async def _write_vectors(
    directory: Path, file: LibraryFile, database: PostgresLibrary, *, is_changed: bool
) -> CopiedTable:
    """Write the vectors of the database, with their copies, into files. There are none if they are
    on a Chroma server."""
    source, chroma = PostgresVectors(database, held_bytes=0), ChromaIndex(directory / VECTOR_FOLDER)
    try:
        every = {one: await source.count(one.key) for one in await _collections(database)}
        counts = {one: count for one, count in every.items() if count}
        copy = partial(_write_collection, file=file, source=source, chroma=chroma)
        return await _copy_collections(counts, chroma, copy, is_changed=is_changed)
    finally:
        await chroma.close()
        await source.close()


async def _write_collection(
    collection: VectorCollection,
    file: LibraryFile,
    source: PostgresVectors,
    chroma: ChromaIndex,
) -> None:
    copies = VectorCopyStore(file)
    await chroma.drop(collection.key)
    async with file.transaction() as writer:
        await writer.execute(_FORGET_COPIES, (collection.namespace_id,))
    pages, _ = await copies.pages(collection.namespace_id)
    for documents in pages:
        page = await copies.read(documents, collection.edition, collection.dimension)
        wanted = [number for chunks in page.missing.values() for number in chunks]
        ids, values = await source.read_values(collection, wanted)
        await chroma.add(collection, ids.tolist(), _unit_vectors(values))
        await copies.keep(collection.edition, _copies_of(page.missing, ids, values))


def _unit_vectors(values: NDArray[np.int8]) -> NDArray[np.float32]:
    """Vectors of length 1 with these directions; their quantized values are the same again."""
    lengths = np.linalg.norm(values.astype(np.float32), axis=1, keepdims=True)
    vectors: NDArray[np.float32] = values / np.maximum(lengths, np.float32(1e-12))
    return vectors


def _copies_of(
    chunks: Mapping[int, Sequence[int]], ids: NDArray[np.int64], values: NDArray[np.int8]
) -> dict[int, VectorCopy]:
    """Copies of the documents with a vector for each of their chunks."""
    row_of = {number: row for row, number in enumerate(ids.tolist())}
    return {
        document: VectorCopy(
            ids=np.asarray(numbers, np.int64).tobytes(),
            vectors=values[[row_of[number] for number in numbers]].tobytes(),
        )
        for document, numbers in chunks.items()
        if all(number in row_of for number in numbers)
    }
