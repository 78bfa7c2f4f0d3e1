"""Documents in PostgreSQL: what the contract tests do not show."""

from __future__ import annotations

import asyncio
import re
import shutil
import sqlite3
from contextlib import asynccontextmanager, closing
from itertools import product
from typing import TYPE_CHECKING

import numpy as np
import pytest

from spade_llm.cli import main
from spade_llm.core.database import DatabaseUrl, StoreTables
from spade_llm.core.database_copy import refuse_unfinished_copy, tables_of
from spade_llm.core.errors import ConfigurationError, StorageFailed, Unauthorised
from spade_llm.core.postgres import PostgresServer
from spade_llm.rag import Document, DocumentLibrary, Progress, RetrievalOptions
from spade_llm.rag.store.library_file import LibraryFile
from spade_llm.rag.store.postgres_library import PostgresLibrary, PostgresVectors
from spade_llm.rag.store.schema import DOCUMENT_TABLES, MIGRATIONS
from spade_llm.rag.store.transfer import copy_library_to_files
from spade_llm.rag.store.vector_index import CollectionKey, VectorCollection
from tests.rag.bag_of_words import BagOfWords

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    from spade_llm.rag import OwnedLibrary, Retrieval
    from tests.postgres_server import PostgresProcess

ANN, BOB = "ann@localhost", "bob@localhost"
ONLY_IN_FILES = {"document_vectors"}
"""Tables that PostgreSQL has not: copies of Chroma's vectors."""
PATIENCE_S = 60.0


@asynccontextmanager
async def library_in(
    process: PostgresProcess, folder: Path, *, agent: str
) -> AsyncIterator[DocumentLibrary]:
    async with (
        PostgresServer(DatabaseUrl(process.url()), agent=agent) as server,
        DocumentLibrary(folder, embedder=BagOfWords(), roots=[folder], server=server) as library,
    ):
        yield library


@pytest.mark.quick
async def test_documents_are_kept_found_shared_and_deleted_in_postgresql(
    postgres: PostgresProcess, tmp_path: Path
) -> None:
    agent = "rag-smoke@example.org"
    metadata = {"year": 2024, "is_draft": False}
    async with library_in(postgres, tmp_path, agent=agent) as library:
        ann, bob = library.for_owner(ANN), library.for_owner(BOB)
        await ann.ingest(Document(text="The tide turns at noon.", source="a", metadata=metadata))
        await bob.ingest(Document(text="The tide turns at sunset.", source="a"))
    async with library_in(postgres, tmp_path, agent=agent) as library:
        ann, bob = library.for_owner(ANN), library.for_owner(BOB)

        assert texts(await ann.retrieve("tide")) == ["The tide turns at noon."]
        assert texts(await bob.retrieve("tide", k=20)) == ["The tide turns at sunset."]
        with pytest.raises(Unauthorised):
            await bob.stats(f"{ANN}/default")
        await ann.grant("default", to=BOB)
        where = RetrievalOptions(where={"year": 2024.0, "is_draft": False})
        assert texts(await bob.retrieve("tide", options=where)) == ["The tide turns at noon."]
        assert await ann.delete(namespace="default") == 1
        assert texts(await bob.retrieve("tide", k=20)) == ["The tide turns at sunset."]
        assert (await bob.stats("default")).vectors == 1
    assert not (tmp_path / "documents.sqlite3").exists()


def texts(found: Retrieval) -> list[str]:
    assert not found.degraded
    return [one.chunk.text for one in found.chunks]


