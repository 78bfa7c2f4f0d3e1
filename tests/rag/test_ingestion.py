"""Ingesting again, without an embedder, with another one, and across a crash."""

from __future__ import annotations

import asyncio
import contextlib
import sys
from typing import TYPE_CHECKING

import numpy as np
import pytest

from spade_llm.core.errors import InvalidArguments, NotFound
from spade_llm.rag import Document, DocumentLibrary, Splitting
from spade_llm.rag.store.chroma_index import ChromaIndex
from spade_llm.rag.store.library_file import LibraryFile
from spade_llm.rag.store.registry import Registry
from spade_llm.rag.store.schema import MIGRATIONS
from spade_llm.rag.store.vector_index import CollectionKey, VectorCollection
from tests.rag.bag_of_words import BagOfWords

if TYPE_CHECKING:
    from pathlib import Path

OWNER = "ann@localhost"
TIDES = Document(text="The tide turns at noon in the northern bay.", source="tides.md")


async def test_unchanged_text_is_not_embedded_again_after_a_restart(tmp_path: Path) -> None:
    embedder = BagOfWords()
    async with DocumentLibrary(tmp_path, embedder=embedder) as library:
        await library.for_owner(OWNER).ingest(TIDES)

    async with DocumentLibrary(tmp_path, embedder=embedder) as library:
        again = await library.for_owner(OWNER).ingest(TIDES)
        found = await library.for_owner(OWNER).retrieve("When does the tide turn?")

    assert again.was_unchanged
    assert embedder.embedded == 2  # the chunk once, the question once
    assert found.chunks[0].score > 0.5


async def test_another_chunk_size_counts_as_a_change(tmp_path: Path) -> None:
    document = Document(text="word " * 200, source="a.txt")
    async with DocumentLibrary(tmp_path, embedder=None) as library:
        await library.for_owner(OWNER).ingest(document)

    small = Splitting(size=100, overlap=0)
    async with DocumentLibrary(tmp_path, embedder=None, splitting=small) as library:
        done = await library.for_owner(OWNER).ingest(document)

    assert not done.was_unchanged
    assert done.chunks >= 10


async def test_without_an_embedder_the_answer_says_so(tmp_path: Path) -> None:
    async with DocumentLibrary(tmp_path, embedder=None) as library:
        await library.for_owner(OWNER).ingest(TIDES)
        found = await library.for_owner(OWNER).retrieve("tide noon")

    assert found.degraded == "no embeddings: keywords only"
    assert found.chunks[0].score > 0.8


async def test_an_embedder_that_goes_away_leaves_the_keywords(tmp_path: Path) -> None:
    embedder = BagOfWords()
    async with DocumentLibrary(tmp_path, embedder=embedder) as library:
        await library.for_owner(OWNER).ingest(TIDES)
        embedder.is_away = True

        found = await library.for_owner(OWNER).retrieve("tide noon")

    assert "keywords only" in found.degraded
    assert found.chunks[0].chunk.source == "tides.md"


async def test_documents_stored_without_the_embedder_are_embedded_later(
    tmp_path: Path,
) -> None:
    embedder = BagOfWords()
    async with DocumentLibrary(tmp_path, embedder=embedder) as library:
        mine = library.for_owner(OWNER)
        await mine.ingest(Document(text="Herons fish at dawn.", source="herons.md"))
        embedder.is_away = True
        await mine.ingest(TIDES)
        embedder.is_away = False
        meanwhile = await mine.retrieve("tide turns noon northern bay")
        again = await mine.ingest(TIDES)
        afterwards = await mine.retrieve("tide turns noon northern bay")

    assert "1 document(s) without embeddings" in meanwhile.degraded
    assert meanwhile.chunks[0].chunk.source == "tides.md"
    assert not again.was_unchanged
    assert afterwards.degraded == ""


async def test_vectors_of_another_model_are_refused_clearly(tmp_path: Path) -> None:
    async with DocumentLibrary(tmp_path, embedder=BagOfWords()) as library:
        await library.for_owner(OWNER).ingest(TIDES)

    other = BagOfWords(name="bag-of-words/2", dimension=128)
    async with DocumentLibrary(tmp_path, embedder=other) as library:
        mine = library.for_owner(OWNER)
        with pytest.raises(InvalidArguments, match="reindex"):
            await mine.retrieve("tide")
        with pytest.raises(InvalidArguments, match="reindex"):
            await mine.ingest(Document(text="New.", source="new.md"))
        await mine.delete(namespace="default")
        await mine.ingest(TIDES)
        found = await mine.retrieve("When does the tide turn?")

    assert found.chunks[0].chunk.source == "tides.md"


async def test_namespaces_are_listed_with_what_they_hold(tmp_path: Path) -> None:
    async with DocumentLibrary(tmp_path, embedder=BagOfWords()) as library:
        mine = library.for_owner(OWNER)
        await mine.ingest(TIDES)
        await mine.ingest(Document(text="Herons.", source="h.md", namespace="birds"))
        await mine.ingest(Document(text="Owls.", source="o.md", namespace="birds"))
        await library.for_owner("bob@localhost").ingest(TIDES)

        listed = await mine.namespaces()

    assert [(one.name, one.documents, one.chunks) for one in listed] == [
        ("birds", 2, 2),
        ("default", 1, 1),
    ]


