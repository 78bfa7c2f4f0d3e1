"""Conversations: append and read messages; clear them, and purge what was cleared."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from spade_llm.core.database import NO_LIMIT
from spade_llm.memory.database.entries import owner_number, record_count
from spade_llm.memory.database.rows import DAY_US, MESSAGE_COLUMNS, message_from_row, message_key

if TYPE_CHECKING:
    from spade_llm.memory.contract import ObservedMessage
    from spade_llm.memory.database.connection import SqlValue, Transaction

INSERT_CONVERSATION = """
    INSERT INTO conversation (owner, name) VALUES (:owner, :conversation) ON CONFLICT DO NOTHING
"""

SELECT_CONVERSATION = (
    "SELECT number FROM conversation WHERE owner = :owner AND name = :conversation"
)

INSERT_MESSAGE = """
    INSERT INTO message (owner, conversation, id, subject, role, speaker, content, content_hash,
        terms, at, recalled)
    VALUES (:owner, :number, :id, :subject, :role, :speaker, :content, :content_hash, :terms, :at,
        :recalled)
    ON CONFLICT (conversation, id) DO NOTHING
    RETURNING seq
"""

SELECT_HISTORY = f"""
    SELECT {MESSAGE_COLUMNS} FROM conversation
        JOIN message ON message.owner = conversation.owner AND conversation = number
    WHERE conversation.owner = (SELECT number FROM owner WHERE jid = :owner)
        AND name = :conversation AND seq > closed_at_seq
        AND seq < CASE WHEN CAST(:before AS TEXT) IS NULL THEN 9223372036854775807
            ELSE (SELECT seq FROM message WHERE conversation = number AND id = :before) END
    ORDER BY seq DESC LIMIT :limit
"""

CLOSE_CONVERSATION = """
    UPDATE conversation SET closed_at_seq = coalesce((SELECT max(seq) FROM message
        WHERE message.owner = :owner AND conversation = :number), 0)
    WHERE owner = :owner AND number = :number
"""

SELECT_EPISODE_MESSAGES = f"""
    SELECT {MESSAGE_COLUMNS} FROM message JOIN conversation ON number = conversation
    WHERE message.owner = (SELECT number FROM owner WHERE jid = :owner)
        AND episode = :episode AND episode > 0 AND seq > cleared_at_seq
    ORDER BY seq
"""

KEEP_CLEARED_DAYS = 7
"""Maximum number of days that cleared messages wait for the learner; then they are removed."""

PURGED_AT_ONCE = 500
"""Number of messages purged in one transaction, so that other writes run in between."""

SELECT_SHOWN = """
    SELECT number, seq FROM conversation
        JOIN message ON message.owner = conversation.owner AND conversation = number
    WHERE conversation.owner = (SELECT number FROM owner WHERE jid = :owner)
        AND name = :conversation AND seq > cleared_at_seq
    ORDER BY seq
"""

HIDE_MESSAGES = """
    UPDATE conversation SET cleared_at_seq = :last, closed_at_seq = max(closed_at_seq, :last),
        cleared_at = coalesce(cleared_at, :now)
    WHERE owner = (SELECT number FROM owner WHERE jid = :owner) AND number = :number
"""

# Learned: no episode holds it, or the one that does has been read, or is gone.
SELECT_DUE = """
    SELECT jid, seq FROM conversation JOIN owner ON owner.number = conversation.owner
        JOIN message ON message.owner = conversation.owner
            AND conversation = conversation.number AND seq <= cleared_at_seq
    WHERE cleared_at IS NOT NULL AND (cleared_at <= :cleared_before OR (
        episode IS NOT NULL AND NOT EXISTS (
            SELECT 1 FROM entry WHERE entry.seq = message.episode AND learned_at IS NULL)))
        AND (CAST(:conversation AS TEXT) IS NULL OR name = :conversation)
    LIMIT :limit
"""

DELETE_MESSAGE = """
    DELETE FROM message
    WHERE owner = (SELECT number FROM owner WHERE jid = :owner) AND seq = :seq
"""

MARK_PURGED = """
    UPDATE conversation SET cleared_at = NULL WHERE cleared_at IS NOT NULL AND NOT EXISTS (
        SELECT 1 FROM message WHERE message.owner = conversation.owner
            AND conversation = conversation.number AND seq <= cleared_at_seq)
"""

DELETE_EMPTY_CONVERSATIONS = """
    DELETE FROM conversation
    WHERE owner = (SELECT number FROM owner WHERE jid = :owner) AND NOT EXISTS (
        SELECT 1 FROM message
        WHERE message.owner = conversation.owner AND conversation = conversation.number)
