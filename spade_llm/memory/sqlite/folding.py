"""Several entries become one: something new in their place, or one that takes the others in.

All or nothing: what is missing is found before anything is changed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from spade_llm.errors import InvalidArguments
from spade_llm.memory.limits import MAX_TAGS, check_metadata, check_whole
from spade_llm.memory.sqlite import adding, finding, removing
from spade_llm.memory.sqlite.rows import (
    entry_from_row,
    entry_key,
    json_or_none,
    microseconds_or_none,
    text_columns,
)
from spade_llm.memory.store import ANY

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from spade_llm.memory.sqlite.transaction import Row, Transaction, Value
    from spade_llm.memory.store import MemoryEntry

FOLD = f"""
    UPDATE entry SET tags = :tags, terms = :terms, metadata = :metadata,
        confidence = :confidence, importance = :importance,
        importance_reason = coalesce(importance_reason, :reason),
        access_count = :access_count, last_accessed_at = :last_accessed_at,
        updated_at = max(updated_at, :now)
    WHERE {finding.OWNED} AND seq = :seq
"""


def replace(
    transaction: Transaction,
    owner: str,
    ids: Sequence[bytes],
    row: Mapping[str, Value],
    *,
    keep: bool,
    now: int,
) -> Row:
    """The ENTRY_COLUMNS of the new entry. Raises NotFound if one of the others is missing.

    When the same key replaced them before, they are gone, and that is no error.
    """
    known = adding.known_row(transaction, owner, row)
    if known is not None:
        return known
    _all_of(transaction, owner, ids, now=now)
    sources = row["sources"] or b"".join(ids[-adding.MAX_SOURCES :]) or None
    added = adding.add(transaction, owner, {**row, "sources": sources}, merge=False)
    if not keep:
        removing.hide(transaction, owner, ANY, ids, scopes=None, now=now)
    return added


def fold(
    transaction: Transaction, owner: str, into: bytes, others: Sequence[bytes], *, now: int
) -> MemoryEntry:
    """The entry that took them in. Raises NotFound, InvalidArguments."""
    rest = [id for id in dict.fromkeys(others) if id != into]
    ((seq, first), *found) = _all_of(transaction, owner, [into, *rest], now=now)
    entries = [first, *(entry for _, entry in found)]
    if len({entry.subject for entry in entries}) > 1:
        raise InvalidArguments("ids: memories about different subjects cannot be merged")
    which: Mapping[str, Value] = {"owner": owner, "seq": seq, "now": now}
    transaction.count(FOLD, {**_together(entries), **which})
    transaction.touch(owner, [entry_key(seq)])
    if rest:
        removing.hide(transaction, owner, ANY, rest, scopes=None, now=now)
    return entry_from_row(transaction.all(finding.BY_SEQ, which)[0], now=now)


def _all_of(
    transaction: Transaction, owner: str, ids: Sequence[bytes], *, now: int
) -> list[tuple[int, MemoryEntry]]:
    """Raises NotFound if one is missing."""
    found = []
    for id in ids:
        row = finding.own_row(transaction, owner, id, now=now)
        if row is None:
            raise finding.not_found(id)
        found.append((row[0], entry_from_row(row, now=now)))
    return found


def _together(entries: Sequence[MemoryEntry]) -> Mapping[str, Value]:
    """The columns of the first one, with what the others add."""
    first = entries[0]
    tags = tuple(dict.fromkeys(tag for entry in entries for tag in entry.tags))[:MAX_TAGS]
    metadata = {key: value for entry in reversed(entries) for key, value in entry.metadata.items()}
    check_metadata(metadata)
    check_whole(first.content, first.context, tags, metadata)
    best = max(
        (entry for entry in entries if entry.is_importance_set),
        key=lambda entry: entry.importance,
        default=None,
    )
    used = [entry.last_accessed_at for entry in entries if entry.last_accessed_at is not None]
    return {
        **text_columns(first.content, first.context, tags),
        "metadata": json_or_none(metadata),
        "confidence": max(entry.confidence for entry in entries),
        "importance": None if best is None else best.importance,
        "reason": None if best is None else best.importance_reason,
        "access_count": sum(entry.access_count for entry in entries),
        "last_accessed_at": microseconds_or_none(max(used, default=None)),
    }
