"""The library's SQLite file, whoever is interrupted in the middle of a change."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest

from spade_llm.rag.store.library_file import LibraryFile
from spade_llm.rag.store.schema import MIGRATIONS

if TYPE_CHECKING:
    from pathlib import Path

STEPS = 40
"""Of the loop: more than a change takes when nothing else runs."""
ADD = "INSERT INTO namespaces (owner, name, updated_at) VALUES ('ann@localhost', ?, 'today')"
NAMES = "SELECT name FROM namespaces ORDER BY name"


async def add(database: LibraryFile, *names: str) -> None:
    async with database.transaction() as writer:
        for name in names:
            await writer.execute(ADD, (name,))


@pytest.mark.parametrize("cancels", [1, 2])
async def test_a_cancelled_change_is_atomic_and_does_not_block_others(
    tmp_path: Path, cancels: int
) -> None:
    expected: list[str] = []
    async with LibraryFile(tmp_path / "library.sqlite3", migrations=MIGRATIONS) as database:
        for step in range(STEPS):
            both = [f"{step:02} a", f"{step:02} b"]
            changing = asyncio.create_task(add(database, *both))
            for _ in range(step):
                await asyncio.sleep(0)
            for _ in range(cancels):
                changing.cancel()
                await asyncio.sleep(0)
            await asyncio.gather(changing, return_exceptions=True)
            after = [row[0] for row in await database.read_often(NAMES)]
            assert after in (expected, expected + both)
            await add(database, f"{step:02} c")
            expected = [*after, f"{step:02} c"]
            assert [row[0] for row in await database.read_often(NAMES)] == expected


async def test_the_read_cache_is_bounded_by_rows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("spade_llm.rag.store.library_database.MAX_CACHED_ROWS", 3)
    many = "SELECT value FROM json_each(?)"
    async with LibraryFile(tmp_path / "library.sqlite3", migrations=MIGRATIONS) as database:
        two, three = "[1, 2]", "[1, 2, 3]"
        first = [await database.read_often(many, (rows,)) for rows in (two, three)]
        again = [await database.read_often(many, (rows,)) for rows in (two, three)]

    assert [a is b for a, b in zip(first, again, strict=True)] == [True, False]
