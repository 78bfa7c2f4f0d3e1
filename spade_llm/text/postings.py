"""All postings of an index: segments that are merged as they grow. Knows no columns.

A segment is merged with its neighbour when they are of similar size, so that there are few and
each item is copied a logarithmic number of times. Merges that would take long are left to
`merge_job`, which may run in a thread.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from spade_llm.text.segment import Posting, Segment, build_segment, merge_segments
from spade_llm.text.terms import ITEM, MAX_LENGTH, VERSION

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

INLINE_ITEMS = 32_768
"""Larger merges are left to a job: this one takes 1 ms."""
MANY_SEGMENTS = 12
"""More than these are worth a job."""

_ITEM = np.dtype([("term", "<u4"), ("weight", "u1")])


class Postings:
    def __init__(self) -> None:
        self._segments: list[Segment] = []

    @property
    def size_bytes(self) -> int:
        return sum(segment.size_bytes for segment in self._segments)

    @property
    def wants_merge(self) -> bool:
        return len(self._segments) > MANY_SEGMENTS

    def add(self, items: tuple[NDArray[np.uint32], NDArray[np.int32], NDArray[np.uint8]]) -> None:
        self._segments.append(build_segment(*items))

    def settle(self, is_alive: NDArray[np.bool_]) -> None:
        """Merge the newest segments while that is quick."""
        parts = self._segments
        while len(parts) > 1 and len(parts[-2]) < 2 * len(parts[-1]):
            if len(parts[-2]) + len(parts[-1]) > INLINE_ITEMS:
                return
            parts[-2:] = [merge_segments(parts[-2:], is_alive)]

    def merge_job(self, is_alive: NDArray[np.bool_]) -> Callable[[], Callable[[], None]]:
        """What merges all there is now, beside us; it gives what puts the result in place."""
        before, alive = tuple(self._segments), is_alive.copy()

        def run() -> Callable[[], None]:
            merged = merge_segments(before, alive)
            return lambda: self._replace(before, merged)

        return run

    def find(self, terms: Sequence[int]) -> Posting:
        wanted = np.array(terms, np.uint32)
        return _joined([part for segment in self._segments for part in segment.find(wanted)])

    def find_beginning(self, beginning: int) -> Posting:
        parts = [part for one in self._segments for part in one.find_beginning(beginning)]
        return _each_once(_joined(parts))

    def weights_of_row(self, row: int) -> dict[int, int]:
        found: dict[int, int] = {}
        for segment in self._segments:
            found |= segment.weights_of_row(row)
        return found

    def _replace(self, before: tuple[Segment, ...], merged: Segment) -> None:
        """Unless others were merged meanwhile."""
        if before and tuple(self._segments[: len(before)]) == before:
            self._segments[: len(before)] = [merged]


def read_items(
    records: Sequence[bytes], first_row: int
) -> tuple[NDArray[np.uint32], NDArray[np.int32], NDArray[np.uint8]]:
    """Terms, rows and weights of records that become rows from `first_row` on."""
    counts = np.fromiter(map(len, records), np.int64, len(records)) // ITEM.size
    return split_items(b"".join(records), counts, first_row)


def split_items(
    joined: bytes, counts: NDArray[np.int64], first_row: int
) -> tuple[NDArray[np.uint32], NDArray[np.int32], NDArray[np.uint8]]:
    """The same of records that stand one behind the other, each of so many items."""
    items = np.frombuffer(joined, _ITEM)
    rows = np.repeat(np.arange(first_row, first_row + len(counts), dtype=np.int32), counts)
    is_term = np.ones(len(items), np.bool_)
    is_term[np.cumsum(counts) - counts] = False
    return items["term"][is_term], rows[is_term], items["weight"][is_term]


def read_heads(records: Sequence[bytes]) -> tuple[NDArray[np.uint8], NDArray[np.uint16]]:
    """Flags and length of each record; raises ValueError for another version's."""
    heads = [record[: ITEM.size] for record in records]
    return split_heads(b"".join(heads), np.ones(len(records), np.int64))


def split_heads(
    joined: bytes, counts: NDArray[np.int64]
) -> tuple[NDArray[np.uint8], NDArray[np.uint16]]:
    """The same of records that stand one behind the other, each of so many items."""
    items = np.frombuffer(joined, _ITEM)
    is_whole = len(items) == counts.sum() and (counts > 0).all()
    heads = items["term"][np.cumsum(counts) - counts] if is_whole else np.empty(0, np.uint32)
    if len(heads) != len(counts) or (heads >> np.uint32(24) != VERSION).any():
        raise ValueError("terms of another version: encode them anew")
    flags = heads >> np.uint32(16) & np.uint32(0xFF)
    return flags.astype(np.uint8), (heads & np.uint32(MAX_LENGTH)).astype(np.uint16)


def _joined(parts: Sequence[Posting]) -> Posting:
    if len(parts) == 1:
        return parts[0]
    return Posting(
        rows=np.concatenate([np.empty(0, np.int32), *(part.rows for part in parts)]),
        weights=np.concatenate([np.empty(0, np.uint8), *(part.weights for part in parts)]),
    )


def _each_once(posting: Posting) -> Posting:
    """The heaviest of a row's."""
    order = np.lexsort((posting.weights, posting.rows))
    rows, weights = posting.rows[order], posting.weights[order]
    is_last = np.append(rows[1:] != rows[:-1], np.ones(min(1, len(rows)), np.bool_))
    return Posting(rows=rows[is_last], weights=weights[is_last])
