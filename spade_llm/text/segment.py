"""A part of the postings: which rows have a term, with which weight. Immutable. Knows no scores."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from spade_llm.text.stems import REST_BITS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

T = TypeVar("T", bound=np.generic)

ROW_BITS, WEIGHT_BITS = 24, 8
MAX_ROWS = 1 << ROW_BITS
"""Of one index: term, row and weight are sorted as one number of 64 bits."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Posting:
    """Rows that have a word, each once."""

    rows: NDArray[np.int32]
    weights: NDArray[np.uint8]

    def only(self, kept: NDArray[np.bool_]) -> Posting:
        return Posting(rows=self.rows[kept], weights=self.weights[kept])


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Segment:
    terms: NDArray[np.uint32]
    """Sorted, each once."""
    starts: NDArray[np.int32]
    """Of each term's rows; one more than terms."""
    rows: NDArray[np.int32]
    weights: NDArray[np.uint8]

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def size_bytes(self) -> int:
        parts = (self.terms, self.starts, self.rows, self.weights)
        return sum(part.nbytes for part in parts)

    def find(self, terms: NDArray[np.uint32]) -> list[Posting]:
        """Of those terms that are there."""
        if not len(self.terms):
            return []
        places = np.minimum(np.searchsorted(self.terms, terms), len(self.terms) - 1)
        return [self._posting(place) for place in places[self.terms[places] == terms].tolist()]

    def find_beginning(self, beginning: int) -> list[Posting]:
        """Of all terms that share it (as `stems.beginning_of` gives it)."""
        edges = np.array([beginning << REST_BITS, (beginning + 1 << REST_BITS) - 1], np.uint32)
        first = int(np.searchsorted(self.terms, edges[0], "left"))
        last = int(np.searchsorted(self.terms, edges[1], "right"))
        return [self._posting(place) for place in range(first, last)]

    def weights_of_row(self, row: int) -> dict[int, int]:
        """What one row has; looks through everything."""
        places = np.flatnonzero(self.rows == row)
        terms = self.terms[np.searchsorted(self.starts, places, "right") - 1]
        return dict(zip(terms.tolist(), self.weights[places].tolist(), strict=True))

    def _posting(self, place: int) -> Posting:
        part = slice(self.starts[place], self.starts[place + 1])
        return Posting(rows=self.rows[part], weights=self.weights[part])


def build_segment(
    terms: NDArray[np.uint32], rows: NDArray[np.int32], weights: NDArray[np.uint8]
) -> Segment:
    packed = terms.astype(np.uint64) << np.uint64(ROW_BITS + WEIGHT_BITS)
    packed |= rows.astype(np.uint64) << np.uint64(WEIGHT_BITS)
    packed |= weights
    packed.sort()
    return _unpacked(packed)


def merge_segments(segments: Sequence[Segment], is_alive: NDArray[np.bool_]) -> Segment:
    """One of some, without the rows that are gone."""
    terms = _concatenated(np.uint32, [_each_term(part) for part in segments])
    rows = _concatenated(np.int32, [part.rows for part in segments])
    weights = _concatenated(np.uint8, [part.weights for part in segments])
    kept = is_alive[rows]
    return build_segment(terms[kept], rows[kept], weights[kept])


def _each_term(segment: Segment) -> NDArray[np.uint32]:
    return np.repeat(segment.terms, np.diff(segment.starts))


def _concatenated(dtype: type[T], parts: Sequence[NDArray[T]]) -> NDArray[T]:
    return np.concatenate([np.empty(0, dtype), *parts])


def _unpacked(packed: NDArray[np.uint64]) -> Segment:
    every = (packed >> np.uint64(ROW_BITS + WEIGHT_BITS)).astype(np.uint32)
    is_first = np.ones(len(every), np.bool_)
    np.not_equal(every[1:], every[:-1], out=is_first[1:])
    starts = np.flatnonzero(is_first)
    return Segment(
        terms=every[starts],
        starts=np.append(starts, len(every)).astype(np.int32),
        rows=(packed >> np.uint64(WEIGHT_BITS) & np.uint64(MAX_ROWS - 1)).astype(np.int32),
        weights=(packed & np.uint64((1 << WEIGHT_BITS) - 1)).astype(np.uint8),
    )
