"""The chunks of one namespace in RAM: which have a word, and what they are filtered by.

Holds numbers only, no text. Knows no SQLite and no ranking.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from spade_llm.rag.word_records import chunk_rows
from spade_llm.text.grown import Grown
from spade_llm.text.postings import Postings, split_heads, split_items
from spade_llm.text.row_of import NO_ROW, RowOf
from spade_llm.text.segment import MAX_ROWS

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from numpy.typing import NDArray

    from spade_llm.rag.word_records import WordRecord
    from spade_llm.text.segment import Posting

K1, B = 1.2, 0.75
WORN_ROWS, WORN_SHARE = 1024, 0.5
"""With more dead rows than these, and this share of them, it is to be read anew."""


class WordIndex:
    """Rows are numbered as they come; those of a document that was replaced are dead."""

    def __init__(self) -> None:
        self._id: Grown[np.int64] = Grown(np.int64)
        self._document: Grown[np.int64] = Grown(np.int64)
        self._text: Grown[np.int64] = Grown(np.int64)
        self._heading: Grown[np.int64] = Grown(np.int64)
        self._position: Grown[np.int32] = Grown(np.int32)
        self._page: Grown[np.int32] = Grown(np.int32)
        self._length: Grown[np.uint16] = Grown(np.uint16)
        self._is_alive: Grown[np.bool_] = Grown(np.bool_)
        self._row_of = RowOf()
        self._postings = Postings()
        self._dead = 0
        self._norms: NDArray[np.float32] | None = None
        """Until the next change."""
        self.losses = 0
        """Counts the changes in which chunks went away."""

    def __len__(self) -> int:
        """Rows, the dead ones too."""
        return len(self._id.rows)

    @property
    def chunks(self) -> int:
        return len(self) - self._dead

    @property
    def size_bytes(self) -> int:
        return (
            sum(column.size_bytes for column in self._columns().values())
            + self._row_of.size_bytes
            + self._postings.size_bytes
        )

    @property
    def is_worn(self) -> bool:
        return self._dead > max(WORN_ROWS, WORN_SHARE * len(self))

    @property
    def ids(self) -> NDArray[np.int64]:
        return self._id.rows

    @property
    def documents(self) -> NDArray[np.int64]:
        return self._document.rows

    @property
    def positions(self) -> NDArray[np.int32]:
        return self._position.rows

    @property
    def texts(self) -> NDArray[np.int64]:
        """Hashes: the same for the same text."""
        return self._text.rows

    @property
    def headings(self) -> NDArray[np.int64]:
        return self._heading.rows

    @property
    def pages(self) -> NDArray[np.int32]:
        return self._page.rows

    @property
    def is_alive(self) -> NDArray[np.bool_]:
        return self._is_alive.rows

    @property
    def norms(self) -> NDArray[np.float32]:
        """What BM25 sets against how often a word is said: K1 for a chunk of mean length."""
        if self._norms is None:
            living = self._length.rows[self.is_alive]
            mean = float(living.mean(dtype=np.float64)) if len(living) else 1.0
            per_length = np.float32(K1 * B / max(mean, 1e-9))
            self._norms = per_length * self._length.rows + np.float32(K1 * (1 - B))
        return self._norms

    def put(self, records: Mapping[int, WordRecord]) -> None:
        """Documents by number, new or in the place of what they were.

        Raises ValueError for terms of another version, and for more than 16 million rows.
        """
        self.remove(list(records))
        rows = chunk_rows(list(records.values()))
        if not len(rows):
            return
        if len(self) + len(rows) > MAX_ROWS:
            raise ValueError(f"a namespace can have {MAX_ROWS} chunks in its index at most")
        joined = b"".join(record.terms for record in records.values())
        counts = rows["items"].astype(np.int64)
        _, lengths = split_heads(joined, counts)
        first = len(self)
        self._append(rows, lengths, _documents_of(records))
        self._postings.add(split_items(joined, counts, first))
        self._postings.settle(self.is_alive)

    def remove(self, documents: Sequence[int]) -> None:
        """Unknown ones pass."""
        if not len(self):
            return
        rows = np.flatnonzero(np.isin(self.documents, documents) & self.is_alive)
        if len(rows):
            self.is_alive[rows] = False
            self._row_of.set(self.ids[rows], np.full(len(rows), NO_ROW, np.int32))
            self._dead += len(rows)
            self._norms = None
            self.losses += 1

    def rows_of(self, ids: Sequence[int]) -> NDArray[np.int32]:
        """NO_ROW for those that are not there."""
        return self._row_of.find(ids)

    def find(self, terms: Sequence[int]) -> Posting:
        """The living rows that have one of these."""
        posting = self._postings.find(terms)
        return posting.only(self.is_alive[posting.rows]) if self._dead else posting

    @property
    def wants_merge(self) -> bool:
        return self._postings.wants_merge

    def merge_job(self) -> Callable[[], Callable[[], None]]:
        """Run it in a thread; then call what it gives, here again."""
        return self._postings.merge_job(self.is_alive)

    def _append(
        self, rows: NDArray[np.void], lengths: NDArray[np.uint16], documents: NDArray[np.int64]
    ) -> None:
        given = {name: rows[name] for name in ("id", "text", "heading", "position", "page")}
        values = {
            **given,
            "document": documents,
            "length": lengths,
            "is_alive": np.ones(len(rows), np.bool_),
        }
        first = len(self)
        for name, column in self._columns().items():
            column.append(values[name])
        numbers = np.arange(first, first + len(rows), dtype=np.int32)
        self._row_of.set(rows["id"], numbers)
        self._norms = None

    def _columns(self) -> dict[str, Grown[np.generic]]:
        return {
            name.removeprefix("_"): column
            for name, column in vars(self).items()
            if isinstance(column, Grown)
        }


def _documents_of(records: Mapping[int, WordRecord]) -> NDArray[np.int64]:
    """Of each row, in the order of the records."""
    counts = [len(chunk_rows([record])) for record in records.values()]
    return np.repeat(np.fromiter(records, np.int64, len(records)), counts)
