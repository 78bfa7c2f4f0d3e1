"""What is done to the whole file from time to time: purging. Knows no query."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from spade_llm.memory.sqlite import audit, clearing, decay, removing
from spade_llm.memory.sqlite.rows import DAY, to_microseconds

if TYPE_CHECKING:
    from spade_llm.memory.sqlite.database import Database
    from spade_llm.memory.sqlite.transaction import Transaction

PURGED_AT_ONCE = 500
"""Memories; other writes come between."""

DECAYING = "SELECT jid FROM decay JOIN owner ON number = owner WHERE is_enabled"


async def purge(database: Database, *, keep_deleted_days: float) -> int:
    """Let go of what owners' policies say, remove what is due; how many memories were removed."""
    now = to_microseconds(database.now())
    await _purge_cleared(database, now=now)
    if not await database.read(partial(_is_anything_due, now=now, days=keep_deleted_days)):
        return 0
    await database.write(partial(_let_go, now=now))
    operation = partial(
        removing.purge,
        deleted_before=now - round(keep_deleted_days * DAY),
        now=now,
        limit=PURGED_AT_ONCE,
    )
    count = purged = await database.write(operation)
    while purged == PURGED_AT_ONCE:
        purged = await database.write(operation)
        count += purged
    return count


async def _purge_cleared(database: Database, *, now: int) -> None:
    """Messages; looked for before anything is written."""
    is_waiting = database.is_learned_from
    while await database.read(partial(clearing.due, now=now, is_learned_from=is_waiting)):
        await database.write(partial(clearing.purge, now=now, is_learned_from=is_waiting))


def _is_anything_due(transaction: Transaction, *, now: int, days: float) -> bool:
    """A memory that is opened without need should not write."""
    due = {"deleted_before": now - round(days * DAY), "now": now, "limit": 1}
    return bool(transaction.all(removing.DUE, due) or transaction.all(DECAYING))


def _let_go(transaction: Transaction, *, now: int) -> None:
    for (owner,) in transaction.all(DECAYING):
        decay.run(transaction, owner, now=now)
    audit.purge(transaction, now=now)
