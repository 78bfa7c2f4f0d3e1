"""What was done that the entries themselves cannot show any more. Never holds any of their text."""

from __future__ import annotations

from typing import TYPE_CHECKING

from spade_llm.memory.sqlite.rows import DAY

if TYPE_CHECKING:
    from collections.abc import Sequence

    from spade_llm.memory.sqlite.transaction import Transaction, Value

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
    _note(transaction, owner, action, len(ids), b"".join(ids[:MAX_IDS]), now=now)


def note_count(transaction: Transaction, owner: str, action: str, count: int, *, now: int) -> None:
    """`owner` did this to so many of what has no id of ours."""
    _note(transaction, owner, action, count, b"", now=now)


def purge(transaction: Transaction, *, now: int) -> None:
    """Remove the lines that are older than KEPT_DAYS."""
    transaction.count(FORGET_OLD, {"before": now - KEPT_DAYS * DAY})


def _note(
    transaction: Transaction, owner: str, action: str, count: int, ids: bytes, *, now: int
) -> None:
    line: dict[str, Value] = {"now": now, "owner": owner, "action": action}
    transaction.count(NOTE, {**line, "count": count, "ids": ids})
