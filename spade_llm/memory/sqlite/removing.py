"""Hiding entries, and removing every trace of them. Says what is gone; knows no file."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from spade_llm.memory.sqlite import audit, consent, patterns
from spade_llm.memory.sqlite.codes import ORIGINS, TYPES
from spade_llm.memory.sqlite.conditions import (
    VISIBLE,
    Condition,
    all_of,
    messages_within,
    wanted,
    within,
)
from spade_llm.memory.sqlite.finding import OWNED
from spade_llm.memory.sqlite.rows import entry_key, message_key
from spade_llm.memory.store import Cleared, Origin
from spade_llm.memory.subject import in_rooms

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence, Set

    from spade_llm.memory.index.scope import Scope
    from spade_llm.memory.sqlite.transaction import Row, Transaction, Value
    from spade_llm.memory.store import MemoryFilter

HIDE = f"""
    UPDATE entry SET deleted_at = :now WHERE seq IN (
        SELECT seq FROM entry WHERE {OWNED} AND {VISIBLE} AND {{condition}} LIMIT :limit)
    RETURNING seq, id
"""

ENTRIES = f"SELECT seq, id, origin, type FROM entry WHERE {OWNED} AND {{condition}}"

REMOVE = f"DELETE FROM entry WHERE {OWNED} AND seq = :seq"

OF_EPISODE = "episode = :episode AND episode > 0"

OF_CONTENT = f"""
    (content_hash, content) =
        (SELECT content_hash, content FROM entry WHERE {OWNED} AND seq = :seq)
"""

FEWEST_CHARS = 8
"""Fewer stand in messages that speak of something else."""

HOLDING = f"""
    subject = (SELECT subject FROM entry WHERE {OWNED} AND seq = :seq)
    AND instr(lower(content), (
        SELECT lower(rtrim(content, ' .!')) FROM entry
        WHERE {OWNED} AND seq = :seq AND length(rtrim(content, ' .!')) >= {FEWEST_CHARS})) > 0
"""
"""Of the same person, with the memory's words among others."""

MESSAGES = """
    SELECT seq, seq > (SELECT cleared_at_seq FROM conversation WHERE number = conversation)
    FROM message
    WHERE owner = (SELECT number FROM owner WHERE jid = :owner) AND {condition}
"""

SEATS = """
    SELECT subject FROM entry WHERE subject >= :first AND subject < :end
        AND +owner = (SELECT number FROM owner WHERE jid = :owner)
    UNION SELECT subject FROM message WHERE subject >= :first AND subject < :end
        AND +owner = (SELECT number FROM owner WHERE jid = :owner)
"""
"""What one person is called in rooms. By the index of subjects: an owner has many, a person few."""

OF_SUBJECT = "subject = :subject"

OF_CONVERSATION = """
    conversation = (SELECT number FROM conversation
        WHERE owner = (SELECT number FROM owner WHERE jid = :owner) AND name = :session)
"""

OF_IDS = f"{OF_CONVERSATION} AND id IN (SELECT value FROM json_each(:ids))"

REMOVE_MESSAGE = """
    DELETE FROM message
    WHERE owner = (SELECT number FROM owner WHERE jid = :owner) AND seq = :seq
"""

REMOVE_EMPTY_CONVERSATIONS = """
    DELETE FROM conversation
    WHERE owner = (SELECT number FROM owner WHERE jid = :owner) AND NOT EXISTS (
        SELECT 1 FROM message
        WHERE message.owner = conversation.owner AND conversation = conversation.number)
"""

RELEASE_MESSAGES = f"UPDATE message SET episode = 0 WHERE {OF_EPISODE}"

EPISODES_WITH = f"""
    SELECT DISTINCT entry.seq, entry.id FROM message JOIN entry ON entry.seq = message.episode
    WHERE {OWNED} AND message.seq IN (SELECT value FROM json_each(:seqs))
"""

PATTERNS = f"""
    SELECT subject, id FROM entry WHERE {OWNED} AND origin = 5
        AND seq IN (SELECT value FROM json_each(:seqs))
"""

DUE = """
    SELECT jid, seq, id FROM entry JOIN owner ON owner.number = entry.owner
    WHERE deleted_at <= :deleted_before OR expires_at <= :now
    LIMIT :limit
"""


NO_LIMIT = -1
"""As SQLite says it."""

ALL = messages_within(None)


@dataclass(frozen=True, slots=True, kw_only=True)
class Doomed:
    """An entry that is to be removed."""

    seq: int
    id: bytes
    origin: Origin
    type: int


