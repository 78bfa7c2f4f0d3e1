"""The memory as others use it: through the wire, in a process of its own, beside what others take.

Every query is a new one, and its vector is computed.
"""

from __future__ import annotations

import asyncio
import os
import time
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
from bench.memory_file import clear
from bench.memory_peers import BATCH, WORDS, writing
from bench.process import running
from bench.row import Goal, Row, Scale, check
from bench.timing import Samples
from spade_llm.memory import MemoryDraft
from spade_llm.memory.remote import MemoryClient
from spade_llm.search.memory_query import MemoryQuery
from spade_llm.xmpp.agent import XmppAgent

if TYPE_CHECKING:
    from pathlib import Path

    from bench.account import Account
    from bench.stage import Stage

KEEPER = "keeper"
IN_FLIGHT = 32
GOALS = {10_000: 2.0, 100_000: 1.0, 1_000_000: 0.25}
"""Maximum ratio of a search by message to the first baseline, by number of memories."""
TIMEOUT_S = 60.0


async def measure(stage: Stage, scale: Scale) -> list[Row]:
    keeper, asker = await stage.account(KEEPER), await stage.account("asker")
    agent = XmppAgent(asker.jid, asker.password, options=asker.options)
    async with running(agent):
        client = MemoryClient(agent.node.requester, keeper.jid, timeout_s=TIMEOUT_S)
        rows = await _writing(stage, keeper, client, scale)
        async with local_embedder(keeper.data) as embedder:
            for size in sizes(scale):
                asked = Asked(size=size, embedder=embedder, scale=scale)
                rows += await _searching(stage, keeper, client, asker.jid, asked)
    return rows


async def _writing(stage: Stage, keeper: Account, client: MemoryClient, scale: Scale) -> list[Row]:
    corpus = Corpus(seed=5)
    one, many, batch, sync = Samples(), Samples(), Samples(), Samples()

    async def add() -> None:
        await client.add(MemoryDraft(content=corpus.sentence(14)))

    async def add_batch() -> None:
        await client.add_many([MemoryDraft(content=corpus.sentence(14)) for _ in range(BATCH)])

    clear(keeper.data)
    async with stage.agent("memory", KEEPER):
        await add()
        for _ in range(scale.of(3, quick=1)):
            await sync.add(lambda: _sync(keeper.data), times=scale.of(40, quick=10))
            await one.add(add, times=scale.of(40, quick=10))
            await many.add_mean(add, times=scale.of(600, quick=64), in_flight=IN_FLIGHT)
            await batch.add_mean(add_batch, times=scale.of(20, quick=2), in_flight=4)
        stats = await client.stats()
    added = sum(stats.by_type.values())
    wanted = 1 + scale.of(3, quick=1) * (
        scale.of(40, quick=10) + scale.of(600, quick=64) + BATCH * scale.of(20, quick=2)
    )
    check(added == wanted, f"{added} memories are there, {wanted} were added")
    size = (keeper.data / "memory.db").stat().st_size
    vectors = (added - stats.without_vector) * 396
    peers = await writing(scale)
    return [
        *beside(
            f"memory: store, {IN_FLIGHT} in flight, each",
            many.median,
            peers.one,
            goal=Goal(limit=3.0, is_ratio=True),
            note=f"{1000 / many.median:.0f} per s, synced",
        ),
        *beside(
            "memory: store, one at a time",
            one.median,
            peers.one,
            spread=one.spread,
        ),
        Row(
            name="memory: store, one at a time, beyond the disk's sync",
            unit="ms",
            ours=one.median - sync.median,
            goal=Goal(limit=4),
            note=f"the sync {sync.median:.2f}",
        ),
        *beside(
            f"memory: batches of {BATCH}, each memory",
            batch.median / BATCH,
            peers.batch,
            goal=Goal(limit=15.0, is_ratio=True),
            note=f"{1000 * BATCH / batch.median:.0f} per s",
        ),
        Row(
            name="memory: on disk, without its vector",
            unit="bytes",
            ours=(size - vectors) / added,
            goal=Goal(limit=400),
            note=f"text of 100; {added} memories",
        ),
    ]


async def _sync(folder: Path) -> None:
    """What one commit costs the disk at least."""
    with (folder / "sync").open("ab", buffering=0) as file:
        file.write(b"x" * 4096)
        os.fdatasync(file.fileno())


async def _searching(
    stage: Stage, keeper: Account, client: MemoryClient, owner: str, asked: Asked
) -> list[Row]:
    clear(keeper.data)
    await asyncio.to_thread(put_file, keeper.data, owner, asked)
    began = time.perf_counter()
    async with stage.agent("memory", KEEPER) as child:
        await client.search(MemoryQuery(text=Corpus(seed=11).question(WORDS), limit=10))
        first_s = time.perf_counter() - began
        modes = await samples_of(client, asked)
        resident_mb = await child.resident_mb
    is_goal = asked.size == OWNED_AT_MOST
    label = f"memory: search {asked.size}"
    return [
        *await rows_of("memory: search", modes, asked, GOALS),
        Row(
            name=f"{label}, start to first answer",
            unit="s",
            ours=first_s,
            goal=Goal(limit=1.5) if is_goal else None,
        ),
        Row(
            name=f"{label}, its process",
            unit="MB",
            ours=resident_mb,
            goal=Goal(limit=400) if is_goal else None,
        ),
    ]
