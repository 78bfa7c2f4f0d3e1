"""The memory in a file and in PostgreSQL: stores, loading of an index, searches in a cached one."""

from __future__ import annotations

import tempfile
import time
from contextlib import AsyncExitStack
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from bench.corpus import Corpus
from bench.row import Goal, Row, check
from bench.servers import start_postgres
from bench.timing import Samples
from spade_llm.core.database import DatabaseUrl
from spade_llm.core.postgres import PostgresServer
from spade_llm.memory import MemoryDraft, PostgresMemoryBackend, SQLiteMemoryBackend
from spade_llm.search.memory_query import MemoryFilter, MemoryQuery, SearchMode
from tests.rag.bag_of_words import BagOfWords

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from bench.row import Scale
    from bench.stage import Stage
    from spade_llm.memory.database.backend import DatabaseMemoryBackend
    from spade_llm.memory.database.connection import Transaction
    from tests.postgres_server import PostgresProcess

IN_FLIGHT = 32
BATCH = 100
DIMENSION = 384
WRITER, SMALL, LARGE = "writer@localhost", "small@localhost", "large@localhost"
SUBJECT = "ada@localhost"
PERSON_ROWS = 1000
MAX_LOAD_S = 3.0
MAX_SEARCH_CPU_MS = 5.0
MAX_MORE_MS = 0.3
ROUNDS = 10
"""Rounds of searches, one database after the other, so that both meet the same load."""

FILL_VECTORS = "INSERT INTO vector (row, model, data) SELECT seq * 2, 1, :data FROM entry"


@dataclass(slots=True)
class _Memory:
    """Memory in one of the databases."""

    name: str
    backend: DatabaseMemoryBackend
    process: PostgresProcess | None
    search: Samples
    search_cpu_ms: float = 0.0

    def processor_s(self) -> float:
        """Processor time of this process and of the server."""
        return time.process_time() + (self.process.processor_s() if self.process else 0.0)


async def measure(_stage: Stage, scale: Scale) -> list[Row]:
    rows: list[Row] = []
    async with AsyncExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        embedder = BagOfWords(dimension=DIMENSION)
        file = partial(SQLiteMemoryBackend, folder / "memory.db")
        rows += await _fill("a file", file, scale)
        opened = await stack.enter_async_context(file(embedder=embedder))
        memories = [_Memory("a file", opened, None, Samples())]
        process = start_postgres(stack)
        if process is not None:
            server = PostgresServer(DatabaseUrl(process.url()), agent="bench@localhost")
            await stack.enter_async_context(server)
            served = partial(PostgresMemoryBackend, server)
            rows += await _fill("PostgreSQL", served, scale)
            opened_there = await stack.enter_async_context(served(embedder=embedder))
            memories.append(_Memory("PostgreSQL", opened_there, process, Samples()))
        for memory in memories:
            rows += await _loaded(memory, scale)
        await _search(memories, scale)
    return rows + _search_rows(memories)


async def _fill(name: str, open_: Callable[[], DatabaseMemoryBackend], scale: Scale) -> list[Row]:
    """Fill a memory without an embedder; rows of the writes."""
    corpus, entries = Corpus(seed=5), scale.of(4000, quick=200)
    one_by_one, in_flight, batches = Samples(), Samples(), Samples()
    async with open_() as backend:
        writer, large = backend.for_owner(WRITER), backend.for_owner(LARGE)

        async def add() -> None:
            await writer.add(MemoryDraft(content=corpus.sentence(14)))

        async def add_batch() -> None:
            await large.add_many([MemoryDraft(content=corpus.sentence(14)) for _ in range(BATCH)])

        await in_flight.add_mean(add, times=entries, in_flight=IN_FLIGHT)
        await one_by_one.add(add, times=scale.of(200, quick=20))
        await batches.add(add_batch, times=_large_rows(scale) // BATCH)
        for _ in range(PERSON_ROWS // BATCH):
            await backend.for_owner(SMALL).add_many(
                [MemoryDraft(content=corpus.sentence(14), subject=SUBJECT) for _ in range(BATCH)]
            )
        await backend.write(_fill_vectors)
    return [
        Row(name=f"memory in {name}: {what}", unit="ms", ours=ms)
        for what, ms in (
            (f"store, {IN_FLIGHT} in flight, each", in_flight.median),
            ("store, one at a time", one_by_one.median),
            (f"store, batches of {BATCH}, each entry", batches.median / BATCH),
        )
    ]


def _fill_vectors(tx: Transaction) -> None:
    """Store the same vector for all entries: only their size matters here."""
    import numpy as np

    from spade_llm.search.vectors import pack_vectors

    packed = pack_vectors(np.full((1, DIMENSION), DIMENSION**-0.5, np.float32))[0]
    name = BagOfWords().name
    tx.count(
        "INSERT INTO model (number, name, dimension) VALUES (1, :name, :dimension)",
        {"name": name, "dimension": DIMENSION},
    )
    tx.count(FILL_VECTORS, {"data": packed})


async def _loaded(memory: _Memory, scale: Scale) -> list[Row]:
    """First searches, which load the index."""
    load = Samples()
    store = memory.backend.for_owner(LARGE)

    async def search() -> None:
        memory.backend.ranker.clear()
        await store.search(MemoryQuery(text="tea", mode=SearchMode.KEYWORD))

    began = memory.processor_s()
    await load.add(search, times=3)
    cpu_s = (memory.processor_s() - began) / 3
    rows = _large_rows(scale)
    check(memory.backend.ranker.cached_rows(LARGE) == rows, "the index is incomplete")
    return [
        Row(
            name=f"memory in {memory.name}: index of {rows} loaded",
            unit="s",
            ours=load.median / 1000,
            goal=Goal(limit=MAX_LOAD_S),
            note=f"processor time {cpu_s:.2f} s",
        )
    ]


async def _search(memories: list[_Memory], scale: Scale) -> None:
    corpus, times = Corpus(seed=8), scale.of(100, quick=5)
    queries = [
        MemoryQuery(text=corpus.question(), which=MemoryFilter(subject=SUBJECT), limit=10)
        for _ in range(times)
    ]
    for memory in memories:
        await memory.backend.for_owner(SMALL).search(queries[0])
    for _ in range(ROUNDS):
        for memory in memories:
            began = memory.processor_s()
            for query in queries:
                await memory.search.add(_asked(memory, query))
            memory.search_cpu_ms += (memory.processor_s() - began) * 1000 / times / ROUNDS


def _asked(memory: _Memory, query: MemoryQuery) -> Callable[[], Awaitable[object]]:
    return lambda: memory.backend.for_owner(SMALL).search(query)


def _search_rows(memories: list[_Memory]) -> list[Row]:
    in_file = memories[0].search.median
    return [
        Row(
            name=f"memory in {memory.name}: search of a person's {PERSON_ROWS}, {what}",
            unit="ms",
            ours=ms,
            goal=goal if memory.process else None,
            note="PostgreSQL's own included" if memory.process and what != "wall" else "",
        )
        for memory in memories
        for what, ms, goal in (
            ("processor time", memory.search_cpu_ms, Goal(limit=MAX_SEARCH_CPU_MS)),
            ("wall", memory.search.median, Goal(limit=in_file + MAX_MORE_MS)),
        )
    ]


def _large_rows(scale: Scale) -> int:
    return scale.of(100_000, quick=1000)
