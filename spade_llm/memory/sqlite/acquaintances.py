"""People who may be learned about, what they told, and what was learned of it, in the file.

For the learner, which works for all owners; every row is still of one owner and one person.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING
from uuid import UUID

from spade_llm.memory.sqlite import adding, patterns
from spade_llm.memory.sqlite.conditions import VISIBLE
from spade_llm.memory.sqlite.finding import OWNED
from spade_llm.memory.sqlite.rows import (
    ENTRY_COLUMNS,
    MESSAGE_COLUMNS,
    entry_from_row,
    entry_key,
    entry_row,
    json_or_none,
    message_from_row,
    new_id,
    packed_ids,
)
from spade_llm.memory.store import MAX_EPISODES, Acquaintance, Category, Origin, Told

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from spade_llm.memory.sqlite.transaction import Row, Transaction, Value
    from spade_llm.memory.store import MemoryDraft

DUE = """
    SELECT jid, subject, changed FROM consent JOIN owner ON owner.number = consent.owner
    WHERE changed > learned LIMIT :limit
"""

TOLD = f"""
    SELECT {ENTRY_COLUMNS} FROM entry JOIN owner ON owner.number = entry.owner
    WHERE {OWNED} AND subject = :subject AND origin = 3 AND learned_at IS NOT NULL AND {VISIBLE}
    ORDER BY seq DESC LIMIT {MAX_EPISODES}
"""

MESSAGES = f"""
    SELECT {MESSAGE_COLUMNS} FROM message
    WHERE owner = (SELECT number FROM owner WHERE jid = :owner) AND subject = :subject
        AND episode = :episode AND episode > 0
    ORDER BY seq
"""

IS_THERE = f"""
    SELECT 1 FROM entry WHERE {OWNED} AND subject = :subject AND id = :id AND origin = 3
        AND {VISIBLE}
"""

IS_ALLOWED = """
    SELECT 1 FROM consent
    WHERE owner = (SELECT number FROM owner WHERE jid = :owner) AND subject = :subject
"""

RENEW = f"""
    UPDATE entry SET metadata = :metadata, confidence = :confidence, sources = :sources,
        updated_at = max(updated_at, :now)
    WHERE {OWNED} AND id = :id AND deleted_at IS NULL
    RETURNING seq
"""

IS_HIDDEN = f"SELECT 1 FROM entry WHERE {OWNED} AND id = :id AND deleted_at IS NOT NULL"

LEARNED = """
    UPDATE consent SET learned = max(learned, :changed)
    WHERE owner = (SELECT number FROM owner WHERE jid = :owner) AND subject = :subject
"""


def due(transaction: Transaction, *, limit: int, now: int) -> Sequence[Acquaintance]:
    return [
        Acquaintance(
            owner=owner,
            subject=subject,
            changed=changed,
            told=_told(transaction, owner, subject, now=now),
        )
        for owner, subject, changed in transaction.all(DUE, {"limit": limit})
    ]


def keep(
    transaction: Transaction, *, known: Acquaintance, drafts: Mapping[str, MemoryDraft], now: int
) -> Sequence[str]:
    """The ids of what is a pattern of this person now."""
    who: dict[str, Value] = {"owner": known.owner, "subject": known.subject}
    if transaction.first(IS_ALLOWED, who) is None:
        return []
    refused = patterns.refused(transaction, known.owner, known.subject)
    kept = [
        id
        for key, draft in drafts.items()
        if (id := new_id(known.owner, _key(known, key))) not in refused
        and _are_there(transaction, known, draft, now=now)
        and _kept(transaction, known, key, draft, now=now)
    ]
    patterns.remove_others(transaction, known.owner, known.subject, set(kept), now=now)
    transaction.count(LEARNED, {**who, "changed": known.changed})
    return [str(UUID(bytes=id)) for id in kept]


def _told(transaction: Transaction, owner: str, subject: str, *, now: int) -> tuple[Told, ...]:
    rows = transaction.all(TOLD, {"owner": owner, "subject": subject, "now": now})
    return tuple(_one_told(transaction, owner, subject, row, now=now) for row in reversed(rows))


def _one_told(transaction: Transaction, owner: str, subject: str, row: Row, *, now: int) -> Told:
    which: dict[str, Value] = {"owner": owner, "subject": subject, "episode": row[0]}
    messages = transaction.all(MESSAGES, which)
    return Told(
        episode=entry_from_row(row, now=now), messages=tuple(map(message_from_row, messages))
    )


def _are_there(
    transaction: Transaction, known: Acquaintance, draft: MemoryDraft, *, now: int
) -> bool:
    """All episodes that it was made from: the owner's, about this person, and not forgotten."""
    who: dict[str, Value] = {"owner": known.owner, "subject": known.subject, "now": now}
    return bool(draft.sources) and all(
        transaction.first(IS_THERE, {**who, "id": UUID(id).bytes}) for id in draft.sources
    )


def _kept(
    transaction: Transaction, known: Acquaintance, key: str, draft: MemoryDraft, *, now: int
) -> bool:
    """False: the person hid it."""
    key = _key(known, key)
    which: dict[str, Value] = {
        "owner": known.owner,
        "id": new_id(known.owner, key),
        "now": now,
    }
    if transaction.first(IS_HIDDEN, which):
        return False
    renewed = transaction.all(
        RENEW,
        {
            **which,
            "metadata": json_or_none(draft.metadata),
            "confidence": draft.confidence,
            "sources": packed_ids(draft.sources),
        },
    )
    transaction.touch(known.owner, [entry_key(seq) for (seq,) in renewed])
    if not renewed:
        whole = replace(
            draft, category=Category.PATTERN, origin=Origin.PATTERN, subject=known.subject
        )
        row = entry_row(whole, owner=known.owner, key=key, now=now, short_term_ttl_s=0.0)
        adding.add(transaction, known.owner, row, merge=False)
    return True


def _key(known: Acquaintance, key: str) -> str:
    return f"pattern\0{known.subject}\0{key}"
