"""Entries: insert, reinforce the same content; links between entries."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING
from uuid import UUID

from spade_llm.core.errors import InvalidArguments
from spade_llm.memory.contract import MemoryLink
from spade_llm.memory.sqlite.queries import (
    OWNED_ENTRY,
    SELECT_BY_SEQ,
    VALID_NOW,
    VISIBLE,
    entry_not_found,
)
from spade_llm.memory.sqlite.rows import entry_key, from_microseconds, pack_ids, unpack_ids
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

INSERT_ENTRY_KEY = """
    INSERT INTO entry_key (key_id, entry) VALUES (:id, :seq) ON CONFLICT DO NOTHING
"""

MAX_SOURCES = 64
"""Maximum number of sources of an entry; the latest are kept."""

SELECT_LINKED_SEQ = f"SELECT seq FROM entry WHERE {OWNED_ENTRY} AND id = :id AND {VISIBLE}"

INSERT_LINK = """
    INSERT INTO link (source, target, relation, owner, created_at)
    SELECT :source, :target, :relation, number, :now FROM owner WHERE jid = :owner
    ON CONFLICT DO NOTHING
"""

COUNT_LINKS = "SELECT count(*) FROM link WHERE source = :seq OR target = :seq"

DELETE_LINKS = """
    DELETE FROM link
    WHERE owner = (SELECT number FROM owner WHERE jid = :owner)
        AND ((source, target) = (:source, :target) OR (target, source) = (:source, :target))
        AND (:relation IS NULL OR relation = :relation)
"""

# Ends that are deleted or expired are not shown.
SELECT_ENTRY_LINKS = """
    SELECT one.id, other.id, relation, link.created_at
    FROM link JOIN entry AS one ON one.seq = source JOIN entry AS other ON other.seq = target
    WHERE link.owner = (SELECT number FROM owner WHERE jid = :owner)
        AND (source = :seq OR target = :seq)
        AND one.deleted_at IS NULL AND (one.expires_at IS NULL OR one.expires_at > :now)
        AND other.deleted_at IS NULL AND (other.expires_at IS NULL OR other.expires_at > :now)
        {condition}
    ORDER BY link.created_at, other.seq, one.seq
