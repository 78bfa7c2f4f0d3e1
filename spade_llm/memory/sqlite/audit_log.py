"""Audit log: actions on entries, without their text; old records are purged."""

from __future__ import annotations

from typing import TYPE_CHECKING

from spade_llm.memory.sqlite.rows import DAY_US

if TYPE_CHECKING:
    from collections.abc import Sequence

    from spade_llm.memory.sqlite.connection import SqlValue, Transaction

INSERT_RECORD = """
    INSERT INTO audit (at, owner, action, count, ids)
    SELECT :now, number, :action, :count, :ids FROM owner WHERE jid = :owner
"""

DELETE_OLD_RECORDS = "DELETE FROM audit WHERE at < :before"

KEPT_DAYS = 400
MAX_RECORDED_IDS = 1000
"""Maximum number of ids in one audit record; `count` has the full number."""


def record_action(
    transaction: Transaction, owner: str, action: str, ids: Sequence[bytes], *, now: int
) -> None:
    """`owner` did this to these entries."""
    _insert_record(transaction, owner, action, len(ids), b"".join(ids[:MAX_RECORDED_IDS]), now=now)


def record_count(
    transaction: Transaction, owner: str, action: str, count: int, *, now: int
) -> None:
    """`owner` did this to so many of what has no id of ours."""
    _insert_record(transaction, owner, action, count, b"", now=now)


def purge_audit_log(transaction: Transaction, *, now: int) -> None:
    """Remove the lines that are older than KEPT_DAYS."""
    transaction.count(DELETE_OLD_RECORDS, {"before": now - KEPT_DAYS * DAY_US})


def _insert_record(
    transaction: Transaction, owner: str, action: str, count: int, ids: bytes, *, now: int
) -> None:
    line: dict[str, SqlValue] = {"now": now, "owner": owner, "action": action}
    transaction.count(INSERT_RECORD, {**line, "count": count, "ids": ids})
