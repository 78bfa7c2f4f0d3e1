"""Index of document passages in RAM: keywords, vectors, and its serialized records."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import numpy as np

from spade_llm.search import terms
from spade_llm.search.bm25 import bm25_norms
from spade_llm.search.postings import split_heads, split_items
from spade_llm.search.table import GrowableArray, KeyedTable, KeywordTable, top_k
from spade_llm.search.terms import TERM_ITEM, content_hash, encode_terms
from spade_llm.search.vectors import COMPUTED_ROWS, EXACT_ROWS, QuantizedVectors, quantize_vectors

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from spade_llm.search.postings import PostingList

RECORD_VERSION = 100 + terms.TERMS_VERSION
"""Version of the records; records of another version are made anew."""
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
    # np.frombuffer gives a read-only view.
    rows = join_chunk_rows([record]).copy()
    rows["id"] = ids
    return KeywordRecord(chunks=rows.tobytes(), terms=record.terms)


def join_chunk_rows(records: Sequence[KeywordRecord]) -> NDArray[np.void]:
    """Concatenate the chunk rows of all records."""
    return np.frombuffer(b"".join(record.chunks for record in records), CHUNK_DTYPE)


class PassageIndex(KeywordTable):
    """Index of the passages of one namespace, by chunk id. The rows of a document that was replaced
    are dead."""

    def __init__(self) -> None:
        super().__init__()
        self.document: GrowableArray[np.int64] = GrowableArray(np.int64)
        self.text: GrowableArray[np.int64] = GrowableArray(np.int64)
        """Hashes, equal for equal texts."""
        self.heading: GrowableArray[np.int64] = GrowableArray(np.int64)
        """Hashes."""
        self.position: GrowableArray[np.int32] = GrowableArray(np.int32)
        self.page: GrowableArray[np.int32] = GrowableArray(np.int32)
        self._norms: NDArray[np.float32] | None = None
        """BM25 length norms, cached until the next change."""
        self.losses = 0
        """Counts the changes in which chunks went away."""

    @property
    def bm25_norms(self) -> NDArray[np.float32]:
        """BM25 length norms of the rows: K1 for a chunk of mean length."""
        if self._norms is None:
            self._norms = bm25_norms(self.length.rows, self.is_alive.rows)
        return self._norms

    def put(self, records: Mapping[int, KeywordRecord]) -> None:
        """Add documents by number, or replace those with these numbers.

        Raises ValueError for terms of another version, and for more than 16 million rows.
        """
        self.remove(list(records))
        chunks = join_chunk_rows(list(records.values()))
        if not len(chunks):
            return
        self.check_capacity(len(chunks))
        joined = b"".join(record.terms for record in records.values())
        counts = chunks["items"].astype(np.int64)
        _, lengths = split_heads(joined, counts)
        first = len(self)
        rows_per_record = [len(join_chunk_rows([record])) for record in records.values()]
        documents = np.repeat(np.fromiter(records, np.int64, len(records)), rows_per_record)
        given = {name: chunks[name] for name in ("text", "heading", "position", "page")}
        self.append({**given, "key": chunks["id"], "document": documents, "length": lengths})
        self._norms = None
        self.add_terms(split_items(joined, counts, first))

    def remove(self, documents: Sequence[int]) -> None:
        """Remove documents by number. Unknown numbers are ignored."""
        rows = np.flatnonzero(np.isin(self.document.rows, documents) & self.is_alive.rows)
        if len(rows):
            self.mark_dead(rows)
            self._norms = None
            self.losses += 1

    def find(self, words: Sequence[Sequence[int]]) -> list[PostingList]:
        """Find, for each word, the live rows that have one of its terms."""
        found = self.postings.find(words)
        if self.live_rows == len(self):
            return found
        return [posting.only(self.is_alive.rows[posting.rows]) for posting in found]


class PassageVectors:
    """Vectors by chunk id, quantized to int8: the error of a cosine is at most 0.005."""

    def __init__(self) -> None:
        self._table = KeyedTable()
        self._vectors = QuantizedVectors()

    def __len__(self) -> int:
        return self._table.live_rows

    @property
    def size_bytes(self) -> int:
        return self._table.size_bytes + self._vectors.size_bytes

    @property
    def needs_rebuild(self) -> bool:
        return self._table.needs_rebuild

    def put(self, ids: Sequence[int], vectors: NDArray[np.float32]) -> None:
        """Add or replace vectors."""
        self.put_values(ids, quantize_vectors(vectors)[0])

    def put_values(self, ids: Sequence[int] | NDArray[np.int64], values: NDArray[np.int8]) -> None:
        """Add or replace quantized vectors."""
        if not len(ids):
            return
        self.remove(ids)
        rows = self._table.append({"key": np.asarray(ids, np.int64)})
        self._vectors.extend(len(rows))
        self._vectors.put(rows, values)

    def remove(self, ids: Sequence[int] | NDArray[np.int64]) -> None:
        """Remove vectors. Unknown ids are ignored."""
        rows = self._table.known_rows(ids)
        if len(rows):
            self._table.mark_dead(rows)
            self._vectors.drop(rows)

    def nearest(
        self, vector: NDArray[np.float32], limit: int, among: Sequence[int] | None = None
    ) -> dict[int, float]:
        """Find the nearest vectors and their cosines, nearest first."""
        rows = self._rows(among)
        if not len(rows):
            return {}
        if len(rows) > EXACT_ROWS:
            count = min(max(COMPUTED_ROWS, 2 * limit), len(rows))
            rows = rows[top_k(self._vectors.near_cosines(vector)[rows], count)]
        cosines = self._vectors.cosines(rows, vector)
        best = np.lexsort((self._table.key.rows[rows], -cosines))[:limit]
        pairs = zip(self._table.key.rows[rows[best]].tolist(), cosines[best].tolist(), strict=True)
        return dict(pairs)

    def cosines(self, vector: NDArray[np.float32], ids: Sequence[int]) -> dict[int, float]:
        """Cosines by id; ids without a vector are left out."""
        rows = self._table.known_rows(ids).astype(np.intp)
        if not len(rows):
            return {}
        found = self._vectors.cosines(rows, vector)
        return dict(zip(self._table.key.rows[rows].tolist(), found.tolist(), strict=True))

    def _rows(self, among: Sequence[int] | None) -> NDArray[np.intp]:
        if among is not None:
            return self._table.known_rows(among).astype(np.intp)
        return np.flatnonzero(self._vectors.has) if len(self) else np.empty(0, np.intp)