"""


def append_messages(
    transaction: Transaction,
    owner: str,
    conversation: str,
    messages: Sequence[Mapping[str, SqlValue]],
    *,
    subject: str | None,
) -> int:
    """Append the messages with new ids; return how many were appended."""
    where = {**_conversation_numbers(transaction, owner, conversation), "subject": subject}
    new = [row for one in messages for row in transaction.all(INSERT_MESSAGE, {**where, **one})]
    transaction.mark_changed(owner, [message_key(seq) for (seq,) in new])
    return len(new)


def message_history(
    transaction: Transaction, owner: str, conversation: str, *, limit: int, before: str | None
) -> Sequence[ObservedMessage]:
    """Return the latest messages, oldest first; none before an unknown message."""
    which: Mapping[str, SqlValue] = {
        "owner": owner,
        "conversation": conversation,
        "limit": limit,
        "before": before,
    }
    return [message_from_row(row) for row in reversed(transaction.all(SELECT_HISTORY, which))]


def close_conversation(transaction: Transaction, owner: str, conversation: str) -> None:
    which = _conversation_numbers(transaction, owner, conversation)
    transaction.count(CLOSE_CONVERSATION, which)


def episode_messages(transaction: Transaction, owner: str, seq: int) -> Sequence[ObservedMessage]:
    """Return the messages of an episode, oldest first."""
    rows = transaction.all(SELECT_EPISODE_MESSAGES, {"owner": owner, "episode": seq})
    return [message_from_row(row) for row in rows]


def clear_messages(
    transaction: Transaction,
    owner: str,
    conversations: Sequence[str],
    *,
    now: int,
    is_learned_from: bool,
) -> int:
    """Clear the messages of these conversations; return how many were visible."""
    count = sum(
        _hide_messages(transaction, owner, one, now=now) for one in dict.fromkeys(conversations)
    )
    if count:
        record_count(transaction, owner, "clear_messages", count, now=now)
        purge_cleared(transaction, now=now, is_learned_from=is_learned_from, limit=NO_LIMIT)
    return count


def purge_cleared(
    transaction: Transaction,
    *,
    now: int,
    is_learned_from: bool,
    conversation: str | None = None,
    limit: int = PURGED_AT_ONCE,
) -> int:
    """Remove messages that are due, in conversations of this name or all; return the number."""
    rows = due_cleared(
        transaction,
        now=now,
        is_learned_from=is_learned_from,
        conversation=conversation,
        limit=limit,
    )
    transaction.each(DELETE_MESSAGE, [{"owner": owner, "seq": seq} for owner, seq in rows])
    if rows:
        transaction.count(MARK_PURGED)
        transaction.is_erasing = True
    for owner in {owner for owner, _ in rows}:
        transaction.mark_changed(owner, [message_key(seq) for one, seq in rows if one == owner])
        transaction.count(DELETE_EMPTY_CONVERSATIONS, {"owner": owner})
    return len(rows)


def due_cleared(
    transaction: Transaction,
    *,
    now: int,
    is_learned_from: bool,
    conversation: str | None = None,
    limit: int = 1,
) -> list[tuple[str, int]]:
    """Owner and number of messages to be removed."""
    which: Mapping[str, SqlValue] = {
        "cleared_before": now - KEEP_CLEARED_DAYS * DAY_US if is_learned_from else now,
        "conversation": conversation,
        "limit": limit,
    }
    return [(owner, seq) for owner, seq in transaction.all(SELECT_DUE, which)]


def _conversation_numbers(
    transaction: Transaction, owner: str, conversation: str
) -> Mapping[str, SqlValue]:
    """Numbers of the owner and of the conversation, which are assigned now if they have none."""
    which: dict[str, SqlValue] = {
        "owner": owner_number(transaction, owner),
        "conversation": conversation,
    }
    transaction.count(INSERT_CONVERSATION, which)
    ((number,),) = transaction.all(SELECT_CONVERSATION, which)
    return {"owner": which["owner"], "number": number}


def _hide_messages(transaction: Transaction, owner: str, conversation: str, *, now: int) -> int:
    which: Mapping[str, SqlValue] = {"owner": owner, "conversation": conversation}
    rows = transaction.all(SELECT_SHOWN, which)
    if rows:
        number, last = rows[-1]
        transaction.count(
            HIDE_MESSAGES, {"owner": owner, "number": number, "last": last, "now": now}
        )
        transaction.mark_changed(owner, [message_key(seq) for _, seq in rows])
    return len(rows)