@pytest.mark.thorough
async def test_the_same_questions_have_the_same_answers_as_with_files(
    postgres: PostgresProcess, tmp_path: Path
) -> None:
    async with (
        DocumentLibrary(tmp_path / "files", embedder=BagOfWords()) as files,
        library_in(postgres, tmp_path, agent="rag-same@example.org") as database,
    ):
        both = [files.for_owner(ANN), database.for_owner(ANN)]
        goods, ports = ("salt", "wool", "tar", "wine", "rope"), ("Bergen", "Genoa", "Cadiz", "Riga")
        for number, (good, port) in enumerate(product(goods, ports)):
            text = f"The ship {number} carried {good} to {port}. " * (1 + number % 3)
            for one in both:
                await one.ingest(Document(text=text, source=f"{number}"))
        for good, port in product(goods, ports):
            question = f"Which ship carried {good} to {port}?"
            (expected, found) = [await one.retrieve(question, k=10) for one in both]
            assert [one.chunk for one in found.chunks] == [one.chunk for one in expected.chunks]
            scores = [one.score for one in found.chunks]
            assert scores == pytest.approx([one.score for one in expected.chunks], abs=1e-4)


def test_the_tables_are_those_of_a_migrated_file(tmp_path: Path) -> None:
    path = tmp_path / "documents.sqlite3"
    asyncio.run(_make_file(path))
    with closing(sqlite3.connect(path)) as connection:
        rows = connection.execute(
            "SELECT sql FROM sqlite_master WHERE sql IS NOT NULL AND name"
            " NOT LIKE 'sqlite%' AND type = 'table'"
        ).fetchall()
    in_file = StoreTables(name="file", what="the file", schema=";".join(sql for (sql,) in rows))

    expected = {one.name: set(one.columns) - {"rowid"} for one in tables_of(in_file)}
    tables = {one.name: set(one.columns) for one in tables_of(DOCUMENT_TABLES)}
    assert tables == {name: its for name, its in expected.items() if name not in ONLY_IN_FILES}


async def _make_file(path: Path) -> None:
    async with LibraryFile(path, migrations=MIGRATIONS):
        pass


@pytest.mark.thorough
async def test_an_ingestion_during_an_outage_leaves_nothing_half_done_and_is_finished_later(
    own_postgres: PostgresProcess, tmp_path: Path
) -> None:
    folder = tmp_path / "documents"
    folder.mkdir()
    names = [f"{number:03}.txt" for number in range(400)]
    for name in names:
        text = "".join(f"Line {line} of {name} names harbour {name}.\n\n" for line in range(60))
        (folder / name).write_text(text, encoding="utf-8")
    begun = asyncio.Event()

    async def told(progress: Progress) -> None:
        if progress.done >= 5:
            begun.set()

    async with library_in(own_postgres, tmp_path, agent="rag-out@example.org") as library:
        ann = library.for_owner(ANN)
        ingesting = asyncio.create_task(ann.ingest_path("documents", on_progress=told))
        async with asyncio.timeout(PATIENCE_S):
            await begun.wait()
            await asyncio.to_thread(own_postgres.kill)
            with pytest.raises(StorageFailed):
                await ingesting
            await asyncio.to_thread(own_postgres.start)
            await asyncio.to_thread(own_postgres.wait_until_ready)
            stored = await check_each_is_whole(ann)
            assert 0 < stored < len(names)

            results = await ann.ingest_path("documents")

        # Documents that were on their way to the database may be stored once it is back.
        assert stored <= sum(one.was_unchanged for one in results) < len(names)
        assert await check_each_is_whole(ann) == len(names)
        assert texts(await ann.retrieve("harbour 399.txt", k=1))
    async with library_in(own_postgres, tmp_path, agent="rag-out@example.org") as library:
        ann = library.for_owner(ANN)
        assert await check_each_is_whole(ann) == len(names)
        stats = await ann.stats("default")
        # What the outage left was swept: no vector without its passage.
        assert stats.vectors == stats.chunks


async def check_each_is_whole(library: OwnedLibrary) -> int:
    """Check that totals and lists agree; return the number of documents."""
    stats = await library.stats("default")
    documents = (await library.documents(limit=1000)).documents
    assert len(documents) == stats.documents
    assert sum(one.chunks for one in documents) == stats.chunks
    assert len({one.chunks for one in documents}) == 1
    return len(documents)


