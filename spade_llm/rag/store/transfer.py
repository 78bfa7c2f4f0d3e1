"""Copy of a library from files to PostgreSQL: tables, and vectors from their copies or Chroma."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from spade_llm.core.database_copy import CopiedTable, copy_store, tables_of
from spade_llm.rag.store.chroma_index import ChromaIndex
from spade_llm.rag.store.index_records import VectorCopyStore
from spade_llm.rag.store.library_file import DATABASE_FILE, LibraryFile
from spade_llm.rag.store.postgres_library import PostgresLibrary, PostgresVectors
from spade_llm.rag.store.registry import Registry
from spade_llm.rag.store.schema import DOCUMENT_TABLES, MIGRATIONS
from spade_llm.rag.store.vector_index import current_collection

if TYPE_CHECKING:
    from pathlib import Path

    from spade_llm.core.database_copy import OnProgress
    from spade_llm.core.postgres import PostgresServer
    from spade_llm.rag.store.vector_index import VectorCollection

VECTOR_FOLDER = "chroma"
_SET_NUMBER = "SELECT setval(pg_get_serial_sequence(?, ?), CAST(? AS BIGINT))"


async def copy_library(
    directory: Path,
    server: PostgresServer,
    *,
    is_dry_run: bool = False,
    may_replace: bool = False,
    progress: OnProgress | None = None,
) -> list[CopiedTable]:
    """Copy the library of this directory, which no other process has open. A dry run creates no
    tables, and counts no vectors. Vectors of a Chroma server stay there.

    Raises:
        ConfigurationError: the database cannot be used, or has documents that no copy has written.
        StorageFailed: a database does not answer, or vectors are missing.
    """
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
        async with PostgresLibrary(server) as database:
            await _continue_numbers(file, database)
            if (directory / VECTOR_FOLDER).is_dir():
                tables.append(await _copy_vectors(directory, file, database, is_changed=is_changed))
    return tables


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
    copies, target = VectorCopyStore(file), PostgresVectors(database, held_bytes=0)
    chroma = ChromaIndex(directory / VECTOR_FOLDER)
    rows = written = stored = 0
    try:
        for namespace in await Registry(file).all_namespaces():
            collection = current_collection(namespace)
            if collection is None:
                continue
            _, count = await copies.pages(namespace.id)
            if is_changed or await target.count(collection.key) != count:
                await _copy_collection(collection, copies, chroma, target)
                written += count
            rows += count
            stored += await target.count(collection.key)
    finally:
        await chroma.close()
        await target.close()
    return CopiedTable(
        name="passage_vectors", rows=rows, written=written, is_verified=stored == rows
    )


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
