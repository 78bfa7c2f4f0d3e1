"""Messages that a person clears: hidden at once, removed once what they say has been learned.

What is remembered of them stays. Hidden is what stands at or below its conversation's
`cleared_at_seq`; the learner alone still reads it. The purge works for all owners, each row by its
own.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from spade_llm.memory.sqlite import audit
from spade_llm.memory.sqlite.rows import DAY, message_key

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from spade_llm.memory.sqlite.transaction import Transaction, Value

KEPT_DAYS = 7
"""However long the learner takes: what is hidden so long is removed unlearned."""

PURGED_AT_ONCE = 500
"""Messages; other writes come between."""

SHOWN = """
    SELECT number, seq FROM conversation
        JOIN message ON message.owner = conversation.owner AND conversation = number
    WHERE conversation.owner = (SELECT number FROM owner WHERE jid = :owner)
        AND name = :conversation AND seq > cleared_at_seq
    ORDER BY seq
"""

HIDE = """
    UPDATE conversation SET cleared_at_seq = :last, closed_at_seq = max(closed_at_seq, :last),
        cleared_at = coalesce(cleared_at, :now)
    WHERE owner = (SELECT number FROM owner WHERE jid = :owner) AND number = :number
"""

# Learned: no episode holds it, or the one that does has been read, or is gone.
DUE = """
    SELECT jid, seq FROM conversation JOIN owner ON owner.number = conversation.owner
        JOIN message ON message.owner = conversation.owner
            AND conversation = conversation.number AND seq <= cleared_at_seq
    WHERE cleared_at IS NOT NULL AND (cleared_at <= :cleared_before OR (
        episode IS NOT NULL AND NOT EXISTS (
            SELECT 1 FROM entry WHERE entry.seq = message.episode AND learned_at IS NULL)))
        AND (:conversation IS NULL OR name = :conversation)
    LIMIT :limit
"""

REMOVE = """
    DELETE FROM message
    WHERE owner = (SELECT number FROM owner WHERE jid = :owner) AND seq = :seq
"""

IS_DONE = """
    UPDATE conversation SET cleared_at = NULL WHERE cleared_at IS NOT NULL AND NOT EXISTS (
        SELECT 1 FROM message WHERE message.owner = conversation.owner
            AND conversation = conversation.number AND seq <= cleared_at_seq)
"""

REMOVE_EMPTY = """
    DELETE FROM conversation
    WHERE owner = (SELECT number FROM owner WHERE jid = :owner) AND NOT EXISTS (
        SELECT 1 FROM message
        WHERE message.owner = conversation.owner AND conversation = conversation.number)
"""


def clear(
    transaction: Transaction,
    owner: str,
    conversations: Sequence[str],
    *,
    now: int,
    is_learned_from: bool,
) -> int:
    """How many messages were shown until now."""
    count = sum(_hide(transaction, owner, one, now=now) for one in dict.fromkeys(conversations))
    if count:
        audit.note_count(transaction, owner, "clear_messages", count, now=now)
        purge(transaction, now=now, is_learned_from=is_learned_from, limit=-1)
    return count


def _hide(transaction: Transaction, owner: str, conversation: str, *, now: int) -> int:
    which: Mapping[str, Value] = {"owner": owner, "conversation": conversation}
    rows = transaction.all(SHOWN, which)
    if rows:
        number, last = rows[-1]
        transaction.count(HIDE, {"owner": owner, "number": number, "last": last, "now": now})
        transaction.touch(owner, [message_key(seq) for _, seq in rows])
    return len(rows)


def purge(
    transaction: Transaction,
    *,
    now: int,
    is_learned_from: bool,
    conversation: str | None = None,
    limit: int = PURGED_AT_ONCE,
) -> int:
    """Remove what is due, in conversations of this name or in all; how many messages there were."""
    rows = due(
        transaction,
        now=now,
        is_learned_from=is_learned_from,
        conversation=conversation,
        limit=limit,
    )
    transaction.each(REMOVE, [{"owner": owner, "seq": seq} for owner, seq in rows])
    if rows:
        transaction.count(IS_DONE)
        transaction.is_erasing = True
    for owner in {owner for owner, _ in rows}:
        transaction.touch(owner, [message_key(seq) for one, seq in rows if one == owner])
        transaction.count(REMOVE_EMPTY, {"owner": owner})
    return len(rows)


def due(
    transaction: Transaction,
    *,
    now: int,
    is_learned_from: bool,
    conversation: str | None = None,
    limit: int = 1,
) -> list[tuple[str, int]]:
    """Owner and number of messages to be removed."""
    which: Mapping[str, Value] = {
        "cleared_before": now - KEPT_DAYS * DAY if is_learned_from else now,
        "conversation": conversation,
        "limit": limit,
    }
    return [(owner, seq) for owner, seq in transaction.all(DUE, which)]
