"""What was done that the entries themselves cannot show any more. Never holds any of their text."""

from __future__ import annotations

from typing import TYPE_CHECKING

from spade_llm.memory.rows import DAY

if TYPE_CHECKING:
    from collections.abc import Sequence

    from spade_llm.memory.transaction import Transaction, Value

NOTE = """
    INSERT INTO audit (at, owner, action, count, ids)
    SELECT :now, number, :action, :count, :ids FROM owner WHERE jid = :owner
"""

FORGET_OLD = "DELETE FROM audit WHERE at < :before"

KEPT_DAYS = 400
MAX_IDS = 1000
"""Of one line; `count` says how many there were."""


def note(
    transaction: Transaction, owner: str, action: str, ids: Sequence[bytes], *, now: int
) -> None:
    """`owner` did this to these entries."""
    line: dict[str, Value] = {"now": now, "owner": owner, "action": action, "count": len(ids)}
    transaction.count(NOTE, {**line, "ids": b"".join(ids[:MAX_IDS])})


def purge(transaction: Transaction, *, now: int) -> None:
    """Remove the lines that are older than KEPT_DAYS."""
    transaction.count(FORGET_OLD, {"before": now - KEPT_DAYS * DAY})
