"""Documents as others use them: through the wire, the RAG agent in a process of its own, beside
what Chroma and the embedder take alone.

Every query is a new one, and its vector is computed. The vectors of the documents are random
directions under the model's name: to embed 100 000 chunks takes a quarter of an hour.
"""

from __future__ import annotations

import asyncio
import shutil
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from bench import memory_peers
from bench.corpus import Corpus
from bench.embedder import local_embedder
from bench.process import running
from bench.row import Goal, Row, Scale, check
from bench.timing import Samples
from spade_llm.rag import Document, DocumentLibrary, Splitting, split
from spade_llm.rag.loading.chunking import HeadingMarkup
from spade_llm.rag.remote import RagClient
from spade_llm.xmpp.agent import XmppAgent

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from bench.account import Account
    from bench.stage import Stage
    from spade_llm.providers import Embedder, MiniLmEmbedder
    from spade_llm.rag import OwnedLibrary

LIBRARIAN = "librarian"
GOAL_SIZES = (10_000, 100_000)
RETRIEVE = Goal(limit=2.5, is_ratio=True)
RATE_GOAL = 0.9
"""Of the embedder's own rate."""
IN_FLIGHT = 8
WORDS = 6
TIMEOUT_S = 60.0
FOLDER = "folder"


class RandomVectors:
    """Directions for documents; a question's are the model's."""

    dimension = 384

    def __init__(self, name: str) -> None:
        self.name = name
        self._random = np.random.default_rng(7)

    async def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        rows = self._random.normal(size=(len(texts), self.dimension)).astype(np.float32)
        return np.asarray(rows / np.linalg.norm(rows, axis=1, keepdims=True), dtype=np.float32)


async def measure(stage: Stage, scale: Scale) -> list[Row]:
    keeper, asker = await stage.account(LIBRARIAN), await stage.account("asker")
    agent = XmppAgent(asker.jid, asker.password, options=asker.options)
    async with running(agent):
        client = RagClient(agent.node.requester, keeper.jid, timeout_s=TIMEOUT_S)
        rows = await _ingesting(stage, keeper, client, scale)
        for size in (10_000, 100_000) if not scale.is_quick else (300,):
            async with local_embedder(keeper.data) as model:
                rows += await _retrieving(stage, keeper, client, asker.jid, size, scale, model)
    return rows


async def _ingesting(stage: Stage, keeper: Account, client: RagClient, scale: Scale) -> list[Row]:
    """A folder by its path, beside the embedder that is given the same passages."""
    corpus = Corpus(seed=5)
    texts = [corpus.document() for _ in range(scale.of(30, quick=4))]
    _clear(keeper)
    folder = keeper.data / "documents" / FOLDER
    folder.mkdir(parents=True)
    for number, text in enumerate(texts):
        (folder / f"{number}.txt").write_text(text)
    alone_ms = await _embedder_ms(keeper.data, texts)
    async with stage.agent("rag", LIBRARIAN):
        await client.retrieve("is it there?")
        began = time.perf_counter()
        report = await client.add_path(FOLDER)
        each_ms = (time.perf_counter() - began) / report.chunks * 1000
    # Before and after: the machine's own speed varies.
    again_ms = await _embedder_ms(keeper.data, texts)
    check(report.added == len(texts), f"{report.added} of {len(texts)} documents were added")
    return [
        Row(
            name="documents: ingest a chunk, by message",
            unit="ms",
            ours=each_ms,
            baseline=(alone_ms + again_ms) / 2 if alone_ms and again_ms else None,
            baseline_name="embedder alone" if alone_ms else "",
            goal=Goal(limit=1 / RATE_GOAL, is_ratio=True),
            note=f"{report.chunks} chunks of 1000 characters",
        )
    ]


async def _embedder_ms(cache: Path, texts: Sequence[str]) -> float | None:
    """For each passage; None without a model."""
    passages = [
        passage.text
        for text in texts
        for passage in split(text, Splitting(), markup=HeadingMarkup.PLAIN)
    ]
    async with local_embedder(cache) as embedder:
        if embedder is None:
            return None
        await embedder.embed(passages[:2])
        began = time.perf_counter()
        await embedder.embed(passages)
        return (time.perf_counter() - began) / len(passages) * 1000


async def _retrieving(
    stage: Stage,
    keeper: Account,
    client: RagClient,
    owner: str,
    size: int,
    scale: Scale,
    model: MiniLmEmbedder | None,
) -> list[Row]:
    corpus, asked = Corpus(seed=11), Samples()
    _clear(keeper)
    stored = await _fill(
        keeper.data / "rag", owner, size, RandomVectors(model.name) if model else None
    )

    async def retrieve() -> None:
        found = await client.retrieve(corpus.question(WORDS))
        check(len(found.chunks) <= 5 and not (model and found.degraded), f"{found.degraded}")

    async with stage.agent("rag", LIBRARIAN) as child:
        began = time.perf_counter()
        await _check(client, Corpus().document())
        first_s = time.perf_counter() - began
        for _ in range(scale.of(5, quick=1)):
            await asked.add(retrieve, times=40)
        resident_mb = await child.resident_mb
    with tempfile.TemporaryDirectory() as folder:
        alone = await memory_peers.chromadb(Path(folder), stored, model)
    goal = RETRIEVE if size in GOAL_SIZES else None
    return [
        Row(
            name=f"documents: retrieve of {size} chunks, by message",
            unit="ms",
            ours=asked.median,
            baseline=alone.median,
            baseline_name="chromadb and the vector",
            goal=goal,
            spread=asked.spread,
            note=f"{stored} are there",
        ),
        Row(name=f"documents: first answer after a start, {size} chunks", unit="s", ours=first_s),
        Row(name=f"documents: process with {size} chunks", unit="MB", ours=resident_mb),
    ]


async def _check(client: RagClient, text: str) -> None:
    """Whoever asks with the words of the first document must find it."""
    found = await client.retrieve(text.partition(".")[0])
    check("0.txt" in {one.chunk.source for one in found.chunks}, "the first document is not found")


async def _fill(folder: Path, owner: str, chunks: int, embedder: Embedder | None) -> int:
    """At least so many; how many."""
    corpus = Corpus()
    async with DocumentLibrary(folder, embedder=embedder) as library:
        mine = library.for_owner(owner)
        stored = await _store(mine, corpus.document(), 0)
        count = -(-chunks // stored)
        numbers = iter(range(1, count))

        async def work() -> int:
            return sum([await _store(mine, corpus.document(), number) for number in numbers])

        return stored + sum(await asyncio.gather(*(work() for _ in range(IN_FLIGHT))))


async def _store(library: OwnedLibrary, text: str, number: int) -> int:
    return (await library.ingest(Document(text=text, source=f"{number}.txt"))).chunks


def _clear(keeper: Account) -> None:
    for name in ("rag", "documents"):
        shutil.rmtree(keeper.data / name, ignore_errors=True)
