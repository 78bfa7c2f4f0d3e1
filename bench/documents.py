"""The document library, without a network; random vectors stand for the embedder."""

from __future__ import annotations

import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from bench.corpus import Corpus
from bench.row import Row, Scale, check
from bench.timing import Samples
from spade_llm.rag import Document, DocumentLibrary

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from bench.stage import Stage
    from spade_llm.rag import OwnedLibrary


class RandomVectors:
    name = "random/384"
    dimension = 384

    def __init__(self) -> None:
        self._random = np.random.default_rng(7)

    async def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        rows = self._random.normal(size=(len(texts), self.dimension)).astype(np.float32)
        return np.asarray(rows / np.linalg.norm(rows, axis=1, keepdims=True), dtype=np.float32)


async def measure(_stage: Stage, scale: Scale) -> list[Row]:
    chunks = scale.of(10_000, quick=300)
    words = await _library("words only", chunks, None)
    return [*words, *await _library("words and vectors", chunks, RandomVectors())]


async def _library(kind: str, chunks: int, embedder: RandomVectors | None) -> list[Row]:
    corpus, asked = Corpus(), Samples()
    with tempfile.TemporaryDirectory() as folder:
        async with DocumentLibrary(Path(folder), embedder=embedder) as library:
            mine = library.for_owner("bench@localhost")
            began = time.perf_counter()
            stored = await _fill(mine, corpus, chunks)
            each_ms = (time.perf_counter() - began) / stored * 1000
            await _check(mine, Corpus().document())
            await asked.add(lambda: mine.retrieve(corpus.question()), times=100)
    return [
        Row(name=f"documents, {kind}: ingest a chunk", unit="ms", ours=each_ms),
        Row(
            name=f"… retrieve of {stored} chunks",
            unit="ms",
            ours=asked.median,
            note=asked.spread,
        ),
    ]


async def _check(library: OwnedLibrary, text: str) -> None:
    """Whoever asks with the words of the first document must find it."""
    found = await library.retrieve(text.partition(".")[0])
    check("0.txt" in {one.chunk.source for one in found.chunks}, "the first document is not found")


async def _fill(library: OwnedLibrary, corpus: Corpus, chunks: int) -> int:
    stored = 0
    while stored < chunks:
        document = Document(text=corpus.document(), source=f"{stored}.txt")
        stored += (await library.ingest(document)).chunks
    return stored
