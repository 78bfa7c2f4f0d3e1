"""Searches of one owner's memories in every mode, near or far, beside what others take for them.

What is found is checked: a text by its own words, and by meaning nearly what an exact scan finds.
"""

from __future__ import annotations

import os
import shutil
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from bench.beside import beside
from bench.corpus import Corpus
from bench.memory_file import Filling, filled, texts_of, vectors_of
from bench.memory_peers import BOTH, CHROMADB, FTS5, NUMPY, WORDS, searching
from bench.row import Goal, Row, Scale, check
from bench.timing import Samples
from spade_llm.search.memory_query import MemoryQuery, SearchMode

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from spade_llm.memory.contract import MemoryStore
    from spade_llm.providers import MiniLmEmbedder

SIZES, QUICK_SIZES = (1_000, 10_000, 100_000, 1_000_000), (1_000,)
MEMORIES = "SPADE_LLM_BENCH_MEMORIES"
"""Other sizes, with commas: to measure in pieces. A million takes as long as all others."""
OWNED_AT_MOST = 100_000
FOUND = 10
ALIKE = 0.5
"""Of the ten nearest by an exact scan, on average: random directions differ so little that eight
bits change their order (0.66 was seen). Of clustered ones ten of ten were found."""
CHECKED = 5
PEERS = {
    SearchMode.SEMANTIC: (CHROMADB, NUMPY),
    SearchMode.KEYWORD: (FTS5,),
    SearchMode.HYBRID: (BOTH,),
    SearchMode.RECALL: (BOTH,),
}
LEFT_OUT = "chromadb left out: its index of a million takes minutes to build"


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """How memories are asked: so many, whose, and with which embedder the peers are."""

    size: int
    embedder: MiniLmEmbedder | None
    scale: Scale

    @property
    def owned(self) -> int:
        return min(self.size, OWNED_AT_MOST)

    @property
    def peers_are_whole(self) -> bool:
        return self.size == self.owned


def sizes(scale: Scale) -> tuple[int, ...]:
    chosen = tuple(int(one) for one in os.environ.get(MEMORIES, "").split(",") if one)
    return QUICK_SIZES if scale.is_quick else chosen or SIZES


def put_file(folder: Path, owner: str, asked: Asked) -> Path:
    """The memories, as a file of this folder."""
    model = asked.embedder.name if asked.embedder else "none"
    filling = Filling(owner=owner, model=model, owned=asked.owned, total=asked.size)
    path = folder / "memory.db"
    shutil.copyfile(filled(folder / "filled", filling), path)
    return path


async def samples_of(store: MemoryStore, asked: Asked) -> dict[SearchMode, Samples]:
    """All modes in turn, so that each has the same of what the machine does meanwhile."""
    await _check(store, asked)
    corpus = Corpus(seed=asked.size)

    async def search(mode: SearchMode) -> None:
        query = MemoryQuery(text=corpus.question(WORDS), mode=mode, limit=FOUND)
        found = await store.search(query)
        check(0 < len(found.hits) <= FOUND, f"{mode}: {len(found.hits)} hits, {found.outcome}")

    modes = {mode: Samples() for mode in SearchMode}
    for _ in range(asked.scale.of(5, quick=1)):
        for mode, samples in modes.items():
            await samples.add(lambda mode=mode: search(mode), times=asked.scale.of(30, quick=10))  # type: ignore[misc]
    return modes


async def rows_of(
    label: str,
    modes: Mapping[SearchMode, Samples],
    asked: Asked,
    goals: Mapping[int, float] | None = None,
) -> list[Row]:
    """A row for each mode and each of its peers."""
    goals = goals or {}
    peers = await searching(asked.owned, asked.size, asked.embedder, is_quick=asked.scale.is_quick)
    goal = Goal(limit=goals[asked.size], is_ratio=True) if asked.size in goals else None
    rows = [
        beside(
            f"{label} {asked.size}, {mode.value}",
            samples.median,
            {name: peers[name].median for name in PEERS[mode] if name in peers},
            spread=samples.spread,
            goal=goal,
            note="" if asked.peers_are_whole or mode is SearchMode.KEYWORD else LEFT_OUT,
        )
        for mode, samples in modes.items()
    ]
    return [row for several in rows for row in several]


async def _check(store: MemoryStore, asked: Asked) -> None:
    texts = list(texts_of(asked.owned))
    for mode in (SearchMode.KEYWORD, SearchMode.HYBRID, SearchMode.RECALL):
        found = await _texts(store, texts[asked.owned // 2], mode)
        check(texts[asked.owned // 2] in found, f"{mode} does not find a text by its words")
    if asked.embedder is not None:
        alike = await _alike(store, asked, asked.embedder, texts)
        check(alike >= ALIKE, f"{alike:.2f} of what is nearest is found by meaning")


async def _alike(
    store: MemoryStore, asked: Asked, embedder: MiniLmEmbedder, texts: list[str]
) -> float:
    corpus, vectors, shared = Corpus(seed=asked.size + 1), vectors_of(len(texts)), 0
    for _ in range(CHECKED):
        question = corpus.question(WORDS)
        scores = vectors @ (await embedder.embed([question]))[0]
        nearest = {texts[row] for row in np.argpartition(-scores, FOUND)[:FOUND]}
        shared += len(nearest & set(await _texts(store, question, SearchMode.SEMANTIC)))
    return shared / FOUND / CHECKED


async def _texts(store: MemoryStore, question: str, mode: SearchMode) -> list[str]:
    found = await store.search(MemoryQuery(text=question, mode=mode, limit=FOUND))
    return [hit.entry.content for hit in found.hits]
