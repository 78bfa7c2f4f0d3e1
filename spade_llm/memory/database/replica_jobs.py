"""Background jobs of a memory: purge, learning, vectors that no process has computed."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager, nullcontext
from typing import TYPE_CHECKING

from spade_llm.core.concurrency import concurrent_task
from spade_llm.core.errors import StorageFailed
from spade_llm.memory.database.embedding import MAX_NEW_KEYS
from spade_llm.memory.database.maintenance import DailyPurge

if TYPE_CHECKING:
    from spade_llm.memory.database.backend import DatabaseMemoryBackend
    from spade_llm.memory.database.connection import Transaction

logger = logging.getLogger(__name__)

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
