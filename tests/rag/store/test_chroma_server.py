"""Vectors on a real Chroma server: all promises are kept, and its absence is said clearly."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

import httpx
import pytest

from spade_llm.core.errors import ConfigurationError, StorageFailed
from spade_llm.rag import Document, DocumentLibrary
from spade_llm.rag.store import chroma_client
from tests.rag.bag_of_words import BagOfWords
from tests.rag.chroma_server import ChromaServer
from tests.rag.contract import PROMISES, LibraryCase
from tests.rag.contract_catalogue import CATALOGUE_PROMISES, CatalogueCase

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

ANN, BOB = "ann@localhost", "bob@localhost"
pytestmark = pytest.mark.thorough
TIDES = Document(text="The tide turns at noon in the northern bay.", source="tides.md")


@pytest.fixture
async def server(tmp_path: Path) -> AsyncIterator[ChromaServer]:
    async with ChromaServer(tmp_path / "server") as started:
        yield started


@asynccontextmanager
async def library_at(server: ChromaServer, data: Path) -> AsyncIterator[DocumentLibrary]:
    root = data / "documents"
    await asyncio.to_thread(root.mkdir, parents=True, exist_ok=True)
    async with DocumentLibrary(
        data, embedder=BagOfWords(), roots=[root], chroma_url=server.url
    ) as library:
        yield library


async def test_all_promises_are_kept_with_the_vectors_on_a_server(
    server: ChromaServer, tmp_path: Path
) -> None:
    """Each in a library of its own, all of them on the same server."""
    for number, promise in enumerate(PROMISES):
        data = tmp_path / f"p{number}"
        async with library_at(server, data) as library:
            mine, others = library.for_owner(ANN), library.for_owner(BOB)
            await promise(LibraryCase(mine=mine, others=others, root=data / "documents"))
    for number, keeps in enumerate(CATALOGUE_PROMISES):
        async with library_at(server, tmp_path / f"c{number}") as library:
            mine, others = library.for_owner(ANN), library.for_owner(BOB)
            await keeps(CatalogueCase(mine=mine, others=others, mine_jid=ANN, others_jid=BOB))


async def test_no_vector_is_kept_in_the_directory(server: ChromaServer, tmp_path: Path) -> None:
    async with library_at(server, tmp_path / "data") as library:
        await library.for_owner(ANN).ingest(TIDES)

    assert not (tmp_path / "data" / "chroma").exists()


async def test_two_libraries_on_one_server_do_not_meet(
    server: ChromaServer, tmp_path: Path
) -> None:
    async with library_at(server, tmp_path / "a") as one, library_at(server, tmp_path / "b") as two:
        await one.for_owner(ANN).ingest(TIDES)
        await two.for_owner(ANN).ingest(Document(text="Owls hunt at midnight.", source="o.md"))

        assert (await one.for_owner(ANN).stats("default")).vectors == 1
        await two.for_owner(ANN).delete(namespace="default")
        assert len((await one.for_owner(ANN).retrieve("tide turns noon")).chunks) == 1


async def test_a_server_that_comes_back_is_used_again(server: ChromaServer, tmp_path: Path) -> None:
    async with library_at(server, tmp_path / "data") as library:
        mine = library.for_owner(ANN)
        await mine.ingest(TIDES)
        await server.stop()
        with pytest.raises(StorageFailed, match="Chroma server"):
            await mine.ingest(Document(text="Owls hunt at midnight.", source="o.md"))
        with pytest.raises(StorageFailed, match="Chroma server"):
            await mine.stats("default")
        assert (await mine.documents()).total == 1

        await server.start()
        await mine.ingest(Document(text="Owls hunt at midnight.", source="o.md"))

        assert (await mine.stats("default")).vectors == 2


async def test_without_the_server_the_library_opens_and_answers_by_keywords(
    server: ChromaServer, tmp_path: Path
) -> None:
    async with library_at(server, tmp_path / "data") as library:
        await library.for_owner(ANN).ingest(TIDES)
    await server.stop()

    async with library_at(server, tmp_path / "data") as library:
        found = await library.for_owner(ANN).retrieve("tide turns noon")

    assert [one.chunk.source for one in found.chunks] == ["tides.md"]
    assert "keywords only" in found.degraded


async def test_deletions_while_the_server_is_down_are_applied_later(
    server: ChromaServer, tmp_path: Path
) -> None:
    async with library_at(server, tmp_path / "data") as library:
        mine = library.for_owner(ANN)
        await mine.ingest(TIDES)
        await mine.ingest(Document(text="Owls hunt at midnight.", source="o.md"))
        await server.stop()
        assert await mine.delete(namespace="default", source="tides.md") == 1
    await server.start()

    async with library_at(server, tmp_path / "data") as library:
        assert (await library.for_owner(ANN).stats("default")).vectors == 1


async def test_a_server_that_says_nothing_is_waited_for_in_vain_only_so_long(
    server: ChromaServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(chroma_client, "_TIMEOUTS", httpx.Timeout(0.5))
    async with library_at(server, tmp_path / "data") as library:
        mine = library.for_owner(ANN)
        await mine.ingest(TIDES)
        server.freeze()
        try:
            with pytest.raises(StorageFailed, match="does not answer"):
                await mine.stats("default")
        finally:
            server.thaw()


@pytest.mark.parametrize("url", ["", "127.0.0.1:8000", "ftp://x", "http://", "http://x/y", "a\0b"])
def test_an_invalid_url_is_refused_at_the_start(url: str, tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="chroma_url"):
        DocumentLibrary(tmp_path, embedder=None, chroma_url=url)
