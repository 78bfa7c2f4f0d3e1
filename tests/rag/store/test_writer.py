"""Many documents at once: together where it helps, each on its own where it matters."""

from __future__ import annotations

import asyncio
import sys
from typing import TYPE_CHECKING

import pytest

from spade_llm.core.errors import InvalidArguments, QuotaExceeded
from spade_llm.rag import Document, DocumentLibrary, Progress, Splitting
from spade_llm.rag.names import personal_namespace
from spade_llm.rag.passage_embedding import SharedBatches
from spade_llm.rag.store.registry import MAX_NAMESPACES
from tests.rag.bag_of_words import BagOfWords

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    import numpy as np
    from numpy.typing import NDArray

OWNER = "ann@localhost"


class Counting(BagOfWords):
    """Embedder that takes as long as a model, and records the number of texts of each batch."""

    def __init__(self) -> None:
        super().__init__()
        self.batches: list[int] = []

    async def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        self.batches.append(len(texts))
        await asyncio.sleep(0.02)
        return await super().embed(texts)


def numbered(number: int, namespace: str = "default") -> Document:
    text = f"Lighthouse log of zulu{number}."
    return Document(text=text, source=f"{number}.md", namespace=namespace)


def write_files(folder: Path, count: int) -> None:
    folder.mkdir(parents=True)
    for number in range(count):
        (folder / f"{number}.md").write_text(f"Lighthouse log of zulu{number}.")


async def test_small_documents_share_batches(tmp_path: Path) -> None:
    embedder = Counting()
    async with DocumentLibrary(tmp_path, embedder=embedder) as library:
        mine = library.for_owner(OWNER)
        await asyncio.gather(*(mine.ingest(numbered(number)) for number in range(600)))
        found = await mine.retrieve("lighthouse zulu417", k=1)
        stats = await mine.stats("default")

    assert len(embedder.batches) < 300
    assert (stats.documents, stats.vectors) == (600, 600)
    assert found.chunks[0].chunk.source == "417.md"


async def test_a_large_document_does_not_hold_up_a_small_one() -> None:
    batches = SharedBatches(BagOfWords())
    order: list[str] = []

    async def embed(name: str, texts: int) -> None:
        rows = await batches.embed([f"{name} {number}" for number in range(texts)])
        assert len(rows) == texts
        order.append(name)

    async with asyncio.timeout(5):
        await asyncio.gather(embed("large", 5000), embed("small", 3), embed("other", 100))
    await batches.close()

    assert order == ["small", "other", "large"]


async def test_rows_come_back_to_the_text_that_they_are_of() -> None:
    embedder = BagOfWords()
    batches = SharedBatches(embedder)
    texts = [[f"word{group} thing{number}" for number in range(group * 37)] for group in range(9)]

    answers = await asyncio.gather(*(batches.embed(some) for some in texts))
    await batches.close()

    for some, rows in zip(texts, answers, strict=True):
        assert len(rows) == len(some)
        if some:
            assert rows.tolist() == (await embedder.embed(some)).tolist()


@pytest.mark.thorough
async def test_a_refused_document_does_not_affect_others(tmp_path: Path) -> None:
    async with DocumentLibrary(tmp_path, embedder=BagOfWords()) as library:
        mine = library.for_owner(OWNER)
        spaces = [f"n{number}" for number in range(MAX_NAMESPACES)]
        await asyncio.gather(*(mine.ingest(numbered(1, space)) for space in spaces))

        done = await asyncio.gather(
            mine.ingest(numbered(2, "n7")),
            mine.ingest(numbered(2, "one-too-many")),
            mine.ingest(numbered(3, "n7")),
            return_exceptions=True,
        )

        assert isinstance(done[1], InvalidArguments)
        assert (await mine.stats("n7")).vectors == 3


