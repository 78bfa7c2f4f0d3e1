"""What is known of each row: the columns that are compared. Knows no postings, and ranks nothing.

A row whose terms change gets a new number and its old one is dead, since postings are immutable.
"""

from __future__ import annotations

from typing import TYPE_CHECKING
from zlib import crc32

import numpy as np

from spade_llm.memory.index.codes import Codes, TagCodes
from spade_llm.text.grown import Grown
from spade_llm.text.postings import read_heads

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from spade_llm.memory.index.columns import Columns

TEXTS = ("subject", "session", "speaker", "type", "category", "tier", "content_type")
TIMES = {
    "created_at": 0.0,
    "expires_at": np.inf,
    "valid_at": -np.inf,
    "invalid_at": np.inf,
    "reviewed_at": -np.inf,
}
"""And what an absent one stands for."""
BYTES_PER_STRING = 100


class RowTable:
    def __init__(self) -> None:
        self.key: Grown[np.int64] = Grown(np.int64)
        self.subject: Grown[np.int32] = Grown(np.int32)
        self.session: Grown[np.int32] = Grown(np.int32)
        self.speaker: Grown[np.int32] = Grown(np.int32)
        self.type: Grown[np.int32] = Grown(np.int16)
        self.category: Grown[np.int32] = Grown(np.int16)
        self.tier: Grown[np.int32] = Grown(np.int16)
        self.content_type: Grown[np.int32] = Grown(np.int16)
        self.tags: Grown[np.int32] = Grown(np.int32)
        self.created_at: Grown[np.float64] = Grown(np.float64)
        self.expires_at: Grown[np.float64] = Grown(np.float64)
        self.valid_at: Grown[np.float64] = Grown(np.float64)
        self.invalid_at: Grown[np.float64] = Grown(np.float64)
        self.reviewed_at: Grown[np.float64] = Grown(np.float64)
        self.importance: Grown[np.float32] = Grown(np.float32)
        self.stability: Grown[np.float32] = Grown(np.float32)
        """Days; 0: never reviewed."""
        self.content_hash: Grown[np.int64] = Grown(np.int64)
        self.digest: Grown[np.uint32] = Grown(np.uint32)
        """Of the terms: tells whether they changed."""
        self.flags: Grown[np.uint8] = Grown(np.uint8)
        self.length: Grown[np.uint16] = Grown(np.uint16)
        """Weight of all its terms."""
        self.is_alive: Grown[np.bool_] = Grown(np.bool_)
        self.codes = {name: Codes() for name in TEXTS}
        self.tag_codes = TagCodes()

    def __len__(self) -> int:
        return len(self.key.rows)

    @property
    def size_bytes(self) -> int:
        strings = sum(len(codes.texts) for codes in self.codes.values())
        return sum(array.size_bytes for _, array in self._arrays()) + BYTES_PER_STRING * strings

    @property
    def is_message(self) -> NDArray[np.bool_]:
        return (self.key.rows & 1).astype(np.bool_)

    def encoded(self, columns: Columns) -> dict[str, NDArray[np.generic]]:
        """Columns as these arrays hold them. Raises ValueError for terms of another version."""
        flags, length = read_heads(columns.terms)
        return {
            "key": np.asarray(columns.key, np.int64),
            **{name: self.codes[name].of(getattr(columns, name)) for name in TEXTS},
            "tags": self.tag_codes.of(columns.tags),
            **{name: _times(getattr(columns, name), absent) for name, absent in TIMES.items()},
            "importance": np.asarray(columns.importance, np.float32),
            "stability": np.nan_to_num(np.array(columns.stability, np.float32)),
            "content_hash": np.asarray(columns.content_hash, np.int64),
            "digest": np.fromiter(map(crc32, columns.terms), np.uint32, len(columns)),
            "flags": flags,
            "length": length,
            "is_alive": np.ones(len(columns), np.bool_),
        }

    def append(self, values: Mapping[str, NDArray[np.generic]]) -> None:
        for name, array in self._arrays():
            array.append(values[name])

    def overwrite(self, rows: NDArray[np.int32], values: Mapping[str, NDArray[np.generic]]) -> None:
        for name, array in self._arrays():
            array.rows[rows] = values[name]

    def _arrays(self) -> Iterator[tuple[str, Grown[np.generic]]]:
        pairs = vars(self).items()
        return ((name, array) for name, array in pairs if isinstance(array, Grown))


def _times(values: Sequence[float | None], absent: float) -> NDArray[np.float64]:
    times = np.array(values, np.float64)
    return np.where(np.isnan(times), absent, times)