"""

ONE_LINK = "AND (source, target, relation) = (:source, :target, :relation)"

MAX_LINKS = 1000
"""Maximum number of links of an entry."""


def owner_number(transaction: Transaction, jid: str) -> int:
    """Its number, given to it now if it has none."""
    found = transaction.first(SELECT_OWNER, {"jid": jid})
    if found is None:
        transaction.count(INSERT_OWNER, {"jid": jid})
        found = transaction.all(SELECT_OWNER, {"jid": jid})[0]
    return int(found[0])


def add_entry(
    transaction: Transaction, jid: str, row: Mapping[str, SqlValue], *, merge: bool
) -> SqlRow:
    """The ENTRY_COLUMNS of the entry that is new, says the same, or that this id led to before."""
    owned = {**row, "owner": owner_number(transaction, jid)}
    # First of all: a request that comes twice must not strengthen what it stored itself.
    seq = _existing_entry(transaction, owned)
    if seq is None:
        seq = _reinforce_entry(transaction, owned) if merge else None
        if seq is None:
            seq = _insert_entry(transaction, owned)
        transaction.mark_changed(jid, [entry_key(seq)])
    return transaction.all(SELECT_BY_SEQ, {"owner": jid, "seq": seq})[0]


def existing_row(transaction: Transaction, jid: str, row: Mapping[str, SqlValue]) -> SqlRow | None:
    """The entry that this id led to, if it was written before."""
    seq = _existing_entry(transaction, {**row, "owner": owner_number(transaction, jid)})
    return None if seq is None else transaction.first(SELECT_BY_SEQ, {"owner": jid, "seq": seq})


def add_entries(transaction: Transaction, jid: str, rows: Sequence[Mapping[str, SqlValue]]) -> None:
    """Insert complete rows; rows with existing ids are left as they are."""
    owner = owner_number(transaction, jid)
    owned = [{**row, "owner": owner} for row in rows]
    transaction.each(INSERT_ENTRY, owned)
    keys = [transaction.all(SELECT_SEQ_BY_ID, row)[0][0] for row in owned]
    transaction.mark_changed(jid, map(entry_key, keys))


def add_link(
    transaction: Transaction, owner: str, ends: tuple[bytes, bytes], relation: str, *, now: int
) -> MemoryLink:
    """The link that is new, or there. Raises NotFound, InvalidArguments (too many)."""
    source, target = (_linked_seq(transaction, owner, id, now=now) for id in ends)
    for seq in (source, target):
        if transaction.all(COUNT_LINKS, {"seq": seq})[0][0] >= MAX_LINKS:
            raise InvalidArguments(f"a memory has at most {MAX_LINKS} links: unlink one first")
    which: Mapping[str, SqlValue] = {
        "owner": owner,
        "seq": source,
        "source": source,
        "target": target,
        "relation": relation,
        "now": now,
    }
    transaction.count(INSERT_LINK, which)
    return _select_links(transaction, ONE_LINK, which)[0]


def remove_links(
    transaction: Transaction,
    owner: str,
    ends: tuple[bytes, bytes],
    relation: str | None,
    *,
    now: int,
) -> int:
    """Remove links; return their number. Raises NotFound."""
    source, target = (_linked_seq(transaction, owner, id, now=now) for id in ends)
    return transaction.count(
        DELETE_LINKS, {"owner": owner, "source": source, "target": target, "relation": relation}
    )


def entry_links(
    transaction: Transaction, owner: str, id: bytes, *, now: int
) -> Sequence[MemoryLink]:
    """Oldest first. Raises NotFound."""
    seq = _linked_seq(transaction, owner, id, now=now)
    return _select_links(transaction, "", {"owner": owner, "seq": seq, "now": now})


def _existing_entry(transaction: Transaction, owned: Mapping[str, SqlValue]) -> int | None:
    """The entry that this id led to when it was written before."""
    found = transaction.first(SELECT_SEQ_BY_ID, owned) or transaction.first(
        SELECT_SEQ_BY_KEY, owned
    )
    return None if found is None else int(found[0])


def _insert_entry(transaction: Transaction, owned: Mapping[str, SqlValue]) -> int:
    transaction.count(INSERT_ENTRY, owned)
    return int(transaction.all(SELECT_SEQ_BY_ID, owned)[0][0])


def _reinforce_entry(transaction: Transaction, owned: Mapping[str, SqlValue]) -> int | None:
    found = transaction.first(SELECT_SAME_CONTENT, owned)
    if found is None:
        return None
    seq, sources, tags = found
    changed = {
        "seq": seq,
        "sources": _merge_lists(sources, owned["sources"]),
        "new_terms": _entry_terms(owned, tags) if owned["context"] else None,
    }
    transaction.count(REINFORCE_ENTRY, {**owned, **changed})
    # The same key again must lead here, although this entry has another id.
    if owned["is_keyed"]:
        transaction.count(INSERT_ENTRY_KEY, {**owned, **changed})
    return int(seq)


def _entry_terms(owned: Mapping[str, SqlValue], tags: str | None) -> bytes:
    return encode_terms(str(owned["content"]), str(owned["context"]), json.loads(tags or "[]"))


def _merge_lists(there: bytes | None, new: SqlValue) -> bytes | None:
    new_ids = unpack_ids(new) if isinstance(new, bytes) else ()
    together = dict.fromkeys((*unpack_ids(there), *new_ids))
    return pack_ids(tuple(together)[-MAX_SOURCES:])


def _linked_seq(transaction: Transaction, owner: str, id: bytes, *, now: int) -> int:
    found = transaction.first(SELECT_LINKED_SEQ, {"owner": owner, "id": id, "now": now})
    if found is None:
        raise entry_not_found(id)
    return int(found[0])


def _select_links(
    transaction: Transaction, condition: str, which: Mapping[str, SqlValue]
) -> list[MemoryLink]:
    return [
        MemoryLink(
            source=str(UUID(bytes=source)),
            target=str(UUID(bytes=target)),
            relation=relation,
            created_at=from_microseconds(created_at),
        )
        for source, target, relation, created_at in transaction.all(
            SELECT_ENTRY_LINKS.format(condition=condition), which
        )
    ]
