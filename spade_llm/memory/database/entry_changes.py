"""Entry changes: update, importance, FSRS review, merge, supersede."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, TypeVar

from fsrs import Card, Rating, Scheduler, State

from spade_llm.core.errors import InvalidArguments, ServiceError
from spade_llm.memory.contract import BatchError, BatchResult, MemoryAccess, OnError
from spade_llm.memory.database import consent, entries, queries, removal
from spade_llm.memory.database.entries import record_action
from spade_llm.memory.database.queries import OWNED_ENTRY, VISIBLE
from spade_llm.memory.database.relations import accessible_entry
from spade_llm.memory.database.removal import exclude_from_learning
from spade_llm.memory.database.rows import (
    TIER_CODES,
    encode_metadata,
    entry_from_row,
    entry_key,
    expiry_time,
    from_microseconds,
    microseconds_or_none,
    text_columns,
    to_microseconds,
)
from spade_llm.memory.validation import (
    MAX_TAGS,
    check_change,
    check_entry_size,
    check_metadata,
    parse_id,
)
from spade_llm.search.memory_query import ANY_MEMORY

if TYPE_CHECKING:
    from spade_llm.memory.contract import MemoryChange, MemoryEntry
    from spade_llm.memory.database.connection import SqlRow, SqlValue, Transaction

T = TypeVar("T")

FSRS_SCHEDULER = Scheduler(learning_steps=(), relearning_steps=(), enable_fuzzing=False)
"""FSRS without learning steps of minutes, and deterministic (no fuzzing)."""

UPDATE_ENTRY = f"""
    UPDATE entry SET content = :content, content_hash = :content_hash, terms = :terms,
        context = :context, tags = :tags, metadata = :metadata, tier = :tier,
        expires_at = :expires_at, confidence = :confidence, invalid_at = :invalid_at,
        updated_at = max(updated_at, :now)
    WHERE {OWNED_ENTRY} AND seq = :seq
"""

UPDATE_IMPORTANCE = f"""
    UPDATE entry SET importance = :importance, importance_reason = :reason
    WHERE {OWNED_ENTRY} AND seq = :seq
"""

SELECT_REVIEW_STATE = f"""
    SELECT seq, stability, difficulty, reviewed_at FROM entry
    WHERE {OWNED_ENTRY} AND id = :id AND {VISIBLE}
"""

UPDATE_REVIEW_STATE = f"""
    UPDATE entry SET stability = :stability, difficulty = :difficulty, reviewed_at = :now
    WHERE {OWNED_ENTRY} AND seq = :seq
"""

UPDATE_MERGED_ENTRY = f"""
    UPDATE entry SET tags = :tags, terms = :terms, metadata = :metadata,
        confidence = :confidence, importance = :importance,
        importance_reason = coalesce(importance_reason, :reason),
        access_count = :access_count, last_accessed_at = :last_accessed_at,
        updated_at = max(updated_at, :now)
    WHERE {queries.OWNED_ENTRY} AND seq = :seq
