"""Library at the place of an agent's store: a directory, or PostgreSQL."""

from __future__ import annotations

from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from spade_llm.core.database import DatabaseUrl
from spade_llm.core.postgres import PostgresServer
from spade_llm.rag import DocumentLibrary

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Sequence

    from spade_llm.providers.model import Embedder
    from tests.conftest import PlaceOf


def library_at(
    place_of: PlaceOf, *, embedder: Embedder | None, roots: Sequence[Path] = ()
) -> DocumentLibrary:
    """Library that is not opened yet."""
    place = place_of("data")
    if isinstance(place, Path):
        return DocumentLibrary(place, embedder=embedder, roots=roots)
    assert isinstance(place, PostgresServer)
    # Nothing is written here.
    return DocumentLibrary(Path("/nowhere"), embedder=embedder, roots=roots, server=place)


@asynccontextmanager
async def library_of(
    directory: Path, embedder: Embedder | None, *, url: str, agent: str
) -> AsyncIterator[DocumentLibrary]:
    """Library in a directory, or a replica of that in the database."""
    if not url:
        async with DocumentLibrary(directory, embedder=embedder) as library:
            yield library
        return
    async with (
        PostgresServer(DatabaseUrl(url), agent=agent) as server,
        DocumentLibrary(
            directory, embedder=embedder, roots=[directory], server=server, is_replica=True
        ) as library,
    ):
        yield library
