"""The first question after a start: what it needs is read in a run, and from the start on."""

from __future__ import annotations

import shutil
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

import numpy as np

from spade_llm.rag import Document, DocumentLibrary
from spade_llm.rag.keyword_index_cache import CacheWarmup, PassageIndexCache
from spade_llm.rag.search import HybridSearch, MetadataFilters
from spade_llm.rag.store.chroma_index import ChromaIndex
from spade_llm.rag.store.index_records import KeywordStore, VectorCopyStore
from spade_llm.rag.store.library_file import LibraryFile
from spade_llm.rag.store.registry import Registry
from spade_llm.rag.store.schema import MIGRATIONS
from tests.rag.bag_of_words import BagOfWords

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    from spade_llm.rag import Retrieval

ANN = "ann@localhost"
HARBOUR = Document(text="The harbour opens at noon.", source="a")


@asynccontextmanager
async def opened(folder: Path) -> AsyncIterator[LibraryFile]:
    async with LibraryFile(folder / "documents.sqlite3", migrations=MIGRATIONS) as database:
        yield database


async def retrieved(folder: Path, query: str = "harbour opens") -> Retrieval:
    async with DocumentLibrary(folder, embedder=BagOfWords()) as library:
        return await library.for_owner(ANN).retrieve(query)


async def stored(folder: Path, *documents: Document) -> None:
    async with DocumentLibrary(folder, embedder=BagOfWords()) as library:
        for document in documents:
            await library.for_owner(ANN).ingest(document)


async def copied_ids(folder: Path) -> list[int]:
    async with opened(folder) as database:
        rows = await database.read("SELECT ids FROM document_vectors ORDER BY document_id")
    return list(map(int, np.frombuffer(b"".join(row[0] for row in rows), np.int64)))


async def test_vectors_are_read_without_asking_chroma(tmp_path: Path) -> None:
    await stored(tmp_path, HARBOUR)
    shutil.rmtree(tmp_path / "chroma")

    found = await retrieved(tmp_path)

    assert [one.chunk.source for one in found.chunks] == ["a"]
    assert found.degraded == ""


async def test_copies_that_an_older_version_did_not_keep_are_made_and_kept(tmp_path: Path) -> None:
    await stored(tmp_path, HARBOUR, Document(text="Owls hunt at midnight.", source="b"))
    before = await copied_ids(tmp_path)
    async with opened(tmp_path) as database, database.transaction() as writer:
        await writer.execute("DELETE FROM document_vectors")

    first = await retrieved(tmp_path)
    after = await copied_ids(tmp_path)
    shutil.rmtree(tmp_path / "chroma")
    second = await retrieved(tmp_path)

    assert before == after
    assert len(after) == 2
    assert first.chunks[0].score == second.chunks[0].score
    assert first.degraded == second.degraded == ""


async def test_a_copy_goes_with_its_document_and_is_never_of_an_older_one(tmp_path: Path) -> None:
    await stored(tmp_path, HARBOUR)
    (first,) = await copied_ids(tmp_path)
    await stored(tmp_path, Document(text="The harbour is closed.", source="a"))
    (second,) = await copied_ids(tmp_path)

    async with DocumentLibrary(tmp_path, embedder=BagOfWords()) as library:
        await library.for_owner(ANN).delete(namespace="default", source="a")

    assert second > first
    assert await copied_ids(tmp_path) == []


async def test_after_a_reindex_the_copies_are_those_of_the_new_vectors(tmp_path: Path) -> None:
    await stored(tmp_path, HARBOUR)
    async with DocumentLibrary(tmp_path, embedder=BagOfWords()) as library:
        await library.for_owner(ANN).reindex()
        await library.for_owner(ANN).retrieve("harbour")

    async with opened(tmp_path) as database:
        (namespace,) = await Registry(database).namespaces(ANN)
        editions = await database.read("SELECT edition FROM document_vectors")

    assert [row[0] for row in editions] == [namespace.edition]
    assert namespace.edition > 0


async def test_recently_queried_namespaces_are_loaded_at_the_start(tmp_path: Path) -> None:
    await stored(tmp_path, HARBOUR, Document(text="Owls hunt.", source="b", namespace="other"))
    async with DocumentLibrary(tmp_path, embedder=BagOfWords()) as library:
        mine = library.for_owner(ANN)
        await mine.retrieve("owls")
        await mine.delete(namespace="other")
    shutil.rmtree(tmp_path / "chroma")

    async with opened(tmp_path) as database:
        registry, words = Registry(database), PassageIndexCache(KeywordStore(database))
        index = ChromaIndex(tmp_path / "chroma", copies=VectorCopyStore(database))
        warming = CacheWarmup(registry, words, index, model=BagOfWords().name)
        await warming.warm()
        held = len(words)
        await warming.close()
        await index.close()

    assert held == 1


async def test_a_question_does_not_wait_for_ever_for_what_is_still_read(tmp_path: Path) -> None:
    await stored(tmp_path, HARBOUR)
    async with opened(tmp_path) as database:
        registry, words = Registry(database), PassageIndexCache(KeywordStore(database))
        index = ChromaIndex(tmp_path / "chroma", copies=VectorCopyStore(database))
        search = HybridSearch(
            registry, words, MetadataFilters(database), index, embedder=BagOfWords(), patience_s=0
        )
        namespaces = await registry.namespaces(ANN)
        early = await search.search(namespaces, "harbour opens", 5)
        assert await words.ready([namespaces[0].id], patience_s=5) == {namespaces[0].id}
        later = await search.search(namespaces, "harbour opens", 5)
        await index.close()

    assert early.chunks == ()
    assert "default not searched: still loading" in early.degraded
    assert [one.chunk.source for one in later.chunks] == ["a"]
    assert later.degraded == ""
