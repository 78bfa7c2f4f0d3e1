"""The memory as others use it: through the wire, in a process of its own, beside what others take.

Every query is a new one, and its vector is computed.
"""

from __future__ import annotations

import asyncio
import os
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

from bench import memory_peers
from bench.corpus import Corpus
from bench.memory_file import Filling, write_file
from bench.process import running
from bench.row import Goal, Row, Scale, check
from bench.timing import Samples
from spade_llm.memory import MemoryDraft
from spade_llm.memory.store import MemoryQuery, SearchMode
from spade_llm.providers import MiniLmEmbedder, find_weights
from spade_llm.services.memory import MemoryClient
from spade_llm.xmpp.agent import XmppAgent

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bench.account import Account
    from bench.stage import Stage

KEEPER = "keeper"
IN_FLIGHT = 32
BATCH = 100
WORDS = 6
OWNED_AT_MOST = 100_000
GOALS_MS = {10_000: 5, 100_000: 8, 1_000_000: 25}
TIMEOUT_S = 60.0


async def measure(stage: Stage, scale: Scale) -> list[Row]:
    keeper, asker = await stage.account(KEEPER), await stage.account("asker")
    agent = XmppAgent(asker.jid, asker.password, options=asker.options)
    async with running(agent):
        client = MemoryClient(agent.node.requester, keeper.jid, timeout_s=TIMEOUT_S)
        rows = await _writing(stage, keeper, client, scale)
        sizes = (10_000, 100_000, 1_000_000) if not scale.is_quick else (1000,)
        for size in sizes:
            rows += await _searching(stage, keeper, client, asker.jid, size, scale)
    return rows


async def _writing(stage: Stage, keeper: Account, client: MemoryClient, scale: Scale) -> list[Row]:
    corpus = Corpus(seed=5)
    one, many, batch, sync = Samples(), Samples(), Samples(), Samples()

    async def add() -> None:
        await client.add(MemoryDraft(content=corpus.sentence(14)))

    async def add_batch() -> None:
        await client.add_many([MemoryDraft(content=corpus.sentence(14)) for _ in range(BATCH)])

    _clear(keeper)
    async with stage.agent("memory", KEEPER):
        await add()
        for _ in range(scale.of(5, quick=1)):
            await sync.add(lambda: _sync(keeper.data), times=40)
            await one.add(add, times=40)
            await many.add_mean(add, times=scale.of(1000, quick=100), in_flight=IN_FLIGHT)
            await batch.add_mean(add_batch, times=scale.of(50, quick=4), in_flight=4)
        stats = await client.stats()
    added = sum(stats.by_type.values())
    wanted = 1 + scale.of(5, quick=1) * (
        40 + scale.of(1000, quick=100) + BATCH * scale.of(50, quick=4)
    )
    check(added == wanted, f"{added} memories are there, {wanted} were added")
    size = (keeper.data / "memory.db").stat().st_size
    vectors = (added - stats.without_vector) * 396
    return [
        Row(
            name=f"memory: store, {IN_FLIGHT} in flight, each",
            unit="ms",
            ours=many.median,
            goal=Goal(limit=1000 / 800),
            note=f"{1000 / many.median:.0f} per s, synced",
        ),
        Row(
            name="… one at a time, beyond the disk's sync",
            unit="ms",
            ours=one.median - sync.median,
            goal=Goal(limit=4),
            spread=one.spread,
            note=f"{one.median:.2f} with it ({sync.median:.2f})",
        ),
        Row(
            name=f"… batches of {BATCH}, each memory",
            unit="ms",
            ours=batch.median / BATCH,
            goal=Goal(limit=1000 / 5000),
            note=f"{1000 * BATCH / batch.median:.0f} per s",
        ),
        Row(
            name="… on disk, without its vector",
            unit="bytes",
            ours=(size - vectors) / added,
            goal=Goal(limit=400),
            note=f"text of 100; {added} memories",
        ),
    ]


def _clear(keeper: Account) -> None:
    for left in keeper.data.glob("memory.db*"):
        left.unlink()


async def _sync(folder: Path) -> None:
    """What one commit costs the disk at least."""
    with (folder / "sync").open("ab", buffering=0) as file:
        file.write(b"x" * 4096)
        os.fdatasync(file.fileno())


async def _searching(
    stage: Stage, keeper: Account, client: MemoryClient, owner: str, size: int, scale: Scale
) -> list[Row]:
    name = await _model(keeper.data)
    owned = min(size, OWNED_AT_MOST)
    filling = Filling(owner=owner, model=name, owned=owned, total=size)
    corpus = Corpus(seed=11)

    async def search(mode: SearchMode) -> None:
        query = MemoryQuery(text=corpus.question(WORDS), mode=mode, limit=10)
        found = await client.search(query)
        check(0 < len(found.hits) <= 10, f"{mode}: {len(found.hits)} hits, {found.outcome}")

    _clear(keeper)
    await asyncio.to_thread(write_file, keeper.data / "memory.db", filling)
    began = time.perf_counter()
    async with stage.agent("memory", KEEPER) as child:
        await search(SearchMode.RECALL)
        first_s = time.perf_counter() - began
        modes = {mode: Samples() for mode in SearchMode}
        for _ in range(scale.of(5, quick=1)):
            for mode, samples in modes.items():
                await samples.add(lambda mode=mode: search(mode), times=40)  # type: ignore[misc]
        resident_mb = await child.resident_mb
    goal = Goal(limit=GOALS_MS[size]) if size in GOALS_MS else None
    rows = [
        Row(
            name=f"memory: search {size}, {mode.value}",
            unit="ms",
            ours=samples.median,
            goal=goal,
            spread=samples.spread,
        )
        for mode, samples in modes.items()
    ]
    is_goal = size == OWNED_AT_MOST
    return [
        *rows,
        Row(
            name="… start to first answer",
            unit="s",
            ours=first_s,
            goal=Goal(limit=1.5) if is_goal else None,
        ),
        Row(
            name="… its process",
            unit="MB",
            ours=resident_mb,
            goal=Goal(limit=400) if is_goal else None,
        ),
        *await _peers(size),
    ]


async def _peers(size: int) -> Sequence[Row]:
    """What others take, without a network and without the query's vector."""
    with tempfile.TemporaryDirectory() as folder:
        found = {
            "numpy, vectors": await memory_peers.numpy_ms(size),
            "FTS5, 6 words": await memory_peers.fts5_ms(Path(folder) / "f", size, words=WORDS),
        }
        if size <= OWNED_AT_MOST:
            found["chromadb, vectors"] = await memory_peers.chromadb_ms(Path(folder) / "c", size)
    return [Row(name=f"… alone, no wire: {name}", unit="ms", ours=ms) for name, ms in found.items()]


async def _model(cache: Path) -> str:
    """The name under which the agent keeps its vectors."""
    weights = find_weights(cache)
    if weights is None:
        return "none"
    async with await MiniLmEmbedder.load(weights, cache=cache) as embedder:
        return embedder.name
