"""The memory as a library: adding, searching and listing, without a network."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from bench.corpus import Corpus
from bench.row import Row, Scale, check
from bench.timing import Samples
from spade_llm.memory import MemoryDraft, SQLiteMemoryBackend
from spade_llm.memory.store import MemoryQuery

if TYPE_CHECKING:
    from bench.stage import Stage
    from spade_llm.memory import OwnedMemory

IN_FLIGHT = 32


async def measure(_stage: Stage, scale: Scale) -> list[Row]:
    entries = scale.of(10_000, quick=500)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "memory.db"
        async with SQLiteMemoryBackend(path) as backend:
            rows = await _measure(backend.for_owner("bench@localhost"), entries, scale)
        kilobytes = path.stat().st_size / entries / 1024
    return [*rows, Row(name="… one entry on disk", unit="KB", ours=kilobytes)]


async def _measure(store: OwnedMemory, entries: int, scale: Scale) -> list[Row]:
    corpus, times = Corpus(), scale.of(200, quick=20)

    async def add() -> None:
        await store.add(MemoryDraft(content=corpus.sentence(20)))

    async def search(words: int) -> None:
        await store.search(MemoryQuery(text=corpus.question(words)))

    many, one, short, long, page = Samples(), Samples(), Samples(), Samples(), Samples()
    await many.add_mean(add, times=entries, in_flight=IN_FLIGHT)
    await one.add(add, times=times)
    await short.add(lambda: search(1), times=times)
    await long.add(lambda: search(4), times=times)
    await page.add(store.list, times=20)
    check((await store.list(limit=1)).total == entries + times, "entries were lost")
    return [
        Row(name=f"memory: add, {IN_FLIGHT} in flight, each", unit="ms", ours=many.median),
        _row("add, one at a time", one),
        _row(f"search {entries}, 1 word", short),
        _row(f"search {entries}, 4 words", long),
        _row("list with total", page),
    ]


def _row(name: str, samples: Samples) -> Row:
    return Row(name=f"… {name}", unit="ms", ours=samples.median, spread=samples.spread)
