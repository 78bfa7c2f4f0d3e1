"""Entries: owners, insert, reinforce the same content; the audit log of actions."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from spade_llm.memory.sqlite.queries import (
    OWNED_ENTRY,
    SELECT_BY_SEQ,
    VALID_NOW,
    VISIBLE,
)
from spade_llm.memory.sqlite.rows import entry_key, pack_ids, unpack_ids
from spade_llm.search.terms import encode_terms

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from spade_llm.memory.sqlite.connection import SqlRow, SqlValue, Transaction

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

SELECT_SEQ_BY_ID = "SELECT seq FROM entry WHERE owner = :owner AND id = :id"

SELECT_SEQ_BY_KEY = """
    SELECT seq FROM entry_key JOIN entry ON seq = entry
    WHERE owner = :owner AND key_id = :id
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

DELETE_ENTRY = f"DELETE FROM entry WHERE {OWNED_ENTRY} AND seq = :seq"

INSERT_ENTRY_KEY = """
    INSERT INTO entry_key (key_id, entry) VALUES (:id, :seq) ON CONFLICT DO NOTHING
"""

MAX_SOURCES = 64
"""Maximum number of sources of an entry; the latest are kept."""

INSERT_AUDIT_RECORD = """
    INSERT INTO audit (at, owner, action, count, ids)
    SELECT :now, number, :action, :count, :ids FROM owner WHERE jid = :owner
"""

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
    owned = {**row, "owner": owner_number(transaction, owner)}
    # First of all: a request that comes twice must not strengthen what it stored itself.
    seq = _existing_entry(transaction, owned)
    if seq is None:
        seq = _reinforce_entry(transaction, owned) if merge else None
        if seq is None:
            transaction.count(INSERT_ENTRY, owned)
            seq = int(transaction.all(SELECT_SEQ_BY_ID, owned)[0][0])
        transaction.mark_changed(owner, [entry_key(seq)])
    return transaction.all(SELECT_BY_SEQ, {"owner": owner, "seq": seq})[0]


def existing_row(
    transaction: Transaction, owner: str, row: Mapping[str, SqlValue]
) -> SqlRow | None:
    """ENTRY_COLUMNS of the entry that this id led to, if it was written before."""
    seq = _existing_entry(transaction, {**row, "owner": owner_number(transaction, owner)})
    return None if seq is None else transaction.first(SELECT_BY_SEQ, {"owner": owner, "seq": seq})


def add_entries(
    transaction: Transaction, owner: str, rows: Sequence[Mapping[str, SqlValue]]
) -> None:
    """Insert complete rows; rows with existing ids are left as they are."""
    number = owner_number(transaction, owner)
    owned = [{**row, "owner": number} for row in rows]
    transaction.each(INSERT_ENTRY, owned)
    keys = [transaction.all(SELECT_SEQ_BY_ID, row)[0][0] for row in owned]
    transaction.mark_changed(owner, map(entry_key, keys))


def _existing_entry(transaction: Transaction, owned: Mapping[str, SqlValue]) -> int | None:
    """Number of the entry that this id led to, if it was written before."""
    found = transaction.first(SELECT_SEQ_BY_ID, owned) or transaction.first(
        SELECT_SEQ_BY_KEY, owned
    )
    return None if found is None else int(found[0])


def _reinforce_entry(transaction: Transaction, owned: Mapping[str, SqlValue]) -> int | None:
    found = transaction.first(SELECT_SAME_CONTENT, owned)
    if found is None:
        return None
    seq, packed, tags = found
    given = owned["sources"]
    new_sources = unpack_ids(given) if isinstance(given, bytes) else ()
    sources = tuple(dict.fromkeys((*unpack_ids(packed), *new_sources)))[-MAX_SOURCES:]
    new_terms = None
    if owned["context"]:
        new_terms = encode_terms(
            str(owned["content"]), str(owned["context"]), json.loads(tags or "[]")
        )
    changed = {"seq": seq, "sources": pack_ids(sources), "new_terms": new_terms}
    transaction.count(REINFORCE_ENTRY, {**owned, **changed})
    # The same key again must lead here, although this entry has another id.
    if owned["is_keyed"]:
        transaction.count(INSERT_ENTRY_KEY, {**owned, **changed})
    return int(seq)


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