def hide(
    transaction: Transaction,
    owner: str,
    which: MemoryFilter,
    ids: Sequence[bytes] | None,
    *,
    scopes: Sequence[Scope] | None,
    now: int,
    limit: int | None = None,
) -> Sequence[bytes]:
    """The ids of what is now hidden; `limit` is for all, not for those with ids."""
    common = all_of([wanted(which), within(scopes)])
    rows: list[Row] = []
    for one in [common] if ids is None else [all_of([common, _has_id(id)]) for id in ids]:
        most = NO_LIMIT if limit is None else limit
        values = {**one.parameters, "owner": owner, "now": now, "limit": most}
        rows += transaction.all(HIDE.format(condition=one.sql), values)
    transaction.touch(owner, [entry_key(seq) for seq, _ in rows])
    hidden = [id for _, id in rows]
    if hidden:
        _refuse(transaction, owner, [seq for seq, _ in rows])
        patterns.remove_with(transaction, owner, set(hidden), now=now)
        audit.note(transaction, owner, "delete", hidden, now=now)
    return hidden


def forget_ids(
    transaction: Transaction,
    owner: str,
    ids: Sequence[bytes],
    *,
    subject: str | None,
    scopes: Sequence[Scope] | None,
    now: int,
) -> int:
    """Hidden and expired ones too; how many there were.

    With `scopes` only what one of them holds goes, also of the messages.
    """
    about = [] if subject is None else [_of("subject", subject)]
    conditions = [all_of([_has_id(id), within(scopes), *about]) for id in dict.fromkeys(ids)]
    doomed = [one for condition in conditions for one in _doomed(transaction, owner, condition)]
    _refuse(transaction, owner, [one.seq for one in doomed])
    return _erase(transaction, owner, doomed, messages_within(scopes), now=now)


def forget_subject(transaction: Transaction, owner: str, subject: str, *, now: int) -> Cleared:
    """Memories and messages, those of rooms too; how many there were."""
    first, end = in_rooms(subject)
    which: dict[str, Value] = {"owner": owner, "first": first, "end": end}
    seats = [seat for (seat,) in transaction.all(SEATS, which)]
    everywhere = (subject, *seats)
    gone = [_forget_subject(transaction, owner, one, now=now) for one in everywhere]
    return Cleared(
        messages=sum(one.messages for one in gone),
        by_type=sum((Counter(one.by_type) for one in gone), Counter()),
    )


def _forget_subject(transaction: Transaction, owner: str, subject: str, *, now: int) -> Cleared:
    about = _of("subject", subject)
    doomed = _doomed(transaction, owner, about)
    messages = _erase_messages(
        transaction, owner, OF_SUBJECT, about.parameters, doomed=doomed, now=now
    )
    transaction.count(REMOVE_EMPTY_CONVERSATIONS, {"owner": owner})
    _erase(transaction, owner, doomed, ALL, now=now)
    consent.withdraw(transaction, owner, subject, now=now)
    return _cleared(doomed, messages)


def forget_session(transaction: Transaction, owner: str, session: str, *, now: int) -> Cleared:
    of_session = _of("session", session)
    doomed = _doomed(transaction, owner, of_session)
    messages = _erase_messages(
        transaction, owner, OF_CONVERSATION, of_session.parameters, doomed=doomed, now=now
    )
    transaction.count(REMOVE_EMPTY_CONVERSATIONS, {"owner": owner})
    _erase(transaction, owner, doomed, ALL, now=now)
    return _cleared(doomed, messages)


def _cleared(doomed: Sequence[Doomed], messages: int) -> Cleared:
    return Cleared(messages=messages, by_type=Counter(TYPES.value(one.type) for one in doomed))


def retract(
    transaction: Transaction, owner: str, session: str, ids: Sequence[str], *, now: int
) -> int:
    """Messages of one conversation, and the episodes that quote them; how many there were."""
    which = {"session": session, "ids": json.dumps(list(ids))}
    count = _erase_messages(transaction, owner, OF_IDS, which, doomed=(), now=now)
    transaction.count(REMOVE_EMPTY_CONVERSATIONS, {"owner": owner})
    return count


