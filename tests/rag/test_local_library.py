"""The local library keeps what every Library promises, with vectors and without, in files and in
PostgreSQL."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from random import Random
from typing import TYPE_CHECKING

import pytest

from spade_llm.core.errors import InvalidArguments
from spade_llm.rag import Document, RetrievalOptions
from tests.rag.bag_of_words import BagOfWords
from tests.rag.contract import PROMISES, LibraryCase
from tests.rag.contract_catalogue import CATALOGUE_PROMISES, CatalogueCase
from tests.rag.places import library_at

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable
    from pathlib import Path

    from spade_llm.rag.contract import Scalar
    from tests.conftest import PlaceOf


@pytest.fixture(params=["hybrid", "keywords"])
async def case(
    request: pytest.FixtureRequest, tmp_path: Path, place_of: PlaceOf
) -> AsyncIterator[LibraryCase]:
    root = tmp_path / "documents"
    root.mkdir()
    embedder = BagOfWords() if request.param == "hybrid" else None
    async with library_at(place_of, embedder=embedder, roots=[root]) as library:
        yield LibraryCase(
            mine=library.for_owner("ann@localhost"),
            others=library.for_owner("bob@localhost"),
            root=root,
        )


@pytest.mark.parametrize("promise", PROMISES, ids=lambda promise: promise.__name__)
async def test_the_local_library_keeps(
    promise: Callable[[LibraryCase], Awaitable[None]], case: LibraryCase
) -> None:
    await promise(case)


@pytest.fixture(params=["hybrid", "keywords"])
async def whole(
    request: pytest.FixtureRequest, tmp_path: Path, place_of: PlaceOf
) -> AsyncIterator[CatalogueCase]:
    embedder = BagOfWords() if request.param == "hybrid" else None
    async with library_at(place_of, embedder=embedder, roots=[tmp_path]) as library:
        yield CatalogueCase(
            mine=library.for_owner("ann@localhost"),
            others=library.for_owner("bob@localhost"),
            mine_jid="ann@localhost",
            others_jid="bob@localhost",
            has_embeddings=embedder is not None,
        )


@pytest.mark.parametrize("promise", CATALOGUE_PROMISES, ids=lambda promise: promise.__name__)
async def test_the_local_catalogue_keeps(
    promise: Callable[[CatalogueCase], Awaitable[None]], whole: CatalogueCase
) -> None:
    await promise(whole)


async def test_the_largest_names_and_values_are_stored_and_filtered_by(case: LibraryCase) -> None:
    random = Random(7)
    letters = [chr(code) for code in range(0x4E00, 0x9FA5)]
    # Without repetition: a database may compress what it indexes.
    source, value, key = ("".join(random.sample(letters, length)) for length in (650, 1000, 256))
    metadata: dict[str, Scalar] = {key: value, key + "x": 1, "year": 2024, "nul": "a\0b"}
    large = Document(text="The tide turns at noon.", source=source, metadata=metadata)
    small = Document(text="The tide turns at sunset.", source="b", metadata={"year": "2024"})

    await asyncio.gather(case.mine.ingest(large), case.mine.ingest(small))

    for where in ({key: value}, {"source": source}, {"year": 2024.0}, {"nul": "a\0b"}):
        found = await case.mine.retrieve("tide", options=RetrievalOptions(where=where))
        assert [one.chunk.text for one in found.chunks] == [large.text]
    assert not (
        await case.mine.retrieve("tide", options=RetrievalOptions(where={"year": True}))
    ).chunks
    for wrong in ({"source": source * 2}, {"metadata": {"a": "\ud800"}}):
        with pytest.raises(InvalidArguments):
            await case.mine.ingest(replace(large, **wrong))
