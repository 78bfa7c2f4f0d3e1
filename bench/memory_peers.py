"""What others take for a search of as many memories, alone in this process and without a network.

chromadb and numpy by vectors, SQLite FTS5 by words.
"""

from __future__ import annotations

import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING, Any

import numpy as np

from bench.corpus import Corpus
from bench.memory_file import DIMENSION, texts_of, vectors_of
from bench.timing import Samples

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

TIMES = 50
CHROMA_BATCH = 5000
NEAREST = 10
FTS_TABLE = "CREATE VIRTUAL TABLE text USING fts5 (content, tokenize='porter unicode61')"
FTS_SEARCH = "SELECT rowid FROM text WHERE text MATCH ? ORDER BY bm25(text) LIMIT 10"


async def chromadb_ms(folder: Path, count: int) -> float:
    import chromadb

    client = chromadb.PersistentClient(str(folder))
    collection: Any = client.create_collection("bench", embedding_function=None)
    vectors = vectors_of(count)
    for start in range(0, count, CHROMA_BATCH):
        part = vectors[start : start + CHROMA_BATCH]
        ids = [str(start + number) for number in range(len(part))]
        collection.add(ids=ids, embeddings=part)

    async def search() -> object:
        return collection.query(query_embeddings=_query()[None], n_results=NEAREST)

    return await _median(search)


async def fts5_ms(path: Path, count: int, *, words: int) -> float:
    corpus = Corpus(seed=11)
    with closing(sqlite3.connect(path)) as file:
        file.execute(FTS_TABLE)
        file.executemany("INSERT INTO text VALUES (?)", ((text,) for text in texts_of(count)))
        file.execute("INSERT INTO text (text) VALUES ('optimize')")
        file.commit()

        async def search() -> object:
            match = " OR ".join(corpus.question(words).split())
            return file.execute(FTS_SEARCH, (match,)).fetchall()

        return await _median(search)


async def numpy_ms(count: int) -> float:
    vectors = vectors_of(count)

    async def search() -> object:
        scores = vectors @ _query()
        best = np.argpartition(-scores, NEAREST)[:NEAREST]
        return best[np.argsort(-scores[best])]

    return await _median(search)


async def _median(search: Any) -> float:
    samples = Samples()
    await search()
    await samples.add(search, times=TIMES)
    return samples.median


def _query() -> NDArray[np.float32]:
    vector = np.random.default_rng().standard_normal(DIMENSION, np.float32)
    scaled: NDArray[np.float32] = vector / np.linalg.norm(vector)
    return scaled
