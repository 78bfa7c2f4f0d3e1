"""What an index is made of, between two changes, with what is computed from all rows once."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from spade_llm.memory.index.keywords import ALONE, SPREAD, lengths_of
from spade_llm.memory.index.recall import lengths_around, substance
from spade_llm.text.terms import QUESTION

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from spade_llm.memory.index.neighbours import Neighbours
    from spade_llm.memory.index.row_table import RowTable
    from spade_llm.text.postings import Postings
    from spade_llm.text.vectors import Vectors


class Parts:
    def __init__(
        self, table: RowTable, postings: Postings, vectors: Vectors, neighbours: Neighbours
    ) -> None:
        self.table, self.postings, self.vectors = table, postings, vectors
        self._neighbours = neighbours
        self._around: tuple[int, NDArray[np.float32]] | None = None

    @cached_property
    def reach(self) -> Mapping[int, NDArray[np.int32]]:
        return self._neighbours.reach()

    @cached_property
    def linked(self) -> NDArray[np.intp]:
        """Rows that have a neighbour."""
        return np.flatnonzero((self.reach[-1][:-1] >= 0) | (self.reach[1][:-1] >= 0))

    @cached_property
    def questions(self) -> NDArray[np.intp]:
        return np.flatnonzero(self.table.flags.rows & QUESTION)

    @cached_property
    def substance(self) -> NDArray[np.float32]:
        return substance(self.table)

    def lengths_around(self) -> NDArray[np.float32]:
        """As recall has them; vectors come later than their rows."""
        if self._around is None or self._around[0] != self.vectors.version:
            around = lengths_around(self.vectors.has, self.reach[-1], self.reach[1])
            self._around = (self.vectors.version, around)
        return self._around[1]

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
