"""Vector index of document passages in RAM: nearest neighbours by cosine."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from spade_llm.search.arrays import NO_ROW, GrowableArray, KeyIndex, top_k
from spade_llm.search.vectors import QuantizedVectors, quantize_vectors

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

EXACT_ROWS = 8192
"""Up to these all cosines are computed: 0.4 ms."""
COMPUTED_ROWS = 1024
"""Else those of the best by their sketches."""
VECTOR_REBUILD_ROWS = 1024


class PassageVectors:
    """Vectors by chunk id, quantized to int8: the error of a cosine is at most 0.005."""

    def __init__(self) -> None:
        self._id: GrowableArray[np.int64] = GrowableArray(np.int64)
        self._row_of = KeyIndex()
        self._vectors = QuantizedVectors()
        self._dead = 0

    def __len__(self) -> int:
        return len(self._id.rows) - self._dead

    @property
    def size_bytes(self) -> int:
        return self._id.size_bytes + self._row_of.size_bytes + self._vectors.size_bytes

    @property
    def is_worn(self) -> bool:
        """Half of it is dead: read anew it is smaller."""
        return self._dead > max(VECTOR_REBUILD_ROWS, len(self._id.rows) // 2)

    def put(self, ids: Sequence[int], vectors: NDArray[np.float32]) -> None:
        """New ones, or in the place of what they were."""
        self.put_values(ids, quantize_vectors(vectors)[0])

    def put_values(self, ids: Sequence[int] | NDArray[np.int64], values: NDArray[np.int8]) -> None:
        """The same, as bytes that are proportional to them."""
        if not len(ids):
            return
        self.remove(ids)
        first = len(self._id.rows)
        rows = np.arange(first, first + len(ids), dtype=np.int32)
        self._id.append(np.asarray(ids, np.int64))
        self._row_of.set(self._id.rows[rows], rows)
        self._vectors.extend(len(rows))
        self._vectors.put(rows, values)

    def remove(self, ids: Sequence[int] | NDArray[np.int64]) -> None:
        """Unknown ones pass."""
        rows = self._known(ids)
        if len(rows):
            self._row_of.set(self._id.rows[rows], np.full(len(rows), NO_ROW, np.int32))
            self._vectors.drop(rows)
            self._dead += len(rows)

    def nearest(
        self, vector: NDArray[np.float32], limit: int, among: Sequence[int] | None = None
    ) -> dict[int, float]:
        """Find the nearest vectors and their cosines, nearest first."""
        rows = self._rows(among)
        if not len(rows):
            return {}
        if len(rows) > EXACT_ROWS:
            count = min(max(COMPUTED_ROWS, 2 * limit), len(rows))
            rows = rows[top_k(self._vectors.near_cosines(vector)[rows], count)]
        cosines = self._vectors.cosines(rows, vector)
        best = np.lexsort((self._id.rows[rows], -cosines))[:limit]
        pairs = zip(self._id.rows[rows[best]].tolist(), cosines[best].tolist(), strict=True)
        return dict(pairs)

    def cosines(self, vector: NDArray[np.float32], ids: Sequence[int]) -> dict[int, float]:
        """Those that are not there are left out."""
        rows = self._known(ids).astype(np.intp)
        if not len(rows):
            return {}
        found = self._vectors.cosines(rows, vector)
        return dict(zip(self._id.rows[rows].tolist(), found.tolist(), strict=True))

    def _rows(self, among: Sequence[int] | None) -> NDArray[np.intp]:
        if among is not None:
            return self._known(among).astype(np.intp)
        return np.flatnonzero(self._vectors.has) if len(self) else np.empty(0, np.intp)

    def _known(self, ids: Sequence[int] | NDArray[np.int64]) -> NDArray[np.int32]:
        if not len(self):
            return np.empty(0, np.int32)
        rows = self._row_of.find(ids)
        known: NDArray[np.int32] = rows[rows != NO_ROW]
        return known