@pytest.mark.thorough
async def test_documents_in_files_are_not_lost_sight_of(
    postgres: PostgresProcess, tmp_path: Path
) -> None:
    async with DocumentLibrary(tmp_path, embedder=BagOfWords()) as library:
        await library.for_owner(ANN).ingest(Document(text="The tide turns.", source="a"))

    with pytest.raises(ConfigurationError, match=r"holds documents, and .*storage move"):
        async with library_in(postgres, tmp_path, agent="rag-files@example.org"):
            pass

    (tmp_path / "documents.sqlite3").rename(tmp_path / "before.sqlite3")
    async with library_in(postgres, tmp_path, agent="rag-files@example.org") as library:
        assert not (await library.for_owner(ANN).retrieve("tide")).chunks


@pytest.mark.thorough
async def test_vectors_that_do_not_fit_into_ram_are_searched_exactly(
    postgres: PostgresProcess, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("spade_llm.rag.store.postgres_library.PAGE_VECTORS", 100)
    monkeypatch.setattr("spade_llm.rag.store.postgres_library.ADD_BATCH", 30)
    random = np.random.default_rng(7)
    vectors = random.normal(size=(350, 64)).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    question, ids = vectors[17], list(range(1, 351))
    collection = VectorCollection(
        namespace_id=1, owner=ANN, namespace="default", model="random", dimension=64
    )
    async with (
        PostgresServer(DatabaseUrl(postgres.url()), agent="rag-ram@example.org") as server,
        PostgresLibrary(server) as database,
    ):
        in_ram, on_disk = PostgresVectors(database), PostgresVectors(database, held_bytes=0)
        await in_ram.add(collection, ids, vectors)
        await in_ram.add(collection, ids[:5], vectors[:5])
        for among in (None, [3, 18, 99, 1000]):
            expected = await in_ram.nearest(collection, question, 10, among=among)
            found = await on_disk.nearest(collection, question, 10, among=among)
            assert list(found) == list(expected)
            assert next(iter(found)) == 18
        some = await on_disk.cosines(collection, question, [18, 1000])
        assert some == pytest.approx({18: 1.0}, abs=0.005)
        await in_ram.remove(collection.key, [18])
        assert await in_ram.count(collection.key) == 349
        assert 18 not in await in_ram.nearest(collection, question, 10)
        await in_ram.drop(collection.key)
        assert await in_ram.count(CollectionKey(namespace_id=1)) == 0
        await in_ram.close()
        await on_disk.close()


@pytest.mark.thorough
async def test_documents_move_to_the_database_with_their_vectors_and_grants(
    postgres: PostgresProcess,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("SPADE_LLM_DATABASE", postgres.url())
    agent = "rag-move@example.org"
    home = tmp_path / "agents" / agent
    embedder = BagOfWords()
    async with DocumentLibrary(home / "rag", embedder=embedder) as library:
        ann = library.for_owner(ANN)
        for number in range(300):
            text = f"Ship {number} carried wool.\n\n" * 40
            await ann.ingest(Document(text=text, source=f"{number}", metadata={"ship": number}))
        await ann.delete(namespace="default", source="7")
        await ann.grant("default", to=BOB)
        expected = await ann.retrieve("ship 250", k=10)
    # As an older version leaves it: some vectors are in Chroma only.
    with closing(sqlite3.connect(home / "rag" / "documents.sqlite3")) as connection, connection:
        connection.execute("DELETE FROM document_vectors WHERE document_id % 3 = 0")
    move = ["storage", "move", "--data", str(tmp_path), "--to", "database"]

    assert await asyncio.to_thread(main, move) == 0
    done = capsys.readouterr().out
    assert await asyncio.to_thread(main, move) == 0
    again = capsys.readouterr().out

    assert "documents/documents: 299 rows, 299 copied, verified" in done
    assert re.search(r"documents/passage_vectors: (\d+) rows, \1 copied, verified", done)
    assert re.search(r"documents/passage_vectors: \d+ rows, 0 copied, verified", again)
    embedded = embedder.embedded
    async with (
        PostgresServer(DatabaseUrl(postgres.url()), agent=agent) as server,
        DocumentLibrary(home / "rag", embedder=embedder, server=server) as library,
    ):
        ann, bob = library.for_owner(ANN), library.for_owner(BOB)
        assert await ann.retrieve("ship 250", k=10) == expected
        (found, *_) = (await bob.retrieve("ship 250")).chunks
        assert found.chunk.source == "250"
        stats = await ann.stats("default")
        assert stats.vectors == stats.chunks
        # New rows get numbers behind the copied ones.
        await ann.ingest(Document(text="Ship 300 carried salt.", source="300"))
        (found, *_) = (await ann.retrieve("ship 300 salt")).chunks
        assert found.chunk.source == "300"
    assert embedder.embedded - embedded == 4


@pytest.mark.thorough
async def test_documents_move_back_to_files_with_their_vectors_and_grants(
    postgres: PostgresProcess,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("SPADE_LLM_DATABASE", postgres.url())
    agent = "rag-back@example.org"
    home = tmp_path / "agents" / agent
    embedder = BagOfWords()
    async with (
        PostgresServer(DatabaseUrl(postgres.url()), agent=agent) as server,
        DocumentLibrary(home / "rag", embedder=embedder, server=server) as library,
    ):
        ann = library.for_owner(ANN)
        for number in range(60):
            text = f"Ship {number} carried wool.\n\n" * 40
            await ann.ingest(Document(text=text, source=f"{number}", metadata={"ship": number}))
        await ann.delete(namespace="default", source="59")
        await ann.grant("default", to=BOB)
        expected = await ann.retrieve("ship 25", k=10)
        embedded = embedder.embedded
    move = ["storage", "move", "--data", str(tmp_path), "--to", "files", "--agent", agent]

    async def moved(*more: str, status: int = 0) -> str:
        assert await asyncio.to_thread(main, [*move, *more]) == status
        read = capsys.readouterr()
        return read.out + read.err

    class Interrupted(Exception):
        pass

    def stop_half_way(done: int, total: int) -> None:
        if done > total / 2:
            raise Interrupted

    planned = await moved("--dry-run")
    assert not (home / "rag" / "documents.sqlite3").exists()
    async with PostgresServer(DatabaseUrl(postgres.url()), agent=agent) as server:
        with pytest.raises(Interrupted):
            await copy_library_to_files(home / "rag", server, progress=stop_half_way)
    with pytest.raises(ConfigurationError, match="a copy was not finished"):
        await refuse_unfinished_copy(None, home)
    done = await moved()
    await refuse_unfinished_copy(None, home)
    shutil.rmtree(home / "rag" / "chroma")
    mended = await moved()
    again = await moved()

    assert "documents/documents: 59 rows, 59 to copy" in planned
    assert "documents/documents: 59 rows, " in done
    for one in (done, mended):
        assert re.search(r"documents/passage_vectors: (\d+) rows, \1 copied, verified", one)
    assert re.search(r"documents/passage_vectors: \d+ rows, 0 copied, verified", again)
    async with DocumentLibrary(home / "rag", embedder=embedder) as library:
        ann, bob = library.for_owner(ANN), library.for_owner(BOB)
        assert await ann.retrieve("ship 25", k=10) == expected
        (found, *_) = (await bob.retrieve("ship 25")).chunks
        assert found.chunk.source == "25"
        stats = await ann.stats("default")
        assert stats.vectors == stats.chunks
        await ann.ingest(Document(text="Ship 300 carried salt.", source="300"))
        (found, *_) = (await ann.retrieve("ship 300 salt")).chunks
        assert found.chunk.source == "300"
    assert "changed since they were copied" in await moved(status=1)
    assert embedder.embedded - embedded == 4
