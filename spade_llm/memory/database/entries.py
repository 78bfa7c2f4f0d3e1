"""Entries: owners, insert, reinforce the same content, replace learned facts by told ones; the
audit log of actions."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from spade_llm.memory.database.queries import (
    OWNED_ENTRY,
    SELECT_BY_SEQ,
    VALID_NOW,
    VISIBLE,
)
from spade_llm.memory.database.rows import (
    ORIGIN_CODES,
    TYPE_CODES,
    entry_key,
    pack_ids,
    unpack_ids,
)
from spade_llm.search.memory_query import FACT_TYPES, Origin
from spade_llm.search.terms import TERM_ITEM, encode_terms

if TYPE_CHECKING:
    from spade_llm.memory.database.connection import SqlRow, SqlValue, Transaction

INSERT_OWNER = "INSERT INTO owner (jid) VALUES (:jid) ON CONFLICT DO NOTHING"
SELECT_OWNER = "SELECT number FROM owner WHERE jid = :jid"

INSERT_ENTRY = """
    INSERT INTO entry (owner, id, type, category, tier, content_type, origin, content,
        content_hash, terms, context, confidence, subject, session, tags, metadata, sources,
        importance, surprise, created_at, updated_at, valid_at, expires_at)
    VALUES (:owner, :id, :type, :category, :tier, :content_type, :origin, :content,
        :content_hash, :terms, :context, :confidence, :subject, :session, :tags, :metadata,
        :sources, :importance, :surprise, :now, :now, :valid_at, :expires_at)
    ON CONFLICT (id) DO NOTHING
"""
INSERT_ONE_ENTRY = f"{INSERT_ENTRY} RETURNING seq"

SELECT_LAST_SEQ = "SELECT coalesce(max(seq), 0) FROM entry"
# The plus: by number, not by what leads to all rows of the owner.
SELECT_ADDED = "SELECT seq FROM entry WHERE seq > :last AND +owner = :owner"

# In one statement: each is a round trip to a server.
SELECT_EXISTING = """
    SELECT number, coalesce(
        (SELECT seq FROM entry WHERE entry.owner = number AND entry.id = :id),
        (SELECT seq FROM entry_key JOIN entry ON seq = entry
            WHERE entry.owner = number AND key_id = :id))
    FROM owner WHERE jid = :jid
"""

# The hash finds candidates by an index; it ignores spaces and may collide, so content is compared.
SELECT_SAME_CONTENT = f"""
    SELECT seq, sources, tags FROM entry
    WHERE owner = :owner AND content_hash = :content_hash AND content = :content
        AND subject IS :subject AND category IS :category AND {VISIBLE} AND {VALID_NOW}
    ORDER BY seq LIMIT 1
"""

# max(): a clock that was set back does not make updated_at earlier.
REINFORCE_ENTRY = """
    UPDATE entry SET
        confidence = 1 - (1 - confidence) * (1 - :confidence),
        context = coalesce(:context, context),
        terms = coalesce(:new_terms, terms),
        sources = :sources,
        access_count = access_count + 1,
        last_accessed_at = :now,
        updated_at = max(updated_at, :now)
    WHERE owner = :owner AND seq = :seq
"""

# origin 2: a learned fact.
SELECT_LEARNED = f"""
    SELECT seq, content, sources, terms FROM entry
    WHERE subject = :subject AND owner = :owner AND origin = 2 AND {VISIBLE} AND {VALID_NOW}
    ORDER BY seq DESC LIMIT :limit
"""

TAKE_PLACE = """
    UPDATE entry SET origin = 1, content = :content, content_hash = :content_hash, terms = :terms,
        type = :type, category = :category, context = :context, session = :session,
        confidence = max(confidence, :confidence), tags = :tags, metadata = :metadata,
        sources = :sources, importance = coalesce(:importance, importance),
        surprise = coalesce(:surprise, surprise), access_count = access_count + 1,
        last_accessed_at = :now, updated_at = max(updated_at, :now)
    WHERE owner = :owner AND seq = :seq
