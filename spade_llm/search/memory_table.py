"""Table of the memory index: input columns, rows, string codes, adjacent messages, and masks of
rows by query filter, validity in time and grant scopes."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any
from zlib import crc32

import numpy as np

from spade_llm.search.postings import read_heads
from spade_llm.search.table import GrowableArray, KeywordTable

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from datetime import datetime

    from numpy.typing import NDArray

    from spade_llm.search.memory_query import GrantScope, MemoryFilter

    Mask = NDArray[np.bool_]


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexColumns:
    """Parallel sequences, all as long as `key`. Hidden (deleted) rows are removed, not given."""

    key: Sequence[int]
    """seq * 2 of an entry, seq * 2 + 1 of a message; messages of a conversation in key order."""
    subject: Sequence[str | None]
    session: Sequence[str | None]
    """Conversation, if the row is a message."""
    speaker: Sequence[str | None]
    """Name that others use for the speaker, if the row is a message."""
    type: Sequence[str | None]
    category: Sequence[str | None]
    tier: Sequence[str | None]
    content_type: Sequence[str | None]
    tags: Sequence[tuple[str, ...]]
    created_at: Sequence[float]
    expires_at: Sequence[float | None]
    valid_at: Sequence[float | None]
    invalid_at: Sequence[float | None]
    importance: Sequence[float]
    """Effective importance, set or computed."""
    stability: Sequence[float | None]
    """Days; None: never reviewed."""
    reviewed_at: Sequence[float | None]
    content_hash: Sequence[int]
    """Hash of the content (`terms.content_hash`)."""
    terms: Sequence[bytes]
    """Encoded terms (`terms.encode_terms`)."""

    def __post_init__(self) -> None:
        for field in fields(self):
            if len(getattr(self, field.name)) != len(self.key):
                raise ValueError(f"{field.name} has another length than key")

    def __len__(self) -> int:
        return len(self.key)


NO_STRING = 0
UNKNOWN_STRING = -1


class StringCodes:
    """Integer codes of strings: 0 for None, the others numbered in order of appearance. Strings are
    never removed."""

    def __init__(self) -> None:
        self._numbers = _CodeNumbers({None: NO_STRING})

    def __len__(self) -> int:
        return len(self._numbers) - 1

    @property
    def texts(self) -> list[str]:
        """Numbered from 1."""
        return [text for text in self._numbers if text is not None]

    def of(self, texts: Sequence[str | None]) -> NDArray[np.int32]:
        return np.fromiter(map(self._numbers.__getitem__, texts), np.int32, len(texts))

    def find(self, text: str) -> int:
        return self._numbers.get(text, UNKNOWN_STRING)


class _CodeNumbers(dict[str | None, int]):
    def __missing__(self, text: str | None) -> int:
        self[text] = number = len(self)
        return number


class TagCodes:
    """Sets of tags as numbers; the empty set is 0."""

    def __init__(self) -> None:
        self._numbers: dict[tuple[str, ...], int] = {(): NO_STRING}
        self._sets_with: dict[str, set[int]] = {}

    def of(self, tags: Sequence[tuple[str, ...]]) -> NDArray[np.int32]:
        return np.fromiter(map(self._number, tags), np.int32, len(tags))

    def with_all(self, tags: Sequence[str]) -> NDArray[np.bool_]:
        """Mask over the codes of tag sets: true for the sets that contain all of these tags."""
        numbers = set.intersection(*(self._sets_with.get(tag, set()) for tag in tags))
        has = np.zeros(len(self._numbers), np.bool_)
        has[list(numbers)] = True
        return has

    def _number(self, tags: tuple[str, ...]) -> int:
        number = self._numbers.get(tags)
        if number is None:
            self._numbers[tags] = number = len(self._numbers)
            for tag in tags:
                self._sets_with.setdefault(tag, set()).add(number)
        return number


TEXT_COLUMNS = ("subject", "session", "speaker", "type", "category", "tier", "content_type")
TIME_COLUMNS = {
    "created_at": 0.0,
    "expires_at": np.inf,
    "valid_at": -np.inf,
    "invalid_at": np.inf,
    "reviewed_at": -np.inf,
}
"""Columns of times, with the value that stands for a missing time."""
BYTES_PER_STRING = 100


class MemoryRows(KeywordTable):
    """Columns of the memory index."""

    def __init__(self) -> None:
        super().__init__()
        self.subject: GrowableArray[np.int32] = GrowableArray(np.int32)
        self.session: GrowableArray[np.int32] = GrowableArray(np.int32)
        self.speaker: GrowableArray[np.int32] = GrowableArray(np.int32)
        self.type: GrowableArray[np.int32] = GrowableArray(np.int16)
        self.category: GrowableArray[np.int32] = GrowableArray(np.int16)
        self.tier: GrowableArray[np.int32] = GrowableArray(np.int16)
        self.content_type: GrowableArray[np.int32] = GrowableArray(np.int16)
        self.tags: GrowableArray[np.int32] = GrowableArray(np.int32)
        self.created_at: GrowableArray[np.float64] = GrowableArray(np.float64)
        self.expires_at: GrowableArray[np.float64] = GrowableArray(np.float64)
        self.valid_at: GrowableArray[np.float64] = GrowableArray(np.float64)
        self.invalid_at: GrowableArray[np.float64] = GrowableArray(np.float64)
        self.reviewed_at: GrowableArray[np.float64] = GrowableArray(np.float64)
        self.importance: GrowableArray[np.float32] = GrowableArray(np.float32)
        self.stability: GrowableArray[np.float32] = GrowableArray(np.float32)
        """Days; 0: never reviewed."""
        self.content_hash: GrowableArray[np.int64] = GrowableArray(np.int64)
        self.digest: GrowableArray[np.uint32] = GrowableArray(np.uint32)
        """Digest of the terms, to detect changes."""
        self.flags: GrowableArray[np.uint8] = GrowableArray(np.uint8)
        self.codes = {name: StringCodes() for name in TEXT_COLUMNS}
        self.tag_codes = TagCodes()

    @property
    def size_bytes(self) -> int:
        strings = sum(map(len, self.codes.values()))
        return super().size_bytes + BYTES_PER_STRING * strings

    @property
    def is_message(self) -> NDArray[np.bool_]:
        return (self.key.rows & 1).astype(np.bool_)

    def encoded(self, columns: IndexColumns) -> dict[str, NDArray[np.generic]]:
        """Columns as these arrays hold them. Raises ValueError for terms of another version."""
        flags, length = read_heads(columns.terms)
        return {
            "key": np.asarray(columns.key, np.int64),
            **{name: self.codes[name].of(getattr(columns, name)) for name in TEXT_COLUMNS},
            "tags": self.tag_codes.of(columns.tags),
            **{
                name: _floats(getattr(columns, name), np.float64, absent)
                for name, absent in TIME_COLUMNS.items()
            },
            "importance": np.asarray(columns.importance, np.float32),
            "stability": _floats(columns.stability, np.float32, 0.0),
            "content_hash": np.asarray(columns.content_hash, np.int64),
            "digest": np.fromiter(map(crc32, columns.terms), np.uint32, len(columns)),
            "flags": flags,
            "length": length,
        }


def _floats(
    values: Sequence[float | None], dtype: type[np.floating[Any]], absent: float
) -> NDArray[np.floating[Any]]:
    # None becomes NaN.
    found = np.array(values, dtype)
    found[np.isnan(found)] = absent
    return found


MAX_GAP_S = 30 * 60.0
NO_NEIGHBOUR = -1


class AdjacentMessages:
    """Previous and next message of each message in its conversation."""

    def __init__(self, table: MemoryRows) -> None:
        self._table = table
        self._before: GrowableArray[np.int32] = GrowableArray(np.int32)
        self._after: GrowableArray[np.int32] = GrowableArray(np.int32)
        self._last: dict[int, int] = {}
        """Newest row of each conversation."""

    @property
    def size_bytes(self) -> int:
        return self._before.size_bytes + self._after.size_bytes + 100 * len(self._last)

    def add(self, rows: NDArray[np.int32]) -> None:
        """Add the rows that were appended to the table last."""
        unlinked = np.full(len(rows), NO_NEIGHBOUR, np.int32)
        self._before.append(unlinked)
        self._after.append(unlinked)
        sessions = self._table.session.rows[rows]
        messages = rows[self._table.is_message[rows]]
        if self._are_newest(messages):
            tails = {self._last.get(session, NO_NEIGHBOUR) for session in set(sessions.tolist())}
            tails.discard(NO_NEIGHBOUR)
            self._link(np.concatenate([np.array(sorted(tails), np.int32), messages]))
        else:
            self.relink(set(sessions.tolist()))

    def relink(self, sessions: set[int]) -> None:
        """Link the messages of these conversations anew."""
        table = self._table
        is_meant = np.zeros(len(table.codes["session"].texts) + 1, np.bool_)
        is_meant[list(sessions)] = True
        rows = np.flatnonzero(is_meant[table.session.rows] & table.is_message)
        self._before.rows[rows] = self._after.rows[rows] = NO_NEIGHBOUR
        for session in sessions:
            self._last.pop(session, None)
        self._link(rows[table.is_alive.rows[rows]].astype(np.int32))

    def reach(self) -> dict[int, NDArray[np.int32]]:
        """Rows at the offsets -2, -1, 1 and 2 in the conversation, or NO_NEIGHBOUR. The arrays have
        an additional last element, so that the neighbour of NO_NEIGHBOUR is NO_NEIGHBOUR."""
        before = np.append(self._before.rows, np.int32(NO_NEIGHBOUR))
        after = np.append(self._after.rows, np.int32(NO_NEIGHBOUR))
        return {-2: before[before], -1: before, 1: after, 2: after[after]}

    def _are_newest(self, messages: NDArray[np.int32]) -> bool:
        """Check whether each message is newer than the last one of its conversation."""
        table, last = self._table, self._last
        if not last:
            return True
        keys, sessions = table.key.rows, table.session.rows[messages].tolist()
        pairs = zip(messages.tolist(), sessions, strict=True)
        return all(keys[row] > keys[last[at]] for row, at in pairs if at in last)

    def _link(self, rows: NDArray[np.int32]) -> None:
        """Link messages; their conversations have no later ones."""
        table = self._table
        sessions = table.session.rows[rows]
        order = np.lexsort((table.key.rows[rows], sessions))
        rows, sessions = rows[order], sessions[order]
        gaps = np.abs(np.diff(table.created_at.rows[rows]))
        pairs = np.flatnonzero((sessions[1:] == sessions[:-1]) & (gaps < MAX_GAP_S))
        self._after.rows[rows[pairs]] = rows[pairs + 1]
        self._before.rows[rows[pairs + 1]] = rows[pairs]
        ends = np.append(sessions[1:] != sessions[:-1], np.ones(min(1, len(rows)), np.bool_))
        self._last.update(zip(sessions[ends].tolist(), rows[ends].tolist(), strict=True))


def granted_rows(table: MemoryRows, scopes: Sequence[GrantScope] | None) -> Mask:
    """Mask of the rows accessible to the caller. Statistics use it too; otherwise they would reveal
    other rows."""
    alive = table.is_alive.rows
    if scopes is None:
        return alive
    let_in = [scope_mask(table, scope) for scope in scopes]
    return np.asarray(np.logical_or.reduce([np.zeros(len(table), np.bool_), *let_in]) & alive)


def scope_mask(table: MemoryRows, scope: GrantScope) -> Mask:
    mask = np.ones(len(table), np.bool_)
    if scope.tag is not None:
        mask &= _tags_mask(table, (scope.tag,))
    if scope.session is not None:
        mask &= _equals_mask(table, "session", scope.session)
    return mask


def matching_rows(
    table: MemoryRows, which: MemoryFilter, *, now: float, with_messages: bool
) -> Mask:
    """Mask of the rows that match the filter and have not expired."""
    mask = now < table.expires_at.rows
    if not which.with_invalid:
        mask &= _is_valid_at(table, which.as_of, now)
    if not with_messages:
        mask &= ~table.is_message
    for part in _filter_masks(table, which):
        mask &= part
    return mask


def _is_valid_at(table: MemoryRows, as_of: datetime | None, now: float) -> Mask:
    """Mask of the rows that are valid at `as_of`, or now. A clock that was set back hides no row
    that was created since."""
    valid_at, created_at = table.valid_at.rows, table.created_at.rows
    if as_of:
        then = as_of.timestamp()
        begun = np.where(np.isinf(valid_at), created_at, valid_at) <= then
    else:
        then = now
        begun = (valid_at <= then) | (valid_at <= created_at)
    return np.asarray(begun & (then < table.invalid_at.rows))


def _filter_masks(table: MemoryRows, which: MemoryFilter) -> Iterator[Mask]:
    for name in ("subject", "session", "category", "tier", "content_type"):
        text = getattr(which, name)
        if text is not None:
            yield _equals_mask(table, name, text)
    if which.types:
        yield np.logical_or.reduce([_equals_mask(table, "type", type_) for type_ in which.types])
    if which.tags:
        yield _tags_mask(table, which.tags)
    # Both ends of the period belong to it.
    if which.created_after is not None:
        yield table.created_at.rows >= which.created_after.timestamp()
    if which.created_before is not None:
        yield table.created_at.rows <= which.created_before.timestamp()


def _equals_mask(table: MemoryRows, name: str, text: str) -> Mask:
    code = table.codes[name].find(text)
    if code == UNKNOWN_STRING:
        return np.zeros(len(table), np.bool_)
    column: NDArray[np.int32] = getattr(table, name).rows
    return np.asarray(column == code)


def _tags_mask(table: MemoryRows, tags: Sequence[str]) -> Mask:
    return table.tag_codes.with_all(tags)[table.tags.rows]