async def test_people_beside_the_owner_are_counted_apart(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("spade_llm.rag.store.registry.MAX_PERSONAL_NAMESPACES", 2)
    monkeypatch.setattr("spade_llm.rag.store.registry.MAX_NAMESPACES", 1)
    people = [personal_namespace(f"{name}@home") for name in ("ann", "bob", "eve")]
    async with DocumentLibrary(tmp_path, embedder=None) as library:
        mine = library.for_owner(OWNER)
        for namespace in ("handbook", *people[:2], people[0]):
            await mine.ingest(numbered(1, namespace))

        with pytest.raises(QuotaExceeded):
            await mine.ingest(numbered(1, people[2]))
        with pytest.raises(InvalidArguments):
            await mine.ingest(numbered(1, "another"))


async def test_the_same_source_several_times_at_once_ends_as_one_document(tmp_path: Path) -> None:
    async with DocumentLibrary(tmp_path, embedder=BagOfWords()) as library:
        mine = library.for_owner(OWNER)
        texts = [f"The tide turns at {hour}." for hour in ("noon", "dawn", "dusk", "night")]
        await asyncio.gather(*(mine.ingest(Document(text=t, source="t.md")) for t in texts))
        found = await mine.retrieve("When does the tide turn?")
        stats = await mine.stats("default")

    assert (stats.documents, stats.chunks, stats.vectors) == (1, 1, 1)
    assert len(found.chunks) == 1


@pytest.mark.thorough
async def test_a_query_sees_all_of_a_document_or_nothing_of_it(tmp_path: Path) -> None:
    """Each version says its number in each of its passages."""
    async with DocumentLibrary(
        tmp_path, embedder=BagOfWords(), splitting=Splitting(size=100, overlap=0)
    ) as library:
        mine = library.for_owner(OWNER)
        versions = [f"The tide of edition{n} turns at noon in the bay. " * 8 for n in range(12)]
        await mine.ingest(Document(text=versions[0], source="t.md"))

        async def replace_all() -> None:
            for text in versions[1:]:
                await mine.ingest(Document(text=text, source="t.md"))

        writing = asyncio.create_task(replace_all())
        seen: list[set[str]] = []
        while not writing.done():
            found = await mine.retrieve("tide noon", k=20)
            texts = " ".join(one.chunk.text for one in found.chunks).split()
            seen.append({word for word in texts if word.startswith("edition")})
        await writing

    assert len(seen) > 5
    assert [editions for editions in seen if len(editions) != 1] == []


@pytest.mark.thorough
async def test_a_cancelled_folder_leaves_whole_documents_and_can_be_done_again(
    tmp_path: Path,
) -> None:
    write_files(tmp_path / "docs" / "many", 1500)
    async with DocumentLibrary(
        tmp_path / "data", embedder=BagOfWords(), roots=[tmp_path / "docs"]
    ) as library:
        mine = library.for_owner(OWNER)
        has_begun = asyncio.Event()

        async def see(progress: Progress) -> None:
            if progress.done > 100:
                has_begun.set()

        task = asyncio.create_task(mine.ingest_path("many", on_progress=see))
        async with asyncio.timeout(20):
            await has_begun.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        done = await mine.ingest_path("many")
        stats = await mine.stats("default")

    assert sum(one.was_unchanged for one in done) > 100
    assert (stats.documents, stats.chunks, stats.vectors) == (1500, 1500, 1500)


@pytest.mark.thorough
async def test_a_folder_killed_in_the_middle_is_completed_and_nothing_is_twice(
    tmp_path: Path,
) -> None:
    write_files(tmp_path / "docs" / "many", 1500)
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        *("-m", "tests.rag.ingest_folder", str(tmp_path)),
        stdout=asyncio.subprocess.PIPE,
    )
    assert process.stdout is not None
    async with asyncio.timeout(30):
        for _ in range(300):
            await process.stdout.readline()
        process.kill()
        await process.communicate()

    async with DocumentLibrary(
        tmp_path / "data", embedder=BagOfWords(), roots=[tmp_path / "docs"]
    ) as library:
        mine = library.for_owner(OWNER)
        done = await mine.ingest_path("many")
        stats = await mine.stats("default")

    assert 300 <= sum(one.was_unchanged for one in done) < 1500
    assert (stats.documents, stats.chunks, stats.vectors) == (1500, 1500, 1500)
