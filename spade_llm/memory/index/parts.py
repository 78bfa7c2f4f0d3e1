"""What an index is made of, between two changes, with what is computed from all rows once."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from spade_llm.memory.index.keywords import ALONE, SPREAD, lengths_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy as np
    from numpy.typing import NDArray

    from spade_llm.memory.index.neighbours import Neighbours
    from spade_llm.memory.index.postings import Postings
    from spade_llm.memory.index.row_table import RowTable
    from spade_llm.memory.index.vectors import Vectors


class Parts:
    def __init__(
        self, table: RowTable, postings: Postings, vectors: Vectors, neighbours: Neighbours
    ) -> None:
        self.table, self.postings, self.vectors = table, postings, vectors
        self._neighbours = neighbours

    @cached_property
    def reach(self) -> Mapping[int, NDArray[np.int32]]:
        return self._neighbours.reach()

    def lengths(
        self, spread: Mapping[int, float], universe: NDArray[np.bool_] | None = None
    ) -> NDArray[np.float32]:
        """As `lengths_of` gives them; universe None: all that is alive, which is remembered."""
        if universe is not None:
            return lengths_of(self.table.length.rows, universe, self.reach, spread)
        return self._spread if spread is SPREAD else self._alone

    @cached_property
    def _spread(self) -> NDArray[np.float32]:
        return self.lengths(SPREAD, self.table.is_alive.rows)

    @cached_property
    def _alone(self) -> NDArray[np.float32]:
        return self.lengths(ALONE, self.table.is_alive.rows)
