"""Index rows: entries and messages of an owner as columns for its search index; their versions,
by which the index sees changes by other processes."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, TypeVar

from spade_llm.memory.database.rows import (
    CATEGORY_CODES,
    CONTENT_TYPE_CODES,
    DAY_US,
    HALF_IMPORTANCE_USES,
    HALF_LIFE_DAYS,
    TIER_CODES,
    TYPE_CODES,
    split_keys,
)
from spade_llm.search.memory_query import Category, ContentType, MemoryType, Tier
from spade_llm.search.memory_table import IndexColumns
from spade_llm.search.terms import TERMS_VERSION, encode_terms

if TYPE_CHECKING:
    from spade_llm.memory.database.connection import SqlRow, SqlValue, Transaction
    from spade_llm.memory.database.rows import EnumCodes


E = TypeVar("E", bound=StrEnum)

PAGE_ROWS = 16_384
"""Rows read at a time, so that a large owner's rows are not all in RAM as objects."""

VERSION_OFFSET = 3
"""Index of the byte with the encoding version of a row's terms."""

ENTRY = """
    SELECT seq * 2, subject, session, NULL, type, category, tier, content_type, tags, created_at,
        expires_at, valid_at, invalid_at, importance, access_count,
        coalesce(last_accessed_at, created_at), stability, reviewed_at, content_hash, terms, data
    FROM entry LEFT JOIN vector ON vector.row = entry.seq * 2
        AND vector.model = (SELECT number FROM model WHERE name = :model)
    WHERE entry.owner = (SELECT number FROM owner WHERE jid = :owner) AND deleted_at IS NULL
"""

MESSAGE = f"""
    SELECT message.seq * 2 + 1, message.subject, name, speaker,
        {TYPE_CODES.number(MemoryType.EPISODIC)}, NULL, {TIER_CODES.number(Tier.WORKING)},
        {CONTENT_TYPE_CODES.number(ContentType.TEXT)}, NULL, at,
        NULL, NULL, NULL, NULL, 0,
        at, NULL, NULL, content_hash, terms, data
    FROM message JOIN conversation ON conversation.number = message.conversation
        LEFT JOIN vector ON vector.row = message.seq * 2 + 1
        AND vector.model = (SELECT number FROM model WHERE name = :model)
    WHERE message.owner = (SELECT number FROM owner WHERE jid = :owner)
        AND message.seq > cleared_at_seq
"""

# In the order of an index that leads to this owner's rows and to no others.
ALL_ENTRIES = f"{ENTRY} ORDER BY created_at"
ALL_MESSAGES = f"{MESSAGE} ORDER BY message.conversation, message.seq"

ENTRIES = f"{ENTRY} AND seq IN (SELECT value FROM json_each(:entries))"
MESSAGES = f"""
    {MESSAGE} AND message.seq IN (SELECT value FROM json_each(:messages))
    ORDER BY message.seq
"""

# The plus: by number, not by what leads to all rows of the owner.
TEXTS = """
    SELECT seq * 2, content, context FROM entry
    WHERE +owner = (SELECT number FROM owner WHERE jid = :owner)
        AND seq IN (SELECT value FROM json_each(:entries))
    UNION ALL
    SELECT seq * 2 + 1, content, speaker FROM message
    WHERE +owner = (SELECT number FROM owner WHERE jid = :owner)
        AND seq IN (SELECT value FROM json_each(:messages))
"""

TextsByKey = Mapping[int, tuple[str, str | None]]


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexRows:
    """Rows as columns, and the packed vectors of those that have one."""

    columns: IndexColumns
    vectors: Mapping[int, bytes]


def all_index_rows(
    transaction: Transaction, owner: str, *, model: str, now: int
) -> Iterator[IndexRows]:
    """Yield all rows that are not deleted, page by page; the index hides expired ones."""
    which: Mapping[str, SqlValue] = {"owner": owner, "model": model}
    for sql in (ALL_ENTRIES, ALL_MESSAGES):
        for page in transaction.pages(sql, which, size=PAGE_ROWS):
            yield _index_rows(page, _texts_without_terms(transaction, owner, page), now=now)


def index_rows_by_key(
    transaction: Transaction, owner: str, keys: Sequence[int], *, model: str, now: int
) -> IndexRows:
    """Rows with these keys; deleted ones are missing."""
    which: Mapping[str, SqlValue] = {"owner": owner, "model": model, **_numbers(keys)}
    found = [*transaction.all(ENTRIES, which), *transaction.all(MESSAGES, which)]
    return _index_rows(found, _texts_without_terms(transaction, owner, found), now=now)


def _numbers(keys: Sequence[int]) -> Mapping[str, SqlValue]:
    entries, messages = split_keys(keys)
    return {"entries": json.dumps(entries), "messages": json.dumps(messages)}


def _texts_without_terms(
    transaction: Transaction, owner: str, rows: Sequence[SqlRow]
) -> TextsByKey:
    """Texts by key of rows without current terms. Reading all texts took as long as the rest."""
    old = [row[0] for row in rows if row[19] is None or row[19][VERSION_OFFSET] != TERMS_VERSION]
    if not old:
        return {}
    found = transaction.all(TEXTS, {"owner": owner, **_numbers(old)})
    return {key: (content, context) for key, content, context in found}