"""

SELECT_SOURCES = f"SELECT seq, sources FROM entry WHERE {OWNED_ENTRY} AND id = :id"

UPDATE_SOURCES = f"UPDATE entry SET sources = :sources WHERE {OWNED_ENTRY} AND seq = :seq"

DELETE_ENTRY = f"DELETE FROM entry WHERE {OWNED_ENTRY} AND seq = :seq"

INSERT_ENTRY_KEY = """
    INSERT INTO entry_key (key_id, entry) VALUES (:id, :seq) ON CONFLICT DO NOTHING
"""

MAX_SOURCES = 64
"""Maximum number of sources of an entry; the latest are kept."""
MAX_LEARNED = 256
"""Maximum number of learned facts about a person that a told one is compared with, the latest."""

INSERT_AUDIT_RECORD = """
    INSERT INTO audit (at, owner, action, count, ids)
    SELECT :now, number, :action, :count, :ids FROM owner WHERE jid = :owner
"""

TOLD = ORIGIN_CODES.number(Origin.TOLD)
FACT_CODES = frozenset(map(TYPE_CODES.number, FACT_TYPES))

MAX_RECORDED_IDS = 1000
"""Maximum number of ids in one audit record; `count` has the full number."""


def owner_number(transaction: Transaction, owner: str) -> int:
    """Number of an owner; assigned now if it has none."""
    found = transaction.first(SELECT_OWNER, {"jid": owner})
    if found is None:
        transaction.count(INSERT_OWNER, {"jid": owner})
        found = transaction.all(SELECT_OWNER, {"jid": owner})[0]
    return int(found[0])


def add_entry(
    transaction: Transaction, owner: str, row: Mapping[str, SqlValue], *, merge: bool
) -> SqlRow:
    """Insert an entry, or reinforce an equal one with `merge`; return its ENTRY_COLUMNS.

    An id that was written before returns the entry that it led to.
    """
    # First of all: a request that comes twice must not strengthen what it stored itself.
    number, seq = _existing_entry(transaction, owner, row["id"])
    owned = {**row, "owner": number}
    if seq is None:
        seq = _reinforce_entry(transaction, owned) if merge else None
        if seq is None and merge:
            seq = _take_learned_place(transaction, owner, owned)
        if seq is None:
            seq = int(transaction.all(INSERT_ONE_ENTRY, owned)[0][0])
        transaction.mark_changed(owner, [entry_key(seq)])
    return transaction.all(SELECT_BY_SEQ, {"owner": owner, "seq": seq})[0]


def add_source(transaction: Transaction, owner: str, id: bytes, source: bytes) -> None:
    """Add an episode to the sources of an entry; a missing entry is skipped."""
    which: dict[str, SqlValue] = {"owner": owner, "id": id}
    for seq, packed in transaction.all(SELECT_SOURCES, which):
        joined = _joined_sources(packed, source)
        transaction.count(UPDATE_SOURCES, {**which, "seq": seq, "sources": joined})


def existing_row(
    transaction: Transaction, owner: str, row: Mapping[str, SqlValue]
) -> SqlRow | None:
    """ENTRY_COLUMNS of the entry that this id led to, if it was written before."""
    _, seq = _existing_entry(transaction, owner, row["id"])
    return None if seq is None else transaction.first(SELECT_BY_SEQ, {"owner": owner, "seq": seq})


def add_entries(
    transaction: Transaction, owner: str, rows: Sequence[Mapping[str, SqlValue]]
) -> None:
    """Insert complete rows; rows with existing ids are left as they are."""
    number = owner_number(transaction, owner)
    owned = [{**row, "owner": number} for row in rows]
    ((last,),) = transaction.all(SELECT_LAST_SEQ)
    transaction.each(INSERT_ENTRY, owned)
    # Numbers rise, and there is one writer at a time.
    added = transaction.all(SELECT_ADDED, {"owner": number, "last": last})
    transaction.mark_changed(owner, [entry_key(seq) for (seq,) in added])


def _existing_entry(transaction: Transaction, owner: str, id: SqlValue) -> tuple[int, int | None]:
    """Number of the owner, and of the entry that this id led to, if it was written before."""
    found = transaction.first(SELECT_EXISTING, {"jid": owner, "id": id})
    return (owner_number(transaction, owner), None) if found is None else (found[0], found[1])


def _reinforce_entry(transaction: Transaction, owned: Mapping[str, SqlValue]) -> int | None:
    found = transaction.first(SELECT_SAME_CONTENT, owned)
    if found is None:
        return None
    seq, packed, tags = found
    new_terms = None
    if owned["context"]:
        new_terms = encode_terms(
            str(owned["content"]), str(owned["context"]), json.loads(tags or "[]")
        )
    sources = _joined_sources(packed, owned["sources"])
    changed = {"seq": seq, "sources": sources, "new_terms": new_terms}
    transaction.count(REINFORCE_ENTRY, {**owned, **changed})
    # The same key again must lead here, although this entry has another id.
    if owned["is_keyed"]:
        transaction.count(INSERT_ENTRY_KEY, {**owned, **changed})
    return int(seq)


def _take_learned_place(
    transaction: Transaction, owner: str, owned: Mapping[str, SqlValue]
) -> int | None:
    """Let a told fact take the place of the learned ones that say the same; return the number of
    the entry, which keeps its id, its links and its sources. None: there is none."""
    is_fact = owned["type"] in FACT_CODES and owned["origin"] == TOLD
    # What is told for a while only ends, and would take what was learned with it.
    if not is_fact or owned["subject"] is None or owned["expires_at"] is not None:
        return None
    terms = _term_set(owned["terms"])
    learned = [
        one
        for one in transaction.all(SELECT_LEARNED, {**owned, "limit": MAX_LEARNED})
        # A comparison by rules takes a third of a millisecond; most facts share no word.
        if terms & _term_set(one[3])
    ]
    if not learned:
        return None
    # Here, so that a start does not load the rules.
    from spade_llm.memory.learning.repeated_facts import says_same

    # In a room the subject ends with the name that the learner writes.
    name = str(owned["subject"]).partition("/")[2]
    same = [one for one in learned if says_same(str(owned["content"]), one[1], name=name)]
    if not same:
        return None
    seq = int(same[-1][0])
    sources = _joined_sources(*(one[2] for one in same), owned["sources"])
    changed = {**owned, "seq": seq, "sources": sources}
    transaction.count(TAKE_PLACE, changed)
    if owned["is_keyed"]:
        transaction.count(INSERT_ENTRY_KEY, changed)
    for other, *_ in same[:-1]:
        transaction.count(DELETE_ENTRY, {"owner": owner, "seq": other})
        transaction.mark_changed(owner, [entry_key(other)])
    return seq


def _term_set(terms: SqlValue) -> frozenset[bytes]:
    """Terms of an encoded text, without their weights."""
    packed = terms if isinstance(terms, bytes) else b""
    items = range(TERM_ITEM.size, len(packed), TERM_ITEM.size)
    return frozenset(packed[at : at + TERM_ITEM.size - 1] for at in items)


def _joined_sources(*packed: SqlValue) -> bytes | None:
    ids = (id for one in packed if isinstance(one, bytes) for id in unpack_ids(one))
    return pack_ids(tuple(dict.fromkeys(ids))[-MAX_SOURCES:])


def record_action(
    transaction: Transaction, owner: str, action: str, ids: Sequence[bytes], *, now: int
) -> None:
    """Record an action of the owner on these entries in the audit log."""
    _insert_audit_record(
        transaction, owner, action, len(ids), b"".join(ids[:MAX_RECORDED_IDS]), now=now
    )


def record_count(
    transaction: Transaction, owner: str, action: str, count: int, *, now: int
) -> None:
    """Record an action on a number of items without ids in the audit log."""
    _insert_audit_record(transaction, owner, action, count, b"", now=now)


def _insert_audit_record(
    transaction: Transaction, owner: str, action: str, count: int, ids: bytes, *, now: int
) -> None:
    line: dict[str, SqlValue] = {"now": now, "owner": owner, "action": action}
    transaction.count(INSERT_AUDIT_RECORD, {**line, "count": count, "ids": ids})
