"""Inverted index: postings in immutable segments that are merged as they grow."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from spade_llm.search.terms import MAX_LENGTH, REST_BITS, TERM_ITEM, TERMS_VERSION

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

T = TypeVar("T", bound=np.generic)

ROW_BITS, WEIGHT_BITS = 24, 8
REST_MASK = np.uint32((1 << REST_BITS) - 1)
MAX_ROWS = 1 << ROW_BITS
"""Maximum number of rows of an index: term, row and weight are sorted as one 64-bit number."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PostingList:
    """Rows that have a word, each once."""

    rows: NDArray[np.int32]
    weights: NDArray[np.uint8]

    def only(self, kept: NDArray[np.bool_]) -> PostingList:
        return PostingList(rows=self.rows[kept], weights=self.weights[kept])


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PostingSegment:
    terms: NDArray[np.uint32]
    """Sorted, each once."""
    starts: NDArray[np.int32]
    """Start of each term's rows; there is one more start than terms."""
    rows: NDArray[np.int32]
    weights: NDArray[np.uint8]

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def size_bytes(self) -> int:
        parts = (self.terms, self.starts, self.rows, self.weights)
        return sum(part.nbytes for part in parts)

    def find(self, terms: NDArray[np.uint32]) -> list[tuple[int, PostingList]]:
        """Posting lists of the terms that exist, each with the number of its term."""
        if not len(self.terms):
            return []
        places = np.minimum(np.searchsorted(self.terms, terms), len(self.terms) - 1)
        found = np.flatnonzero(self.terms[places] == terms)
        pairs = zip(found.tolist(), places[found].tolist(), strict=True)
        return [(number, self._posting(place)) for number, place in pairs]

    def find_beginnings(self, beginnings: NDArray[np.uint32]) -> list[tuple[int, PostingList]]:
        """Posting lists of all terms with one of these prefixes (`terms.prefix_hash`), each with
        the number of its prefix."""
        first = np.searchsorted(self.terms, beginnings << REST_BITS, "left")
        last = np.searchsorted(self.terms, beginnings << REST_BITS | REST_MASK, "right")
        return [
            (number, self._posting(place))
            for number in np.flatnonzero(first < last).tolist()
            for place in range(first[number], last[number])
        ]

    def weights_of_row(self, row: int) -> dict[int, int]:
        """Weights of one row, by term; scans the whole segment."""
        places = np.flatnonzero(self.rows == row)
        terms = self.terms[np.searchsorted(self.starts, places, "right") - 1]
        return dict(zip(terms.tolist(), self.weights[places].tolist(), strict=True))

    def _posting(self, place: int) -> PostingList:
        part = slice(self.starts[place], self.starts[place + 1])
        return PostingList(rows=self.rows[part], weights=self.weights[part])


def build_segment(
    terms: NDArray[np.uint32], rows: NDArray[np.int32], weights: NDArray[np.uint8]
) -> PostingSegment:
    packed = terms.astype(np.uint64) << np.uint64(ROW_BITS + WEIGHT_BITS)
    packed |= rows.astype(np.uint64) << np.uint64(WEIGHT_BITS)
    packed |= weights
    packed.sort()
    return _unpack_posting(packed)


def merge_segments(
    segments: Sequence[PostingSegment], is_alive: NDArray[np.bool_]
) -> PostingSegment:
    """Merge segments into one segment, without dead rows."""
    by_row = [np.repeat(part.terms, np.diff(part.starts)) for part in segments]
    terms = _concatenate(np.uint32, by_row)
    rows = _concatenate(np.int32, [part.rows for part in segments])
    weights = _concatenate(np.uint8, [part.weights for part in segments])
    kept = is_alive[rows]
    return build_segment(terms[kept], rows[kept], weights[kept])


def _concatenate(dtype: type[T], parts: Sequence[NDArray[T]]) -> NDArray[T]:
    return np.concatenate([np.empty(0, dtype), *parts])


def _unpack_posting(packed: NDArray[np.uint64]) -> PostingSegment:
    every = (packed >> np.uint64(ROW_BITS + WEIGHT_BITS)).astype(np.uint32)
    is_first = np.ones(len(every), np.bool_)
    np.not_equal(every[1:], every[:-1], out=is_first[1:])
    starts = np.flatnonzero(is_first)
    return PostingSegment(
        terms=every[starts],
        starts=np.append(starts, len(every)).astype(np.int32),
        rows=(packed >> np.uint64(WEIGHT_BITS) & np.uint64(MAX_ROWS - 1)).astype(np.int32),
        weights=(packed & np.uint64((1 << WEIGHT_BITS) - 1)).astype(np.uint8),
    )


INLINE_ITEMS = 32_768
"""Maximum number of items merged at once, which takes 1 ms; larger merges are left to a job."""
MANY_SEGMENTS = 12
"""Number of segments above which a merge job is worth while."""

# The layout of TERM_ITEM: five bytes, without padding.
_ITEM = np.dtype([("term", "<u4"), ("weight", "u1")])


