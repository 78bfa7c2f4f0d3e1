"""What others take for as many memories, alone in this process and without a network.

chromadb and numpy by vectors, SQLite FTS5 by words, chromadb and FTS5 one after the other for both.
A question comes as text: its vector is computed by the same embedder as ours, where there is one,
and a search ends with texts. Each finds a known text first, or it is a wrong answer. Measured once
in a run.
"""

from __future__ import annotations

import sqlite3
import tempfile
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from bench.corpus import Corpus
from bench.locomo_baselines import any_word
from bench.memory_file import DIMENSION, texts_of, vectors_of
from bench.row import check
from bench.timing import Samples

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

    from numpy.typing import NDArray

    from bench.row import Scale
    from spade_llm.providers import MiniLmEmbedder

    Vector = NDArray[np.float32]

TIMES, TIMES_OF_MANY = 40, 10
"""Questions; and of a million, of which FTS5 takes half a second."""
CHROMA_BATCH = 5000
CHROMA_AT_MOST = 100_000
"""It takes 20 s to build; a million takes minutes."""
NEAREST = 10
WORDS = 6
BATCH = 100
OWNER, OTHERS = 1, 2
SYNCED = ("PRAGMA journal_mode = WAL", "PRAGMA synchronous = FULL")
FTS_TABLE = """
    CREATE VIRTUAL TABLE text USING fts5 (content, owner UNINDEXED, tokenize='porter unicode61')
"""
FTS_ADD = "INSERT INTO text VALUES (?, ?)"
FTS_COPY = "INSERT INTO text SELECT content, ? FROM text WHERE owner = 1"
FTS_SEARCH = """
    SELECT content FROM text WHERE text MATCH ? AND owner = 1 ORDER BY bm25(text) LIMIT 10
"""

Searching = dict[str, Samples]
"""By the peer's name."""
CHROMADB, NUMPY, FTS5, BOTH = "chromadb", "numpy", "FTS5", "chromadb and FTS5"


@dataclass(frozen=True, slots=True, kw_only=True)
class Writing:
    """Milliseconds for a memory, by the peer's name: one at a time, and in batches of BATCH."""

    one: dict[str, float]
    batch: dict[str, float]


_corpus = Corpus(seed=19)
_searched: dict[tuple[int, bool], Searching] = {}
_written: list[Writing] = []


async def searching(
    owned: int, total: int, embedder: MiniLmEmbedder | None, *, is_quick: bool
) -> Searching:
    """One owner's `owned` of `total`; each search is of that owner's alone."""
    key = (total, embedder is not None)
    if key not in _searched:
        with tempfile.TemporaryDirectory(prefix="peers-") as folder:
            _searched[key] = await _searching(Path(folder), owned, total, embedder, is_quick)
    return _searched[key]


async def writing(scale: Scale) -> Writing:
    if not _written:
        with tempfile.TemporaryDirectory(prefix="peers-") as folder:
            _written.append(await _writing(Path(folder), scale))
    return _written[0]


async def chromadb(folder: Path, count: int, embedder: MiniLmEmbedder | None) -> Samples:
    """Of random directions, as many."""
    texts = list(texts_of(count))
    collection = _chroma(folder, texts, vectors_of(count))
    return await _sampled(lambda text: _by_chroma(collection, texts, text, embedder), TIMES)


async def _searching(
    folder: Path, owned: int, total: int, embedder: MiniLmEmbedder | None, is_quick: bool
) -> Searching:
    texts, vectors = list(texts_of(owned)), vectors_of(owned)
    times = 10 if is_quick else TIMES if total == owned else TIMES_OF_MANY
    found = {NUMPY: await _by_numpy_samples(texts, vectors, total, embedder, times)}
    with closing(sqlite3.connect(folder / "fts")) as file:
        _fill_fts(file, texts, total)
        found[FTS5] = await _sampled(lambda text: _by_fts(file, text), times)
        if total <= CHROMA_AT_MOST:
            collection = _chroma(folder / "chroma", texts, vectors)

            async def both(text: str) -> object:
                near = await _by_chroma(collection, texts, text, embedder)
                return _fused(near, await _by_fts(file, text))

            found[CHROMADB] = await _sampled(
                lambda text: _by_chroma(collection, texts, text, embedder), times
            )
            found[BOTH] = await _sampled(both, times)
    return found


