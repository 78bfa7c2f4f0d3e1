"""Reflection rows: memories to reflect on, changes with their former state, undo."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING
from uuid import UUID

from spade_llm.memory.contract import MAX_LEARNED_CHANGES, LearnedChange, ReflectionKind
from spade_llm.memory.database import entries
from spade_llm.memory.database.entries import DELETE_ENTRY, owner_number, record_action
from spade_llm.memory.database.queries import OWNED_ENTRY, VALID_NOW, VISIBLE
from spade_llm.memory.database.rows import (
    DAY_US,
    ENTRY_COLUMNS,
    ID_BYTES,
    EnumCodes,
    entry_from_row,
    entry_key,
    entry_row,
    from_microseconds,
    microseconds_or_none,
    new_id,
    to_microseconds,
)
from spade_llm.memory.learning.learning_contract import (
    MAX_REFLECTED_EPISODES,
    MAX_REFLECTED_FACTS,
    MIN_REFLECTED_FACTS,
    ReflectionMaterial,
)
from spade_llm.search.memory_query import MemoryType, Origin

if TYPE_CHECKING:
    from spade_llm.memory.contract import MemoryDraft, MemoryEntry
    from spade_llm.memory.database.connection import SqlRow, SqlValue, Transaction
    from spade_llm.memory.learning.learning_contract import FactPair, ReflectionChanges

KIND_CODES = EnumCodes((ReflectionKind.CLOSED, ReflectionKind.MERGED))

SELECT_DUE_PEOPLE = """
    SELECT jid, consent.subject, consent.changed
    FROM consent JOIN owner ON owner.number = consent.owner
        LEFT JOIN reflection_run AS run
            ON run.owner = consent.owner AND run.subject = consent.subject
    WHERE run.at IS NULL OR (run.at < :today AND run.changed < consent.changed)
    ORDER BY coalesce(run.at, 0) LIMIT :limit
"""

MAX_DUE = 50
"""Maximum number of people without enough facts that one call passes over."""

COUNT_RUNS = "SELECT count(*) FROM reflection_run WHERE at >= :today"

SAVE_RUN = """
    INSERT INTO reflection_run (owner, subject, changed, at)
    VALUES ((SELECT number FROM owner WHERE jid = :owner), :subject, :changed, :at)
    ON CONFLICT (owner, subject) DO UPDATE SET changed = :changed, at = :at
"""

# origins 1, 2 and 4: told, learned, consolidated.
SELECT_FACTS = f"""
    SELECT {ENTRY_COLUMNS} FROM entry JOIN owner ON owner.number = entry.owner
    WHERE {OWNED_ENTRY} AND subject = :subject AND origin IN (1, 2, 4) AND type <> 2
        AND expires_at IS NULL AND {VISIBLE} AND {VALID_NOW}
    ORDER BY created_at DESC, seq DESC LIMIT {MAX_REFLECTED_FACTS}
"""

SELECT_EPISODES = f"""
    SELECT {ENTRY_COLUMNS} FROM entry JOIN owner ON owner.number = entry.owner
    WHERE {OWNED_ENTRY} AND subject = :subject AND origin = 3 AND {VISIBLE}
    ORDER BY created_at DESC, seq DESC LIMIT {MAX_REFLECTED_EPISODES}
"""

CONSENT_EXISTS = """
    SELECT 1 FROM consent
    WHERE owner = (SELECT number FROM owner WHERE jid = :owner) AND subject = :subject
"""

SELECT_UNCHANGED = f"""
    SELECT seq, invalid_at FROM entry
    WHERE {OWNED_ENTRY} AND subject = :subject AND id = :id AND content = :content
        AND {VISIBLE} AND {VALID_NOW}
"""

CLOSE_ENTRY = f"""
    UPDATE entry SET invalid_at = :after WHERE {OWNED_ENTRY} AND seq = :seq
"""

HIDE_ENTRY = f"UPDATE entry SET deleted_at = :after WHERE {OWNED_ENTRY} AND seq = :seq"

INSERT_CHANGE = """
    INSERT INTO reflection (id, owner, subject, kind, entry, kept, before, after, at)
    VALUES (:id, (SELECT number FROM owner WHERE jid = :owner), :subject, :kind, :seq, :kept,
        :before, :after, :now)
    ON CONFLICT DO NOTHING
