"""The vectors' part of a search: which chunks of a namespace are nearest to a question.

The index may hold vectors of chunks that are not there yet, or not any more, and the same text
many times: then more is asked for, until enough is found that counts. Knows no words.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import numpy as np

from spade_llm.text.row_of import NO_ROW

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from spade_llm.rag.chroma_index import Shelf
    from spade_llm.rag.word_index import WordIndex

    Vector = NDArray[np.float32]

POOL = 40
"""Candidates of each leg."""
ENOUGH = 20
"""Different texts among them: as many as can be asked for."""
MAX_NEAR = 2560
"""However many of them are not wanted, no more are looked at."""
TIMEOUT_S = 3.0


class VectorIndex(Protocol):
    """What is asked of the vectors."""

    async def nearest(
        self, shelf: Shelf, vector: Vector, limit: int, *, among: Sequence[int] | None = None
    ) -> Mapping[int, float]:
        """Ids with their cosine, nearest first; of `among`, if given."""
        ...

    async def cosines(
        self, shelf: Shelf, vector: Vector, ids: Sequence[int]
    ) -> Mapping[int, float]:
        """Those without a vector are left out."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Near:
    cosines: Mapping[int, float]
    is_all: bool
    """Nothing else of the namespace has a vector."""

    @property
    def floor(self) -> float:
        """Nothing else is nearer than this."""
        return min(self.cosines.values(), default=-1.0)


async def nearest(
    index: VectorIndex,
    shelf: Shelf,
    vector: Vector,
    *,
    words: WordIndex,
    allowed: NDArray[np.bool_] | None,
    pool: int = POOL,
) -> Near:
    """Raises StorageFailed, TimeoutError."""
    among = None if allowed is None else words.ids[allowed].tolist()
    limit = pool
    async with asyncio.timeout(TIMEOUT_S):
        while True:
            found = await index.nearest(shelf, vector, limit, among=among)
            is_all = len(found) < limit
            if is_all or limit >= MAX_NEAR or _texts(words, list(found)) >= min(ENOUGH, pool // 2):
                return Near(cosines=found, is_all=is_all)
            limit *= 8


def _texts(words: WordIndex, ids: Sequence[int]) -> int:
    rows = words.rows_of(ids)
    return len(np.unique(words.texts[rows[rows != NO_ROW]]))
