"""How much an owner's memory holds, or one session of it. Knows no ranking."""

from __future__ import annotations

from typing import TYPE_CHECKING

from spade_llm.memory.sqlite.codes import TIERS, TYPES
from spade_llm.memory.sqlite.conditions import VISIBLE
from spade_llm.memory.sqlite.finding import OWNED
from spade_llm.memory.store import MemoryStats
from spade_llm.text.tokens import tokens_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from spade_llm.memory.sqlite.transaction import Transaction, Value

ENTRIES = f"""
    SELECT type, tier, count(*) FROM entry WHERE {OWNED} AND {VISIBLE} {{in_session}}
    GROUP BY type, tier
"""

MESSAGES = """
    SELECT count(*), coalesce(sum(length(content)), 0) FROM conversation
        JOIN message ON message.owner = conversation.owner AND conversation = number
    WHERE conversation.owner = (SELECT number FROM owner WHERE jid = :owner)
        AND seq > cleared_at_seq {in_session}
"""

# Few are wanted at any time: they are looked up one by one.
WITHOUT_VECTOR = f"""
    SELECT count(*) FROM vector_wanted CROSS JOIN entry ON seq = row / 2
    WHERE row % 2 = 0 AND {OWNED} AND {VISIBLE} {{in_session}}
"""

MESSAGES_WITHOUT_VECTOR = """
    SELECT count(*) FROM vector_wanted CROSS JOIN message ON message.seq = row / 2
        JOIN conversation ON number = message.conversation
    WHERE row % 2 = 1 AND message.owner = (SELECT number FROM owner WHERE jid = :owner)
        AND message.seq > cleared_at_seq AND (:session IS NULL OR name = :session)
"""


def stats(transaction: Transaction, owner: str, session: str | None, *, now: int) -> MemoryStats:
    which: Mapping[str, Value] = {"owner": owner, "session": session, "now": now}
    of_session = "" if session is None else "AND session = :session"
    named = "" if session is None else "AND name = :session"
    entries = transaction.all(ENTRIES.format(in_session=of_session), which)
    messages, chars = transaction.all(MESSAGES.format(in_session=named), which)[0]
    without_vector = transaction.all(WITHOUT_VECTOR.format(in_session=of_session), which)[0][0]
    without_vector += transaction.all(MESSAGES_WITHOUT_VECTOR, which)[0][0]
    by_type = dict.fromkeys((TYPES.value(type) for type, _, _ in entries), 0)
    by_tier = dict.fromkeys((TIERS.value(tier) for _, tier, _ in entries), 0)
    for type, tier, count in entries:
        by_type[TYPES.value(type)] += count
        by_tier[TIERS.value(tier)] += count
    return MemoryStats(
        messages=messages,
        message_tokens=tokens_of(chars),
        by_type=by_type,
        by_tier=by_tier,
        without_vector=without_vector,
    )
