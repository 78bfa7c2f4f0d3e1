"""Copies of vectors in the library's file, a byte a dimension: read in a run when they are asked.

Written with the chunks they are of, in one transaction. To read 100 000 of them takes a quarter
of a second; to read the vectors themselves from Chroma takes many. Knows neither Chroma nor RAM.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from itertools import groupby
from typing import TYPE_CHECKING

import numpy as np

from spade_llm.rag.vector_tables import CHUNKS_OF, EMBEDDED, KEEP_VECTORS, VECTORS
from spade_llm.rag.word_store import pages_of
from spade_llm.text.packed import quantize

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from spade_llm.rag.database import Database


@dataclass(frozen=True, slots=True, kw_only=True)
class VectorCopy:
    """Of one document."""

    ids: bytes
    """Of its chunks, 64 bits each."""
    vectors: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class CopiedPage:
    """Of some documents."""

    ids: NDArray[np.int64]
    values: NDArray[np.int8]
    missing: Mapping[int, Sequence[int]] = field(default_factory=dict)
    """Chunks by document, of those that have no copy yet."""


def vector_copy(ids: Sequence[int], vectors: NDArray[np.float32]) -> VectorCopy:
    return VectorCopy(
        ids=np.asarray(ids, np.int64).tobytes(), vectors=quantize(vectors)[0].tobytes()
    )


class VectorCopies:
    def __init__(self, database: Database) -> None:
        self._database = database

    async def pages(self, namespace: int) -> tuple[Sequence[Sequence[int]], int]:
        """Its documents with vectors, in parts that may be read at once; how many chunks."""
        rows = [(row[0], row[1]) for row in await self._database.read(EMBEDDED, (namespace,))]
        return list(pages_of(rows)), sum(count for _, count in rows)

    async def read(self, documents: Sequence[int], edition: int, dimension: int) -> CopiedPage:
        rows = await self._database.read(VECTORS, (edition, json.dumps(documents)))
        found = [row for row in rows if row[1] is not None]
        missing = [row[0] for row in rows if row[1] is None]
        values = np.frombuffer(b"".join(row[2] for row in found), np.int8)
        return CopiedPage(
            ids=np.frombuffer(b"".join(row[1] for row in found), np.int64),
            values=values.reshape(-1, dimension),
            missing=await self._chunks(missing) if missing else {},
        )

    async def keep(self, edition: int, copies: Mapping[int, VectorCopy]) -> None:
        """By document: those that were made of what was stored without."""
        async with self._database.transaction() as writer:
            for document, copy in copies.items():
                (first,) = np.frombuffer(copy.ids, np.int64, 1).tolist()
                values = (document, edition, copy.ids, copy.vectors, first)
                await writer.execute(KEEP_VECTORS, values)

    async def _chunks(self, documents: Sequence[int]) -> Mapping[int, Sequence[int]]:
        rows = await self._database.read(CHUNKS_OF, (json.dumps(documents),))
        return {
            document: [row[1] for row in its] for document, its in groupby(rows, lambda row: row[0])
        }
