"""Import of a memory passport into a memory file, in transactions, and its removal.

Imported rows are new rows of the chosen owner: their ids are derived from owner, person and old id,
so that a passport can neither touch nor probe rows of others.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING
from uuid import UUID

from spade_llm.memory.database import rows
from spade_llm.memory.database.conversations import DELETE_EMPTY_CONVERSATIONS, DELETE_MESSAGE
from spade_llm.memory.database.entries import DELETE_ENTRY, record_action, record_count
from spade_llm.memory.database.queries import OWNED_ENTRY
from spade_llm.memory.transfer.memory_file import ADD_CONVERSATION, ADD_OWNER, INSERT_RECORDS
from spade_llm.search.memory_query import Origin
from spade_llm.search.terms import content_hash, encode_terms

if TYPE_CHECKING:
    from spade_llm.memory.database.connection import SqlValue, Transaction
    from spade_llm.memory.transfer.passport import Record

MAX_IMPORTED = 20_000
"""Maximum number of imported entries and messages of one person in a memory."""
METADATA_KEY = "passport"
"""Key in the metadata of an imported entry: issuer, agent and date of the import."""
CONVERSATION_PREFIX = "passport:"
"""Prefix of the conversations of imported messages. No JID contains a colon, so these are never
the history of a chat: they are found by searches only."""

# The plus, here and below: by content, and not by what leads to all rows of the person.
_VALIDITY = "seq, id, content, coalesce(valid_at, created_at), invalid_at"
SELECT_SAME_ENTRIES = f"""
    SELECT {_VALIDITY} FROM entry WHERE {OWNED_ENTRY} AND id = :id
    UNION SELECT {_VALIDITY} FROM entry
    WHERE {OWNED_ENTRY} AND +subject = :subject AND content_hash = :content_hash
        AND content = :content AND deleted_at IS NULL
"""
CLOSE_ENTRY = f"""
    UPDATE entry SET invalid_at = :invalid_at, updated_at = max(updated_at, :now)
    WHERE {OWNED_ENTRY} AND seq = :seq
"""
SELECT_SEQ = "SELECT seq FROM entry WHERE id = :id"
SELECT_SAME_MESSAGE = """
    SELECT 1 FROM message WHERE owner = (SELECT number FROM owner WHERE jid = :owner)
        AND +subject = :subject AND content_hash = :content_hash AND content = :content
        AND at = :at AND role = :role
"""
SELECT_MESSAGE_SEQ = """
    SELECT message.seq FROM message JOIN conversation ON number = conversation
    WHERE conversation.owner = (SELECT number FROM owner WHERE jid = :owner)
        AND name = :conversation AND message.id = :id
"""

_ISSUER = f"json_extract(metadata, '$.{METADATA_KEY}.issuer')"
SELECT_IMPORTED_ENTRIES = f"""
    SELECT jid, seq, id, {_ISSUER}
    FROM entry JOIN owner ON owner.number = entry.owner
    WHERE subject = :subject AND {_ISSUER} IS NOT NULL
"""
SELECT_IMPORTED_MESSAGES = f"""
    SELECT jid, seq, name FROM message JOIN owner ON owner.number = message.owner
        JOIN conversation ON conversation.number = message.conversation
    WHERE subject = :subject AND substr(name, 1, {len(CONVERSATION_PREFIX)}) =
        '{CONVERSATION_PREFIX}'
