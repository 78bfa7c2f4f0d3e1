"""Background jobs of a memory: purge, learning, vectors that no process has computed."""

from __future__ import annotations

import asyncio
import logging
from contextlib import AsyncExitStack
from typing import TYPE_CHECKING, Self

from spade_llm.core.errors import StorageFailed
from spade_llm.memory.database.embedding import MAX_NEW_KEYS
from spade_llm.memory.database.maintenance import DailyPurge

if TYPE_CHECKING:
    from collections.abc import Iterator
    from contextlib import AbstractAsyncContextManager

    from spade_llm.memory.database.backend import DatabaseMemoryBackend
    from spade_llm.memory.database.connection import Transaction

logger = logging.getLogger(__name__)

SCAN_EVERY_S = 5.0
"""Interval between two searches for rows without a vector. Each process computes those of the rows
that it wrote; a row that was found twice was left behind by another one."""

SELECT_WANTED = f"SELECT row FROM vector_wanted ORDER BY row LIMIT {MAX_NEW_KEYS}"


class ReplicaJobs:
    """Jobs of a memory that several replicas share; use it with `async with` where they run."""

    def __init__(
        self,
        backend: DatabaseMemoryBackend,
        learner: AbstractAsyncContextManager[object] | None,
    ) -> None:
        """`learner`: entered each time the jobs begin; None: nothing is learned."""
        self._backend = backend
        self._learner = learner
        self._stack = AsyncExitStack()

    async def __aenter__(self) -> Self:
        async with AsyncExitStack() as stack:
            # A replica does not purge when it opens the memory: the one with the jobs does.
            await stack.enter_async_context(DailyPurge(self._backend, is_due=True))
            await stack.enter_async_context(VectorBacklog(self._backend))
            if self._learner is not None:
                await stack.enter_async_context(self._learner)
            self._stack = stack.pop_all()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._stack.aclose()


class VectorBacklog:
    """Background task that lets this process compute the vectors that others left behind."""

    def __init__(self, backend: DatabaseMemoryBackend) -> None:
        self._backend = backend
        self._task: asyncio.Task[None] | None = None

    async def __aenter__(self) -> Self:
        self._task = asyncio.create_task(self._run(), name="memory-backlog")
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait([self._task])

    async def _run(self) -> None:
        seen: set[int] = set()
        while True:
            try:
                wanted = set(await self._backend.read(lambda tx: list(_wanted(tx))))
            except StorageFailed as error:
                logger.warning("missing vectors are looked for later: %s", error)
            else:
                self._backend.want_vectors(seen & wanted)
                seen = wanted
            await asyncio.sleep(SCAN_EVERY_S)


def _wanted(transaction: Transaction) -> Iterator[int]:
    return (int(row) for (row,) in transaction.all(SELECT_WANTED))
