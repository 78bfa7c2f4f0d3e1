"""Another embedding model: refused until the namespace is reindexed, which disturbs nobody."""

from __future__ import annotations

import asyncio
import sys
from typing import TYPE_CHECKING

import pytest

from spade_llm.core.errors import Busy, InvalidArguments, ModelUnavailable, NotFound
from spade_llm.rag import Document, DocumentLibrary, RetrievalOptions
from spade_llm.rag.store.chroma_index import ChromaIndex
from spade_llm.rag.store.vector_index import CollectionKey
from tests.rag.bag_of_words import BagOfWords

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Sequence
    from pathlib import Path

    import numpy as np
    from numpy.typing import NDArray

    from spade_llm.rag import OwnedLibrary

OWNER = "ann@localhost"
TODAY = "bag-of-words/2"


class Held(BagOfWords):
    """Embeds documents when it is let; questions at once."""

    def __init__(self) -> None:
        super().__init__(name=TODAY, dimension=128)
        self.is_asked = asyncio.Event()
        self.may = asyncio.Event()

    async def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        if len(texts) > 1:
            self.is_asked.set()
            await self.may.wait()
        return await super().embed(texts)


def numbered(number: int) -> Document:
    return Document(text=f"Lighthouse log of zulu{number}.", source=f"{number}.md")


@pytest.fixture
async def stored(tmp_path: Path) -> Path:
    """Ten documents, embedded by an earlier model."""
    async with DocumentLibrary(tmp_path, embedder=BagOfWords()) as library:
        mine = library.for_owner(OWNER)
        await asyncio.gather(*(mine.ingest(numbered(number)) for number in range(10)))
    return tmp_path


@pytest.fixture
async def held(stored: Path) -> AsyncIterator[tuple[DocumentLibrary, Held]]:
    """Another model, that waits to be let."""
    embedder = Held()
    async with DocumentLibrary(stored, embedder=embedder) as library:
        yield library, embedder


async def reindexing(mine: OwnedLibrary, embedder: Held) -> asyncio.Task[int]:
    """Begun, and in the middle."""
    task = asyncio.create_task(mine.reindex())
    async with asyncio.timeout(5):
        await embedder.is_asked.wait()
    return task


async def found_by(mine: OwnedLibrary, number: int) -> list[str]:
    found = await mine.retrieve(f"lighthouse zulu{number}", k=1)
    return [one.chunk.source for one in found.chunks]


async def vectors_in(directory: Path, edition: int) -> int:
    index = ChromaIndex(directory / "chroma")
    try:
        return await index.count(CollectionKey(namespace_id=1, edition=edition))
    finally:
        await index.close()


async def test_another_model_is_refused_until_reindexed(stored: Path) -> None:
    other = BagOfWords(name=TODAY, dimension=128)
    async with DocumentLibrary(stored, embedder=other) as library:
        mine = library.for_owner(OWNER)
        with pytest.raises(InvalidArguments, match="spade-llm rag reindex"):
            await mine.ingest(numbered(11))

        assert await mine.reindex() == 10

        await mine.ingest(numbered(11))
        assert await found_by(mine, 11) == ["11.md"]
        stats = await mine.stats("default")

    assert (stats.model, stats.dimension, stats.vectors) == (TODAY, 128, 11)


async def test_the_old_vectors_are_gone_afterwards(stored: Path) -> None:
    async with DocumentLibrary(stored, embedder=BagOfWords(name=TODAY)) as library:
        await library.for_owner(OWNER).reindex()

    assert await vectors_in(stored, edition=0) == 0
    assert await vectors_in(stored, edition=1) == 10


async def test_changes_during_reindexing_are_applied(tmp_path: Path) -> None:
    embedder = Held()
    embedder.may.set()
    async with DocumentLibrary(tmp_path, embedder=embedder) as library:
        mine = library.for_owner(OWNER)
        await asyncio.gather(*(mine.ingest(numbered(number)) for number in range(10)))
        embedder.may.clear()
        embedder.is_asked.clear()
        task = await reindexing(mine, embedder)
        await mine.delete(namespace="default", source="3.md")
        later = asyncio.create_task(mine.ingest(numbered(20)))
        embedder.may.set()
        await asyncio.gather(task, later)

        assert await found_by(mine, 20) == ["20.md"]
        assert "3.md" not in await found_by(mine, 3)
        assert (await mine.stats("default")).vectors == 10

    assert await vectors_in(tmp_path, edition=1) == 10


async def test_documents_without_vectors_get_some(tmp_path: Path) -> None:
    embedder = BagOfWords()
    embedder.is_away = True
    async with DocumentLibrary(tmp_path, embedder=embedder) as library:
        mine = library.for_owner(OWNER)
        await mine.ingest(numbered(1))
        await mine.ingest(numbered(2))
        embedder.is_away = False

        await mine.reindex()
        found = await mine.retrieve("lighthouse zulu2", k=1)

    assert (found.degraded, found.chunks[0].chunk.source) == ("", "2.md")


