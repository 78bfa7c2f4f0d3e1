"""The local library keeps what every Library promises, with vectors and without."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from spade_llm.rag import DocumentLibrary
from tests.rag.bag_of_words import BagOfWords
from tests.rag.contract import PROMISES, LibraryCase
from tests.rag.contract_catalogue import CATALOGUE_PROMISES, CatalogueCase

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable
    from pathlib import Path


@pytest.fixture(params=["hybrid", "keywords"])
async def case(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[LibraryCase]:
    root = tmp_path / "documents"
    root.mkdir()
    embedder = BagOfWords() if request.param == "hybrid" else None
    async with DocumentLibrary(tmp_path / "data", embedder=embedder, roots=[root]) as library:
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
async def whole(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[CatalogueCase]:
    embedder = BagOfWords() if request.param == "hybrid" else None
    async with DocumentLibrary(tmp_path / "data", embedder=embedder, roots=[tmp_path]) as library:
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
