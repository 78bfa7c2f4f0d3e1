"""Writes that share a transaction: each is acknowledged or refused for itself."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import aiosqlite
import pytest

from spade_llm.errors import Busy, StorageFailed
from spade_llm.memory.group_commit import MAX_QUEUED, GroupCommit

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable
    from pathlib import Path


@pytest.fixture
async def connection(tmp_path: Path) -> AsyncIterator[aiosqlite.Connection]:
    async with aiosqlite.connect(tmp_path / "t.db", isolation_level=None) as connection:
        await connection.execute_fetchall("CREATE TABLE number (n INTEGER UNIQUE) STRICT")
        yield connection


@pytest.fixture
async def writer(connection: aiosqlite.Connection) -> AsyncIterator[GroupCommit]:
    writer = GroupCommit(connection)
    yield writer
    await writer.close()


def insert(*numbers: int) -> Callable[[aiosqlite.Connection], Awaitable[int]]:
    async def operation(connection: aiosqlite.Connection) -> int:
        for number in numbers:
            await connection.execute_fetchall("INSERT INTO number VALUES (?)", (number,))
        return len(numbers)

    return operation


async def stored(connection: aiosqlite.Connection) -> list[int]:
    rows = await connection.execute_fetchall("SELECT n FROM number ORDER BY n")
    return [row[0] for row in rows]


async def test_a_bad_write_is_undone_whole_and_fails_no_other(
    connection: aiosqlite.Connection, writer: GroupCommit
) -> None:
    good, bad, late = await asyncio.gather(
        writer.write(insert(1)),
        writer.write(insert(2, 1)),
        writer.write(insert(3)),
        return_exceptions=True,
    )

    assert (good, late) == (1, 1)
    assert isinstance(bad, StorageFailed)
    assert await stored(connection) == [1, 3]


async def test_writes_that_wait_share_a_transaction(
    connection: aiosqlite.Connection, writer: GroupCommit
) -> None:
    statements: list[str] = []
    await connection.set_trace_callback(statements.append)

    await asyncio.gather(*(writer.write(insert(number)) for number in range(100)))

    await connection.set_trace_callback(_ignore)
    assert statements.count("COMMIT") <= 2


async def test_a_full_queue_refuses_instead_of_growing(writer: GroupCommit) -> None:
    results = await asyncio.gather(
        *(writer.write(insert(number)) for number in range(MAX_QUEUED + 10)),
        return_exceptions=True,
    )

    refused = [result for result in results if isinstance(result, Busy)]
    assert 1 <= len(refused) <= 10
    assert len(results) - len(refused) == sum(result == 1 for result in results)


async def test_a_write_whose_caller_left_is_written_all_the_same(
    connection: aiosqlite.Connection, writer: GroupCommit
) -> None:
    leaving = asyncio.create_task(writer.write(insert(1)))
    await asyncio.sleep(0)
    leaving.cancel()

    await writer.write(insert(2))

    assert await stored(connection) == [1, 2]


async def test_a_later_write_that_fails_is_only_logged(
    writer: GroupCommit, caplog: pytest.LogCaptureFixture
) -> None:
    await writer.write(insert(1))

    writer.write_later(insert(1))
    await writer.write(insert(2))

    assert "not written" in caplog.text


async def test_a_transaction_that_cannot_commit_fails_all_its_writes(
    connection: aiosqlite.Connection, writer: GroupCommit, tmp_path: Path
) -> None:
    await connection.execute_fetchall("PRAGMA busy_timeout = 0")
    async with aiosqlite.connect(tmp_path / "t.db", isolation_level=None) as other:
        await other.execute_fetchall("BEGIN IMMEDIATE")
        failures = await asyncio.gather(
            *(writer.write(insert(number)) for number in range(3)), return_exceptions=True
        )
        await other.rollback()

    assert [str(failure) for failure in failures] == [
        "the memory's file is locked by another program"
    ] * 3
    assert await writer.write(insert(1)) == 1


async def test_a_mistake_in_an_operation_stops_the_writer_loudly(
    connection: aiosqlite.Connection,
) -> None:
    async def mistaken(connection: aiosqlite.Connection) -> int:
        raise KeyError("mistake")

    writer = GroupCommit(connection)

    results = await asyncio.gather(
        *(writer.write(operation) for operation in (insert(1), mistaken, insert(2))),
        return_exceptions=True,
    )

    assert [type(result) for result in results] == [StorageFailed] * 3
    with pytest.raises(StorageFailed, match="closed"):
        await writer.write(insert(3))
    with pytest.raises(KeyError):
        await writer.close()


def _ignore(statement: str) -> None: ...