"""

SELECT_CHANGES = """
    SELECT reflection.id, reflection.kind, entry.content, kept.content, reflection.at
    FROM reflection JOIN entry ON entry.seq = reflection.entry
        LEFT JOIN entry AS kept ON kept.seq = reflection.kept
    WHERE reflection.owner = (SELECT number FROM owner WHERE jid = :owner)
        AND reflection.subject = :subject
    ORDER BY reflection.at DESC, reflection.seq DESC LIMIT :limit
"""

SELECT_SUMMARIES = f"""
    SELECT seq, id, content, sources, created_at, updated_at FROM entry
    WHERE {OWNED_ENTRY} AND origin = 6 AND subject = :subject AND deleted_at IS NULL
    ORDER BY created_at DESC, seq DESC
"""

SELECT_ALL_SUMMARIES = f"""
    SELECT seq, id, subject, sources FROM entry WHERE {OWNED_ENTRY} AND origin = 6
"""

SELECT_CHANGE = """
    SELECT seq, id, kind, entry, before, after FROM reflection
    WHERE owner = (SELECT number FROM owner WHERE jid = :owner) AND subject = :subject
        AND (CAST(:id AS BLOB) IS NULL OR id = :id)
"""

# Only what is still as the reflection left it: what was closed or deleted since stays so.
REOPEN_ENTRY = f"""
    UPDATE entry SET invalid_at = :before
    WHERE {OWNED_ENTRY} AND seq = :entry AND invalid_at = :after
"""

SHOW_ENTRY = f"""
    UPDATE entry SET deleted_at = NULL
    WHERE {OWNED_ENTRY} AND seq = :entry AND deleted_at = :after
"""

DELETE_CHANGE = "DELETE FROM reflection WHERE seq = :seq"

DELETE_RUN = """
    DELETE FROM reflection_run
    WHERE owner = (SELECT number FROM owner WHERE jid = :owner) AND subject = :subject
"""

SELECT_MERGED_INTO = """
    SELECT entry.id FROM reflection JOIN entry ON entry.seq = reflection.entry
    WHERE reflection.kind = 2 AND entry.deleted_at IS NOT NULL
        AND reflection.owner = (SELECT number FROM owner WHERE jid = :owner)
        AND reflection.kept = (SELECT seq FROM entry WHERE id = :id)
"""

IS_SOURCE = f"SELECT 1 FROM entry WHERE {OWNED_ENTRY} AND id = :id AND {VISIBLE} AND {VALID_NOW}"

SHOW_MERGED = f"""
    UPDATE entry SET deleted_at = NULL WHERE {OWNED_ENTRY} AND seq IN (
        SELECT entry FROM reflection WHERE kind = 2 AND kept = :kept)
    RETURNING seq
