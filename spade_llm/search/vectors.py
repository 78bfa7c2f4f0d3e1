"""Vectors as int8 with a scale: quantization, cosine similarity, one-bit sketches."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from spade_llm.search.table import GrowableArray

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

SCALE_BYTES = 4


def pack_vectors(vectors: NDArray[np.float32]) -> list[bytes]:
    """Pack each row into one record."""
    values, scales = quantize_vectors(vectors)
    return [row.tobytes() + scale.tobytes() for row, scale in zip(values, scales, strict=True)]


def unpack_vectors(records: Sequence[bytes]) -> NDArray[np.float32]:
    """The rows again; raises ValueError if the records differ in length."""
    values, scales = split_packed(records)
    return values.astype(np.float32) * scales[:, None]


def quantize_vectors(vectors: NDArray[np.float32]) -> tuple[NDArray[np.int8], NDArray[np.float32]]:
    peaks = np.abs(vectors).max(axis=1, initial=0.0)
    # A vector of zeros must not divide by zero.
    scales = (np.maximum(peaks, np.float32(1e-12)) / np.float32(127)).astype(np.float32)
    return np.rint(vectors / scales[:, None]).astype(np.int8), scales


def split_packed(records: Sequence[bytes]) -> tuple[NDArray[np.int8], NDArray[np.float32]]:
    """Values and scales of records, not yet multiplied."""
    width = len(records[0]) if records else SCALE_BYTES
    if any(len(record) != width for record in records):
        raise ValueError("records of different lengths: vectors of different models")
    whole = np.frombuffer(b"".join(records), np.uint8).reshape(len(records), width)
    values = np.ascontiguousarray(whole[:, :-SCALE_BYTES]).view(np.int8)
    scales = np.ascontiguousarray(whole[:, -SCALE_BYTES:]).view(np.float32)[:, 0]
    return values, scales


WORD_BITS = 64
WORDS_PER_BYTE = 3
"""Number of 64-bit words with at most 255 different bits together, so that one byte can count them.
"""
EXACT_ROWS = 8192
"""Maximum number of rows for which a search computes all cosines: 0.4 ms."""
COMPUTED_ROWS = 1024
"""Number of cosines that a search among more rows computes, of the best by their sketches."""
CHUNK_ROWS = 32_768
"""Sketches of so many rows are compared while they are in the processor's cache."""


