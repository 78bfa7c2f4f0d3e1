"""Writes that share a transaction: each is acknowledged or refused for itself."""

from __future__ import annotations

import asyncio
import sqlite3
from contextlib import closing
from functools import partial
from typing import TYPE_CHECKING, TypeAlias

import pytest

from spade_llm.core.errors import Busy, StorageFailed
from spade_llm.memory.database.connection import DatabaseThread
from spade_llm.memory.database.group_commit import MAX_QUEUED, GroupCommit
from spade_llm.memory.database.sqlite_connection import SqliteConnection, open_connection

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable
    from pathlib import Path

    from spade_llm.memory.database.connection import Transaction

SqliteFileThread: TypeAlias = DatabaseThread[SqliteConnection]

PRAGMAS = ("CREATE TABLE number (n INTEGER UNIQUE) STRICT",)


@pytest.fixture
async def thread(tmp_path: Path) -> AsyncIterator[SqliteFileThread]:
    thread = await DatabaseThread.open(
        partial(open_connection, tmp_path / "t.db", PRAGMAS), name="test"
    )
    yield thread
    await thread.close()


@pytest.fixture
async def writer(thread: SqliteFileThread) -> AsyncIterator[GroupCommit]:
    writer = GroupCommit(thread)
    yield writer
    await writer.close()


def insert(*numbers: int) -> Callable[[Transaction], int]:
    def operation(file: Transaction) -> int:
        for number in numbers:
            file.count("INSERT INTO number VALUES (:number)", {"number": number})
        return len(numbers)

    return operation


async def stored(thread: SqliteFileThread) -> list[int]:
    rows = await thread.run(
        lambda connection: connection.execute("SELECT n FROM number ORDER BY n").fetchall()
    )
    return [row[0] for row in rows]


async def test_a_bad_write_is_undone_whole_and_fails_no_other(
    thread: SqliteFileThread, writer: GroupCommit
) -> None:
    good, bad, late = await asyncio.gather(
        writer.write(insert(1)),
        writer.write(insert(2, 1)),
        writer.write(insert(3)),
        return_exceptions=True,
    )

    assert (good, late) == (1, 1)
    assert isinstance(bad, StorageFailed)
    assert await stored(thread) == [1, 3]


async def test_writes_that_wait_share_a_transaction(
    thread: SqliteFileThread, writer: GroupCommit
) -> None:
    statements: list[str] = []
    await thread.run(lambda connection: connection.set_trace_callback(statements.append))

    await asyncio.gather(*(writer.write(insert(number)) for number in range(100)))

    await thread.run(lambda connection: connection.set_trace_callback(None))
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
    thread: SqliteFileThread, writer: GroupCommit
) -> None:
    leaving = asyncio.create_task(writer.write(insert(1)))
    await asyncio.sleep(0)
    leaving.cancel()

    await writer.write(insert(2))

    assert await stored(thread) == [1, 2]


async def test_a_later_write_that_fails_is_only_logged(
    writer: GroupCommit, caplog: pytest.LogCaptureFixture
) -> None:
    await writer.write(insert(1))

    writer.write_later(insert(1))
    await writer.write(insert(2))

    assert "could not be written" in caplog.text


async def test_a_transaction_that_cannot_commit_fails_all_its_writes(
    thread: SqliteFileThread, writer: GroupCommit, tmp_path: Path
) -> None:
    await thread.run(lambda connection: connection.execute("PRAGMA busy_timeout = 0"))
    with closing(sqlite3.connect(tmp_path / "t.db", isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        failures = await asyncio.gather(
            *(writer.write(insert(number)) for number in range(3)), return_exceptions=True
        )

    assert [str(failure) for failure in failures] == [
        "the memory's file is locked by another program"
    ] * 3
    assert await writer.write(insert(1)) == 1


async def test_a_mistake_in_one_write_reaches_its_asker_and_nobody_else(
    writer: GroupCommit, thread: SqliteFileThread
) -> None:
    def mistaken(file: Transaction) -> int:
        file.count("INSERT INTO number VALUES (9)")
        raise KeyError("mistake")

    results = await asyncio.gather(
        *(writer.write(operation) for operation in (insert(1), mistaken, insert(2))),
        return_exceptions=True,
    )

    assert [type(result) for result in results] == [int, KeyError, int]
    assert await writer.write(insert(3)) == 1
    assert await stored(thread) == [1, 2, 3]


def test_a_log_that_cannot_be_truncated_is_reported_once(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with closing(open_connection(tmp_path / "t.db", PRAGMAS)) as connection:
        # In a transaction, SQLite refuses to truncate the log with an error.
        connection.execute("BEGIN IMMEDIATE")
        connection.execute("INSERT INTO number VALUES (1)")
        assert not connection.erase_deleted(timeout_s=0.0)
        assert not connection.erase_deleted(timeout_s=0.0)
        connection.rollback()
        assert connection.erase_deleted(timeout_s=0.0)

    assert len(caplog.records) == 1
