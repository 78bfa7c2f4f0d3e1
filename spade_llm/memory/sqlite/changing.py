"""Changing entries that are there: their text, importance, use. Knows no filter."""

from __future__ import annotations

from typing import TYPE_CHECKING

from spade_llm.errors import ServiceError
from spade_llm.memory.limits import check_change, check_metadata, check_whole, parsed_id
from spade_llm.memory.sqlite import audit, finding
from spade_llm.memory.sqlite.codes import TIERS
from spade_llm.memory.sqlite.conditions import VISIBLE
from spade_llm.memory.sqlite.finding import OWNED
from spade_llm.memory.sqlite.reaching import reach
from spade_llm.memory.sqlite.review import reviewed
from spade_llm.memory.sqlite.rows import (
    entry_from_row,
    entry_key,
    expiry,
    json_or_none,
    microseconds_or_none,
    text_columns,
    to_microseconds,
)
from spade_llm.memory.store import Access, BatchError, BatchResult, OnError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import datetime

    from spade_llm.memory.sqlite.reaching import Reached
    from spade_llm.memory.sqlite.transaction import Row, Transaction, Value
    from spade_llm.memory.store import MemoryChange, MemoryEntry

CHANGE = f"""
    UPDATE entry SET content = :content, content_hash = :content_hash, terms = :terms,
        context = :context, tags = :tags, metadata = :metadata, tier = :tier,
        expires_at = :expires_at, confidence = :confidence, invalid_at = :invalid_at,
        updated_at = max(updated_at, :now)
    WHERE {OWNED} AND seq = :seq
"""

SET_IMPORTANCE = f"""
    UPDATE entry SET importance = :importance, importance_reason = :reason
    WHERE {OWNED} AND seq = :seq
"""

USED = f"""
    UPDATE entry SET access_count = access_count + :times, last_accessed_at = :at
    WHERE {OWNED} AND seq = :seq
"""

REVIEW_STATE = f"""
    SELECT seq, stability, difficulty, reviewed_at FROM entry
    WHERE {OWNED} AND id = :id AND {VISIBLE}
"""

REVIEWED = f"""
    UPDATE entry SET stability = :stability, difficulty = :difficulty, reviewed_at = :now
    WHERE {OWNED} AND seq = :seq
"""


def change(
    transaction: Transaction,
    asker: str,
    wanted: MemoryChange,
    *,
    now: int,
    ttl_s: float,
) -> MemoryEntry:
    """The entry as it is now. Raises NotFound, Unauthorised, InvalidArguments."""
    id = parsed_id(wanted.id)
    there = reach(transaction, asker, id, access=Access.WRITE, now=now)
    columns = _columns(there.entry, wanted, now=now, ttl_s=ttl_s)
    which: Mapping[str, Value] = {"owner": there.owner, "seq": there.seq, "now": now}
    transaction.count(CHANGE, {**columns, **which})
    transaction.touch(there.owner, [entry_key(there.seq)])
    return entry_from_row(_whole(transaction, there), now=now)


def change_all(
    transaction: Transaction,
    asker: str,
    changes: Sequence[MemoryChange],
    *,
    on_error: OnError,
    now: int,
    ttl_s: float,
) -> BatchResult:
    """Each with its index; with ROLLBACK all or none."""
    transaction.all("SAVEPOINT changes")
    done: list[str] = []
    errors: list[BatchError] = []
    for index, wanted in enumerate(changes):
        try:
            check_change(wanted)
            done.append(change(transaction, asker, wanted, now=now, ttl_s=ttl_s).id)
        except ServiceError as error:
            errors.append(BatchError(index=index, code=error.code, reason=str(error)))
            if on_error is OnError.STOP:
                break
    if errors and on_error is OnError.ROLLBACK:
        transaction.all("ROLLBACK TO changes")
        done = []
    transaction.all("RELEASE changes")
    return BatchResult(ids=tuple(done), errors=tuple(errors))


def set_importance(
    transaction: Transaction, asker: str, id: bytes, score: float, reason: str, *, now: int
) -> float:
    """The one before. Raises NotFound, Unauthorised."""
    there = reach(transaction, asker, id, access=Access.WRITE, now=now)
    which: Mapping[str, Value] = {"owner": there.owner, "seq": there.seq}
    transaction.count(
        SET_IMPORTANCE, {**which, "importance": float(score), "reason": reason or None}
    )
    audit.note(transaction, there.owner, "set_importance", [id], now=now)
    transaction.touch(there.owner, [entry_key(there.seq)])
    return there.entry.importance


def count_uses(transaction: Transaction, uses: Mapping[tuple[str, int], tuple[int, int]]) -> None:
    """So many accesses more, the last one at that time, for each entry by (owner, key)."""
    transaction.each(
        USED,
        [
            {"owner": owner, "seq": key // 2, "times": times, "at": at}
            for (owner, key), (times, at) in uses.items()
        ],
    )
    for owner, key in uses:
        transaction.use(owner, [key])


def review(transaction: Transaction, owner: str, ids: Sequence[bytes], *, at: datetime) -> None:
    """They were of use: kept better from now on. Those that are not there pass."""
    for id in dict.fromkeys(ids):
        _review(transaction, owner, id, at=at)


def _review(transaction: Transaction, owner: str, id: bytes, *, at: datetime) -> None:
    now = to_microseconds(at)
    found = transaction.first(REVIEW_STATE, {"owner": owner, "id": id, "now": now})
    if found is None:
        return
    seq, stability, difficulty, reviewed_at = found
    kept = reviewed(stability, difficulty, reviewed_at, at=at)
    transaction.count(
        REVIEWED,
        {"owner": owner, "seq": seq, "now": now, "stability": kept[0], "difficulty": kept[1]},
    )
    transaction.touch(owner, [entry_key(seq)])


def _columns(
    entry: MemoryEntry, wanted: MemoryChange, *, now: int, ttl_s: float
) -> Mapping[str, Value]:
    """All columns that a change may set, as they shall be."""
    context = entry.context if wanted.context is None else wanted.context
    tags = entry.tags if wanted.tags is None else wanted.tags
    metadata = {**entry.metadata, **(wanted.metadata or {})}
    check_metadata(metadata)
    check_whole(wanted.content or entry.content, context, tags, metadata)
    tier = wanted.tier or entry.tier
    expires = microseconds_or_none(entry.expires_at)
    if wanted.tier is not None:
        expires = expiry(tier, None, now=now, short_term_ttl_s=ttl_s)
    return {
        **text_columns(wanted.content or entry.content, context, tags),
        "context": context,
        "metadata": json_or_none(metadata),
        "tier": TIERS.number(tier),
        "expires_at": expires,
        "confidence": entry.confidence if wanted.confidence is None else float(wanted.confidence),
        "invalid_at": microseconds_or_none(_end(entry, wanted)),
    }


def _end(entry: MemoryEntry, wanted: MemoryChange) -> datetime | None:
    """What a memory says anew is true again."""
    if wanted.invalid_at is not None or wanted.content is not None:
        return wanted.invalid_at
    return entry.invalid_at


def _whole(transaction: Transaction, there: Reached) -> Row:
    which: Mapping[str, Value] = {"owner": there.owner, "seq": there.seq}
    return transaction.all(finding.BY_SEQ, which)[0]