"""


class PassportImport:
    """Import of one passport, some records at a time."""

    def __init__(self, issuer: str, subject: str, owner: str, now: datetime) -> None:
        self._issuer = issuer
        self._subject = subject
        self._owner = owner
        self._now = rows.to_microseconds(now)
        self._imported_at = now.isoformat(timespec="seconds")
        self._ids: dict[str, str] = {}
        """Ids of entries here, by their ids in the passport."""

    def insert(self, transaction: Transaction, records: Sequence[Record]) -> int:
        """Insert new records; return their number. Repeatable, as group commit requires."""
        transaction.count(ADD_OWNER, {"owner": self._owner})
        insert = {"entry": self._insert_entry, "message": self._insert_message}
        return sum(insert[kind](transaction, values) for kind, values in records)

    def _insert_entry(self, transaction: Transaction, values: Mapping[str, SqlValue]) -> bool:
        expires_at, old_id = values["expires_at"], _format_id(values["id"])
        if isinstance(expires_at, int) and expires_at <= self._now:
            return False
        row = self._entry_row(values, old_id)
        same = {name: row[name] for name in ("owner", "subject", "id", "content_hash", "content")}
        for seq, id, content, start, end in transaction.all(SELECT_SAME_ENTRIES, same):
            if id != row["id"] and not _overlap(row, start, end):
                continue
            self._ids[old_id] = _format_id(id)
            new_end = _validity(row)[1]
            is_closed = new_end is not None and new_end > start
            if content == row["content"] and end is None and is_closed:
                closed = {"owner": self._owner, "seq": seq, "now": self._now}
                transaction.count(CLOSE_ENTRY, {**closed, "invalid_at": row["invalid_at"]})
                transaction.mark_changed(self._owner, [rows.entry_key(seq)])
            return False
        if not transaction.count(INSERT_RECORDS["entry"], row):
            return False
        self._ids[old_id] = _format_id(row["id"])
        ((seq,),) = transaction.all(SELECT_SEQ, {"id": row["id"]})
        transaction.mark_changed(self._owner, [rows.entry_key(seq)])
        return True

    def _entry_row(self, values: Mapping[str, SqlValue], old_id: str) -> dict[str, SqlValue]:
        content, context = str(values["content"]), values["context"]
        derived = {rows.ORIGIN_CODES.number(one) for one in (Origin.PATTERN, Origin.REFLECTION)}
        is_pattern = values["origin"] in derived
        known = {"issuer": self._issuer, "agent": values["owner"], "imported_at": self._imported_at}
        return {
            **values,
            "owner": self._owner,
            "id": rows.new_id(self._owner, f"passport\0{self._subject}\0{old_id}"),
            "subject": self._subject,
            # A pattern belongs to a consent, which was given to another agent.
            "origin": rows.ORIGIN_CODES.number(Origin.CONSOLIDATED)
            if is_pattern
            else values["origin"],
            "sources": self._sources(values["sources"]),
            "metadata": json.dumps({METADATA_KEY: known}, ensure_ascii=False),
            "access_count": 0,
            # Facts of an imported episode are in the passport: it is not to be learned from again.
            "learned_at": self._now,
            "content_hash": content_hash(content),
            "terms": encode_terms(content, None if context is None else str(context)),
        }

    def _sources(self, value: SqlValue) -> bytes | None:
        old = rows.unpack_ids(value) if isinstance(value, bytes) else ()
        return rows.pack_ids([self._ids[one] for one in old if one in self._ids])

    def _insert_message(self, transaction: Transaction, values: Mapping[str, SqlValue]) -> bool:
        content, speaker = str(values["content"]), values["speaker"]
        row: dict[str, SqlValue] = {
            **values,
            "owner": self._owner,
            "subject": self._subject,
            "conversation": _conversation(self._issuer, self._subject, str(values["conversation"])),
            "episode": None,
            # No episode is cut from it: what was learned from it is in the passport.
            "is_left_out": 1,
            "content_hash": content_hash(content),
            "terms": encode_terms(content, None if speaker is None else str(speaker)),
        }
        if transaction.first(SELECT_SAME_MESSAGE, row) is not None:
            return False
        transaction.count(ADD_CONVERSATION, row)
        if not transaction.count(INSERT_RECORDS["message"], row):
            return False
        ((seq,),) = transaction.all(SELECT_MESSAGE_SEQ, row)
        transaction.mark_changed(self._owner, [rows.message_key(seq)])
        return True


def _overlap(row: Mapping[str, SqlValue], start: int, end: int | None) -> bool:
    """True if the same statement was true at a common time, so that it is one memory. What was true
    before and is true again are two."""
    other_start, other_end = _validity(row)
    return (end is None or other_start < end) and (other_end is None or start < other_end)


def _validity(row: Mapping[str, SqlValue]) -> tuple[int, int | None]:
    start, end = row["valid_at"] or row["created_at"], row["invalid_at"]
    assert isinstance(start, int)
    return start, end if isinstance(end, int) else None


def _conversation(issuer: str, subject: str, name: str) -> str:
    # Hashed: a name may have 3072 characters, and three of them together are too long for one.
    digest = hashlib.sha256(name.encode()).hexdigest()[:16]
    return f"{_conversation_prefix(issuer, subject)}{digest}"


def _conversation_prefix(issuer: str, subject: str) -> str:
    digest = hashlib.sha256(f"{issuer}\0{subject}".encode()).hexdigest()[:16]
    return f"{CONVERSATION_PREFIX}{digest}:"


def count_imported(transaction: Transaction, subject: str) -> int:
    which = {"subject": subject}
    return sum(
        transaction.all(f"SELECT count(*) FROM ({sql}) AS imported", which)[0][0]
        for sql in (SELECT_IMPORTED_ENTRIES, SELECT_IMPORTED_MESSAGES)
    )


def imported_issuers(transaction: Transaction, subject: str) -> Sequence[str]:
    rows = transaction.all(SELECT_IMPORTED_ENTRIES, {"subject": subject})
    return sorted({issuer for *_, issuer in rows})


def remove_imported(transaction: Transaction, subject: str, *, issuer: str, now: int) -> int:
    which, prefix = {"subject": subject}, _conversation_prefix(issuer, subject)
    entries = [
        (owner, seq, id)
        for owner, seq, id, found in transaction.all(SELECT_IMPORTED_ENTRIES, which)
        if found == issuer
    ]
    messages = [
        (owner, seq)
        for owner, seq, name in transaction.all(SELECT_IMPORTED_MESSAGES, which)
        if name.startswith(prefix)
    ]
    for owner in {row[0] for row in (*entries, *messages)}:
        ids = [id for jid, _, id in entries if jid == owner]
        seqs = [seq for jid, seq, _ in entries if jid == owner]
        message_seqs = [seq for jid, seq in messages if jid == owner]
        transaction.each(DELETE_ENTRY, [{"owner": owner, "seq": seq} for seq in seqs])
        transaction.each(DELETE_MESSAGE, [{"owner": owner, "seq": seq} for seq in message_seqs])
        transaction.count(DELETE_EMPTY_CONVERSATIONS, {"owner": owner})
        transaction.mark_changed(
            owner, [*map(rows.entry_key, seqs), *map(rows.message_key, message_seqs)]
        )
        record_action(transaction, owner, "passport_removed", ids, now=now)
        record_count(transaction, owner, "forget_messages", len(message_seqs), now=now)
        transaction.is_erasing = True
    return len(entries) + len(messages)


def _format_id(value: SqlValue) -> str:
    assert isinstance(value, bytes)
    return str(UUID(bytes=value))
