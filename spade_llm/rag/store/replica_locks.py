"""Locks among the replicas of a RAG agent, which change the same documents.

Changes of documents take turns, as in one process: a sweep would otherwise remove vectors that
another replica is about to commit. The name of the last replica that took the lock is in a row,
which each write transaction locks first. So transactions commit in the order of their numbers, on
which caches rely, and a replica that lost its lock cannot write any more (fencing token).
"""

from __future__ import annotations

import secrets
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from spade_llm.core.advisory_lock import advisory_lock
from spade_llm.core.database import IdempotentSql, StoreTables
from spade_llm.core.errors import StorageFailed

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from contextlib import AbstractAsyncContextManager

    from spade_llm.core.advisory_lock import HeldLock
    from spade_llm.core.database import Execute
    from spade_llm.core.postgres import PostgresServer

WAIT_S = 120.0
"""Maximum wait for the changes of other replicas: one stores a document of 20 MB, or erases deleted
ones, for up to a minute."""

_TABLES = StoreTables(
    name="documents_lock",
    what="the lock on documents",
    is_named_by_agent=False,
    schema="""CREATE TABLE IF NOT EXISTS documents_lock (
    number INTEGER PRIMARY KEY,
    holder TEXT NOT NULL
);""",
)
_CREATE = "INSERT INTO documents_lock (number, holder) VALUES (1, '') ON CONFLICT DO NOTHING"
_SET_HOLDER = IdempotentSql("UPDATE documents_lock SET holder = ?1 WHERE holder <> ?1")
_LOCK_HOLDER = "SELECT holder FROM documents_lock FOR UPDATE"


class ReplicaLocks:
    """Locks on the documents of one agent. Call `open` before use."""

    def __init__(self, server: PostgresServer) -> None:
        self._server = server
        self._db = server.database(_TABLES)
        self.token = secrets.token_hex(8)
        """Name of this replica in the tables."""
        self._is_held = False

    async def open(self) -> None:
        """Create the table. Raises ConfigurationError."""
        await self._db.open()
        await self._db.execute(_CREATE)

    async def close(self) -> None:
        await self._db.close()

    @asynccontextmanager
    async def exclusive(self) -> AsyncIterator[None]:
        """Hold the lock on changes for the block, one task at a time. Raises Busy,
        StorageFailed."""
        async with advisory_lock(self._server, "documents", what="documents", wait_s=WAIT_S):
            # Waits for the transactions of a holder that lost the lock; later ones will fail.
            await self._db.execute(_SET_HOLDER, self.token)
            self._is_held = True
            try:
                yield
            finally:
                self._is_held = False

    def filling(self, namespace: int) -> AbstractAsyncContextManager[HeldLock]:
        """Hold the right to fill or drop collections that are not in use, of one namespace. Raises
        Busy at once if another process has it."""
        name = f"vectors of namespace {namespace}"
        return advisory_lock(self._server, name, what=f"the {name}", wait_s=0)

    async def begin(self, execute: Execute) -> None:
        """Begin a write transaction. Raises StorageFailed if this replica has lost the lock on
        changes."""
        rows = await execute(_LOCK_HOLDER)
        if self._is_held and rows != [(self.token,)]:
            raise StorageFailed("another replica changes the documents; try again")
