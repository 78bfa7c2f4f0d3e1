"""A vector in a quarter of its bytes: int8 per dimension and one float32 scale. Exact to 1 %."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

SCALE_BYTES = 4


def pack(vectors: NDArray[np.float32]) -> list[bytes]:
    """One record for each row."""
    values, scales = quantize(vectors)
    return [row.tobytes() + scale.tobytes() for row, scale in zip(values, scales, strict=True)]


def unpack(records: Sequence[bytes]) -> NDArray[np.float32]:
    """The rows again; raises ValueError if the records differ in length."""
    values, scales = split(records)
    return values.astype(np.float32) * scales[:, None]


def quantize(vectors: NDArray[np.float32]) -> tuple[NDArray[np.int8], NDArray[np.float32]]:
    peaks = np.abs(vectors).max(axis=1, initial=0.0)
    scales = (np.maximum(peaks, np.float32(1e-12)) / np.float32(127)).astype(np.float32)
    return np.rint(vectors / scales[:, None]).astype(np.int8), scales


def split(records: Sequence[bytes]) -> tuple[NDArray[np.int8], NDArray[np.float32]]:
    """Values and scales of records, not yet multiplied."""
    width = len(records[0]) if records else SCALE_BYTES
    if any(len(record) != width for record in records):
        raise ValueError("records of different lengths: vectors of different models")
    whole = np.frombuffer(b"".join(records), np.uint8).reshape(len(records), width)
    values = np.ascontiguousarray(whole[:, :-SCALE_BYTES]).view(np.int8)
    scales = np.ascontiguousarray(whole[:, -SCALE_BYTES:]).view(np.float32)[:, 0]
    return values, scales