async def test_a_cancelled_one_leaves_the_old_vectors_and_nothing_of_the_new(
    held: tuple[DocumentLibrary, Held], stored: Path
) -> None:
    library, embedder = held
    mine = library.for_owner(OWNER)
    task = await reindexing(mine, embedder)

    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task

    stats = await mine.stats("default")
    assert (stats.model, stats.vectors) == ("bag-of-words/1", 10)
    embedder.may.set()
    assert await mine.reindex() == 10
    assert await found_by(mine, 7) == ["7.md"]


async def test_an_embedder_that_goes_away_leaves_the_old_vectors(stored: Path) -> None:
    embedder = BagOfWords(name=TODAY)
    embedder.is_away = True
    async with DocumentLibrary(stored, embedder=embedder) as library:
        mine = library.for_owner(OWNER)
        with pytest.raises(ModelUnavailable):
            await mine.reindex()

        assert (await mine.stats("default")).model == "bag-of-words/1"


async def test_meanwhile_another_models_vectors_are_done_without(
    held: tuple[DocumentLibrary, Held],
) -> None:
    library, embedder = held
    mine = library.for_owner(OWNER)
    task = await reindexing(mine, embedder)

    found = await mine.retrieve("lighthouse zulu4", k=1)

    assert [one.chunk.source for one in found.chunks] == ["4.md"]
    assert "keywords only" in found.degraded
    embedder.may.set()
    await task
    assert (await mine.retrieve("lighthouse zulu4", k=1)).degraded == ""


async def test_two_at_once_are_one_too_many(held: tuple[DocumentLibrary, Held]) -> None:
    library, embedder = held
    mine = library.for_owner(OWNER)
    task = await reindexing(mine, embedder)

    with pytest.raises(Busy):
        await mine.reindex()

    embedder.may.set()
    assert await task == 10


async def test_a_namespace_deleted_meanwhile_stays_deleted(
    held: tuple[DocumentLibrary, Held],
) -> None:
    library, embedder = held
    mine = library.for_owner(OWNER)
    task = await reindexing(mine, embedder)
    await mine.delete(namespace="default")
    embedder.may.set()

    with pytest.raises(NotFound, match="default"):
        await task

    assert list(await mine.namespaces()) == []


async def test_queries_go_on_while_the_same_model_reindexes(tmp_path: Path) -> None:
    async with DocumentLibrary(tmp_path, embedder=BagOfWords()) as library:
        mine = library.for_owner(OWNER)
        await asyncio.gather(*(mine.ingest(numbered(number)) for number in range(10)))
        task = asyncio.create_task(_reindex_often(mine, times=5))
        seen = []
        while not task.done():
            seen.append(await mine.retrieve("lighthouse zulu4", k=1))
        await task

    assert len(seen) > 5
    assert {found.chunks[0].chunk.source for found in seen} == {"4.md"}
    assert {found.degraded for found in seen} == {""}


async def _reindex_often(mine: OwnedLibrary, *, times: int) -> None:
    for _ in range(times):
        await mine.reindex()


@pytest.mark.thorough
async def test_killed_in_the_middle_it_leaves_the_old_vectors_in_use(stored: Path) -> None:
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        *("-m", "tests.rag.reindex_slowly", str(stored)),
        stdout=asyncio.subprocess.PIPE,
    )
    assert process.stdout is not None
    async with asyncio.timeout(30):
        assert await process.stdout.readline() == b"half\n"
        process.kill()
        await process.communicate()
    assert await vectors_in(stored, edition=1) > 0

    async with DocumentLibrary(stored, embedder=BagOfWords()) as library:
        assert await found_by(library.for_owner(OWNER), 7) == ["7.md"]

    assert await vectors_in(stored, edition=1) == 0
    assert await vectors_in(stored, edition=0) == 10
    async with DocumentLibrary(stored, embedder=BagOfWords(name=TODAY)) as library:
        assert await library.for_owner(OWNER).reindex() == 10
        assert await found_by(library.for_owner(OWNER), 7) == ["7.md"]


async def test_a_granted_namespace_of_another_model_does_not_block_own_namespaces(
    tmp_path: Path,
) -> None:
    async with DocumentLibrary(tmp_path, embedder=BagOfWords()) as library:
        eve = library.for_owner("eve@localhost")
        await eve.ingest(Document(text="The green ferry sank.", source="old.md"))
        await eve.grant("default", to="localhost")

    async with DocumentLibrary(tmp_path, embedder=BagOfWords(name="other/2")) as library:
        mine = library.for_owner("ann@localhost")
        await mine.ingest(Document(text="The red ferry sails.", source="new.md"))
        found = await mine.retrieve("red ferry")
        with pytest.raises(InvalidArguments, match="was embedded with"):
            await mine.retrieve(
                "red ferry", options=RetrievalOptions(namespaces=("eve@localhost/default",))
            )

    assert {one.chunk.source for one in found.chunks} == {"new.md", "old.md"}
    assert "1 document(s) without embeddings" in found.degraded
