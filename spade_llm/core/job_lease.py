"""Leases of background jobs: of several processes of an agent, one runs them (leader election).

The lease is a row in PostgreSQL that its holder renews. It belongs to the process that has it until
that ends or cannot renew it in time; it does not move when a process joins, so that a job that runs
is not doubled. Only the database's clock decides whether it is over, since those of machines
differ. A process that stalls for longer than the lease may go on for a moment beside the next
holder: jobs have to tolerate that they run twice.
"""

from __future__ import annotations

import asyncio
import logging
import secrets
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from typing import Self

from spade_llm.core.database import DatabaseServer, IdempotentSql, StoreTables
from spade_llm.core.errors import StorageFailed

logger = logging.getLogger(__name__)

LEASE_S = 5.0
"""A holder that has not renewed its lease for so long counts as dead. With RENEW_S, a killed
holder is replaced within some 6 s."""
RENEW_S = 1.0
"""Interval between two renewals, or attempts to get the lease."""
END_MARGIN_S = 0.5
"""The jobs are stopped so long before the lease is over, if it cannot be renewed."""

LEASE_TABLES = StoreTables(
    name="job_leases",
    what="the table of job leases",
    schema="""
CREATE TABLE IF NOT EXISTS job_leases (
    name TEXT PRIMARY KEY,
    holder TEXT NOT NULL,
    token TEXT NOT NULL,
    until REAL NOT NULL
) WITHOUT ROWID;
""",
)
_NOW = "extract(epoch from clock_timestamp())"
# Returns the holder, whether that is this process or another one.
_TAKE = IdempotentSql(
    f"""WITH taken AS (
    INSERT INTO job_leases(name, holder, token, until)
    VALUES (:name, :holder, :token, {_NOW} + :lease)
    ON CONFLICT (name) DO UPDATE SET holder = excluded.holder, token = excluded.token,
        until = excluded.until
    WHERE job_leases.token = excluded.token OR job_leases.until <= {_NOW}
    RETURNING holder, token)
    SELECT holder, token FROM taken
    UNION ALL SELECT holder, token FROM job_leases
        WHERE name = :name AND NOT EXISTS (SELECT 1 FROM taken)"""
)
_RELEASE = "DELETE FROM job_leases WHERE name = ? AND token = ?"


class ExclusiveJobs:
    """Background jobs that one process of an agent runs. Use it with `async with`, inside what the
    jobs use."""

    def __init__(
        self,
        server: DatabaseServer,
        name: str,
        jobs: Callable[[], AbstractAsyncContextManager[object]],
        *,
        holder: Callable[[], str],
    ) -> None:
        """Create them.

        Args:
            server: the database that the processes share.
            name: of the lease.
            jobs: makes the context manager that is entered while this process has the lease.
            holder: name of this process, for reports.
        """
        self._db = LEASE_TABLES.at(server)
        self._name = name
        self._jobs = jobs
        self._own_name = holder
        self._token = secrets.token_hex(8)
        self._until_s = 0.0
        """End of the lease, on the event loop's clock, which may be earlier than in the row."""
        self._task: asyncio.Task[None] | None = None
        self.holder = ""
        """Name of the process that runs the jobs, as of the last attempt; empty: not known."""

    async def __aenter__(self) -> Self:
        """Raises ConfigurationError: the database cannot be used."""
        await self._db.open()
        self._task = asyncio.create_task(self._run(), name=f"jobs-{self._name}")
        self._task.add_done_callback(_log_failure)
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait([self._task])
        if self._is_held:
            try:
                await self._db.execute(_RELEASE, self._name, self._token)
            except StorageFailed as error:
                logger.warning("jobs %s: others wait for the lease: %s", self._name, error)
        await self._db.close()

    @property
    def _is_held(self) -> bool:
        return asyncio.get_running_loop().time() < self._until_s - END_MARGIN_S

    async def _run(self) -> None:
        while True:
            if await self._take():
                logger.info("jobs %s: run here", self._name)
                async with self._jobs():
                    await asyncio.sleep(RENEW_S)
                    while await self._keep():  # noqa: ASYNC110 - a heartbeat
                        await asyncio.sleep(RENEW_S)
                logger.warning("jobs %s: the lease is lost", self._name)
            await asyncio.sleep(RENEW_S)

    async def _take(self) -> bool:
        """Get the lease, or renew it. False: another process has it, or the database fails."""
        began_s = asyncio.get_running_loop().time()
        values = {
            "name": self._name,
            "holder": self._own_name(),
            "token": self._token,
            "lease": LEASE_S,
        }
        try:
            rows = await self._db.execute(_TAKE, values)
        except StorageFailed as error:
            logger.warning("jobs %s: the lease cannot be taken: %s", self._name, error)
            return False
        self.holder = str(rows[0][0]) if rows else ""
        is_ours = bool(rows) and rows[0][1] == self._token
        self._until_s = began_s + LEASE_S if is_ours else 0.0
        return is_ours

    async def _keep(self) -> bool:
        """Renew the lease; while the database fails, it lasts until its end."""
        try:
            async with asyncio.timeout_at(self._until_s - END_MARGIN_S):
                if await self._take():
                    return True
        except TimeoutError:
            return False
        return self._is_held


def _log_failure(task: asyncio.Task[None]) -> None:
    if not task.cancelled() and (error := task.exception()):
        logger.error("background jobs stopped because of an error", exc_info=error)