def purge(transaction: Transaction, *, deleted_before: int, now: int, limit: int) -> int:
    """Remove what is expired, and what was hidden long enough ago; how many there were."""
    rows = transaction.all(DUE, {"deleted_before": deleted_before, "now": now, "limit": limit})
    for owner, seq, _ in rows:
        transaction.count(RELEASE_MESSAGES, {"episode": seq})
        transaction.count(REMOVE, {"owner": owner, "seq": seq})
        transaction.touch(owner, [entry_key(seq)])
    for owner in {row[0] for row in rows}:
        ids = [id for o, _, id in rows if o == owner]
        patterns.remove_with(transaction, owner, set(ids), now=now)
        audit.note(transaction, owner, "purge", ids, now=now)
    transaction.is_erasing = transaction.is_erasing or bool(rows)
    return len(rows)


def _doomed(transaction: Transaction, owner: str, condition: Condition) -> Sequence[Doomed]:
    values = {**condition.parameters, "owner": owner}
    return [
        Doomed(seq=seq, id=id, origin=ORIGINS.value(origin), type=type)
        for seq, id, origin, type in transaction.all(
            ENTRIES.format(condition=condition.sql), values
        )
    ]


def _erase(
    transaction: Transaction,
    owner: str,
    doomed: Sequence[Doomed],
    messages: Condition,
    *,
    now: int,
) -> int:
    """Rows, links, vectors; those of `messages` that say the same, the person's that say it among
    other things, or that an episode was cut from."""
    for one in doomed:
        which = {**messages.parameters, "owner": owner, "seq": one.seq, "episode": one.seq}
        if one.origin is Origin.EPISODE:
            condition = f"{OF_EPISODE} AND {messages.sql}"
            _erase_messages(transaction, owner, condition, which, doomed=doomed, now=now)
            transaction.count(RELEASE_MESSAGES, which)
        for saying in (OF_CONTENT, HOLDING):
            condition = f"{saying} AND {messages.sql}"
            _erase_messages(transaction, owner, condition, which, doomed=doomed, now=now)
        transaction.count(REMOVE, which)
    if doomed:
        patterns.remove_with(transaction, owner, {one.id for one in doomed}, now=now)
        transaction.count(REMOVE_EMPTY_CONVERSATIONS, {"owner": owner})
        transaction.touch(owner, [entry_key(one.seq) for one in doomed])
        audit.note(transaction, owner, "forget", [one.id for one in doomed], now=now)
        transaction.is_erasing = True
    return len(doomed)


def _erase_messages(
    transaction: Transaction,
    owner: str,
    condition: str,
    values: Mapping[str, Value],
    *,
    doomed: Sequence[Doomed],
    now: int,
) -> int:
    """How many there were, without those that were cleared before. The episodes that they were in
    quote them, and go too; of those that are not doomed themselves the other messages stay."""
    found = transaction.all(MESSAGES.format(condition=condition), {**values, "owner": owner})
    seqs = [seq for seq, _ in found]
    if seqs:
        _erase_episodes(transaction, owner, seqs, but={one.seq for one in doomed}, now=now)
        transaction.each(REMOVE_MESSAGE, [{"owner": owner, "seq": seq} for seq in seqs])
        transaction.touch(owner, [message_key(seq) for seq in seqs])
        audit.note_count(transaction, owner, "forget_messages", len(seqs), now=now)
        transaction.is_erasing = True
    return sum(is_shown for _, is_shown in found)


def _erase_episodes(
    transaction: Transaction, owner: str, messages: Sequence[int], *, but: Set[int], now: int
) -> None:
    """Those that were cut from one of these messages."""
    found = transaction.all(EPISODES_WITH, {"owner": owner, "seqs": json.dumps(messages)})
    rows = [(seq, id) for seq, id in found if seq not in but]
    for seq, _ in rows:
        transaction.count(RELEASE_MESSAGES, {"episode": seq})
        transaction.count(REMOVE, {"owner": owner, "seq": seq})
    if rows:
        patterns.remove_with(transaction, owner, {id for _, id in rows}, now=now)
        transaction.touch(owner, [entry_key(seq) for seq, _ in rows])
        audit.note(transaction, owner, "forget", [id for _, id in rows], now=now)


def _refuse(transaction: Transaction, owner: str, seqs: Sequence[int]) -> None:
    """Patterns among what a person or their assistant removes do not come back."""
    which: dict[str, Value] = {"owner": owner, "seqs": json.dumps(seqs)}
    for subject, id in transaction.all(PATTERNS, which):
        patterns.refuse(transaction, owner, subject, [id])


def _has_id(id: bytes) -> Condition:
    return _of("id", id)


def _of(column: str, value: Value) -> Condition:
    return Condition(sql=f"{column} = :{column}", parameters={column: value})