"""


def next_review_state(
    stability: float | None, difficulty: float | None, reviewed_at: int | None, *, at: datetime
) -> tuple[float, float]:
    """Stability (days) and difficulty (1…10) after a review now; None: never reviewed.

    A clock that was set back counts as no time passed.
    """
    before = None if reviewed_at is None else min(from_microseconds(reviewed_at), at)
    # With an id, since Card sleeps for a millisecond to make one of the time.
    card = Card(
        card_id=0,
        state=State.Learning if before is None else State.Review,
        stability=stability,
        difficulty=difficulty,
        last_review=before,
    )
    # fsrs accepts UTC only.
    after, _ = FSRS_SCHEDULER.review_card(card, Rating.Good, at.astimezone(UTC))
    return float(after.stability or 0.0), float(after.difficulty or 0.0)


def update_entry(
    transaction: Transaction,
    caller: str,
    wanted: MemoryChange,
    *,
    now: int,
    ttl_s: float,
) -> MemoryEntry:
    """Change an entry and return it. Raises NotFound, Unauthorised, InvalidArguments."""
    id = parse_id(wanted.id)
    there = accessible_entry(transaction, caller, id, access=MemoryAccess.WRITE, now=now)
    columns = _changed_columns(there.entry, wanted, now=now, ttl_s=ttl_s)
    which: Mapping[str, SqlValue] = {"owner": there.owner, "seq": there.seq, "now": now}
    if wanted.content is not None and wanted.content != there.entry.content:
        exclude_from_learning(transaction, there.owner, [there.seq], now=now)
    transaction.count(UPDATE_ENTRY, {**columns, **which})
    if wanted.content is not None or wanted.invalid_at is not None:
        consent.remove_patterns_of_episodes(transaction, there.owner, {id}, now=now)
    transaction.mark_changed(there.owner, [entry_key(there.seq)])
    return entry_from_row(transaction.all(queries.SELECT_BY_SEQ, which)[0], now=now)


def update_entries(
    transaction: Transaction,
    caller: str,
    changes: Sequence[MemoryChange],
    *,
    on_error: OnError,
    now: int,
    ttl_s: float,
) -> BatchResult:
    """Change entries; errors name their index. With ROLLBACK all or none are changed."""
    # Not ROLLBACK: the transaction is shared with the writes of other callers.
    transaction.count("SAVEPOINT changes")
    done: list[str] = []
    errors: list[BatchError] = []
    for index, wanted in enumerate(changes):
        try:
            check_change(wanted)
            done.append(update_entry(transaction, caller, wanted, now=now, ttl_s=ttl_s).id)
        except ServiceError as error:
            errors.append(BatchError(index=index, code=error.code, reason=str(error)))
            if on_error is OnError.STOP:
                break
    if errors and on_error is OnError.ROLLBACK:
        transaction.count("ROLLBACK TO changes")
        done = []
    transaction.count("RELEASE changes")
    return BatchResult(ids=tuple(done), errors=tuple(errors))


def set_entry_importance(
    transaction: Transaction, caller: str, id: bytes, score: float, reason: str, *, now: int
) -> float:
    """Set the importance and return the previous one. Raises NotFound, Unauthorised."""
    there = accessible_entry(transaction, caller, id, access=MemoryAccess.WRITE, now=now)
    which: Mapping[str, SqlValue] = {"owner": there.owner, "seq": there.seq}
    transaction.count(
        UPDATE_IMPORTANCE, {**which, "importance": float(score), "reason": reason or None}
    )
    record_action(transaction, there.owner, "set_importance", [id], now=now)
    transaction.mark_changed(there.owner, [entry_key(there.seq)])
    return there.entry.importance


def review_entries(
    transaction: Transaction, owner: str, ids: Sequence[bytes], *, at: datetime
) -> None:
    """Record an FSRS review of these entries; missing ones are skipped."""
    now = to_microseconds(at)
    for id in dict.fromkeys(ids):
        found = transaction.first(SELECT_REVIEW_STATE, {"owner": owner, "id": id, "now": now})
        if found is None:
            continue
        seq, *state = found
        stability, difficulty = next_review_state(*state, at=at)
        which: Mapping[str, SqlValue] = {"owner": owner, "seq": seq, "now": now}
        transaction.count(
            UPDATE_REVIEW_STATE, {**which, "stability": stability, "difficulty": difficulty}
        )
        transaction.mark_changed(owner, [entry_key(seq)])


def supersede_entries(
    transaction: Transaction,
    owner: str,
    ids: Sequence[bytes],
    row: Mapping[str, SqlValue],
    *,
    keep: bool,
    now: int,
) -> SqlRow:
    """Add an entry in place of these; return its ENTRY_COLUMNS. Raises NotFound if one is missing.

    If the same key replaced them before, the entry of that time is returned.
    """
    known = entries.existing_row(transaction, owner, row)
    if known is not None:
        return known
    _require_entries(transaction, owner, ids, now=now)
    sources = row["sources"] or b"".join(ids[-entries.MAX_SOURCES :]) or None
    added = entries.add_entry(transaction, owner, {**row, "sources": sources}, merge=False)
    if not keep:
        removal.hide_entries(transaction, owner, ANY_MEMORY, ids, scopes=None, now=now)
    return added


def merge_entries(
    transaction: Transaction, owner: str, into: bytes, others: Sequence[bytes], *, now: int
) -> MemoryEntry:
    """Merge the others into one entry and return it. Raises NotFound, InvalidArguments."""
    rest = [id for id in dict.fromkeys(others) if id != into]
    ((seq, first), *found) = _require_entries(transaction, owner, [into, *rest], now=now)
    entries = [first, *(entry for _, entry in found)]
    if len({entry.subject for entry in entries}) > 1:
        raise InvalidArguments("ids: memories about different subjects cannot be merged")
    which: Mapping[str, SqlValue] = {"owner": owner, "seq": seq, "now": now}
    transaction.count(UPDATE_MERGED_ENTRY, {**_merged_columns(entries), **which})
    transaction.mark_changed(owner, [entry_key(seq)])
    if rest:
        removal.hide_entries(transaction, owner, ANY_MEMORY, rest, scopes=None, now=now)
    return entry_from_row(transaction.all(queries.SELECT_BY_SEQ, which)[0], now=now)


def _changed_columns(
    entry: MemoryEntry, wanted: MemoryChange, *, now: int, ttl_s: float
) -> Mapping[str, SqlValue]:
    """Values of all columns that a change may set."""
    context = entry.context if wanted.context is None else wanted.context
    tags = entry.tags if wanted.tags is None else wanted.tags
    metadata = {**entry.metadata, **(wanted.metadata or {})}
    # Checked when merged: old and new may be too large only together.
    check_metadata(metadata)
    check_entry_size(wanted.content or entry.content, context, tags, metadata)
    tier = wanted.tier or entry.tier
    expires = microseconds_or_none(entry.expires_at)
    if wanted.tier is not None:
        expires = expiry_time(tier, None, now=now, short_term_ttl_s=ttl_s)
    # New content makes an entry valid again, unless the change says until when.
    is_end_changed = wanted.invalid_at is not None or wanted.content is not None
    return {
        **text_columns(wanted.content or entry.content, context, tags),
        "context": context,
        "metadata": encode_metadata(metadata),
        "tier": TIER_CODES.number(tier),
        "expires_at": expires,
        "confidence": entry.confidence if wanted.confidence is None else float(wanted.confidence),
        "invalid_at": microseconds_or_none(
            wanted.invalid_at if is_end_changed else entry.invalid_at
        ),
    }


def _require_entries(
    transaction: Transaction, owner: str, ids: Sequence[bytes], *, now: int
) -> list[tuple[int, MemoryEntry]]:
    """Numbers and entries of these ids. Raises NotFound if one is missing."""
    found = []
    for id in ids:
        row = queries.own_entry_row(transaction, owner, id, now=now)
        if row is None:
            raise queries.entry_not_found(id)
        found.append((row[0], entry_from_row(row, now=now)))
    return found


def _merged_columns(entries: Sequence[MemoryEntry]) -> Mapping[str, SqlValue]:
    """Columns of the first entry, merged with those of the others."""
    first = entries[0]
    tags = tuple(dict.fromkeys(tag for entry in entries for tag in entry.tags))[:MAX_TAGS]
    # Reversed: of equal keys the value of the first entry wins.
    metadata = {key: value for entry in reversed(entries) for key, value in entry.metadata.items()}
    check_metadata(metadata)
    check_entry_size(first.content, first.context, tags, metadata)
    best = max(
        (entry for entry in entries if entry.is_importance_set),
        key=lambda entry: entry.importance,
        default=None,
    )
    used = [entry.last_accessed_at for entry in entries if entry.last_accessed_at is not None]
    return {
        **text_columns(first.content, first.context, tags),
        "metadata": encode_metadata(metadata),
        "confidence": max(entry.confidence for entry in entries),
        "importance": None if best is None else best.importance,
        "reason": None if best is None else best.importance_reason,
        "access_count": sum(entry.access_count for entry in entries),
        "last_accessed_at": microseconds_or_none(max(used, default=None)),
    }
