"""Job leases: one of several processes runs the jobs, and another one when it is gone."""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack, asynccontextmanager
from typing import TYPE_CHECKING

import pytest

from spade_llm.core import job_lease
from spade_llm.core.database import DatabaseUrl
from spade_llm.core.job_lease import ExclusiveJobs
from spade_llm.core.postgres import PostgresServer

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from tests.postgres_server import PostgresProcess

PATIENCE_S = 20.0


@pytest.fixture(autouse=True)
def short_leases(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, seconds in (("LEASE_S", 1.0), ("RENEW_S", 0.1), ("END_MARGIN_S", 0.2)):
        monkeypatch.setattr(job_lease, name, seconds)


class Jobs:
    """Notes which processes run them, and whether there were ever two."""

    def __init__(self) -> None:
        self.running: list[str] = []
        self.most = 0

    @asynccontextmanager
    async def of(self, name: str) -> AsyncIterator[None]:
        self.running.append(name)
        self.most = max(self.most, len(self.running))
        try:
            yield
        finally:
            self.running.remove(name)

    async def until_at(self, *names: str) -> None:
        async with asyncio.timeout(PATIENCE_S):
            while self.running not in [[name] for name in names]:  # noqa: ASYNC110
                await asyncio.sleep(0.01)


async def joined(
    stack: AsyncExitStack, postgres: PostgresProcess, agent: str, name: str, jobs: Jobs
) -> ExclusiveJobs:
    server = await stack.enter_async_context(
        PostgresServer(DatabaseUrl(postgres.url()), agent=f"{agent}@example.org")
    )
    one = ExclusiveJobs(server, "memory", lambda: jobs.of(name), holder=lambda: name)
    return await stack.enter_async_context(one)


async def test_a_lease_stays_with_its_holder_and_moves_when_that_leaves(
    postgres: PostgresProcess,
) -> None:
    jobs = Jobs()
    async with AsyncExitStack() as stack:
        async with AsyncExitStack() as leaving:
            await joined(leaving, postgres, "lease-leaves", "a", jobs)
            await jobs.until_at("a")
            b = await joined(stack, postgres, "lease-leaves", "b", jobs)
            async with asyncio.timeout(PATIENCE_S):
                while b.holder != "a":  # noqa: ASYNC110
                    await asyncio.sleep(0.01)
            assert jobs.running == ["a"]
        await jobs.until_at("b")
        assert b.holder == "b"
    assert jobs.most == 1


async def test_a_lease_that_is_not_renewed_is_taken_and_its_holder_stops(
    postgres: PostgresProcess,
) -> None:
    jobs = Jobs()
    async with AsyncExitStack() as stack:
        a = await joined(stack, postgres, "lease-dies", "a", jobs)
        await jobs.until_at("a")
        await joined(stack, postgres, "lease-dies", "b", jobs)
        assert a._task is not None
        a._task.cancel()  # A kill: the row stays.
        await jobs.until_at("b")
    assert jobs.most == 1


@pytest.mark.thorough
async def test_jobs_stop_while_the_database_is_away(own_postgres: PostgresProcess) -> None:
    jobs = Jobs()
    async with AsyncExitStack() as stack:
        await joined(stack, own_postgres, "lease-away", "a", jobs)
        await jobs.until_at("a")
        own_postgres.kill()
        async with asyncio.timeout(PATIENCE_S):
            while jobs.running:  # noqa: ASYNC110
                await asyncio.sleep(0.01)
        own_postgres.start()
        await asyncio.to_thread(own_postgres.wait_until_ready)
        await jobs.until_at("a")