async def test_a_deleted_document_is_gone_with_its_vectors(tmp_path: Path) -> None:
    async with DocumentLibrary(tmp_path, embedder=BagOfWords()) as library:
        mine = library.for_owner(OWNER)
        await mine.ingest(TIDES)
        await mine.ingest(Document(text="Herons.", source="h.md"))

        assert await mine.delete(namespace="default", source="tides.md") == 1
        with pytest.raises(NotFound, match=r"tides\.md"):
            await mine.delete(namespace="default", source="tides.md")
        assert (await mine.retrieve("tide turns noon")).chunks == ()

    assert await _vectors(tmp_path, namespace_id=1) == 1


async def test_half_a_surrogate_pair_is_refused(tmp_path: Path) -> None:
    async with DocumentLibrary(tmp_path, embedder=None) as library:
        with pytest.raises(InvalidArguments, match="surrogate"):
            await library.for_owner(OWNER).ingest(Document(text="a\ud800b", source="a"))


async def test_a_text_with_nul_characters_is_kept_as_it_is(tmp_path: Path) -> None:
    async with DocumentLibrary(tmp_path, embedder=BagOfWords()) as library:
        mine = library.for_owner(OWNER)
        await mine.ingest(Document(text="herons\0fish\0dawn", source="a"))
        found = await mine.retrieve("herons")

    assert found.chunks[0].chunk.text == "herons\0fish\0dawn"


async def test_vectors_stored_before_a_crash_are_swept_at_the_next_start(tmp_path: Path) -> None:
    async with DocumentLibrary(tmp_path, embedder=BagOfWords()) as library:
        await library.for_owner(OWNER).ingest(TIDES)
    await _die_between_vectors_and_rows(tmp_path)
    assert await _vectors(tmp_path, namespace_id=1) == 6

    async with DocumentLibrary(tmp_path, embedder=BagOfWords()) as library:
        found = await library.for_owner(OWNER).retrieve("tide turns noon")

    assert [one.chunk.source for one in found.chunks] == ["tides.md"]
    assert await _vectors(tmp_path, namespace_id=1) == 1


@pytest.mark.thorough
async def test_queries_during_replacement_see_the_old_or_the_new_never_neither(
    tmp_path: Path,
) -> None:
    async with DocumentLibrary(tmp_path, embedder=BagOfWords()) as library:
        mine = library.for_owner(OWNER)
        texts = [f"The tide turns at noon. Edition {n % 2}." for n in range(12)]
        await mine.ingest(Document(text=texts[0], source="tides.md"))
        writing = asyncio.create_task(_write_all(library, texts))

        seen = []
        while not writing.done():
            seen.append(await mine.retrieve("When does the tide turn?"))
        await writing

    assert len(seen) > 5
    assert all(len(found.chunks) == 1 for found in seen)


@pytest.mark.thorough
async def test_an_ingest_killed_at_any_moment_is_mended_by_the_next(tmp_path: Path) -> None:
    for lines in (3, 9):
        await _ingest_and_kill_after(tmp_path, lines)

    async with DocumentLibrary(tmp_path, embedder=BagOfWords()) as library:
        mine = library.for_owner(OWNER)
        for number in range(30):
            await mine.ingest(_numbered(number))
        (summary,) = await mine.namespaces()
        found = await mine.retrieve("lighthouse zulu17", k=1)

    assert (summary.documents, summary.chunks) == (30, 30)
    assert found.chunks[0].chunk.source == "17.md"
    assert await _vectors(tmp_path, namespace_id=1) == 30


async def _write_all(library: DocumentLibrary, texts: list[str]) -> None:
    for text in texts:
        await library.for_owner(OWNER).ingest(Document(text=text, source="tides.md"))


async def _vectors(directory: Path, *, namespace_id: int) -> int:
    async with contextlib.AsyncExitStack() as stack:
        index = ChromaIndex(directory / "chroma")
        stack.push_async_callback(index.close)
        return await index.count(CollectionKey(namespace_id=namespace_id))


async def _die_between_vectors_and_rows(directory: Path) -> None:
    """Leaves what a process leaves that is killed after storing vectors: reserved ids."""
    embedder = BagOfWords()
    index = ChromaIndex(directory / "chroma")
    path = directory / "documents.sqlite3"
    async with LibraryFile(path, migrations=MIGRATIONS) as database:
        registry = Registry(database)
        (namespace,) = await registry.namespaces(OWNER)
        ids = await registry.reserve(namespace.id, 5)
        collection = VectorCollection(
            namespace_id=namespace.id,
            owner=OWNER,
            namespace=namespace.name,
            model=embedder.name,
            dimension=embedder.dimension,
        )
        vectors = await embedder.embed(["tide turns noon"] * 5)
        await index.add(collection, ids, np.asarray(vectors))
    await index.close()


def _numbered(number: int) -> Document:
    return Document(text=f"Lighthouse log of zulu{number}.", source=f"{number}.md")


async def _ingest_and_kill_after(directory: Path, lines: int) -> None:
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "tests.rag.ingest_forever",
        str(directory),
        stdout=asyncio.subprocess.PIPE,
    )
    assert process.stdout is not None
    async with asyncio.timeout(30):
        for _ in range(lines):
            await process.stdout.readline()
        process.kill()
        await process.communicate()


@pytest.mark.parametrize("starts", [(5, 1), (-3,), (0, 999)])
async def test_pages_out_of_order_or_out_of_the_text_are_refused(
    tmp_path: Path, starts: tuple[int, ...]
) -> None:
    document = Document(text="Two pages.", source="a.pdf", page_starts=starts)
    async with DocumentLibrary(tmp_path, embedder=None) as library:
        with pytest.raises(InvalidArguments, match="page_starts must rise"):
            await library.for_owner("ann@localhost").ingest(document)
