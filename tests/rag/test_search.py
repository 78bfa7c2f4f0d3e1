"""What a question finds, with every option, while documents come and go."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

import pytest

from spade_llm.core.errors import InvalidArguments, StorageFailed, Unauthorised
from spade_llm.rag import Document, DocumentLibrary, RetrievalOptions, Splitting
from spade_llm.rag.keyword_index_cache import PassageIndexCache
from spade_llm.rag.search import HybridSearch, MetadataFilters
from spade_llm.rag.store.index_records import KeywordStore
from spade_llm.rag.store.library_file import LibraryFile
from spade_llm.rag.store.registry import Registry
from spade_llm.rag.store.schema import MIGRATIONS
from tests.rag.bag_of_words import BagOfWords

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Mapping, Sequence
    from pathlib import Path

    import numpy as np
    from numpy.typing import NDArray

    from spade_llm.providers.model import Embedder
    from spade_llm.rag import OwnedLibrary, Retrieval
    from spade_llm.rag.contract import Scalar
    from spade_llm.rag.store.vector_index import VectorCollection

ANN, BOB = "ann@localhost", "bob@localhost"
SMALL = Splitting(size=100, overlap=20)
EVERYTHING = 0.0


@pytest.fixture(params=["hybrid", "keywords"])
async def library(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[DocumentLibrary]:
    embedder = BagOfWords() if request.param == "hybrid" else None
    async with DocumentLibrary(tmp_path, embedder=embedder) as opened:
        yield opened


@pytest.fixture
def mine(library: DocumentLibrary) -> OwnedLibrary:
    return library.for_owner(ANN)


def sources(found: Retrieval) -> list[str]:
    return [one.chunk.source for one in found.chunks]


@pytest.mark.thorough
async def test_a_filter_finds_the_one_match_among_hundreds(mine: OwnedLibrary) -> None:
    for number in range(200):
        metadata = {"team": "blue" if number == 150 else "red"}
        text = f"Minutes of the harbour meeting, number {number}."
        await mine.ingest(Document(text=text, source=f"{number}.md", metadata=metadata))

    found = await mine.retrieve("harbour meeting", options=RetrievalOptions(where={"team": "blue"}))

    assert sources(found) == ["150.md"]


@pytest.mark.parametrize(
    ("where", "expected"),
    [
        ({"year": 2024}, ["a.md"]),
        ({"year": 2024.0}, ["a.md"]),
        ({"year": "2024"}, ["b.md"]),
        ({"draft": True}, ["a.md"]),
        ({"draft": 1}, ["b.md"]),
        ({"draft": True, "year": 2024}, ["a.md"]),
        ({"draft": True, "year": "2024"}, []),
        ({"source": "b.md"}, ["b.md"]),
        ({"heading": "Guide > Reset"}, ["a.md"]),
        ({"page": 2}, ["b.md"]),
        ({"nothing": "here"}, []),
        ({"' OR 1=1 --": "x"}, []),
    ],
    ids=str,
)
async def test_filters_compare_values_with_their_types(
    mine: OwnedLibrary, where: Mapping[str, Scalar], expected: Sequence[str]
) -> None:
    guide = "# Guide\n\n## Reset\n\nThe harbour router is reset by hand."
    await mine.ingest(Document(text=guide, source="a.md", metadata={"year": 2024, "draft": True}))
    text = " " * 9 + "The harbour router is blue."
    await mine.ingest(
        Document(
            text=text,
            source="b.md",
            metadata={"year": "2024", "draft": 1},
            page_starts=(0, 5),
        )
    )

    found = await mine.retrieve("harbour router", options=RetrievalOptions(where=where))

    assert sources(found) == expected


async def test_a_document_can_be_asked_for_by_its_id(mine: OwnedLibrary) -> None:
    for name in ("a.md", "b.md"):
        await mine.ingest(Document(text=f"The harbour opens at {name}.", source=name))
    first = await mine.retrieve("harbour opens", k=1)

    chosen = first.chunks[0].chunk
    options = RetrievalOptions(where={"document": chosen.document})

    assert sources(await mine.retrieve("harbour opens", options=options)) == [chosen.source]


@pytest.mark.parametrize(
    ("options", "field"),
    [
        (RetrievalOptions(min_score=1.5), "min_score"),
        (RetrievalOptions(min_score=float("nan")), "min_score"),
        (RetrievalOptions(max_tokens=0), "max_tokens"),
        (RetrievalOptions(where={"page": "two"}), "page"),
        (RetrievalOptions(where={"source": 3}), "source"),
        (RetrievalOptions(where={"x": float("inf")}), "where"),
        (RetrievalOptions(where={"x": 2**70}), "where"),
        (RetrievalOptions(where={"k" * 300: 1}), "where"),
        (RetrievalOptions(where={str(n): n for n in range(17)}), "where"),
    ],
)
async def test_options_out_of_bounds_are_refused_by_name(
    mine: OwnedLibrary, options: RetrievalOptions, field: str
) -> None:
    with pytest.raises(InvalidArguments, match=field):
        await mine.retrieve("anything", options=options)


async def test_a_minimum_score_holds_for_every_passage(mine: OwnedLibrary) -> None:
    texts = ("harbour master tide table", "harbour master", "harbour of many other quiet words")
    for number, text in enumerate(texts):
        await mine.ingest(Document(text=text, source=f"{number}.md"))
    asked = "harbour master tide table"

    everything = await mine.retrieve(asked, options=RetrievalOptions(min_score=EVERYTHING))
    scores = [one.score for one in everything.chunks]
    above = await mine.retrieve(asked, options=RetrievalOptions(min_score=scores[0]))

    assert len(scores) == 3
    assert 0 < scores[2] < scores[1] < scores[0] <= 1
    assert sources(above) == ["0.md"]


TALE = " ".join(f"The keeper of lamp{n} counts lamp{n} at dusk." for n in range(40))


async def test_neighbours_become_one_passage_of_the_document(mine: OwnedLibrary) -> None:
    await mine.ingest(Document(text=TALE, source="tale.txt"), splitting=SMALL)

    found = await mine.retrieve("lamp7 lamp8 lamp9", k=3)

    best = found.chunks[0].chunk
    assert best.count > 1
    assert best.text == TALE[best.start : best.end]
    assert len({one.chunk.index for one in found.chunks}) == len(found.chunks)


async def test_neighbours_stay_apart_if_that_is_asked_for(mine: OwnedLibrary) -> None:
    await mine.ingest(Document(text=TALE, source="tale.txt"), splitting=SMALL)

    found = await mine.retrieve(
        "lamp7 lamp8 lamp9", options=RetrievalOptions(merge_neighbours=False)
    )

    assert len(found.chunks) > 1
    assert all(one.chunk.count == 1 for one in found.chunks)


async def test_k_counts_passages_and_not_their_chunks(mine: OwnedLibrary) -> None:
    await mine.ingest(Document(text=TALE, source="tale.txt"), splitting=SMALL)
    for number in range(4):
        text = f"Note {number}: the keeper counts lamps at dusk."
        await mine.ingest(Document(text=text, source=f"{number}.txt"))

    found = await mine.retrieve(
        "keeper counts lamps at dusk", k=4, options=RetrievalOptions(min_score=EVERYTHING)
    )

    assert len(found.chunks) == 4


async def test_passages_over_the_budget_are_left_out(mine: OwnedLibrary) -> None:
    await mine.ingest(Document(text="harbour " * 100, source="long.txt"))
    await mine.ingest(Document(text="the harbour", source="short.txt"))

    found = await mine.retrieve("harbour", options=RetrievalOptions(max_tokens=20))

    assert sources(found) == ["short.txt"]


@pytest.mark.thorough
async def test_the_same_text_in_many_documents_takes_one_place(mine: OwnedLibrary) -> None:
    for number in range(60):
        licence = "Permission is granted to use the harbour."
        await mine.ingest(Document(text=licence, source=f"licence{number:02}.txt"))
    await mine.ingest(Document(text="The harbour has two cranes to use.", source="cranes.txt"))

    found = await mine.retrieve(
        "permission granted to use the harbour",
        k=5,
        options=RetrievalOptions(min_score=0.05),
    )

    assert sources(found) == ["licence00.txt", "cranes.txt"]


@pytest.mark.thorough
async def test_the_words_of_others_change_no_score(library: DocumentLibrary) -> None:
    mine, theirs = library.for_owner(ANN), library.for_owner(BOB)
    for number in range(5):
        await mine.ingest(Document(text=f"The harbour has crane {number}.", source=f"{number}"))
    before = await mine.retrieve("harbour crane 3 schedule")

    for number in range(50):
        await theirs.ingest(Document(text=f"crane schedule {number}", source=f"{number}"))

    assert await mine.retrieve("harbour crane 3 schedule") == before


async def test_granted_namespaces_are_searched_and_others_are_denied(
    library: DocumentLibrary,
) -> None:
    mine, theirs = library.for_owner(ANN), library.for_owner(BOB)
    await theirs.ingest(Document(text="The harbour plan.", source="p", namespace="plans"))
    options = RetrievalOptions(namespaces=(f"{BOB}/plans",))

    with pytest.raises(Unauthorised):
        await mine.retrieve("harbour plan", options=options)
    assert (await mine.retrieve("harbour plan")).chunks == ()

    await theirs.grant("plans", to=ANN)
    found = await mine.retrieve("harbour plan", options=options)
    assert [one.chunk.namespace for one in found.chunks] == [f"{BOB}/plans"]


@pytest.mark.thorough
async def test_a_query_never_sees_half_of_a_document_nor_misses_it(mine: OwnedLibrary) -> None:
    versions = [
        " ".join(f"Harbour log of {colour}, entry {n}, all quiet." for n in range(30))
        for colour in ("amber", "cobalt")
    ]
    await mine.ingest(Document(text=versions[0], source="log"), splitting=SMALL)
    options = RetrievalOptions(min_score=EVERYTHING, merge_neighbours=False)
    is_done = False

    async def change() -> None:
        nonlocal is_done
        for turn in range(1, 13):
            document = Document(text=versions[turn % 2], source="log")
            await mine.ingest(document, splitting=SMALL)
        is_done = True

    async def ask() -> None:
        while not is_done:
            found = await mine.retrieve("harbour log entry", k=20, options=options)
            text = " ".join(one.chunk.text for one in found.chunks)
            assert ("amber" in text) != ("cobalt" in text)
            await asyncio.sleep(0)

    await asyncio.gather(change(), *(ask() for _ in range(3)))


async def test_deleted_documents_are_not_found(mine: OwnedLibrary) -> None:
    for name in ("a", "b"):
        await mine.ingest(Document(text=f"The harbour of {name}.", source=name))
    assert sorted(sources(await mine.retrieve("harbour"))) == ["a", "b"]

    await mine.delete(namespace="default", source="a")
    assert sources(await mine.retrieve("harbour")) == ["b"]

    await mine.delete(namespace="default")
    assert (await mine.retrieve("harbour")).chunks == ()


@asynccontextmanager
async def opened(folder: Path) -> AsyncIterator[LibraryFile]:
    async with LibraryFile(folder / "documents.sqlite3", migrations=MIGRATIONS) as database:
        yield database


async def test_words_that_an_older_version_did_not_keep_are_made_and_kept(tmp_path: Path) -> None:
    async with DocumentLibrary(tmp_path, embedder=None) as library:
        await library.for_owner(ANN).ingest(Document(text="The harbour opens.", source="a"))
    async with opened(tmp_path) as database, database.transaction() as writer:
        await writer.execute("DELETE FROM document_words")

    async with DocumentLibrary(tmp_path, embedder=None) as library:
        found = await library.for_owner(ANN).retrieve("harbour")
    async with opened(tmp_path) as database:
        ((kept,),) = await database.read("SELECT count(*) FROM document_words")

    assert sources(found) == ["a"]
    assert kept == 1


class AwayVectors:
    """Vectors that cannot be asked, as those of a server that is down."""

    async def follow(self) -> None:
        pass

    async def nearest(
        self,
        collection: VectorCollection,
        vector: NDArray[np.float32],
        limit: int,
        *,
        among: Sequence[int] | None = None,
    ) -> Mapping[int, float]:
        raise StorageFailed("the vector index could not be read or written")

    async def cosines(
        self, collection: VectorCollection, vector: NDArray[np.float32], ids: Sequence[int]
    ) -> Mapping[int, float]:
        raise StorageFailed("the vector index could not be read or written")


async def test_without_its_vectors_a_namespace_is_searched_by_words_and_it_is_said(
    tmp_path: Path,
) -> None:
    embedder: Embedder = BagOfWords()
    async with DocumentLibrary(tmp_path, embedder=embedder) as library:
        await library.for_owner(ANN).ingest(Document(text="The harbour opens.", source="a"))
    async with opened(tmp_path) as database:
        registry = Registry(database)
        search = HybridSearch(
            registry,
            PassageIndexCache(KeywordStore(database)),
            MetadataFilters(database),
            AwayVectors(),
            embedder=embedder,
        )
        found = await search.search(await registry.namespaces(ANN), "harbour opens", 5)

    assert sources(found) == ["a"]
    assert found.degraded == "vectors of default unavailable: keywords only there"
