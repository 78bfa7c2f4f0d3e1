"""How much an owner's memory holds, or one session of it. Knows no ranking."""

from __future__ import annotations

from typing import TYPE_CHECKING

from spade_llm.memory.codes import TIERS, TYPES
from spade_llm.memory.conditions import VISIBLE
from spade_llm.memory.finding import OWNED
from spade_llm.memory.store import MemoryStats

if TYPE_CHECKING:
    from collections.abc import Mapping

    from spade_llm.memory.transaction import Transaction, Value

IN_SESSION = "(:session IS NULL OR session = :session)"

ENTRIES = f"""
    SELECT type, tier, count(*) FROM entry WHERE {OWNED} AND {VISIBLE} AND {IN_SESSION}
    GROUP BY type, tier
"""

MESSAGES = """
    SELECT count(*), coalesce(sum(length(content)), 0) FROM conversation
        JOIN message ON message.owner = conversation.owner AND conversation = number
    WHERE conversation.owner = (SELECT number FROM owner WHERE jid = :owner)
        AND (:session IS NULL OR name = :session)
"""

WITHOUT_VECTOR = f"""
    SELECT count(*) FROM vector_wanted JOIN entry ON seq * 2 = row
    WHERE {OWNED} AND {VISIBLE} AND {IN_SESSION}
"""

CHARS_PER_TOKEN = 4


def stats(transaction: Transaction, owner: str, session: str | None, *, now: int) -> MemoryStats:
    which: Mapping[str, Value] = {"owner": owner, "session": session, "now": now}
    entries = transaction.all(ENTRIES, which)
    messages, chars = transaction.all(MESSAGES, which)[0]
    by_type = dict.fromkeys((TYPES.value(type) for type, _, _ in entries), 0)
    by_tier = dict.fromkeys((TIERS.value(tier) for _, tier, _ in entries), 0)
    for type, tier, count in entries:
        by_type[TYPES.value(type)] += count
        by_tier[TIERS.value(tier)] += count
    return MemoryStats(
        messages=messages,
        message_tokens=-(-chars // CHARS_PER_TOKEN),
        by_type=by_type,
        by_tier=by_tier,
        without_vector=transaction.all(WITHOUT_VECTOR, which)[0][0],
    )
