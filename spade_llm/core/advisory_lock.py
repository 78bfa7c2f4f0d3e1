"""Advisory locks in PostgreSQL: mutual exclusion among the processes of an agent.

A lock belongs to a session of the server, and ends with it: kill −9 closes the connection. The
session of a process that stalls, or whose machine is gone, sends nothing; the server ends it after
HOLD_S. A holder that lost its session may go on for a while beside the next one: what it writes
needs a fence (`HeldLock.check`, or a token that its transactions compare).
"""

from __future__ import annotations

import asyncio
import logging
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from spade_llm.core.errors import Busy, StorageFailed
from spade_llm.core.postgres import STATEMENT_TIMEOUT_S

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    import psycopg

    from spade_llm.core.postgres import PostgresServer

HOLD_S = 9.0
"""A session that holds a lock is ended if it is idle for so long."""
RENEW_S = 3.0
"""Interval between two statements of a session that holds a lock (heartbeat)."""

_TRY = """SELECT set_config('idle_session_timeout', %s, false),
    pg_try_advisory_lock(hashtextextended(%s, 0))"""
# The server queues sessions that wait, so that none starves.
_WAIT = "SELECT pg_advisory_lock(hashtextextended(%s, 0))"
_TIMEOUT = "SELECT set_config('statement_timeout', %s, false)"
_UNLOCK = """SELECT pg_advisory_unlock(hashtextextended(%s, 0)),
    set_config('idle_session_timeout', '0', false)"""

logger = logging.getLogger(__name__)


class HeldLock:
    """Lock that this process has taken."""

    def __init__(self, connection: psycopg.AsyncConnection, what: str) -> None:
        self._connection = connection
        self._what = what

    async def check(self) -> None:
        """Check that it was held without a break. Raises StorageFailed."""
        import psycopg

        try:
            async with asyncio.timeout(STATEMENT_TIMEOUT_S):
                await self._connection.execute("SELECT 1")
        except (TimeoutError, psycopg.Error) as error:
            raise StorageFailed(f"the lock on {self._what} was lost; try again") from error


@asynccontextmanager
async def advisory_lock(
    server: PostgresServer, name: str, *, what: str, wait_s: float
) -> AsyncIterator[HeldLock]:
    """Hold a lock for the block. `name`: of the lock among those of the agent; `what`: what it
    protects, for errors. `wait_s`: 0 means that it is only tried.

    Raises:
        Busy: another session held it all the time.
        StorageFailed: the server does not answer.
    """
    import psycopg

    key = f"spade_llm {server.schema} {name}"
    try:
        async with asyncio.timeout(STATEMENT_TIMEOUT_S):
            connection = await server.acquire()
    except (TimeoutError, psycopg.Error) as error:
        raise server.storage_error(f"the lock on {what}", error) from error
    task: asyncio.Task[bool] = asyncio.create_task(_take(connection, key, wait_s))
    released = asyncio.Event()
    try:
        try:
            is_taken = await server.result_of(task, wait_s + 3 * STATEMENT_TIMEOUT_S)
        except (TimeoutError, psycopg.Error) as error:
            raise server.storage_error(f"the lock on {what}", error) from error
        if not is_taken:
            raise Busy(f"another process has the lock on {what}; try again later")
        task = asyncio.create_task(_hold(connection, key, released))
        try:
            yield HeldLock(connection, what)
        finally:
            released.set()
            try:
                await server.result_of(task, STATEMENT_TIMEOUT_S)
            except (TimeoutError, psycopg.Error) as error:
                logger.warning("the lock on %s was lost: %s", what, error)
    finally:
        is_usable = released.is_set() and task.done() and not (task.cancelled() or task.exception())
        _give_back(server, connection, task, is_usable=is_usable)


async def _take(connection: psycopg.AsyncConnection, key: str, wait_s: float) -> bool:
    import psycopg

    row = await (await connection.execute(_TRY, (f"{HOLD_S}s", key))).fetchone()
    if row is not None and row[1]:
        return True
    if not wait_s:
        return False
    await connection.execute(_TIMEOUT, (f"{wait_s}s",))
    try:
        await connection.execute(_WAIT, (key,))
    except psycopg.errors.QueryCanceled:
        return False
    await connection.execute(_TIMEOUT, (f"{STATEMENT_TIMEOUT_S}s",))
    return True


async def _hold(connection: psycopg.AsyncConnection, key: str, released: asyncio.Event) -> bool:
    """Keep the session from being idle until the lock is released."""
    while True:
        try:
            async with asyncio.timeout(RENEW_S):
                await released.wait()
        except TimeoutError:
            await connection.execute("SELECT 1")
        else:
            await connection.execute(_UNLOCK, (key,))
            return True


def _give_back(
    server: PostgresServer,
    connection: psycopg.AsyncConnection,
    task: asyncio.Task[bool],
    *,
    is_usable: bool,
) -> None:
    """Return the connection to the pool, once its task has ended. One that may have a lock, or
    other settings, is closed."""

    def end(_: object) -> None:
        if not is_usable:
            connection.pgconn.finish()
        server.release(connection)

    if task.done():
        end(task)
    else:
        task.add_done_callback(end)