"""

DELETE_MERGED = "DELETE FROM reflection WHERE kind = 2 AND kept = :kept"


def next_material(
    transaction: Transaction, *, runs_per_day: int, now: int
) -> ReflectionMaterial | None:
    """Memories of the person whose turn it is; the run is counted now, since a model may be asked
    in vain."""
    today = now - now % DAY_US
    if transaction.all(COUNT_RUNS, {"today": today})[0][0] >= runs_per_day:
        return None
    for owner, subject, changed in transaction.all(
        SELECT_DUE_PEOPLE, {"today": today, "limit": MAX_DUE}
    ):
        who: dict[str, SqlValue] = {"owner": owner, "subject": subject, "now": now}
        facts, episodes = (
            tuple(entry_from_row(row, now=now) for row in reversed(transaction.all(select, who)))
            for select in (SELECT_FACTS, SELECT_EPISODES)
        )
        has_enough = len(facts) >= MIN_REFLECTED_FACTS
        # Passed over until there is something new, which is no run.
        transaction.count(SAVE_RUN, {**who, "changed": changed, "at": now if has_enough else 0})
        if has_enough:
            return ReflectionMaterial(owner=owner, subject=subject, facts=facts, episodes=episodes)
    return None


def save_changes(
    transaction: Transaction,
    material: ReflectionMaterial,
    changes: ReflectionChanges,
    *,
    rejected: Collection[bytes],
    now: int,
) -> Sequence[bytes]:
    """Apply changes; return the ids of the memories that were closed or hidden, and of new
    summaries. `rejected`: ids of changes that the person has undone."""
    who: dict[str, SqlValue] = {"owner": material.owner, "subject": material.subject, "now": now}
    # Withdrawn while the model was asked.
    if transaction.first(CONSENT_EXISTS, who) is None:
        return []
    done: list[bytes] = []
    pairs = [(ReflectionKind.CLOSED, one) for one in changes.closed]
    pairs += [(ReflectionKind.MERGED, one) for one in changes.merged]
    for kind, pair in pairs:
        done += _change(transaction, who, kind, pair, rejected, now=now)
    for theme, draft in changes.summaries.items():
        done += _save_summary(transaction, material, theme, draft, rejected, now=now)
    if done:
        record_action(transaction, material.owner, "reflect", done, now=now)
    return done


def list_changes(transaction: Transaction, owner: str, subject: str) -> Sequence[LearnedChange]:
    which: dict[str, SqlValue] = {"owner": owner, "subject": subject, "limit": MAX_LEARNED_CHANGES}
    changes = [
        LearnedChange(
            id=str(UUID(bytes=id)),
            kind=KIND_CODES.value(kind),
            content=content,
            because=because or "",
            at=from_microseconds(at),
        )
        for id, kind, content, because, at in transaction.all(SELECT_CHANGES, which)
    ]
    changes += [
        LearnedChange(
            id=str(UUID(bytes=id)),
            kind=ReflectionKind.SUMMARY,
            content=content,
            sources=len(sources or b"") // ID_BYTES,
            at=from_microseconds(at),
        )
        for _, id, content, sources, at, _ in transaction.all(SELECT_SUMMARIES, which)
    ]
    return sorted(changes, key=lambda one: one.at, reverse=True)[:MAX_LEARNED_CHANGES]


def undo_changes(
    transaction: Transaction, owner: str, subject: str, ids: Sequence[bytes], *, now: int
) -> Sequence[bytes]:
    """Undo these changes, and return the ids of those that there were. The caller rejects them."""
    who: dict[str, SqlValue] = {"owner": owner, "subject": subject, "now": now}
    undone: list[bytes] = []
    for id in dict.fromkeys(ids):
        for row in transaction.all(SELECT_CHANGE, {**who, "id": id}):
            undone.append(_undo(transaction, owner, row))
        undone += _delete_summaries(transaction, owner, subject, [id], now=now)
    if undone:
        record_action(transaction, owner, "undo_reflection", undone, now=now)
    return undone


def undo_all(transaction: Transaction, owner: str, subject: str) -> None:
    """Restore the state without reflections, except for summaries, and forget the runs."""
    who: dict[str, SqlValue] = {"owner": owner, "subject": subject}
    for row in transaction.all(SELECT_CHANGE, {**who, "id": None}):
        _undo(transaction, owner, row)
    transaction.count(DELETE_RUN, who)


def merged_into(transaction: Transaction, owner: str, ids: Sequence[bytes]) -> Sequence[bytes]:
    """Ids of hidden facts that say the same as these, and are to be forgotten with them."""
    return [
        row[0]
        for id in ids
        for row in transaction.all(SELECT_MERGED_INTO, {"owner": owner, "id": id})
    ]


def show_merged(transaction: Transaction, owner: str, kept: int) -> None:
    """Show facts again that were hidden because they say the same as one that is to be erased."""
    which: dict[str, SqlValue] = {"owner": owner, "kept": kept}
    shown = transaction.all(SHOW_MERGED, which)
    transaction.mark_changed(owner, [entry_key(row[0]) for row in shown])
    transaction.count(DELETE_MERGED, which)


def _change(
    transaction: Transaction,
    who: dict[str, SqlValue],
    kind: ReflectionKind,
    pair: FactPair,
    rejected: Collection[bytes],
    *,
    now: int,
) -> list[bytes]:
    """Close or hide a fact; empty if it or the other changed, or the person has undone it."""
    owner = str(who["owner"])
    found = [_unchanged(transaction, who, one) for one in (pair.changed, pair.kept)]
    # Named by what it changes: undone once, this fact is not closed because of another one.
    id = new_id(owner, f"{kind}\0{pair.changed.id}")
    changed, kept = found
    if changed is None or kept is None or id in rejected:
        return []
    is_closed = kind is ReflectionKind.CLOSED
    values: dict[str, SqlValue] = {
        **who,
        "id": id,
        "kind": KIND_CODES.number(kind),
        "seq": changed[0],
        "kept": kept[0],
        "before": changed[1],
        "after": to_microseconds(pair.kept.holds_since) if is_closed else now,
    }
    if not transaction.count(INSERT_CHANGE, values):
        return []
    transaction.count(CLOSE_ENTRY if is_closed else HIDE_ENTRY, values)
    transaction.mark_changed(owner, [entry_key(changed[0])])
    return [UUID(pair.changed.id).bytes]


def _unchanged(
    transaction: Transaction, who: dict[str, SqlValue], entry: MemoryEntry
) -> SqlRow | None:
    """Number and end of an entry that is this owner's, about this person, and as it was read."""
    which = {**who, "id": UUID(entry.id).bytes, "content": entry.content}
    found = transaction.first(SELECT_UNCHANGED, which)
    is_same = found is not None and found[1] == microseconds_or_none(entry.invalid_at)
    return found if is_same else None


