"""Uses are counted together: seen at once, written with the next write or read, or in time."""

from __future__ import annotations

import asyncio
import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING

from spade_llm.memory import MemoryDraft, SQLiteMemoryBackend
from spade_llm.search.memory_query import MemoryQuery, SearchMode

if TYPE_CHECKING:
    from pathlib import Path

OWNER = "ada@localhost"
PROMPTLY_S = 2.0
APPLES = MemoryQuery(text="apples", mode=SearchMode.KEYWORD)


def counted(path: Path) -> int:
    with closing(sqlite3.connect(path)) as file:
        return int(file.execute("SELECT sum(access_count) FROM entry").fetchone()[0])


async def test_a_search_sees_the_uses_of_those_before_it(tmp_path: Path) -> None:
    async with SQLiteMemoryBackend(tmp_path / "m.db") as backend:
        store = backend.for_owner(OWNER)
        await store.add(MemoryDraft(content="Ada likes apples"))

        found = [(await store.search(APPLES)).hits[0].entry for _ in range(3)]

    assert [entry.access_count for entry in found] == [0, 1, 2]
    assert found[0].importance < found[2].importance


async def test_a_search_writes_nothing_and_the_next_read_finds_its_uses_written(
    tmp_path: Path,
) -> None:
    async with SQLiteMemoryBackend(tmp_path / "m.db") as backend:
        store = backend.for_owner(OWNER)
        id = (await store.add(MemoryDraft(content="Ada likes apples"))).id

        await store.search(APPLES)
        await store.search(APPLES)
        before = counted(tmp_path / "m.db")
        (entry,) = await store.peek([id])

    assert (before, entry.access_count) == (0, 2)


async def test_a_search_does_not_wait_for_uses_that_are_being_written(tmp_path: Path) -> None:
    async with SQLiteMemoryBackend(tmp_path / "m.db") as backend:
        store = backend.for_owner(OWNER)
        await store.add(MemoryDraft(content="Ada likes apples"))
        await store.search(APPLES)
        with closing(sqlite3.connect(tmp_path / "m.db", isolation_level=None)) as other:
            other.execute("BEGIN IMMEDIATE")
            adding = asyncio.create_task(store.add(MemoryDraft(content="Ada likes pears")))
            await asyncio.sleep(0)

            async with asyncio.timeout(PROMPTLY_S):
                found = await store.search(APPLES)

            is_written = adding.done()
            other.execute("ROLLBACK")
        await adding
        after = await store.search(APPLES)

    assert (is_written, found.hits[0].entry.access_count) == (False, 1)
    assert after.hits[0].entry.access_count == 2


async def test_uses_are_written_before_the_file_is_closed(tmp_path: Path) -> None:
    async with SQLiteMemoryBackend(tmp_path / "m.db") as backend:
        store = backend.for_owner(OWNER)
        await store.add(MemoryDraft(content="Ada likes apples"))
        await store.search(APPLES)

    assert counted(tmp_path / "m.db") == 1


async def test_the_uses_of_what_is_forgotten_do_not_fall_to_what_comes_in_its_place(
    tmp_path: Path,
) -> None:
    async with SQLiteMemoryBackend(tmp_path / "m.db") as backend:
        store = backend.for_owner(OWNER)
        old = (await store.add(MemoryDraft(content="Ada likes apples"))).id
        await store.search(APPLES)

        await store.forget([old])
        new = (await store.add(MemoryDraft(content="Ada likes pears"))).id
        (entry,) = await store.peek([new])

    assert entry.access_count == 0
