"""An array that grows at its end, in amortised constant time. Knows no meaning of its columns."""

from __future__ import annotations

from typing import TYPE_CHECKING, Generic, TypeVar

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import DTypeLike, NDArray

T = TypeVar("T", bound=np.generic)

LEAST_ROWS = 16
GROWTH = 2
"""What is not written to yet takes no pages."""


class Grown(Generic[T]):
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
        rows = max(LEAST_ROWS, least, GROWTH * self._length)
        room: NDArray[T] = np.empty((rows, *self._shape), self._room.dtype)
        room[: self._length] = self.rows
        self._room = room