async def _by_numpy_samples(
    texts: Sequence[str], vectors: Vector, total: int, embedder: MiniLmEmbedder | None, times: int
) -> Samples:
    """All cosines, then those of others out."""
    many = np.tile(vectors, (total // len(vectors), 1))
    others = np.arange(total) >= len(vectors)

    def nearest(vector: Vector) -> list[str]:
        scores = many @ vector
        scores[others] = -1
        best = np.argpartition(-scores, NEAREST)[:NEAREST]
        return [texts[row] for row in best[np.argsort(-scores[best])]]

    async def search(text: str) -> object:
        return nearest(await _vector(text, embedder))

    check(nearest(vectors[0])[0] == texts[0], "numpy does not find a vector by itself")
    return await _sampled(search, times)


def _chroma(folder: Path, texts: Sequence[str], vectors: Vector) -> Any:
    """Without the texts: to index their words, too, would take several times as long."""
    collection = _new_chroma(folder)
    for start in range(0, len(texts), CHROMA_BATCH):
        part = slice(start, start + CHROMA_BATCH)
        ids = [str(number) for number in range(len(texts))[part]]
        collection.add(ids=ids, embeddings=vectors[part])
    found = collection.query(query_embeddings=vectors[:1], n_results=NEAREST)
    check("0" in found["ids"][0], "chromadb does not find a vector by itself")
    return collection


def _new_chroma(folder: Path) -> Any:
    """By cosine; our vectors, because its own embedder is fetched from elsewhere."""
    import chromadb

    client = chromadb.PersistentClient(str(folder))
    return client.create_collection(
        "bench", embedding_function=None, configuration={"hnsw": {"space": "cosine"}}
    )


async def _by_chroma(
    collection: Any, texts: Sequence[str], text: str, embedder: MiniLmEmbedder | None
) -> list[str]:
    vector = await _vector(text, embedder)
    found = collection.query(query_embeddings=vector[None], n_results=NEAREST, include=[])
    check(len(found["ids"][0]) == NEAREST, "chromadb finds too little")
    return [texts[int(one)] for one in found["ids"][0]]


def _fill_fts(file: sqlite3.Connection, texts: Sequence[str], total: int) -> None:
    """Other owners have the same texts."""
    file.execute(FTS_TABLE)
    file.executemany(FTS_ADD, ((text, OWNER) for text in texts))
    for other in range(1, total // len(texts)):
        file.execute(FTS_COPY, (OTHERS + other,))
    if total == len(texts):
        file.execute("INSERT INTO text (text) VALUES ('optimize')")
    file.commit()
    every = " AND ".join(texts[0].split())
    check(texts[0] in {text for (text,) in file.execute(FTS_SEARCH, (every,))}, "FTS5 lost a text")


async def _by_fts(file: sqlite3.Connection, text: str) -> list[str]:
    return [found for (found,) in file.execute(FTS_SEARCH, (any_word(text),))]


def _fused(*found: Sequence[str]) -> list[str]:
    """By reciprocal ranks, as is usual."""
    scores: dict[str, float] = {}
    for one in found:
        for rank, text in enumerate(one):
            scores[text] = scores.get(text, 0) + 1 / (60 + rank)
    return sorted(scores, key=lambda text: -scores[text])[:NEAREST]


async def _sampled(search: Callable[[str], Awaitable[object]], times: int) -> Samples:
    """Each question is a new one, also to the embedder, which remembers some."""
    samples = Samples()
    await search(_corpus.question(WORDS))
    await samples.add(lambda: search(_corpus.question(WORDS)), times=times)
    return samples


async def _vector(text: str, embedder: MiniLmEmbedder | None) -> Vector:
    """Without an embedder, some direction."""
    if embedder is not None:
        return (await embedder.embed([text])).reshape(-1)
    vector = np.random.default_rng().standard_normal(DIMENSION, np.float32)
    scaled: Vector = vector / np.linalg.norm(vector)
    return scaled


async def _writing(folder: Path, scale: Scale) -> Writing:
    """Texts as long as ours; chromadb is given their vectors, too."""
    ones, batches = scale.of(60, quick=5), scale.of(10, quick=1)
    count = ones + batches * BATCH
    texts, vectors = list(texts_of(count)), vectors_of(count)
    parts = [slice(at, at + 1) for at in range(ones)]
    many = [slice(at, at + BATCH) for at in range(ones, count, BATCH)]
    collection = _new_chroma(folder / "chroma")

    async def to_chroma(part: slice) -> None:
        ids = [str(number) for number in range(count)[part]]
        collection.add(ids=ids, embeddings=vectors[part], documents=texts[part])

    with closing(sqlite3.connect(folder / "fts")) as file:
        for statement in (*SYNCED, FTS_TABLE):
            file.execute(statement)

        async def to_fts(part: slice) -> None:
            file.executemany(FTS_ADD, ((text, OWNER) for text in texts[part]))
            file.commit()

        ways = {FTS5: to_fts, CHROMADB: to_chroma}
        found = Writing(
            one={name: await _each(way, parts) for name, way in ways.items()},
            batch={name: await _each(way, many) / BATCH for name, way in ways.items()},
        )
        (rows,) = file.execute("SELECT count(*) FROM text").fetchone()
    check(rows == collection.count() == count, f"FTS5 has {rows} of {count}, or chromadb has less")
    return found


async def _each(write: Callable[[slice], Awaitable[object]], parts: Sequence[slice]) -> float:
    samples, left = Samples(), iter(parts)
    await samples.add(lambda: write(next(left)), times=len(parts))
    return samples.median
