"""A library in another agent keeps the contract of every library: the same tests, over messages."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from spade_llm.rag import DocumentLibrary
from spade_llm.rag.remote import RagClient, RagService
from tests.messaging.node_harness import network_of
from tests.rag.bag_of_words import BagOfWords
from tests.rag.contract import PROMISES, LibraryCase
from tests.rag.contract_catalogue import CATALOGUE_PROMISES, CatalogueCase

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable
    from pathlib import Path

RAG = "rag@localhost/1"


@pytest.fixture
async def case(tmp_path: Path) -> AsyncIterator[LibraryCase]:
    root = tmp_path / "documents"
    root.mkdir()
    async with (
        DocumentLibrary(tmp_path / "data", embedder=BagOfWords(), roots=[root]) as library,
        network_of(RAG, "ann@localhost/1", "bob@localhost/1") as (rag, ann, bob),
    ):
        RagService(library).attach(rag.node.dispatcher)
        yield LibraryCase(
            mine=RagClient(ann.node.requester, RAG),
            others=RagClient(bob.node.requester, RAG),
            root=root,
        )


@pytest.mark.parametrize("promise", PROMISES, ids=lambda promise: promise.__name__)
async def test_a_library_in_another_agent_keeps(
    promise: Callable[[LibraryCase], Awaitable[None]], case: LibraryCase
) -> None:
    await promise(case)


@pytest.fixture
async def whole(tmp_path: Path) -> AsyncIterator[CatalogueCase]:
    async with (
        DocumentLibrary(tmp_path / "data", embedder=BagOfWords(), roots=[tmp_path]) as library,
        network_of(RAG, "ann@localhost/1", "bob@localhost/1") as (rag, ann, bob),
    ):
        RagService(library).attach(rag.node.dispatcher)
        yield CatalogueCase(
            mine=RagClient(ann.node.requester, RAG),
            others=RagClient(bob.node.requester, RAG),
            mine_jid="ann@localhost",
            others_jid="bob@localhost",
        )


@pytest.mark.parametrize("promise", CATALOGUE_PROMISES, ids=lambda promise: promise.__name__)
async def test_a_catalogue_in_another_agent_keeps(
    promise: Callable[[CatalogueCase], Awaitable[None]], whole: CatalogueCase
) -> None:
    await promise(whole)
