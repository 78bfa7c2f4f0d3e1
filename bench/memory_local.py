"""The memory as a library: adding, searching, listing, letting go; without a network."""

from __future__ import annotations

import asyncio
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

from bench.beside import beside
from bench.corpus import Corpus
from bench.embedder import local_embedder
from bench.memory_asking import (
    OWNED_AT_MOST,
    Asked,
    put_file,
    rows_of,
    samples_of,
    sizes,
)
from bench.memory_file import SECONDS_BETWEEN
from bench.memory_peers import BATCH, WORDS, writing
from bench.row import Row, Scale, check
from bench.timing import Samples
from spade_llm.memory import MemoryDraft, SQLiteMemoryBackend
from spade_llm.memory.contract import DecayPolicy
from spade_llm.search.memory_query import MemoryQuery, Tier

if TYPE_CHECKING:
    from bench.stage import Stage
    from spade_llm.memory import OwnedMemory

IN_FLIGHT = 32
KEEPER, OWNER = "keeper", "asker@localhost"
"""As through the wire: the same files are searched."""


async def measure(stage: Stage, scale: Scale) -> list[Row]:
    keeper = await stage.account(KEEPER)
    rows = await _writing(scale)
    async with local_embedder(keeper.data) as embedder:
        for size in sizes(scale):
            asked = Asked(size=size, embedder=embedder, scale=scale)
            rows += await _searching(keeper.data, asked)
    return rows


async def _writing(scale: Scale) -> list[Row]:
    entries = scale.of(10_000, quick=500)
    with tempfile.TemporaryDirectory(prefix="local-") as folder:
        path = Path(folder) / "memory.db"
        async with SQLiteMemoryBackend(path) as backend:
            rows = await _written(backend.for_owner("bench@localhost"), entries, scale)
        added = entries + scale.of(200, quick=20) + BATCH * scale.of(50, quick=4)
        kilobytes = path.stat().st_size / added / 1024
    return [*rows, Row(name="memory, local: one entry on disk", unit="KB", ours=kilobytes)]


async def _written(store: OwnedMemory, entries: int, scale: Scale) -> list[Row]:
    corpus, times, batches = Corpus(seed=5), scale.of(200, quick=20), scale.of(50, quick=4)

    async def add() -> None:
        await store.add(MemoryDraft(content=corpus.sentence(14)))

    async def add_batch() -> None:
        await store.add_many([MemoryDraft(content=corpus.sentence(14)) for _ in range(BATCH)])

    many, one, batch, page = Samples(), Samples(), Samples(), Samples()
    await many.add_mean(add, times=entries, in_flight=IN_FLIGHT)
    await one.add(add, times=times)
    await batch.add(add_batch, times=batches)
    await page.add(store.list, times=20)
    added = entries + times + BATCH * batches
    check((await store.list(limit=1)).total == added, "entries were lost")
    peers = await writing(scale)
    return [
        *beside(f"memory, local: store, {IN_FLIGHT} in flight, each", many.median, peers.one),
        *beside("memory, local: store, one at a time", one.median, peers.one, spread=one.spread),
        *beside(
            f"memory, local: batches of {BATCH}, each memory", batch.median / BATCH, peers.batch
        ),
        Row(name="memory, local: list with total", unit="ms", ours=page.median, spread=page.spread),
    ]


async def _searching(folder: Path, asked: Asked) -> list[Row]:
    with tempfile.TemporaryDirectory(prefix="local-") as own:
        path = await asyncio.to_thread(_copied, folder, Path(own), asked)
        async with SQLiteMemoryBackend(path, embedder=asked.embedder) as backend:
            store = backend.for_owner(OWNER)
            began = time.perf_counter()
            await store.search(MemoryQuery(text=Corpus(seed=11).question(WORDS)))
            first_s = time.perf_counter() - began
            modes = await samples_of(store, asked)
            forgotten = await _letting_go(store, asked) if asked.size == OWNED_AT_MOST else []
    return [
        *await rows_of("memory, local: search", modes, asked),
        Row(name=f"memory, local: search {asked.size}, the first", unit="s", ours=first_s),
        *forgotten,
    ]


def _copied(folder: Path, own: Path, asked: Asked) -> Path:
    return put_file(folder, OWNER, asked).replace(own / "memory.db")


async def _letting_go(store: OwnedMemory, asked: Asked) -> list[Row]:
    """What a policy costs that lets go of the older half. Searches know of none."""
    policy = DecayPolicy(
        is_enabled=True,
        older_than_s=asked.owned * SECONDS_BETWEEN / 2,
        below_importance=1.0,
        tiers=(Tier.LONG_TERM,),
    )
    dry, real, after = Samples(), Samples(), Samples()
    await store.configure_decay(policy)
    await dry.add(store.run_decay, times=3)
    await real.add(lambda: store.run_decay(dry_run=False))
    gone = (await store.decay_status()).last_deleted
    half = asked.owned // 2
    check(0.9 * half < gone < half + 10, f"{gone} of {asked.owned} were let go, not what is unused")
    corpus = Corpus(seed=17)
    await after.add(lambda: store.search(MemoryQuery(text=corpus.question(WORDS))), times=20)
    name = f"memory, local: decay of half of {asked.size}"
    return [
        Row(name=f"{name}, what it would be", unit="ms", ours=dry.median),
        Row(name=f"{name}, done", unit="ms", ours=real.median),
        Row(name=f"{name}, the next recall", unit="ms", ours=after.times_ms[0]),
        Row(name=f"{name}, recall after that", unit="ms", ours=after.median, spread=after.spread),
    ]
