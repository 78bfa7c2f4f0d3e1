"""Maintenance: decay of unused entries, purge of expired entries (TTL), daily schedule, and the
background jobs of a memory that several processes share."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager, nullcontext
from typing import TYPE_CHECKING, Protocol, Self

from spade_llm.core.concurrency import concurrent_task
from spade_llm.core.errors import ServiceError, StorageFailed
from spade_llm.memory.contract import DecayPolicy, DecayStatus
from spade_llm.memory.database import consent, conversations, removal
from spade_llm.memory.database.embedding import MAX_NEW_KEYS
from spade_llm.memory.database.entries import owner_number, record_action
from spade_llm.memory.database.queries import OWNED_ENTRY, VISIBLE
from spade_llm.memory.database.rows import (
    DAY_US,
    TIER_CODES,
    effective_importance,
    entry_key,
    from_microseconds,
    to_microseconds,
)
from spade_llm.search.memory_query import Tier

if TYPE_CHECKING:
    from spade_llm.memory.database.backend import DatabaseMemoryBackend
    from spade_llm.memory.database.connection import SqlRow, SqlValue, Transaction


logger = logging.getLogger(__name__)

UPSERT_POLICY = """
    INSERT INTO decay (owner, is_enabled, older_than_s, below_importance, tiers)
    VALUES (:owner, :is_enabled, :older_than_s, :below_importance, :tiers)
    ON CONFLICT (owner) DO UPDATE SET is_enabled = excluded.is_enabled,
        older_than_s = excluded.older_than_s, below_importance = excluded.below_importance,
        tiers = excluded.tiers
"""

SELECT_POLICY = """
    SELECT is_enabled, older_than_s, below_importance, tiers, last_run_at, last_deleted
    FROM decay WHERE owner = (SELECT number FROM owner WHERE jid = :owner)
"""

SELECT_IDLE = f"""
    SELECT seq, id, importance, access_count, coalesce(last_accessed_at, created_at) FROM entry
    WHERE {OWNED_ENTRY} AND {VISIBLE} AND coalesce(last_accessed_at, created_at) <= :before
        AND tier IN (SELECT value FROM json_each(:tiers))
    ORDER BY seq
"""

HIDE_ENTRY = f"UPDATE entry SET deleted_at = :now WHERE {OWNED_ENTRY} AND seq = :seq"

UPDATE_LAST_RUN = """
    UPDATE decay SET last_run_at = :now, last_deleted = :count
    WHERE owner = (SELECT number FROM owner WHERE jid = :owner)
