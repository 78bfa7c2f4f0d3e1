"""What every question asks is read once, and anew after each change."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from spade_llm.rag.store.library_file import LibraryFile

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import AsyncIterator
    from pathlib import Path

COUNT = "SELECT count(*) FROM things"


def make_table(connection: sqlite3.Connection) -> None:
    connection.execute("CREATE TABLE things (x)")


@pytest.fixture
async def database(tmp_path: Path) -> AsyncIterator[LibraryFile]:
    async with LibraryFile(tmp_path / "d.db", migrations=[make_table]) as opened:
        yield opened


async def add_one(database: LibraryFile) -> None:
    async with database.transaction() as writer:
        await writer.execute("INSERT INTO things VALUES (1)")


async def test_a_change_is_seen_by_the_next_question(database: LibraryFile) -> None:
    assert [row[0] for row in await database.read_often(COUNT)] == [0]

    await add_one(database)

    assert [row[0] for row in await database.read_often(COUNT)] == [1]
    assert await database.read_often(COUNT) is await database.read_often(COUNT)


async def test_a_change_undone_changes_nothing(database: LibraryFile) -> None:
    await add_one(database)

    with pytest.raises(RuntimeError):
        async with database.transaction() as writer:
            await writer.execute("INSERT INTO things VALUES (2)")
            raise RuntimeError

    assert [row[0] for row in await database.read_often(COUNT)] == [1]