class QuantizedVectors:
    """Vectors quantized to int8, with bit sketches; aligned with the rows of a table. A row without
    a vector has cosine 0 to every vector."""

    def __init__(self) -> None:
        self.version = 0
        """Another when a row gains or loses its vector."""
        self._rows = 0
        self._dimensions = 0
        self._values: GrowableArray[np.int8] = GrowableArray(np.int8, 0)
        self._scales: GrowableArray[np.float32] = GrowableArray(np.float32)
        """Factor that turns a dot product into a cosine; 0: no vector."""
        self._sketch: list[GrowableArray[np.uint64]] = []
        """Transposed: word by word."""

    @property
    def size_bytes(self) -> int:
        sketch = sum(words.size_bytes for words in self._sketch)
        return self._values.size_bytes + self._scales.size_bytes + sketch

    @property
    def has(self) -> NDArray[np.bool_]:
        return self._scales.rows > 0

    @property
    def any(self) -> bool:
        return self._dimensions > 0

    def extend(self, rows: int) -> None:
        self._rows += rows
        self._scales.append(np.zeros(rows, np.float32))
        if self._dimensions:
            self._extend_values(rows)

    def put(self, rows: NDArray[np.int32], values: NDArray[np.int8]) -> None:
        """Raises ValueError if they have other dimensions than those that are there."""
        if not self._dimensions:
            self._open(values.shape[1])
        if values.shape[1] != self._dimensions:
            raise ValueError(f"{values.shape[1]} dimensions among {self._dimensions}")
        self._values.rows[rows] = values
        numbers = values.astype(np.float32)
        lengths = np.sqrt(np.vecdot(numbers, numbers))
        self._scales.rows[rows] = np.where(lengths > 0, 1 / np.maximum(lengths, 1), 0)
        self.version += 1
        for words, column in zip(self._sketch, _bit_sketch(values).T, strict=True):
            words.rows[rows] = column

    def move(self, old: NDArray[np.int32], new: NDArray[np.int32]) -> None:
        kept = self.has[old]
        if kept.any():
            self.put(new[kept], self._values.rows[old[kept]])

    def drop(self, rows: NDArray[np.int32]) -> None:
        """Nothing of them stays."""
        self._scales.rows[rows] = 0
        self.version += 1
        if self._dimensions:
            self._values.rows[rows] = 0
        for words in self._sketch:
            words.rows[rows] = 0

    def cosines(self, rows: NDArray[np.intp], query: NDArray[np.float32]) -> NDArray[np.float32]:
        """Exact, but for the packing."""
        found = _dot_products(self._values.rows[rows], query)
        return found * self._scales.rows[rows]

    def all_cosines(self, query: NDArray[np.float32]) -> NDArray[np.float32]:
        return _dot_products(self._values.rows, query) * self._scales.rows

    def near_cosines(self, query: NDArray[np.float32]) -> NDArray[np.float32]:
        """Estimate the cosines of all rows from the number of different signs; mostly exact to
        0.08."""
        asked = _bit_sketch(query[None, :])[0]
        angles = np.arange(self._dimensions + 1, dtype=np.float32) * (np.pi / self._dimensions)
        cosine_of = np.cos(angles).astype(np.float32)
        cosines = np.empty(self._rows, np.float32)
        for start in range(0, self._rows, CHUNK_ROWS):
            part = slice(start, start + CHUNK_ROWS)
            # With `out`, mode "raise" would buffer the result; the counts are always within bounds.
            np.take(cosine_of, self._differing(asked, part), out=cosines[part], mode="clip")
        cosines *= self.has
        return cosines

    def _differing(self, asked: NDArray[np.uint64], part: slice) -> NDArray[np.uint16]:
        """Signs, of some rows."""
        total = np.zeros(len(self._scales.rows[part]), np.uint16)
        for first in range(0, len(asked), WORDS_PER_BYTE):
            some = slice(first, first + WORDS_PER_BYTE)
            counts = np.zeros(len(total), np.uint8)
            for words, word in zip(self._sketch[some], asked[some], strict=True):
                counts += np.bitwise_count(words.rows[part] ^ word)
            total += counts
        return total

    def of(self, row: int) -> NDArray[np.float32] | None:
        """Vector of a row, of length 1; None if it has none."""
        if not self.has[row]:
            return None
        vector: NDArray[np.float32] = self._values.rows[row] * self._scales.rows[row]
        return vector

    def _open(self, dimensions: int) -> None:
        self._dimensions = dimensions
        self._values = GrowableArray(np.int8, dimensions)
        self._sketch = [GrowableArray(np.uint64) for _ in range(-(-dimensions // WORD_BITS))]
        self._extend_values(self._rows)

    def _extend_values(self, rows: int) -> None:
        self._values.append(np.zeros((rows, self._dimensions), np.int8))
        for words in self._sketch:
            words.append(np.zeros(rows, np.uint64))


def _dot_products(values: NDArray[np.int8], query: NDArray[np.float32]) -> NDArray[np.float32]:
    """Dot product of each row with the query."""
    # Not `@`: its BLAS uses all cores at once and waits for busy ones (10 ms instead of 0.1 with
    # two busy cores).
    return np.asarray(np.vecdot(values.astype(np.float32), query), np.float32)


def _bit_sketch(values: NDArray[np.int8] | NDArray[np.float32]) -> NDArray[np.uint64]:
    bits = np.packbits(values > 0, axis=1)
    # Padding is zero in every sketch, so it never differs.
    room = -bits.shape[1] % (WORD_BITS // 8)
    return np.ascontiguousarray(np.pad(bits, ((0, 0), (0, room)))).view(np.uint64)