"""

PURGE_BATCH = 500
"""Number of memories purged in one transaction, so that other writes run in between."""

SELECT_DECAYING_OWNERS = "SELECT jid FROM decay JOIN owner ON number = owner WHERE is_enabled <> 0"

DELETE_OLD_AUDIT_RECORDS = "DELETE FROM audit WHERE at < :before"

AUDIT_KEPT_DAYS = 400

PURGE_INTERVAL_S = 86_400.0


def configure_decay(
    transaction: Transaction, owner: str, policy: DecayPolicy, *, now: int
) -> DecayStatus:
    transaction.count(
        UPSERT_POLICY,
        {
            "owner": owner_number(transaction, owner),
            "is_enabled": int(policy.is_enabled),
            "older_than_s": policy.older_than_s,
            "below_importance": policy.below_importance,
            "tiers": json.dumps([tier.value for tier in policy.tiers]),
        },
    )
    return decay_status(transaction, owner, now=now)


def decay_status(transaction: Transaction, owner: str, *, now: int) -> DecayStatus:
    found = transaction.first(SELECT_POLICY, {"owner": owner})
    policy, last_run_at, last_deleted = DecayPolicy(), None, 0
    if found is not None:
        is_enabled, older_than_s, below_importance, tiers, last_run_at, last_deleted = found
        policy = DecayPolicy(
            is_enabled=bool(is_enabled),
            older_than_s=older_than_s,
            below_importance=below_importance,
            tiers=tuple(map(Tier, json.loads(tiers))),
        )
    return DecayStatus(
        policy=policy,
        last_run_at=None if last_run_at is None else from_microseconds(last_run_at),
        last_deleted=last_deleted,
        due=len(due_decay(transaction, owner, policy, now=now)),
    )


def due_decay(
    transaction: Transaction, owner: str, policy: DecayPolicy, *, now: int
) -> Sequence[SqlRow]:
    """Number and id of the entries that a run would delete now."""
    idle = transaction.all(
        SELECT_IDLE,
        {
            "owner": owner,
            "now": now,
            "before": now - round(policy.older_than_s * 1_000_000),
            "tiers": json.dumps([TIER_CODES.number(tier) for tier in policy.tiers]),
        },
    )
    return [
        (seq, id)
        # Importance that was not set is computed when it is read: SQL cannot compare it.
        for seq, id, importance, count, last_used in idle
        if effective_importance(importance, count, last_used, now=now) < policy.below_importance
    ]


def preview_decay(transaction: Transaction, owner: str, *, now: int) -> Sequence[bytes]:
    """Ids of the entries that a run would delete now, even if the policy is disabled."""
    policy = decay_status(transaction, owner, now=now).policy
    return [id for _, id in due_decay(transaction, owner, policy, now=now)]


def run_decay(transaction: Transaction, owner: str, *, now: int) -> Sequence[bytes]:
    """Delete what is due, softly, if the policy is enabled; return the ids."""
    policy = decay_status(transaction, owner, now=now).policy
    if not policy.is_enabled:
        return []
    rows = due_decay(transaction, owner, policy, now=now)
    transaction.each(HIDE_ENTRY, [{"owner": owner, "now": now, "seq": seq} for seq, _ in rows])
    transaction.mark_changed(owner, [entry_key(seq) for seq, _ in rows])
    transaction.count(UPDATE_LAST_RUN, {"owner": owner, "now": now, "count": len(rows)})
    ids = [id for _, id in rows]
    consent.remove_patterns_of_episodes(transaction, owner, set(ids), now=now)
    record_action(transaction, owner, "decay", ids, now=now)
    return ids


async def purge_memory(database: DatabaseMemoryBackend, *, keep_deleted_days: float) -> int:
    """Run the decay of all owners, remove what is due; return the number of removed memories."""
    now, is_learned_from = to_microseconds(database.now()), database.is_learned_from
    # Each step reads first: a memory that is opened without need should not write.
    while await database.read(
        lambda tx: conversations.due_cleared(tx, now=now, is_learned_from=is_learned_from)
    ):
        await database.write(
            lambda tx: conversations.purge_cleared(tx, now=now, is_learned_from=is_learned_from)
        )
    deleted_before = now - round(keep_deleted_days * DAY_US)
    due: dict[str, SqlValue] = {"deleted_before": deleted_before, "now": now, "limit": 1}
    if not await database.read(
        lambda tx: tx.all(removal.SELECT_DUE, due) or tx.all(SELECT_DECAYING_OWNERS)
    ):
        return 0

    def decay(tx: Transaction) -> None:
        for (owner,) in tx.all(SELECT_DECAYING_OWNERS):
            run_decay(tx, owner, now=now)
        tx.count(DELETE_OLD_AUDIT_RECORDS, {"before": now - AUDIT_KEPT_DAYS * DAY_US})

    await database.write(decay)
    count, purged = 0, PURGE_BATCH
    while purged == PURGE_BATCH:
        purged = await database.write(
            lambda tx: removal.purge_entries(
                tx, deleted_before=deleted_before, now=now, limit=PURGE_BATCH
            )
        )
        count += purged
    return count


class PurgeableMemory(Protocol):
    async def purge(self) -> int: ...


class DailyPurge:
    """Background task that purges daily. Use it with `async with`, inside that of the memory."""

    def __init__(
        self,
        memory: PurgeableMemory,
        *,
        is_due: bool = False,
        sleep: Callable[[float], Awaitable[object]] = asyncio.sleep,
    ) -> None:
        """`is_due`: purge at once, too; otherwise opening the memory has done it."""
        self._memory = memory
        self._is_due = is_due
        self._sleep = sleep
        self._task: asyncio.Task[None] | None = None

    async def __aenter__(self) -> Self:
        self._task = asyncio.create_task(self._run(), name="memory-upkeep")
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._task is not None:
            self._task.cancel()
            # Unlike await, wait() does not raise the task's CancelledError here.
            await asyncio.wait([self._task])

    async def _run(self) -> None:
        if not self._is_due:
            await self._sleep(PURGE_INTERVAL_S)
        while True:
            try:
                count = await self._memory.purge()
                logger.info("the daily purge removed %d memories", count)
            except ServiceError as error:
                logger.warning("the daily purge failed, retrying tomorrow: %s", error)
            await self._sleep(PURGE_INTERVAL_S)


SCAN_EVERY_S = 5.0
"""Interval between two searches for rows without a vector. Each process computes those of the rows
that it wrote; a row that was found twice was left behind by another one."""

SELECT_WANTED = f"SELECT row FROM vector_wanted ORDER BY row LIMIT {MAX_NEW_KEYS}"


@asynccontextmanager
async def replica_jobs(
    backend: DatabaseMemoryBackend, learner: AbstractAsyncContextManager[object] | None
) -> AsyncIterator[None]:
    """Run the jobs of a memory that several replicas share beside the block. `learner`: entered
    each time the jobs begin; None: nothing is learned."""
    async with (
        # A replica does not purge when it opens the memory: the one with the jobs does.
        DailyPurge(backend, is_due=True),
        concurrent_task(_compute_left_vectors(backend)),
        learner or nullcontext(),
    ):
        yield


async def _compute_left_vectors(backend: DatabaseMemoryBackend) -> None:
    """Let this process compute the vectors that others left behind, until it is cancelled."""
    seen: set[int] = set()
    while True:
        try:
            wanted = await backend.read(_wanted)
        except StorageFailed as error:
            logger.warning("missing vectors are looked for later: %s", error)
        else:
            backend.want_vectors(seen & wanted)
            seen = wanted
        await asyncio.sleep(SCAN_EVERY_S)


def _wanted(transaction: Transaction) -> set[int]:
    return {int(row) for (row,) in transaction.all(SELECT_WANTED)}
