"""Conversations in the file, verbatim and in order of arrival. Knows no episode's content."""

from __future__ import annotations

from typing import TYPE_CHECKING

from spade_llm.memory.sqlite.adding import owner_number
from spade_llm.memory.sqlite.rows import MESSAGE_COLUMNS, message_from_row, message_key

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from spade_llm.memory.sqlite.transaction import Transaction, Value
    from spade_llm.memory.store import ObservedMessage

CONVERSATION = """
    INSERT INTO conversation (owner, name) VALUES (:owner, :conversation) ON CONFLICT DO NOTHING
"""

NUMBER = "SELECT number FROM conversation WHERE owner = :owner AND name = :conversation"

OBSERVE = """
    INSERT INTO message (owner, conversation, id, subject, role, speaker, content, content_hash,
        terms, at, recalled)
    VALUES (:owner, :number, :id, :subject, :role, :speaker, :content, :content_hash, :terms, :at,
        :recalled)
    ON CONFLICT (conversation, id) DO NOTHING
    RETURNING seq
"""

HISTORY = f"""
    SELECT {MESSAGE_COLUMNS} FROM conversation
        JOIN message ON message.owner = conversation.owner AND conversation = number
    WHERE conversation.owner = (SELECT number FROM owner WHERE jid = :owner)
        AND name = :conversation AND seq > closed_at_seq
        AND seq < CASE WHEN :before IS NULL THEN 9223372036854775807
            ELSE (SELECT seq FROM message WHERE conversation = number AND id = :before) END
    ORDER BY seq DESC LIMIT :limit
"""

CLOSE = """
    UPDATE conversation SET closed_at_seq = coalesce((SELECT max(seq) FROM message
        WHERE message.owner = :owner AND conversation = :number), 0)
    WHERE owner = :owner AND number = :number
"""

OF_EPISODE = f"""
    SELECT {MESSAGE_COLUMNS} FROM message JOIN conversation ON number = conversation
    WHERE message.owner = (SELECT number FROM owner WHERE jid = :owner)
        AND episode = :episode AND episode > 0 AND seq > cleared_at_seq
    ORDER BY seq
"""


def observe(
    transaction: Transaction,
    jid: str,
    conversation: str,
    messages: Sequence[Mapping[str, Value]],
    *,
    subject: str | None,
) -> int:
    """Append those that are new; returns how many were."""
    owner = owner_number(transaction, jid)
    number = _number(transaction, owner, conversation)
    where: Mapping[str, Value] = {"owner": owner, "number": number, "subject": subject}
    new = [row for one in messages for row in transaction.all(OBSERVE, {**where, **one})]
    transaction.touch(jid, [message_key(seq) for (seq,) in new])
    return len(new)


def history(
    transaction: Transaction, owner: str, conversation: str, *, limit: int, before: str | None
) -> Sequence[ObservedMessage]:
    """The latest, oldest first; none before a message that is not there."""
    which: Mapping[str, Value] = {
        "owner": owner,
        "conversation": conversation,
        "limit": limit,
        "before": before,
    }
    return [message_from_row(row) for row in reversed(transaction.all(HISTORY, which))]


def close(transaction: Transaction, jid: str, conversation: str) -> None:
    owner = owner_number(transaction, jid)
    number = _number(transaction, owner, conversation)
    transaction.count(CLOSE, {"owner": owner, "number": number})


def of_episode(transaction: Transaction, owner: str, seq: int) -> Sequence[ObservedMessage]:
    """The messages that it was cut from, oldest first."""
    rows = transaction.all(OF_EPISODE, {"owner": owner, "episode": seq})
    return [message_from_row(row) for row in rows]


def _number(transaction: Transaction, owner: int, conversation: str) -> int:
    which: Mapping[str, Value] = {"owner": owner, "conversation": conversation}
    transaction.count(CONVERSATION, which)
    return int(transaction.all(NUMBER, which)[0][0])
