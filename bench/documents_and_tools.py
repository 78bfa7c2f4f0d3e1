"""Figures of the document library and the toolbox, without a network.

Run it with `python -m bench.documents_and_tools`.

Fixed seeds; random vectors stand for the embedder, whose own speed is measured elsewhere.
"""

from __future__ import annotations

import argparse
import asyncio
import random
import statistics
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from spade_llm.rag import Document, DocumentLibrary
from spade_llm.tools import LocalToolbox, builtin_tools, tool
from spade_llm.tools.calculator import calculate

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

    from numpy.typing import NDArray

OWNER = "bench@localhost"
WORDS_PER_DOCUMENT = 650
CHUNKS_PER_DOCUMENT = 6


class RandomVectors:
    name = "random/384"
    dimension = 384

    def __init__(self) -> None:
        self._random = np.random.default_rng(7)

    async def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        rows = self._random.normal(size=(len(texts), self.dimension)).astype(np.float32)
        return np.asarray(rows / np.linalg.norm(rows, axis=1, keepdims=True), dtype=np.float32)


class Corpus:
    """Documents of invented words, a few common and most rare, as in real text."""

    def __init__(self) -> None:
        self._random = random.Random(7)
        self._words = [self._word() for _ in range(8000)]
        self._weights = [1 / (rank + 3) for rank in range(8000)]

    def text(self) -> str:
        words = self._random.choices(self._words, self._weights, k=WORDS_PER_DOCUMENT)
        return ". ".join(" ".join(words[i : i + 12]) for i in range(0, len(words), 12))

    def question(self) -> str:
        return " ".join(self._random.choices(self._words[20:], self._weights[20:], k=6))

    def _word(self) -> str:
        return "".join(self._random.choices("bcdfglmnprstaeiou", k=self._random.randint(4, 10)))


async def median_ms(call: Callable[[], Awaitable[object]], *, times: int) -> float:
    taken = []
    for _ in range(times):
        began = time.perf_counter()
        await call()
        taken.append(time.perf_counter() - began)
    return statistics.median(taken) * 1000


async def documents(*, chunks: int, with_vectors: bool) -> None:
    corpus = Corpus()
    embedder = RandomVectors() if with_vectors else None
    with tempfile.TemporaryDirectory() as directory:
        async with DocumentLibrary(Path(directory), embedder=embedder) as library:
            mine = library.for_owner(OWNER)
            began, stored, characters = time.perf_counter(), 0, 0
            while stored < chunks:
                text = corpus.text()
                done = await mine.ingest(Document(text=text, source=f"{stored}.txt"))
                stored, characters = stored + done.chunks, characters + len(text)
            seconds = time.perf_counter() - began
            ask = await median_ms(lambda: mine.retrieve(corpus.question()), times=200)
    kind = "vectors + words" if with_vectors else "words only"
    print(
        f"{kind:16} {stored:7} chunks: ingest {stored / seconds:6.0f} chunks/s "
        f"({characters / seconds / 1e6:.1f} MB/s), retrieve p50 {ask:.2f} ms"
    )


@tool
async def nothing() -> str:
    """Nothing."""
    return ""


async def tools() -> None:
    box = LocalToolbox([*builtin_tools(), nothing])
    expression = "(17.5 - 3) * 2 ** 10 + sqrt(144) / 7"
    began = time.perf_counter()
    for _ in range(2000):
        calculate(expression)
    print(f"calculate          {(time.perf_counter() - began) / 2000 * 1e6:6.0f} µs")
    for name, arguments in (
        ("nothing", {}),
        ("calculator", {"expression": "1 + 1"}),
        ("get_current_datetime", {"timezone": "Europe/Madrid"}),
    ):
        taken = await median_ms(lambda n=name, a=arguments: box.call(n, a), times=1000)  # type: ignore[misc]
        print(f"call {name:20} {taken * 1000:6.0f} µs")


async def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--chunks", type=int, default=10_000)
    chunks = parser.parse_args().chunks
    await tools()
    await documents(chunks=chunks, with_vectors=False)
    await documents(chunks=chunks, with_vectors=True)


if __name__ == "__main__":
    asyncio.run(main())