def _save_summary(
    transaction: Transaction,
    material: ReflectionMaterial,
    theme: str,
    draft: MemoryDraft,
    rejected: Collection[bytes],
    *,
    now: int,
) -> list[bytes]:
    """Replace the summary of the same theme, unless the person has undone or corrected it."""
    owner, subject = material.owner, material.subject
    key = f"summary\0{subject}\0{theme}"
    id = new_id(owner, key)
    which: dict[str, SqlValue] = {"owner": owner, "now": now}
    # All that it was made of: the owner's, about this person, and not forgotten meanwhile.
    read = {one.id for one in (*material.facts, *material.episodes)}
    is_grounded = bool(draft.sources) and all(
        source in read
        and transaction.first(IS_SOURCE, {**which, "id": UUID(source).bytes}) is not None
        for source in draft.sources
    )
    if id in rejected or not is_grounded:
        return []
    for row in transaction.all(SELECT_SUMMARIES, {**which, "subject": subject}):
        is_corrected = row[5] > row[4]
        if row[1] == id and (is_corrected or row[2] == draft.content):
            return []
    _delete_summaries(transaction, owner, subject, [id], now=now)
    whole = replace(draft, type=MemoryType.SEMANTIC, origin=Origin.REFLECTION, subject=subject)
    row_of = entry_row(whole, owner=owner, key=key, now=now, short_term_ttl_s=0.0)
    owner_number(transaction, owner)
    entries.add_entry(transaction, owner, row_of, merge=False)
    return [id]


def _undo(transaction: Transaction, owner: str, row: SqlRow) -> bytes:
    seq, id, kind, entry, before, after = row
    is_closed = KIND_CODES.value(kind) is ReflectionKind.CLOSED
    values: dict[str, SqlValue] = {
        **{"owner": owner, "entry": entry, "before": before, "after": after}
    }
    transaction.count(REOPEN_ENTRY if is_closed else SHOW_ENTRY, values)
    transaction.count(DELETE_CHANGE, {"seq": seq})
    transaction.mark_changed(owner, [entry_key(entry)])
    return bytes(id)


def _delete_summaries(
    transaction: Transaction, owner: str, subject: str, ids: Sequence[bytes], *, now: int
) -> list[bytes]:
    which: dict[str, SqlValue] = {"owner": owner, "subject": subject, "now": now}
    gone = [row for row in transaction.all(SELECT_SUMMARIES, which) if row[1] in ids]
    for row in gone:
        transaction.count(DELETE_ENTRY, {"owner": owner, "seq": row[0]})
        transaction.mark_changed(owner, [entry_key(row[0])])
        transaction.is_erasing = True
    return [row[1] for row in gone]