def _index_rows(rows: Sequence[SqlRow], texts: TextsByKey, *, now: int) -> IndexRows:
    vectors = {row[0]: row[20] for row in rows if row[20] is not None}
    return IndexRows(columns=_columns(rows, texts, now=now), vectors=vectors)


def _columns(rows: Sequence[SqlRow], texts: TextsByKey, *, now: int) -> IndexColumns:
    columns = list(zip(*rows, strict=True)) if rows else [()] * 21
    tags = [tuple(json.loads(packed)) if packed else () for packed in columns[8]]
    return IndexColumns(
        key=columns[0],
        subject=columns[1],
        session=columns[2],
        speaker=columns[3],
        type=list(map(TYPE_OF.__getitem__, columns[4])),
        category=list(map(CATEGORY_OF.__getitem__, columns[5])),
        tier=list(map(TIER_OF.__getitem__, columns[6])),
        content_type=list(map(CONTENT_TYPE_OF.__getitem__, columns[7])),
        tags=tags,
        created_at=[at / 1e6 for at in columns[9]],
        expires_at=_seconds(columns[10]),
        valid_at=_seconds(columns[11]),
        invalid_at=_seconds(columns[12]),
        importance=_importance(columns[13], columns[14], columns[15], now=now),
        stability=columns[16],
        reviewed_at=_seconds(columns[17]),
        content_hash=columns[18],
        terms=_terms(rows, tags, texts),
    )


def _importance(
    given: Sequence[float | None], uses: Sequence[int], last_used: Sequence[int], *, now: int
) -> Sequence[float]:
    """Vectorized `effective_importance`, many times faster for many rows."""
    import numpy as np

    idle_days = np.maximum((now - np.array(last_used, np.float64)) / DAY_US, 0.0)
    counts = np.array(uses, np.float64)
    computed = (np.exp2(-idle_days / HALF_LIFE_DAYS) + counts / (counts + HALF_IMPORTANCE_USES)) / 2
    # None becomes NaN.
    found = np.array(given, np.float64)
    importances: list[float] = np.where(np.isnan(found), computed.round(3), found).tolist()
    return importances


def _seconds(microseconds: Sequence[int | None]) -> list[float | None]:
    return [None if at is None else at / 1e6 for at in microseconds]


def _terms(
    rows: Sequence[SqlRow], tags: Sequence[tuple[str, ...]], texts: TextsByKey
) -> Sequence[bytes]:
    if not texts:
        return [row[19] for row in rows]
    return [
        encode_terms(*texts[row[0]], its) if row[0] in texts else row[19]
        for row, its in zip(rows, tags, strict=True)
    ]


def _enum_values(codes: EnumCodes[E], values: type[E]) -> dict[int | None, str | None]:
    names: dict[int | None, str | None] = {None: None}
    for value in values:
        names[codes.number(value)] = value.value
    return names


TYPE_OF = _enum_values(TYPE_CODES, MemoryType)
CATEGORY_OF = _enum_values(CATEGORY_CODES, Category)
TIER_OF = _enum_values(TIER_CODES, Tier)
CONTENT_TYPE_OF = _enum_values(CONTENT_TYPE_CODES, ContentType)


# The table exists only where several processes may write (postgres_dialect.py).
SELECT_VERSION = "SELECT coalesce(max(version), 0) FROM owner_version WHERE owner = :owner"
SELECT_CHANGES = """
    SELECT version, keys, accessed FROM owner_version
    WHERE owner = :owner AND version > :known ORDER BY version
"""
SELECT_VERSIONS = """
    SELECT owner, max(version) FROM owner_version
    WHERE owner IN (SELECT value FROM json_each(:owners)) GROUP BY owner
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnerChanges:
    """Changes of an owner's rows up to a version."""

    version: int
    keys: frozenset[int] | None
    """Keys of changed rows; None: they are not known any more, or too many."""
    accessed: frozenset[int] = frozenset()
    """Keys of rows with counted accesses."""


def owner_version(transaction: Transaction, owner: str) -> int:
    """Latest version of an owner's rows; 0 before the first change."""
    return int(transaction.all(SELECT_VERSION, {"owner": owner})[0][0])


def owner_versions(transaction: Transaction, owners: Sequence[str]) -> dict[str, int]:
    """Latest versions of these owners' rows; those without a change are missing."""
    rows = transaction.all(SELECT_VERSIONS, {"owners": json.dumps(owners)})
    return {str(owner): int(version) for owner, version in rows}


def changes_since(transaction: Transaction, owner: str, known: int) -> OwnerChanges | None:
    """Changes after a version; None: there are none."""
    rows = transaction.all(SELECT_CHANGES, {"owner": owner, "known": known})
    if not rows:
        return None
    version = rows[-1][0]
    # Older versions are pruned.
    if rows[0][0] != known + 1 or any(keys is None for _, keys, _ in rows):
        return OwnerChanges(version=version, keys=None)
    return OwnerChanges(
        version=version,
        keys=frozenset(key for _, keys, _ in rows for key in keys),
        accessed=frozenset(key for *_, keys in rows for key in keys),
    )
