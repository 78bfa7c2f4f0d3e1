"""The local library keeps what every Library promises, with vectors and without, in files and in
PostgreSQL."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.rag.bag_of_words import BagOfWords
from tests.rag.contract import PROMISES, LibraryCase
from tests.rag.contract_catalogue import CATALOGUE_PROMISES, CatalogueCase
from tests.rag.places import library_at

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable
    from pathlib import Path

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
