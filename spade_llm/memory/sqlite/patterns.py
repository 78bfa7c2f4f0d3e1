"""What several conversations have in common, in the file: entries of their own origin.

A pattern goes with any episode that it was made from, and with the consent. One that a person
removed does not come back: its id is kept with the consent, and no text of it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from spade_llm.memory.sqlite import audit
from spade_llm.memory.sqlite.conditions import TRUE_NOW, VISIBLE
from spade_llm.memory.sqlite.finding import OWNED
from spade_llm.memory.sqlite.rows import ENTRY_COLUMNS, ID_BYTES, entry_from_row, entry_key
from spade_llm.memory.store import TOPIC

if TYPE_CHECKING:
    from collections.abc import Sequence, Set

    from spade_llm.memory.sqlite.transaction import Row, Transaction, Value
    from spade_llm.memory.store import MemoryEntry

# 5: a pattern.
ALL = f"SELECT seq, id, subject, sources FROM entry WHERE {OWNED} AND origin = 5"

OF_PERSON = f"""
    SELECT {ENTRY_COLUMNS} FROM entry JOIN owner ON owner.number = entry.owner
    WHERE {OWNED} AND origin = 5 AND subject = :subject AND {VISIBLE} AND {TRUE_NOW}
    ORDER BY confidence DESC, entry.seq
"""

CLEARED = f"""
    SELECT 1 FROM entry WHERE {OWNED} AND id = :id
        AND NOT EXISTS (SELECT 1 FROM message WHERE episode = entry.seq AND episode > 0)
"""

REMOVE = f"DELETE FROM entry WHERE {OWNED} AND seq = :seq"

CHANGED = """
    UPDATE consent SET changed = changed + 1
    WHERE owner = (SELECT number FROM owner WHERE jid = :owner) AND subject = :subject
"""

REFUSED = """
    SELECT refused FROM consent
    WHERE owner = (SELECT number FROM owner WHERE jid = :owner) AND subject = :subject
"""

REFUSE = """
    UPDATE consent SET refused = :refused
    WHERE owner = (SELECT number FROM owner WHERE jid = :owner) AND subject = :subject
"""

MAX_WAYS = 5

MAX_REFUSED = 256
"""Ids of one person; beyond, the oldest may come back."""


def ways(
    transaction: Transaction, owner: str, subject: str, *, now: int, limit: int = MAX_WAYS
) -> Sequence[MemoryEntry]:
    """How this person wants things, surest first; topics are found by what is asked."""
    rows = transaction.all(OF_PERSON, {"owner": owner, "subject": subject, "now": now})
    found = [entry_from_row(row, now=now) for row in rows]
    return [entry for entry in found if entry.metadata.get("kind") != TOPIC][:limit]


def remove_with(transaction: Transaction, owner: str, episodes: Set[bytes], *, now: int) -> None:
    """Those that were made from one of these; what remains is looked at anew."""
    gone = [row for row in _all(transaction, owner) if not episodes.isdisjoint(_sources(row))]
    _remove(transaction, owner, gone, now=now)
    for subject in {row[2] for row in gone}:
        note_change(transaction, owner, subject)


def remove_all(transaction: Transaction, owner: str, subject: str, *, now: int) -> None:
    """All that are about this person."""
    gone = [row for row in _all(transaction, owner) if row[2] == subject]
    _remove(transaction, owner, gone, now=now)


def remove_others(
    transaction: Transaction, owner: str, subject: str, kept: Set[bytes], *, now: int
) -> None:
    """Those of this person that are not found any more. Where messages were cleared nobody can
    find them: what was found there stays."""
    rows = [row for row in _all(transaction, owner) if row[2] == subject and row[1] not in kept]
    gone = [row for row in rows if not _is_cleared(transaction, owner, _sources(row))]
    _remove(transaction, owner, gone, now=now)


def _is_cleared(transaction: Transaction, owner: str, episodes: Sequence[bytes]) -> bool:
    """One of these has no messages any more."""
    which: dict[str, Value] = {"owner": owner}
    return any(transaction.first(CLEARED, {**which, "id": id}) for id in episodes)


def refuse(transaction: Transaction, owner: str, subject: str, ids: Sequence[bytes]) -> None:
    """These do not come back."""
    known = refused(transaction, owner, subject)
    last = list(dict.fromkeys([*known, *ids]))[-MAX_REFUSED:]
    transaction.count(REFUSE, {"owner": owner, "subject": subject, "refused": b"".join(last)})


def refused(transaction: Transaction, owner: str, subject: str) -> Sequence[bytes]:
    found = transaction.first(REFUSED, {"owner": owner, "subject": subject})
    return _ids(found[0]) if found is not None else []


def note_change(transaction: Transaction, owner: str, subject: str | None) -> None:
    """There is something new to be learned about this person, if they allow it."""
    transaction.count(CHANGED, {"owner": owner, "subject": subject})


def _all(transaction: Transaction, owner: str) -> Sequence[Row]:
    which: dict[str, Value] = {"owner": owner}
    return transaction.all(ALL, which)


def _remove(transaction: Transaction, owner: str, rows: Sequence[Row], *, now: int) -> None:
    for row in rows:
        transaction.count(REMOVE, {"owner": owner, "seq": row[0]})
    if rows:
        transaction.touch(owner, [entry_key(row[0]) for row in rows])
        audit.note(transaction, owner, "forget", [row[1] for row in rows], now=now)
        transaction.is_erasing = True


def _sources(row: Row) -> Sequence[bytes]:
    return _ids(row[3])


def _ids(packed: bytes | None) -> Sequence[bytes]:
    ids = packed or b""
    return [ids[at : at + ID_BYTES] for at in range(0, len(ids), ID_BYTES)]
