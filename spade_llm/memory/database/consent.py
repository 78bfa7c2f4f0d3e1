"""Consent of a person, and the patterns learned across conversations under it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from dataclasses import replace
from typing import TYPE_CHECKING
from uuid import UUID

from spade_llm.memory.contract import Consent, MemoryDraft, MemoryEntry
from spade_llm.memory.database import entries, reflection
from spade_llm.memory.database.entries import (
    DELETE_ENTRY,
    owner_number,
    record_action,
    record_count,
)
from spade_llm.memory.database.queries import OWNED_ENTRY, VALID_NOW, VISIBLE
from spade_llm.memory.database.rows import (
    ENTRY_COLUMNS,
    ID_BYTES,
    MESSAGE_COLUMNS,
    encode_metadata,
    entry_from_row,
    entry_key,
    entry_row,
    from_microseconds,
    message_from_row,
    new_id,
    pack_ids,
)
from spade_llm.memory.learning.learning_contract import (
    MAX_EPISODES,
    TOPIC_METADATA_KEY,
    ConsentingPerson,
    EpisodeWithMessages,
)
from spade_llm.search.memory_query import Category, Origin

if TYPE_CHECKING:
    from spade_llm.memory.database.connection import SqlRow, SqlValue, Transaction
    from spade_llm.memory.learning.learning_contract import ReflectionChanges, ReflectionMaterial

# 5: a pattern.
SELECT_PATTERNS = f"SELECT seq, id, subject, sources FROM entry WHERE {OWNED_ENTRY} AND origin = 5"

# 6: a summary by reflection. Two queries, so that each uses its index.
SELECT_DERIVED = f"{SELECT_PATTERNS} UNION ALL {reflection.SELECT_ALL_SUMMARIES}"

SELECT_PERSON_PATTERNS = f"""
    SELECT {ENTRY_COLUMNS} FROM entry JOIN owner ON owner.number = entry.owner
    WHERE {OWNED_ENTRY} AND origin = 5 AND subject = :subject AND {VISIBLE} AND {VALID_NOW}
    ORDER BY confidence DESC, entry.seq
"""

SELECT_CLEARED_EPISODE = f"""
    SELECT 1 FROM entry WHERE {OWNED_ENTRY} AND id = :id
        AND NOT EXISTS (SELECT 1 FROM message WHERE episode = entry.seq AND episode > 0)
"""

COUNT_CHANGE = """
    UPDATE consent SET changed = changed + 1
    WHERE owner = (SELECT number FROM owner WHERE jid = :owner) AND subject = :subject
"""

SELECT_REJECTED = """
    SELECT refused FROM consent
    WHERE owner = (SELECT number FROM owner WHERE jid = :owner) AND subject = :subject
"""

UPDATE_REJECTED = """
    UPDATE consent SET refused = :refused
    WHERE owner = (SELECT number FROM owner WHERE jid = :owner) AND subject = :subject
"""

MAX_PREFERENCES = 5

MAX_REJECTED = 256
"""Maximum number of rejected patterns of a person; beyond, the oldest may be learned again."""

INSERT_CONSENT = """
    INSERT INTO consent (owner, subject, since) VALUES (:owner, :subject, :now)
    ON CONFLICT DO NOTHING
"""

DELETE_CONSENT = """
    DELETE FROM consent
    WHERE owner = (SELECT number FROM owner WHERE jid = :owner) AND subject = :subject
"""

SELECT_CONSENT = """
    SELECT since FROM consent
    WHERE owner = (SELECT number FROM owner WHERE jid = :owner) AND subject = :subject
"""

SELECT_CHANGED_PERSONS = """
    SELECT jid, subject, changed FROM consent JOIN owner ON owner.number = consent.owner
    WHERE changed > learned LIMIT :limit
"""

SELECT_EPISODES = f"""
    SELECT {ENTRY_COLUMNS} FROM entry JOIN owner ON owner.number = entry.owner
    WHERE {OWNED_ENTRY} AND subject = :subject AND origin = 3 AND learned_at IS NOT NULL
        AND {VISIBLE}
    ORDER BY seq DESC LIMIT {MAX_EPISODES}
"""

SELECT_EPISODE_MESSAGES = f"""
    SELECT {MESSAGE_COLUMNS} FROM message
    WHERE owner = (SELECT number FROM owner WHERE jid = :owner) AND subject = :subject
        AND episode = :episode AND episode > 0
    ORDER BY seq
"""

EPISODE_EXISTS = f"""
    SELECT 1 FROM entry WHERE {OWNED_ENTRY} AND subject = :subject AND id = :id AND origin = 3
        AND {VISIBLE}
"""

CONSENT_EXISTS = """
    SELECT 1 FROM consent
    WHERE owner = (SELECT number FROM owner WHERE jid = :owner) AND subject = :subject
"""

UPDATE_PATTERN = f"""
    UPDATE entry SET metadata = :metadata, confidence = :confidence, sources = :sources,
        updated_at = max(updated_at, :now)
    WHERE {OWNED_ENTRY} AND id = :id AND deleted_at IS NULL
    RETURNING seq
