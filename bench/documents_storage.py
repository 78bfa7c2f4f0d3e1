"""Documents in files (SQLite and embedded Chroma) and in PostgreSQL: ingestion and search in one
process, with the same passages and questions.

Vectors are random directions: the embedder's time is not measured.
"""

from __future__ import annotations

import asyncio
import tempfile
import time
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from bench.corpus import Corpus
from bench.documents import WORDS, RandomVectors
from bench.row import Row, check
from bench.servers import start_postgres
from bench.timing import Samples
from spade_llm.core.database import DatabaseUrl
from spade_llm.core.postgres import PostgresServer
from spade_llm.rag import Document, DocumentLibrary

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from bench.row import Scale
    from bench.stage import Stage
    from spade_llm.rag import OwnedLibrary

OWNER = "ann@localhost"
IN_FLIGHT = 32


@dataclass(slots=True, kw_only=True)
class _Place:
    name: str
    folder: Path
    server: PostgresServer | None
    documents: int = 0
    chunks: int = 0

    @asynccontextmanager
    async def opened(self) -> AsyncIterator[OwnedLibrary]:
        library = DocumentLibrary(self.folder, embedder=RandomVectors("random"), server=self.server)
        async with library:
            yield library.for_owner(OWNER)


async def measure(_stage: Stage, scale: Scale) -> list[Row]:
    rows: list[Row] = []
    async with AsyncExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        places = [_Place(name="files", folder=folder, server=None)]
        process = start_postgres(stack)
        if process is not None:
            server = PostgresServer(DatabaseUrl(process.url()), agent="bench@localhost")
            served = await stack.enter_async_context(server)
            places.append(_Place(name="PostgreSQL", folder=folder / "unused", server=served))
        for size in (10_000, 100_000) if not scale.is_quick else (300,):
            for place in places:
                rows += await _ingesting(place, size)
            for place in places:
                rows += await _searching(place, size, scale)
    return rows


async def _ingesting(place: _Place, size: int) -> list[Row]:
    """Add documents until there are so many passages."""
    corpus = Corpus(seed=3)
    for _ in range(place.documents):
        corpus.document()  # Those that follow are new.
    before = place.chunks
    async with place.opened() as library:
        began, cpu = time.perf_counter(), time.process_time()
        while place.chunks < size:
            texts = [corpus.document() for _ in range(IN_FLIGHT)]
            numbers = range(place.documents, place.documents + IN_FLIGHT)
            done = await asyncio.gather(
                *(
                    library.ingest(Document(text=text, source=f"{number}.txt"))
                    for text, number in zip(texts, numbers, strict=True)
                )
            )
            place.documents += IN_FLIGHT
            place.chunks += sum(one.chunks for one in done)
        wall_s, cpu_s = time.perf_counter() - began, time.process_time() - cpu
        stats = await library.stats("default")
        check(stats.vectors == stats.chunks == place.chunks, f"{stats}")
    added = place.chunks - before
    name = f"documents in {place.name}: ingest a passage, up to {size}"
    note = f"{added} passages, {IN_FLIGHT} documents in flight"
    return [
        Row(name=f"{name}: wall", unit="ms", ours=wall_s * 1000 / added, note=note),
        Row(name=f"{name}: processor time here", unit="ms", ours=cpu_s * 1000 / added, note=note),
    ]


async def _searching(place: _Place, size: int, scale: Scale) -> list[Row]:
    corpus, asked = Corpus(seed=11), Samples()
    first = Corpus(seed=3).document().partition(".")[0]
    async with place.opened() as library:

        async def retrieve() -> None:
            found = await library.retrieve(corpus.question(WORDS))
            check(not found.degraded, found.degraded)

        began = time.perf_counter()
        found = await library.retrieve(first)
        first_s = time.perf_counter() - began
        while found.degraded:  # Still being loaded after the start.
            found = await library.retrieve(first)
        check("0.txt" in {one.chunk.source for one in found.chunks}, "the first document is lost")
        for _ in range(scale.of(5, quick=1)):
            await asked.add(retrieve, times=40)
    name = f"documents in {place.name}"
    return [
        Row(
            name=f"{name}: retrieve among {size}",
            unit="ms",
            ours=asked.median,
            spread=asked.spread,
            note=f"{place.chunks} passages",
        ),
        Row(name=f"{name}: first answer after opening, {size}", unit="s", ours=first_s),
    ]
