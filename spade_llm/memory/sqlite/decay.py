"""What an owner lets go of by itself, in the file. Hides; the purge removes."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from spade_llm.memory.sqlite import audit, patterns
from spade_llm.memory.sqlite.adding import owner_number
from spade_llm.memory.sqlite.codes import TIERS
from spade_llm.memory.sqlite.conditions import VISIBLE
from spade_llm.memory.sqlite.finding import OWNED
from spade_llm.memory.sqlite.rows import effective_importance, entry_key, from_microseconds
from spade_llm.memory.store import DecayPolicy, DecayStatus, Tier

if TYPE_CHECKING:
    from collections.abc import Sequence

    from spade_llm.memory.sqlite.transaction import Row, Transaction

CONFIGURE = """
    INSERT INTO decay (owner, is_enabled, older_than_s, below_importance, tiers)
    VALUES (:owner, :is_enabled, :older_than_s, :below_importance, :tiers)
    ON CONFLICT (owner) DO UPDATE SET is_enabled = excluded.is_enabled,
        older_than_s = excluded.older_than_s, below_importance = excluded.below_importance,
        tiers = excluded.tiers
"""

STATUS = """
    SELECT is_enabled, older_than_s, below_importance, tiers, last_run_at, last_deleted
    FROM decay WHERE owner = (SELECT number FROM owner WHERE jid = :owner)
"""

IDLE = f"""
    SELECT seq, id, importance, access_count, coalesce(last_accessed_at, created_at) FROM entry
    WHERE {OWNED} AND {VISIBLE} AND coalesce(last_accessed_at, created_at) <= :before
        AND tier IN (SELECT value FROM json_each(:tiers))
    ORDER BY seq
"""

HIDE = f"UPDATE entry SET deleted_at = :now WHERE {OWNED} AND seq = :seq"

RAN = """
    UPDATE decay SET last_run_at = :now, last_deleted = :count
    WHERE owner = (SELECT number FROM owner WHERE jid = :owner)
"""


def configure(transaction: Transaction, jid: str, policy: DecayPolicy, *, now: int) -> DecayStatus:
    transaction.count(
        CONFIGURE,
        {
            "owner": owner_number(transaction, jid),
            "is_enabled": policy.is_enabled,
            "older_than_s": policy.older_than_s,
            "below_importance": policy.below_importance,
            "tiers": json.dumps([tier.value for tier in policy.tiers]),
        },
    )
    return status(transaction, jid, now=now)


def status(transaction: Transaction, owner: str, *, now: int) -> DecayStatus:
    found = transaction.first(STATUS, {"owner": owner})
    if found is None:
        return _status(transaction, owner, DecayPolicy(), (None, 0), now=now)
    is_enabled, older_than_s, below_importance, tiers, *last = found
    policy = DecayPolicy(
        is_enabled=bool(is_enabled),
        older_than_s=older_than_s,
        below_importance=below_importance,
        tiers=tuple(map(Tier, json.loads(tiers))),
    )
    return _status(transaction, owner, policy, tuple(last), now=now)


def due(transaction: Transaction, owner: str, policy: DecayPolicy, *, now: int) -> Sequence[Row]:
    """(seq, id) of what a run would hide now."""
    idle = transaction.all(
        IDLE,
        {
            "owner": owner,
            "now": now,
            "before": now - round(policy.older_than_s * 1_000_000),
            "tiers": json.dumps([TIERS.number(tier) for tier in policy.tiers]),
        },
    )
    return [
        (seq, id)
        for seq, id, importance, count, last_used in idle
        if effective_importance(importance, count, last_used, now=now) < policy.below_importance
    ]


def would_hide(transaction: Transaction, owner: str, *, now: int) -> Sequence[bytes]:
    """The ids of what is due, also while the policy is not enabled."""
    policy = status(transaction, owner, now=now).policy
    return [id for _, id in due(transaction, owner, policy, now=now)]


def run(transaction: Transaction, owner: str, *, now: int) -> Sequence[bytes]:
    """Hide what is due, if it is enabled; the ids."""
    policy = status(transaction, owner, now=now).policy
    if not policy.is_enabled:
        return []
    rows = due(transaction, owner, policy, now=now)
    transaction.each(HIDE, [{"owner": owner, "now": now, "seq": seq} for seq, _ in rows])
    transaction.touch(owner, [entry_key(seq) for seq, _ in rows])
    transaction.count(RAN, {"owner": owner, "now": now, "count": len(rows)})
    ids = [id for _, id in rows]
    patterns.remove_with(transaction, owner, set(ids), now=now)
    audit.note(transaction, owner, "decay", ids, now=now)
    return ids


def _status(
    transaction: Transaction, owner: str, policy: DecayPolicy, last: Row, *, now: int
) -> DecayStatus:
    last_run_at, last_deleted = last
    return DecayStatus(
        policy=policy,
        last_run_at=None if last_run_at is None else from_microseconds(last_run_at),
        last_deleted=last_deleted,
        due=len(due(transaction, owner, policy, now=now)),
    )
