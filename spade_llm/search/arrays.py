"""Arrays of an index: growable array, key index, top-k selection."""

from __future__ import annotations

from typing import TYPE_CHECKING, Generic, TypeVar

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import DTypeLike, NDArray

T = TypeVar("T", bound=np.generic)

MIN_CAPACITY = 16
GROWTH_FACTOR = 2
"""Growth factor of the capacity. Pages that are not yet written to take no memory."""


class GrowableArray(Generic[T]):
    """`rows` is a view of what is there; it goes stale when the array grows."""

    def __init__(self, dtype: DTypeLike, width: int | None = None) -> None:
        self._shape: tuple[int, ...] = () if width is None else (width,)
        self._room: NDArray[T] = np.empty((0, *self._shape), dtype)
        self._length = 0

    @property
    def rows(self) -> NDArray[T]:
        return self._room[: self._length]

    @property
    def size_bytes(self) -> int:
        return self.rows.nbytes

    def append(self, values: NDArray[T]) -> None:
        start, end = self._length, self._length + len(values)
        if end > len(self._room):
            self._grow(end)
        self._room[start:end] = values
        self._length = end

    def _grow(self, least: int) -> None:
        rows = max(MIN_CAPACITY, least, GROWTH_FACTOR * self._length)
        room: NDArray[T] = np.empty((rows, *self._shape), self._room.dtype)
        room[: self._length] = self.rows
        self._room = room


def top_k(scores: NDArray[np.float32], count: int) -> NDArray[np.intp]:
    """Places of the `count` highest, unordered; of equal ones the first. There must be as many."""
    # Not argpartition, which compares one by one.
    least = np.partition(scores, -count)[-count]
    above = np.flatnonzero(scores > least)
    at_least = np.flatnonzero(scores == least)[: count - len(above)]
    return np.concatenate([above, at_least])


NO_ROW = -1
MAX_RECENT = 4096
"""More than these are sorted in: 100 000 keys take 5 ms, and 1.2 MB instead of 10 as a dict."""


class KeyIndex:
    def __init__(self) -> None:
        self._keys = np.empty(0, np.int64)
        self._rows = np.empty(0, np.int32)
        self._recent: dict[int, int] = {}

    @property
    def size_bytes(self) -> int:
        return self._keys.nbytes + self._rows.nbytes + 100 * len(self._recent)

    def set(self, keys: NDArray[np.int64], rows: NDArray[np.int32]) -> None:
        """NO_ROW takes a key away."""
        self._recent.update(zip(keys.tolist(), rows.tolist(), strict=True))
        if len(self._recent) > MAX_RECENT:
            self._sort_in()

    def find(self, keys: Sequence[int] | NDArray[np.int64]) -> NDArray[np.int32]:
        wanted = np.asarray(keys, np.int64)
        found = self._find_sorted(wanted)
        if self._recent:
            pairs = zip(wanted.tolist(), found.tolist(), strict=True)
            found = np.array([self._recent.get(key, row) for key, row in pairs], np.int32)
        return found

    def _find_sorted(self, wanted: NDArray[np.int64]) -> NDArray[np.int32]:
        if not len(self._keys):
            return np.full(len(wanted), NO_ROW, np.int32)
        places = np.minimum(np.searchsorted(self._keys, wanted), len(self._keys) - 1)
        return np.where(self._keys[places] == wanted, self._rows[places], np.int32(NO_ROW))

    def _sort_in(self) -> None:
        keys = np.fromiter(self._recent, np.int64, len(self._recent))
        rows = np.fromiter(self._recent.values(), np.int32, len(self._recent))
        kept = ~np.isin(self._keys, keys)
        rows = np.concatenate([self._rows[kept], rows[rows != NO_ROW]])
        keys = np.concatenate([self._keys[kept], keys[list(self._is_there())]])
        order = np.argsort(keys, kind="stable")
        self._keys, self._rows, self._recent = keys[order], rows[order], {}

    def _is_there(self) -> list[bool]:
        return [row != NO_ROW for row in self._recent.values()]
