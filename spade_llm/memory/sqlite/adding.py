"""Putting entries into the file: one, the same again, many. Knows no filter and no rights."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from spade_llm.memory.sqlite.conditions import TRUE_NOW, VISIBLE
from spade_llm.memory.sqlite.finding import BY_SEQ
from spade_llm.memory.sqlite.rows import entry_key, packed_ids, unpacked_ids
from spade_llm.text.terms import encode_terms

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from spade_llm.memory.sqlite.transaction import Row, Transaction, Value

ADD_OWNER = "INSERT INTO owner (jid) VALUES (:jid) ON CONFLICT DO NOTHING"
OWNER = "SELECT number FROM owner WHERE jid = :jid"

ADD = """
    INSERT INTO entry (owner, id, type, category, tier, content_type, origin, content,
        content_hash, terms, context, confidence, subject, session, tags, metadata, sources,
        importance, surprise, created_at, updated_at, valid_at, expires_at)
    VALUES (:owner, :id, :type, :category, :tier, :content_type, :origin, :content,
        :content_hash, :terms, :context, :confidence, :subject, :session, :tags, :metadata,
        :sources, :importance, :surprise, :now, :now, :valid_at, :expires_at)
    ON CONFLICT (id) DO NOTHING
"""

SEQ_OF_ID = "SELECT seq FROM entry WHERE owner = :owner AND id = :id"

SEQ_OF_KEY = """
    SELECT seq FROM entry_key JOIN entry ON seq = entry
    WHERE owner = :owner AND key_id = :id
"""

SAME_CONTENT = f"""
    SELECT seq, sources, tags FROM entry
    WHERE owner = :owner AND content_hash = :content_hash AND content = :content
        AND subject IS :subject AND category IS :category AND {VISIBLE} AND {TRUE_NOW}
    ORDER BY seq LIMIT 1
"""

STRENGTHEN = """
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

REMEMBER_KEY = """
    INSERT INTO entry_key (key_id, entry) VALUES (:id, :seq) ON CONFLICT DO NOTHING
"""

MAX_SOURCES = 64
"""Of an entry; the latest are kept."""


def owner_number(transaction: Transaction, jid: str) -> int:
    """Its number, given to it now if it has none."""
    found = transaction.first(OWNER, {"jid": jid})
    if found is None:
        transaction.count(ADD_OWNER, {"jid": jid})
        found = transaction.all(OWNER, {"jid": jid})[0]
    return int(found[0])


def add(transaction: Transaction, jid: str, row: Mapping[str, Value], *, merge: bool) -> Row:
    """The ENTRY_COLUMNS of the entry that is new, says the same, or that this id led to before."""
    owned = {**row, "owner": owner_number(transaction, jid)}
    seq = _known(transaction, owned)
    if seq is None:
        seq = _strengthened(transaction, owned) if merge else None
        if seq is None:
            seq = _added(transaction, owned)
        transaction.touch(jid, [entry_key(seq)])
    return transaction.all(BY_SEQ, {"owner": jid, "seq": seq})[0]


def known_row(transaction: Transaction, jid: str, row: Mapping[str, Value]) -> Row | None:
    """The entry that this id led to, if it was written before."""
    seq = _known(transaction, {**row, "owner": owner_number(transaction, jid)})
    return None if seq is None else transaction.first(BY_SEQ, {"owner": jid, "seq": seq})


def add_all(transaction: Transaction, jid: str, rows: Sequence[Mapping[str, Value]]) -> None:
    """Each as it is told; those whose id is there stay as they are."""
    owner = owner_number(transaction, jid)
    owned = [{**row, "owner": owner} for row in rows]
    transaction.each(ADD, owned)
    keys = [transaction.all(SEQ_OF_ID, row)[0][0] for row in owned]
    transaction.touch(jid, map(entry_key, keys))


def _known(transaction: Transaction, owned: Mapping[str, Value]) -> int | None:
    """The entry that this id led to when it was written before."""
    found = transaction.first(SEQ_OF_ID, owned) or transaction.first(SEQ_OF_KEY, owned)
    return None if found is None else int(found[0])


def _added(transaction: Transaction, owned: Mapping[str, Value]) -> int:
    transaction.count(ADD, owned)
    return int(transaction.all(SEQ_OF_ID, owned)[0][0])


def _strengthened(transaction: Transaction, owned: Mapping[str, Value]) -> int | None:
    found = transaction.first(SAME_CONTENT, owned)
    if found is None:
        return None
    seq, sources, tags = found
    changed = {
        "seq": seq,
        "sources": _joined(sources, owned["sources"]),
        "new_terms": _terms(owned, tags) if owned["context"] else None,
    }
    transaction.count(STRENGTHEN, {**owned, **changed})
    if owned["is_keyed"]:
        transaction.count(REMEMBER_KEY, {**owned, **changed})
    return int(seq)


def _terms(owned: Mapping[str, Value], tags: str | None) -> bytes:
    return encode_terms(str(owned["content"]), str(owned["context"]), json.loads(tags or "[]"))


def _joined(there: bytes | None, new: Value) -> bytes | None:
    new_ids = unpacked_ids(new) if isinstance(new, bytes) else ()
    together = dict.fromkeys((*unpacked_ids(there), *new_ids))
    return packed_ids(tuple(together)[-MAX_SOURCES:])
