"""Keyword index of document passages in RAM, and its serialized records."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import numpy as np

from spade_llm.search import terms
from spade_llm.search.arrays import NO_ROW, GrowableArray, KeyIndex
from spade_llm.search.postings import MAX_ROWS, InvertedIndex, split_heads, split_items
from spade_llm.search.terms import TERM_ITEM, content_hash, encode_terms

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from numpy.typing import NDArray

    from spade_llm.search.postings import PostingList

RECORD_VERSION = 100 + terms.TERMS_VERSION
"""Another one means that they must be made anew."""
NO_PAGE = 0

CHUNK_DTYPE = np.dtype(
    [
        ("id", "<i8"),
        ("text", "<i8"),
        ("heading", "<i8"),
        ("position", "<i4"),
        ("page", "<i4"),
        ("items", "<i4"),
    ]
)
"""`text` and `heading` are hashes; `items`: so many of the terms' items are of this chunk."""


class IndexedText(Protocol):
    """A chunk or passage."""

    @property
    def text(self) -> str: ...
    @property
    def heading(self) -> str: ...
    @property
    def page(self) -> int | None: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class KeywordRecord:
    """Keyword data of one document; `chunks` are rows of CHUNK_DTYPE."""

    chunks: bytes
    terms: bytes


def make_keyword_record(passages: Sequence[IndexedText], ids: Sequence[int] = ()) -> KeywordRecord:
    """Create the record of a document from all its passages, in order. Without `ids`, they are
    assigned later (`assign_chunk_ids`)."""
    encoded = [encode_terms(passage.text, passage.heading) for passage in passages]
    rows = np.zeros(len(passages), CHUNK_DTYPE)
    rows["id"] = ids or 0
    rows["text"] = [content_hash(passage.text) for passage in passages]
    rows["heading"] = [content_hash(passage.heading) for passage in passages]
    rows["position"] = np.arange(len(passages))
    rows["page"] = [passage.page or NO_PAGE for passage in passages]
    rows["items"] = [len(one) // TERM_ITEM.size for one in encoded]
    return KeywordRecord(chunks=rows.tobytes(), terms=b"".join(encoded))


def assign_chunk_ids(record: KeywordRecord, ids: Sequence[int]) -> KeywordRecord:
    """The same passages under the ids that they were given since."""
    rows = join_chunk_rows([record]).copy()
    rows["id"] = ids
    return KeywordRecord(chunks=rows.tobytes(), terms=record.terms)


def join_chunk_rows(records: Sequence[KeywordRecord]) -> NDArray[np.void]:
    """Concatenate the chunk rows of all records."""
    return np.frombuffer(b"".join(record.chunks for record in records), CHUNK_DTYPE)


K1, B = 1.2, 0.75
REBUILD_ROWS, PASSAGE_REBUILD_SHARE = 1024, 0.5
"""Number of dead rows, and their share of all rows, above which the index is to be loaded again."""


class PassageIndex:
    """Rows are numbered as they come; those of a document that was replaced are dead."""

    def __init__(self) -> None:
        self._id: GrowableArray[np.int64] = GrowableArray(np.int64)
        self._document: GrowableArray[np.int64] = GrowableArray(np.int64)
        self._text: GrowableArray[np.int64] = GrowableArray(np.int64)
        self._heading: GrowableArray[np.int64] = GrowableArray(np.int64)
        self._position: GrowableArray[np.int32] = GrowableArray(np.int32)
        self._page: GrowableArray[np.int32] = GrowableArray(np.int32)
        self._length: GrowableArray[np.uint16] = GrowableArray(np.uint16)
        self._is_alive: GrowableArray[np.bool_] = GrowableArray(np.bool_)
        self._row_of = KeyIndex()
        self._postings = InvertedIndex()
        self._dead = 0
        self._norms: NDArray[np.float32] | None = None
        """BM25 length norms, cached until the next change."""
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
        return self._dead > max(REBUILD_ROWS, PASSAGE_REBUILD_SHARE * len(self))

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
        """BM25 length norms of the rows: K1 for a chunk of mean length."""
        if self._norms is None:
            living = self._length.rows[self.is_alive]
            mean = float(living.mean(dtype=np.float64)) if len(living) else 1.0
            per_length = np.float32(K1 * B / max(mean, 1e-9))
            self._norms = per_length * self._length.rows + np.float32(K1 * (1 - B))
        return self._norms

    def put(self, records: Mapping[int, KeywordRecord]) -> None:
        """Documents by number, new or in the place of what they were.

        Raises ValueError for terms of another version, and for more than 16 million rows.
        """
        self.remove(list(records))
        rows = join_chunk_rows(list(records.values()))
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

    def find(self, terms: Sequence[int]) -> PostingList:
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

    def _columns(self) -> dict[str, GrowableArray[np.generic]]:
        return {
            name.removeprefix("_"): column
            for name, column in vars(self).items()
            if isinstance(column, GrowableArray)
        }


def _documents_of(records: Mapping[int, KeywordRecord]) -> NDArray[np.int64]:
    """Document number of each row, in the order of the records."""
    counts = [len(join_chunk_rows([record])) for record in records.values()]
    return np.repeat(np.fromiter(records, np.int64, len(records)), counts)
