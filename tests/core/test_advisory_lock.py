"""Advisory locks: one process at a time, and the next one when the holder is gone or stalls."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

import psycopg
import pytest

from spade_llm.core import advisory_lock as module
from spade_llm.core.advisory_lock import advisory_lock
from spade_llm.core.database import DatabaseUrl
from spade_llm.core.errors import Busy, StorageFailed
from spade_llm.core.postgres import MAX_CONNECTIONS, PostgresServer

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from contextlib import AbstractAsyncContextManager

    from spade_llm.core.advisory_lock import HeldLock
    from tests.postgres_server import PostgresProcess

pytestmark = pytest.mark.thorough
PATIENCE_S = 20.0


@asynccontextmanager
async def processes(
    postgres: PostgresProcess, agent: str
) -> AsyncIterator[tuple[PostgresServer, PostgresServer]]:
    """Connections of two processes of one agent."""
    url = DatabaseUrl(postgres.url())
    async with PostgresServer(url, agent=agent) as one, PostgresServer(url, agent=agent) as other:
        yield one, other


def lock(
    server: PostgresServer, *, wait_s: float = 0.0, name: str = "a"
) -> AbstractAsyncContextManager[HeldLock]:
    return advisory_lock(server, name, what="this", wait_s=wait_s)


async def end_sessions(postgres: PostgresProcess) -> None:
    """End the sessions that hold an advisory lock, as a restart of the server does."""
    async with await psycopg.AsyncConnection.connect(postgres.url(), autocommit=True) as session:
        await session.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_locks WHERE locktype = 'advisory' AND granted"
        )


async def test_a_lock_is_held_by_one_process_and_then_by_the_one_that_waits(
    postgres: PostgresProcess,
) -> None:
    taken: list[str] = []

    async def take(server: PostgresServer, name: str) -> None:
        async with lock(server, wait_s=PATIENCE_S):
            taken.append(name)

    async with processes(postgres, "lock-turns@example.org") as (one, other):
        async with lock(one) as held:
            with pytest.raises(Busy, match="another process has the lock on this"):
                async with lock(other):
                    pass
            with pytest.raises(Busy):
                async with lock(other, wait_s=0.2):
                    pass
            async with lock(other, name="b"):
                waiting = asyncio.create_task(take(other, "other"))
            await held.check()
            assert not taken
        async with asyncio.timeout(PATIENCE_S):
            await waiting
        # Its connection is an ordinary one again.
        for _ in range(2 * MAX_CONNECTIONS):
            await take(one, "one")

    assert taken == ["other"] + ["one"] * 2 * MAX_CONNECTIONS


async def test_a_lock_ends_with_its_session_and_its_holder_can_tell(
    postgres: PostgresProcess,
) -> None:
    async with processes(postgres, "lock-lost@example.org") as (one, other):
        async with lock(one) as held:
            await end_sessions(postgres)
            async with lock(other, wait_s=PATIENCE_S):
                with pytest.raises(StorageFailed, match="lock on this was lost"):
                    await held.check()
        async with lock(one, wait_s=PATIENCE_S) as held:
            await held.check()


async def test_a_process_that_stalls_loses_its_lock(
    postgres: PostgresProcess, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "HOLD_S", 0.5)
    monkeypatch.setattr(module, "RENEW_S", PATIENCE_S)  # It sends nothing, as a stopped one does.
    async with (
        processes(postgres, "lock-stall@example.org") as (one, other),
        lock(one) as held,
        lock(other, wait_s=PATIENCE_S),
    ):
        with pytest.raises(StorageFailed):
            await held.check()


async def test_a_lock_is_kept_longer_than_its_session_may_be_idle(
    postgres: PostgresProcess, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "HOLD_S", 0.5)
    monkeypatch.setattr(module, "RENEW_S", 0.1)
    async with processes(postgres, "lock-kept@example.org") as (one, other), lock(one) as held:
        with pytest.raises(Busy):
            async with lock(other, wait_s=1.5):
                pass
        await held.check()


async def test_a_cancelled_wait_leaves_neither_a_lock_nor_a_lost_connection(
    postgres: PostgresProcess,
) -> None:
    async with processes(postgres, "lock-cancelled@example.org") as (one, other):
        async with lock(one):
            for _ in range(MAX_CONNECTIONS + 1):
                with pytest.raises(TimeoutError):
                    async with asyncio.timeout(0.05), lock(other, wait_s=PATIENCE_S):
                        pass
        async with asyncio.timeout(PATIENCE_S), lock(one, wait_s=PATIENCE_S):
            pass