"""

PATTERN_IS_HIDDEN = (
    f"SELECT 1 FROM entry WHERE {OWNED_ENTRY} AND id = :id AND deleted_at IS NOT NULL"
)

UPDATE_LEARNED = """
    UPDATE consent SET learned = max(learned, :changed)
    WHERE owner = (SELECT number FROM owner WHERE jid = :owner) AND subject = :subject
"""


def behaviour_patterns(
    transaction: Transaction, owner: str, subject: str, *, now: int, limit: int = MAX_PREFERENCES
) -> Sequence[MemoryEntry]:
    """Preferences of this person, by confidence. Topics are excluded; a search finds them."""
    rows = transaction.all(SELECT_PERSON_PATTERNS, {"owner": owner, "subject": subject, "now": now})
    found = [entry_from_row(row, now=now) for row in rows]
    return [entry for entry in found if entry.metadata.get("kind") != TOPIC_METADATA_KEY][:limit]


def remove_patterns_of_episodes(
    transaction: Transaction, owner: str, episodes: Set[bytes], *, now: int
) -> None:
    """Remove patterns and summaries made from one of these memories; the people are learned from
    again."""
    gone = [
        row
        for row in transaction.all(SELECT_DERIVED, {"owner": owner})
        if not episodes.isdisjoint(_split_packed_ids(row[3]))
    ]
    gone += _stale_summaries(transaction, owner, {row[1] for row in gone}, now=now)
    _delete_patterns(transaction, owner, gone, now=now)
    for subject in {row[2] for row in gone}:
        mark_person_changed(transaction, owner, subject)


def undo_reflection(
    transaction: Transaction, owner: str, subject: str, ids: Sequence[bytes], *, now: int
) -> int:
    """Undo changes of reflections for good; return the number of those that there were."""
    undone = reflection.undo_changes(transaction, owner, subject, ids, now=now)
    reject_patterns(transaction, owner, subject, undone)
    return len(undone)


def save_reflection(
    transaction: Transaction,
    material: ReflectionMaterial,
    changes: ReflectionChanges,
    *,
    now: int,
) -> int:
    """Apply the changes of a reflection; return their number."""
    owner = material.owner
    rejected = rejected_pattern_ids(transaction, owner, material.subject)
    done = reflection.save_changes(transaction, material, changes, rejected=rejected, now=now)
    # Earlier summaries of what was closed or hidden.
    remove_patterns_of_episodes(transaction, owner, set(done), now=now)
    return len(done)


def remove_stale_patterns(
    transaction: Transaction, owner: str, subject: str, kept: Set[bytes], *, now: int
) -> None:
    """Remove this person's patterns that were not found again. Patterns with cleared messages stay,
    since they cannot be found again."""
    stale = [
        row
        for row in transaction.all(SELECT_PATTERNS, {"owner": owner})
        if row[2] == subject
        and row[1] not in kept
        and not any(
            transaction.first(SELECT_CLEARED_EPISODE, {"owner": owner, "id": id})
            for id in _split_packed_ids(row[3])
        )
    ]
    _delete_patterns(transaction, owner, stale, now=now)


def reject_patterns(
    transaction: Transaction, owner: str, subject: str, ids: Sequence[bytes]
) -> None:
    """Record that a person removed these patterns: they are not learned again."""
    rejected = rejected_pattern_ids(transaction, owner, subject)
    last = list(dict.fromkeys([*rejected, *ids]))[-MAX_REJECTED:]
    transaction.count(
        UPDATE_REJECTED, {"owner": owner, "subject": subject, "refused": b"".join(last)}
    )


def rejected_pattern_ids(transaction: Transaction, owner: str, subject: str) -> Sequence[bytes]:
    found = transaction.first(SELECT_REJECTED, {"owner": owner, "subject": subject})
    return _split_packed_ids(found[0]) if found is not None else []


def mark_person_changed(transaction: Transaction, owner: str, subject: str | None) -> None:
    """Mark that there are new episodes of this person, if there is consent."""
    transaction.count(COUNT_CHANGE, {"owner": owner, "subject": subject})


def consent_state(transaction: Transaction, owner: str, subject: str) -> Consent:
    found = transaction.first(SELECT_CONSENT, {"owner": owner, "subject": subject})
    return Consent() if found is None else Consent(since=from_microseconds(found[0]))


def give_consent(transaction: Transaction, owner: str, subject: str, *, now: int) -> Consent:
    """Store the consent; an existing one is kept."""
    number = owner_number(transaction, owner)
    if transaction.count(INSERT_CONSENT, {"owner": number, "subject": subject, "now": now}):
        record_count(transaction, owner, "consent_given", 1, now=now)
    return consent_state(transaction, owner, subject)


def withdraw_consent(transaction: Transaction, owner: str, subject: str, *, now: int) -> Consent:
    """Withdraw the consent; remove the patterns that it allowed and the list of rejected
    patterns, and undo what reflections changed."""
    which: dict[str, SqlValue] = {"owner": owner, "subject": subject}
    if transaction.count(DELETE_CONSENT, which):
        record_count(transaction, owner, "consent_withdrawn", 1, now=now)
    derived = transaction.all(SELECT_DERIVED, {"owner": owner})
    _delete_patterns(transaction, owner, [row for row in derived if row[2] == subject], now=now)
    reflection.undo_all(transaction, owner, subject)
    return Consent()


def consenting_persons(
    transaction: Transaction, *, limit: int, now: int
) -> Sequence[ConsentingPerson]:
    persons = []
    for owner, subject, changed in transaction.all(SELECT_CHANGED_PERSONS, {"limit": limit}):
        which: dict[str, SqlValue] = {"owner": owner, "subject": subject, "now": now}
        episodes = []
        # The newest were selected; they are compared in the order of time.
        for row in reversed(transaction.all(SELECT_EPISODES, which)):
            messages = transaction.all(SELECT_EPISODE_MESSAGES, {**which, "episode": row[0]})
            episodes.append(
                EpisodeWithMessages(
                    episode=entry_from_row(row, now=now),
                    messages=tuple(map(message_from_row, messages)),
                )
            )
        persons.append(
            ConsentingPerson(
                owner=owner, subject=subject, changed=changed, episodes=tuple(episodes)
            )
        )
    return persons


def save_patterns(
    transaction: Transaction,
    person: ConsentingPerson,
    drafts: Mapping[str, MemoryDraft],
    *,
    now: int,
) -> Sequence[str]:
    """Replace the patterns of this person; return the ids of those that are stored now."""
    who: dict[str, SqlValue] = {"owner": person.owner, "subject": person.subject, "now": now}
    # Withdrawn while the patterns were being looked for.
    if transaction.first(CONSENT_EXISTS, who) is None:
        return []
    rejected = rejected_pattern_ids(transaction, person.owner, person.subject)
    kept: list[bytes] = []
    for name, draft in drafts.items():
        key = f"pattern\0{person.subject}\0{name}"
        id = new_id(person.owner, key)
        # All episodes that it was made from: the owner's, about this person, and not forgotten.
        has_sources = bool(draft.sources) and all(
            transaction.first(EPISODE_EXISTS, {**who, "id": UUID(source).bytes})
            for source in draft.sources
        )
        is_wanted = id not in rejected and has_sources
        if is_wanted and _save_pattern(transaction, person, id, key, draft, now=now):
            kept.append(id)
    remove_stale_patterns(transaction, person.owner, person.subject, set(kept), now=now)
    # Up to the count that was read: what is new since then is looked at again.
    transaction.count(UPDATE_LEARNED, {**who, "changed": person.changed})
    return [str(UUID(bytes=id)) for id in kept]


def _stale_summaries(
    transaction: Transaction, owner: str, but: Set[bytes], *, now: int
) -> list[SqlRow]:
    """Summaries with a source that is gone or no longer holds, however that came about."""
    return [
        row
        for row in transaction.all(reflection.SELECT_ALL_SUMMARIES, {"owner": owner})
        if row[1] not in but
        and any(
            transaction.first(reflection.IS_SOURCE, {"owner": owner, "id": id, "now": now}) is None
            for id in _split_packed_ids(row[3])
        )
    ]


def _delete_patterns(
    transaction: Transaction, owner: str, rows: Sequence[SqlRow], *, now: int
) -> None:
    for row in rows:
        transaction.count(DELETE_ENTRY, {"owner": owner, "seq": row[0]})
    if rows:
        transaction.mark_changed(owner, [entry_key(row[0]) for row in rows])
        record_action(transaction, owner, "forget", [row[1] for row in rows], now=now)
        transaction.is_erasing = True


def _split_packed_ids(packed: bytes | None) -> Sequence[bytes]:
    ids = packed or b""
    return [ids[at : at + ID_BYTES] for at in range(0, len(ids), ID_BYTES)]


def _save_pattern(
    transaction: Transaction,
    person: ConsentingPerson,
    id: bytes,
    key: str,
    draft: MemoryDraft,
    *,
    now: int,
) -> bool:
    """Add or update a pattern; False: the person has deleted it."""
    which: dict[str, SqlValue] = {"owner": person.owner, "id": id, "now": now}
    if transaction.first(PATTERN_IS_HIDDEN, which):
        return False
    renewed = transaction.all(
        UPDATE_PATTERN,
        {
            **which,
            "metadata": encode_metadata(draft.metadata),
            "confidence": draft.confidence,
            "sources": pack_ids(draft.sources),
        },
    )
    transaction.mark_changed(person.owner, [entry_key(seq) for (seq,) in renewed])
    if not renewed:
        whole = replace(
            draft, category=Category.PATTERN, origin=Origin.PATTERN, subject=person.subject
        )
        row = entry_row(whole, owner=person.owner, key=key, now=now, short_term_ttl_s=0.0)
        entries.add_entry(transaction, person.owner, row, merge=False)
    return True
