"""A memory's file with many entries in it, quickly: written as SQL, indexed at the end.

The texts are invented, the vectors are random directions.
"""

from __future__ import annotations

import os
import sqlite3
import time
from contextlib import closing
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from bench.corpus import Corpus
from spade_llm.memory.database.rows import (
    CONTENT_TYPE_CODES,
    ORIGIN_CODES,
    TIER_CODES,
    TYPE_CODES,
    text_columns,
)
from spade_llm.memory.database.schema import APPLICATION_ID, SCHEMA, SCHEMA_VERSION
from spade_llm.search.memory_query import ContentType, MemoryType, Origin, Tier
from spade_llm.search.vectors import pack_vectors

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from numpy.typing import NDArray

DIMENSION = 384
WORDS = 14
CHUNK = 10_000
SECONDS_BETWEEN = 60

ADD = f"""
    INSERT INTO entry (owner, id, type, tier, content_type, origin, content, content_hash, terms,
        confidence, created_at, updated_at, surprise)
    VALUES (1, :id, {TYPE_CODES.number(MemoryType.SEMANTIC)}, {TIER_CODES.number(Tier.LONG_TERM)},
        {CONTENT_TYPE_CODES.number(ContentType.TEXT)}, {ORIGIN_CODES.number(Origin.TOLD)}, :content,
        :content_hash, :terms, 1.0, :at, :at, 0.5)
"""
ADD_VECTOR = "INSERT INTO vector VALUES (?, 1, ?)"

# Other owners say the same, at the same times.
COPY = """
    INSERT INTO entry (owner, id, type, tier, content_type, origin, content, content_hash, terms,
        confidence, created_at, updated_at, surprise)
    SELECT :owner, randomblob(16), type, tier, content_type, origin, content, content_hash, terms,
        confidence, created_at, updated_at, surprise
    FROM entry WHERE owner = 1 ORDER BY seq
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Filling:
    """What is to be in the file: `owned` entries of the owner, the rest of others, as many each."""

    owner: str
    model: str
    owned: int
    total: int


def filled(folder: Path, filling: Filling) -> Path:
    """A file that is not to be changed: written where it is first asked for."""
    path = folder / f"{filling.owner}-{filling.total}.db"
    if not path.exists():
        folder.mkdir(exist_ok=True)
        write_file(path, filling)
    return path


def write_file(path: Path, filling: Filling) -> None:
    """Takes some 5 s for 100 000, and 10 s more for a million."""
    with closing(sqlite3.connect(path, isolation_level=None)) as file:
        file.execute("PRAGMA journal_mode = WAL")
        file.execute("PRAGMA synchronous = OFF")
        file.execute("BEGIN")
        for statement in SCHEMA:
            if not _comes_last(statement):
                file.execute(statement)
        _fill(file, filling)
        for statement in filter(_comes_last, SCHEMA):
            file.execute(statement)
        file.execute(f"PRAGMA application_id = {APPLICATION_ID}")
        file.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")
        file.execute("COMMIT")
        file.execute("PRAGMA wal_checkpoint (TRUNCATE)")


def clear(folder: Path) -> None:
    """No memory is left there."""
    for left in folder.glob("memory.db*"):
        left.unlink()


def vectors_of(count: int) -> NDArray[np.float32]:
    """Always the same."""
    vectors = np.random.default_rng(7).standard_normal((count, DIMENSION), np.float32)
    scaled: NDArray[np.float32] = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    return scaled


def texts_of(count: int) -> Iterator[str]:
    """Always the same."""
    corpus = Corpus()
    return (corpus.sentence(WORDS) for _ in range(count))


def _comes_last(statement: str) -> bool:
    return statement.split()[1] in {"INDEX", "TRIGGER"}


def _fill(file: sqlite3.Connection, filling: Filling) -> None:
    file.execute("INSERT INTO owner VALUES (1, ?)", (filling.owner,))
    file.execute("INSERT INTO model VALUES (1, ?, ?)", (filling.model, DIMENSION))
    began = (int(time.time()) - filling.owned * SECONDS_BETWEEN) * 1_000_000
    file.executemany(ADD, _entries(filling.owned, began))
    vectors = vectors_of(filling.owned)
    for start in range(0, filling.owned, CHUNK):
        packed = pack_vectors(vectors[start : start + CHUNK])
        keys = range((start + 1) * 2, (start + len(packed) + 1) * 2, 2)
        file.executemany(ADD_VECTOR, zip(keys, packed, strict=True))
    for other in range(1, filling.total // filling.owned):
        file.execute("INSERT INTO owner VALUES (?, ?)", (other + 1, f"other{other}@localhost"))
        file.execute(COPY, {"owner": other + 1})
        file.execute(
            "INSERT INTO vector SELECT row + ?, 1, data FROM vector WHERE row <= ?",
            (other * filling.owned * 2, filling.owned * 2),
        )


def _entries(count: int, began: int) -> Iterator[dict[str, object]]:
    for number, text in enumerate(texts_of(count)):
        at = began + number * SECONDS_BETWEEN * 1_000_000
        yield {"id": os.urandom(16), "at": at, **text_columns(text, None, ())}
