"""Table of an index: growable columns, row numbers by key, inverted index of the rows' terms."""

from __future__ import annotations

import math
from functools import cached_property
from typing import TYPE_CHECKING, Generic, TypeVar

import numpy as np

from spade_llm.search.postings import MAX_ROWS, InvertedIndex

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
    def row_bytes(self) -> int:
        return self._room.itemsize * math.prod(self._shape)

    @property
    def size_bytes(self) -> int:
        return self.row_bytes * self._length

    def append(self, values: NDArray[T]) -> None:
        start, end = self._length, self._length + len(values)
        if end > len(self._room):
            capacity = max(MIN_CAPACITY, end, GROWTH_FACTOR * self._length)
            room: NDArray[T] = np.empty((capacity, *self._shape), self._room.dtype)
            room[:start] = self.rows
            self._room = room
        self._room[start:end] = values
        self._length = end


def top_k(scores: NDArray[np.float32], count: int) -> NDArray[np.intp]:
    """Indexes of the `count` highest scores, unordered; of equal scores the first. `scores` must
    have at least `count` elements."""
    # Not argpartition, which is slower: it compares element by element.
    least = np.partition(scores, -count)[-count]
    above = np.flatnonzero(scores > least)
    at_least = np.flatnonzero(scores == least)[: count - len(above)]
    return np.concatenate([above, at_least])


NO_ROW = -1
MAX_RECENT = 4096
"""More than these are sorted in: 100 000 keys take 5 ms, and 1.2 MB instead of 10 as a dict."""


class KeyIndex:
    """Row numbers by key: sorted arrays, and a dict of the latest changes."""

    def __init__(self) -> None:
        self._keys = np.empty(0, np.int64)
        self._rows = np.empty(0, np.int32)
        self._recent: dict[int, int] = {}

    @property
    def size_bytes(self) -> int:
        return self._keys.nbytes + self._rows.nbytes + 100 * len(self._recent)

    def set(self, keys: NDArray[np.int64], rows: NDArray[np.int32]) -> None:
        """Set the rows of the keys; NO_ROW removes a key."""
        self._recent.update(zip(keys.tolist(), rows.tolist(), strict=True))
        if len(self._recent) > MAX_RECENT:
            self._sort_in()

    def find(self, keys: Sequence[int] | NDArray[np.int64]) -> NDArray[np.int32]:
        wanted = np.asarray(keys, np.int64)
        found = np.full(len(wanted), NO_ROW, np.int32)
        if len(self._keys):
            places = np.minimum(np.searchsorted(self._keys, wanted), len(self._keys) - 1)
            found = np.where(self._keys[places] == wanted, self._rows[places], found)
        if self._recent:
            pairs = zip(wanted.tolist(), found.tolist(), strict=True)
            found = np.array([self._recent.get(key, row) for key, row in pairs], np.int32)
        return found

    def _sort_in(self) -> None:
        keys = np.fromiter(self._recent, np.int64, len(self._recent))
        rows = np.fromiter(self._recent.values(), np.int32, len(self._recent))
        kept, has_row = ~np.isin(self._keys, keys), rows != NO_ROW
        keys = np.concatenate([self._keys[kept], keys[has_row]])
        rows = np.concatenate([self._rows[kept], rows[has_row]])
        order = np.argsort(keys, kind="stable")
        self._keys, self._rows, self._recent = keys[order], rows[order], {}


if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from numpy.typing import NDArray

    Columns = Mapping[str, NDArray[np.generic]]
    TermItems = tuple[NDArray[np.uint32], NDArray[np.int32], NDArray[np.uint8]]

REBUILD_ROWS, REBUILD_SHARE = 1024, 0.5
"""Number of dead rows, and their share of all rows, above which an index is loaded again."""


class KeyedTable:
    """Columns of an index with a key per row. A removed row stays, marked as dead; its number is
    not used again."""

    def __init__(self) -> None:
        self.key: GrowableArray[np.int64] = GrowableArray(np.int64)
        self.is_alive: GrowableArray[np.bool_] = GrowableArray(np.bool_)
        self._row_of = KeyIndex()
        self._dead = 0

    def __len__(self) -> int:
        """Return the number of rows, with the dead ones."""
        return len(self.key.rows)

    @property
    def live_rows(self) -> int:
        return len(self) - self._dead

    @property
    def size_bytes(self) -> int:
        return self._row_bytes * len(self) + self._row_of.size_bytes

    @property
    def needs_rebuild(self) -> bool:
        """Check whether so many rows are dead that an index loaded again would be smaller."""
        return self._dead > max(REBUILD_ROWS, REBUILD_SHARE * len(self))

    def rows_of(self, keys: Sequence[int] | NDArray[np.int64]) -> NDArray[np.int32]:
        """Find the rows of the keys; NO_ROW for an unknown key."""
        return self._row_of.find(keys)

    def known_rows(self, keys: Sequence[int] | NDArray[np.int64]) -> NDArray[np.int32]:
        """Find the rows of the keys, without those of unknown keys."""
        rows = self._row_of.find(keys)
        known: NDArray[np.int32] = rows[rows != NO_ROW]
        return known

    def append(self, values: Columns) -> NDArray[np.int32]:
        """Append rows whose keys have no row yet; return their numbers. `values` has all columns
        but `is_alive`."""
        first, count = len(self), len(values["key"])
        values = {**values, "is_alive": np.ones(count, np.bool_)}
        for name, column in self._columns().items():
            column.append(values[name])
        rows = np.arange(first, first + count, dtype=np.int32)
        self._row_of.set(self.key.rows[rows], rows)
        return rows

    def overwrite(self, rows: NDArray[np.int32], values: Columns) -> None:
        columns = self._columns()
        for name, value in values.items():
            columns[name].rows[rows] = value

    def mark_dead(self, rows: NDArray[np.int32] | NDArray[np.intp]) -> None:
        """Mark live rows as dead."""
        self.is_alive.rows[rows] = False
        self._row_of.set(self.key.rows[rows], np.full(len(rows), NO_ROW, np.int32))
        self._dead += len(rows)

    @cached_property
    def _row_bytes(self) -> int:
        return sum(column.row_bytes for column in self._columns().values())

    def _columns(self) -> dict[str, GrowableArray[np.generic]]:
        pairs = vars(self).items()
        return {name: column for name, column in pairs if isinstance(column, GrowableArray)}


class KeywordTable(KeyedTable):
    """Keyed table with an inverted index of the rows' terms."""

    def __init__(self) -> None:
        super().__init__()
        self.length: GrowableArray[np.uint16] = GrowableArray(np.uint16)
        """Weight of all the terms of a row."""
        self.postings = InvertedIndex()

    @property
    def size_bytes(self) -> int:
        return super().size_bytes + self.postings.size_bytes

    @property
    def needs_merge(self) -> bool:
        """Check whether the postings have many segments: run a `merge_job`."""
        return self.postings.needs_merge

    def check_capacity(self, count: int) -> None:
        """Raise ValueError if `count` more rows are more than 16 million."""
        if len(self) + count > MAX_ROWS:
            raise ValueError(f"an index can have {MAX_ROWS} rows at most")

    def add_terms(self, items: TermItems) -> None:
        """Add the terms of the rows that were appended last."""
        self.postings.add(items)
        self.postings.merge_small_segments(self.is_alive.rows)

    def merge_job(self) -> Callable[[], Callable[[], None]]:
        """Create a job that merges the segments in another thread. It returns a function that puts
        the result in place, to be called in this thread."""
        return self.postings.merge_job(self.is_alive.rows)
