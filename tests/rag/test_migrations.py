"""A library of the first version is opened by today's, and lacks nothing."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from spade_llm.core.errors import ConfigurationError
from spade_llm.rag import Document, DocumentLibrary, RetrievalOptions
from spade_llm.rag.names import document_id
from spade_llm.rag.store.chroma_index import ChromaIndex
from spade_llm.rag.store.schema import MIGRATIONS
from spade_llm.rag.store.vector_index import CollectionKey, VectorCollection, collection_name
from tests.rag.bag_of_words import BagOfWords

VERSION_1 = Path(__file__).parent / "version_1.sql"
COLLECTION = VectorCollection(
    namespace_id=1,
    owner="ann@localhost",
    namespace="default",
    model="bag-of-words/1",
    dimension=256,
)


async def made_by_version_1(directory: Path) -> Path:
    path = directory / "documents.sqlite3"
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript(VERSION_1.read_text(encoding="utf-8"))
        texts = [row[0] for row in connection.execute("SELECT text FROM chunks WHERE id IN (1, 2)")]
    index = ChromaIndex(directory / "chroma")
    await index.add(COLLECTION, [1, 2, 9], await BagOfWords().embed([*texts, "left by a crash"]))
    await index.close()
    return path


async def test_documents_of_version_1_are_found_and_have_an_id(tmp_path: Path) -> None:
    await made_by_version_1(tmp_path)

    async with DocumentLibrary(tmp_path, embedder=BagOfWords()) as library:
        mine = library.for_owner("ann@localhost")
        found = await mine.retrieve("When does the tide turn?", k=1)
        page = await mine.documents()
        stats = await mine.stats("default")

    chunk = found.chunks[0].chunk
    assert chunk.text.startswith("The tide turns at noon in the eastern bay")
    assert chunk.document == document_id("ann@localhost", "default", "tides.md")
    assert chunk.page is None
    assert chunk.metadata == {"year": 2024, "is_draft": True, "place": "Höfn"}
    (document,) = page.documents
    assert (document.id, document.version, document.chunks) == (chunk.document, 3, 2)
    assert (stats.chunks, stats.vectors, stats.model) == (2, 2, "bag-of-words/1")


async def test_facts_of_version_1_can_be_filtered_by(tmp_path: Path) -> None:
    path = await made_by_version_1(tmp_path)

    async with DocumentLibrary(tmp_path, embedder=None):
        pass

    with closing(sqlite3.connect(path)) as connection:
        facts = connection.execute("SELECT key, value FROM document_facts ORDER BY key")
        stored = [("is_draft", "True"), ("place", '"Höfn'), ("year", "2024")]
        assert facts.fetchall() == stored


async def test_orphans_of_version_1_are_removed(tmp_path: Path) -> None:
    await made_by_version_1(tmp_path)

    async with DocumentLibrary(tmp_path, embedder=BagOfWords()):
        pass

    index = ChromaIndex(tmp_path / "chroma")
    assert await index.count(CollectionKey(namespace_id=1)) == 2
    await index.close()


async def test_owners_of_version_1_are_still_apart(tmp_path: Path) -> None:
    await made_by_version_1(tmp_path)

    async with DocumentLibrary(tmp_path, embedder=BagOfWords()) as library:
        found = await library.for_owner("bob@localhost").retrieve("tide turns", k=20)

    assert [one.chunk.text for one in found.chunks] == ["The tide turns at sunset"]


async def test_a_document_of_version_1_is_replaced_as_any_other(tmp_path: Path) -> None:
    await made_by_version_1(tmp_path)

    async with DocumentLibrary(tmp_path, embedder=BagOfWords()) as library:
        mine = library.for_owner("ann@localhost")
        done = await mine.ingest(Document(text="Owls hunt at midnight.", source="tides.md"))
        found = await mine.retrieve("tide", options=RetrievalOptions(namespaces=("default",)))

    assert done.version == 4
    assert found.chunks == ()


async def test_a_file_of_a_later_version_is_refused(tmp_path: Path) -> None:
    with closing(sqlite3.connect(tmp_path / "documents.sqlite3")) as connection:
        connection.execute(f"PRAGMA user_version = {len(MIGRATIONS) + 1}")

    with pytest.raises(ConfigurationError, match="newer version"):
        async with DocumentLibrary(tmp_path, embedder=None):
            pass


def test_the_first_edition_keeps_the_name_that_version_1_gave_it() -> None:
    assert collection_name(1) == "ns-1-1faf40d3c0afdb42"
