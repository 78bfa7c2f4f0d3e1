"""Vector index of document passages in RAM: nearest neighbours by cosine."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from spade_llm.search.arrays import top_k
from spade_llm.search.table import KeyedTable
from spade_llm.search.vectors import COMPUTED_ROWS, EXACT_ROWS, QuantizedVectors, quantize_vectors

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray


class PassageVectors:
    """Vectors by chunk id, quantized to int8: the error of a cosine is at most 0.005."""

    def __init__(self) -> None:
        self._table = KeyedTable()
        self._vectors = QuantizedVectors()

    def __len__(self) -> int:
        return self._table.live_rows

    @property
    def size_bytes(self) -> int:
        return self._table.size_bytes + self._vectors.size_bytes

    @property
    def needs_rebuild(self) -> bool:
        return self._table.needs_rebuild

    def put(self, ids: Sequence[int], vectors: NDArray[np.float32]) -> None:
        """New ones, or in the place of what they were."""
        self.put_values(ids, quantize_vectors(vectors)[0])

    def put_values(self, ids: Sequence[int] | NDArray[np.int64], values: NDArray[np.int8]) -> None:
        """The same, as bytes that are proportional to them."""
        if not len(ids):
            return
        self.remove(ids)
        rows = self._table.append({"key": np.asarray(ids, np.int64)})
        self._vectors.extend(len(rows))
        self._vectors.put(rows, values)

    def remove(self, ids: Sequence[int] | NDArray[np.int64]) -> None:
        """Unknown ones pass."""
        rows = self._table.known_rows(ids)
        if len(rows):
            self._table.mark_dead(rows)
            self._vectors.drop(rows)

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
        best = np.lexsort((self._table.key.rows[rows], -cosines))[:limit]
        pairs = zip(self._table.key.rows[rows[best]].tolist(), cosines[best].tolist(), strict=True)
        return dict(pairs)

    def cosines(self, vector: NDArray[np.float32], ids: Sequence[int]) -> dict[int, float]:
        """Those that are not there are left out."""
        rows = self._table.known_rows(ids).astype(np.intp)
        if not len(rows):
            return {}
        found = self._vectors.cosines(rows, vector)
        return dict(zip(self._table.key.rows[rows].tolist(), found.tolist(), strict=True))

    def _rows(self, among: Sequence[int] | None) -> NDArray[np.intp]:
        if among is not None:
            return self._table.known_rows(among).astype(np.intp)
        return np.flatnonzero(self._vectors.has) if len(self) else np.empty(0, np.intp)