class InvertedIndex:
    """Inverted index: postings in segments."""

    def __init__(self) -> None:
        self._segments: list[PostingSegment] = []

    @property
    def size_bytes(self) -> int:
        return sum(segment.size_bytes for segment in self._segments)

    @property
    def needs_merge(self) -> bool:
        return len(self._segments) > MANY_SEGMENTS

    def add(self, items: tuple[NDArray[np.uint32], NDArray[np.int32], NDArray[np.uint8]]) -> None:
        self._segments.append(build_segment(*items))

    def merge_small_segments(self, is_alive: NDArray[np.bool_]) -> None:
        """Merge the newest segments while that is quick."""
        parts = self._segments
        # Each segment at least twice the next: an item is merged few times, and segments stay few.
        while len(parts) > 1 and len(parts[-2]) < 2 * len(parts[-1]):
            if len(parts[-2]) + len(parts[-1]) > INLINE_ITEMS:
                return
            parts[-2:] = [merge_segments(parts[-2:], is_alive)]

    def merge_job(self, is_alive: NDArray[np.bool_]) -> Callable[[], Callable[[], None]]:
        """Create a job that merges all current segments in another thread. It returns a function
        that puts the result in place."""
        # Copies: rows may be removed here while the other thread merges.
        before, alive = tuple(self._segments), is_alive.copy()

        def run() -> Callable[[], None]:
            merged = merge_segments(before, alive)
            return lambda: self._replace(before, merged)

        return run

    def find(self, words: Sequence[Sequence[int]]) -> list[PostingList]:
        """Rows with one of the terms of each word. One search of a segment is for all words: its
        time is that of the calls."""
        terms = np.array([term for word in words for term in word], np.uint32)
        word_of = [number for number, word in enumerate(words) for _ in word]
        parts: list[list[PostingList]] = [[] for _ in words]
        for segment in self._segments:
            for number, part in segment.find(terms):
                parts[word_of[number]].append(part)
        return [_join_postings(some) for some in parts]

    def find_beginnings(self, beginnings: Sequence[int]) -> list[PostingList]:
        """Rows with a term of each prefix, each once with its highest weight."""
        prefixes = np.array(beginnings, np.uint32)
        parts: list[list[PostingList]] = [[] for _ in beginnings]
        for segment in self._segments:
            for number, part in segment.find_beginnings(prefixes):
                parts[number].append(part)
        return [_highest_weights(_join_postings(some)) for some in parts]

    def weights_of_row(self, row: int) -> dict[int, int]:
        found: dict[int, int] = {}
        for segment in self._segments:
            found |= segment.weights_of_row(row)
        return found

    def _replace(self, before: tuple[PostingSegment, ...], merged: PostingSegment) -> None:
        """Replace segments by their merger, unless others were merged meanwhile."""
        # Segments are compared by identity (eq=False), not by their arrays.
        if before and tuple(self._segments[: len(before)]) == before:
            self._segments[: len(before)] = [merged]


def read_items(
    records: Sequence[bytes], first_row: int
) -> tuple[NDArray[np.uint32], NDArray[np.int32], NDArray[np.uint8]]:
    """Terms, rows and weights of records that become rows from `first_row` on."""
    counts = np.fromiter(map(len, records), np.int64, len(records)) // TERM_ITEM.size
    return split_items(b"".join(records), counts, first_row)


def split_items(
    joined: bytes, counts: NDArray[np.int64], first_row: int
) -> tuple[NDArray[np.uint32], NDArray[np.int32], NDArray[np.uint8]]:
    """Split joined records into terms, rows and weights. `counts`: number of items per record."""
    items = np.frombuffer(joined, _ITEM)
    rows = np.repeat(np.arange(first_row, first_row + len(counts), dtype=np.int32), counts)
    is_term = np.ones(len(items), np.bool_)
    # The first item of each record is its head.
    is_term[np.cumsum(counts) - counts] = False
    return items["term"][is_term], rows[is_term], items["weight"][is_term]


def read_heads(records: Sequence[bytes]) -> tuple[NDArray[np.uint8], NDArray[np.uint16]]:
    """Flags and length of each record; raises ValueError for another version's."""
    heads = [record[: TERM_ITEM.size] for record in records]
    return split_heads(b"".join(heads), np.ones(len(records), np.int64))


def split_heads(
    joined: bytes, counts: NDArray[np.int64]
) -> tuple[NDArray[np.uint8], NDArray[np.uint16]]:
    """Read flags and lengths of joined records. `counts`: number of items per record."""
    items = np.frombuffer(joined, _ITEM)
    is_whole = len(items) == counts.sum() and (counts > 0).all()
    heads = items["term"][np.cumsum(counts) - counts] if is_whole else np.empty(0, np.uint32)
    if len(heads) != len(counts) or (heads >> np.uint32(24) != TERMS_VERSION).any():
        raise ValueError("terms of another version: encode them anew")
    flags = heads >> np.uint32(16) & np.uint32(0xFF)
    return flags.astype(np.uint8), (heads & np.uint32(MAX_LENGTH)).astype(np.uint16)


def _highest_weights(posting: PostingList) -> PostingList:
    """Each row once, with its highest weight."""
    if not len(posting.rows):
        return posting
    order = np.lexsort((posting.weights, posting.rows))
    rows, weights = posting.rows[order], posting.weights[order]
    is_last = np.append(rows[1:] != rows[:-1], True)
    return PostingList(rows=rows[is_last], weights=weights[is_last])


def _join_postings(parts: Sequence[PostingList]) -> PostingList:
    if len(parts) == 1:
        return parts[0]
    return PostingList(
        rows=np.concatenate([np.empty(0, np.int32), *(part.rows for part in parts)]),
        weights=np.concatenate([np.empty(0, np.uint8), *(part.weights for part in parts)]),
    )
