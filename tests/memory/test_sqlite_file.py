"""The memory's file: what survives, what is refused, and what a forgotten memory leaves behind."""

from __future__ import annotations

import asyncio
import os
import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING

import pytest

from spade_llm.errors import ConfigurationError, StorageFailed
from spade_llm.memory import MemoryDraft, OwnedMemory, SQLiteMemoryBackend
from spade_llm.memory.schema import APPLICATION_ID, SCHEMA_VERSION
from tests.memory.contract import ADA, hits, said

if TYPE_CHECKING:
    from pathlib import Path

    from spade_llm.memory.transaction import Transaction

OWNER = "assistant@localhost"


async def test_memories_and_conversations_survive_a_restart(tmp_path: Path) -> None:
    async with SQLiteMemoryBackend(tmp_path / "m.db") as backend:
        entry = await backend.for_owner(OWNER).add(MemoryDraft(content="Ada likes tea"), key="k")
        await backend.for_owner(OWNER).observe("c", [said("1")])

    async with SQLiteMemoryBackend(tmp_path / "m.db") as backend:
        store = backend.for_owner(OWNER)

        assert (await store.list()).entries == (entry,)
        assert [hit.entry for hit in await hits(store, "tea")] == [entry]
        assert await store.history("c") == [said("1")]
        assert (await store.add(MemoryDraft(content="Ada likes tea"), key="k")).id == entry.id
        assert (await store.list()).total == 1


async def test_the_file_records_its_kind_and_schema(
    backend: SQLiteMemoryBackend,
) -> None:
    with closing(sqlite3.connect(backend.path)) as file:
        assert file.execute("PRAGMA application_id").fetchone() == (APPLICATION_ID,)
        assert file.execute("PRAGMA user_version").fetchone() == (SCHEMA_VERSION,)
        assert file.execute("PRAGMA journal_mode").fetchone() == ("wal",)


async def test_a_file_of_a_newer_schema_is_refused_and_left_alone(tmp_path: Path) -> None:
    async with SQLiteMemoryBackend(tmp_path / "m.db"):
        pass
    with closing(sqlite3.connect(tmp_path / "m.db")) as file:
        file.execute(f"PRAGMA user_version = {SCHEMA_VERSION + 1}")

    with pytest.raises(ConfigurationError, match="newer"):
        await SQLiteMemoryBackend(tmp_path / "m.db").open()

    with closing(sqlite3.connect(tmp_path / "m.db")) as file:
        assert file.execute("PRAGMA user_version").fetchone() == (SCHEMA_VERSION + 1,)


async def test_a_database_of_another_program_is_refused_and_left_alone(tmp_path: Path) -> None:
    with closing(sqlite3.connect(tmp_path / "m.db")) as file:
        file.execute("CREATE TABLE agent_memories (id TEXT)")

    with pytest.raises(ConfigurationError, match="another program"):
        await SQLiteMemoryBackend(tmp_path / "m.db").open()

    with closing(sqlite3.connect(tmp_path / "m.db")) as file:
        assert file.execute("SELECT name FROM sqlite_schema").fetchall() == [("agent_memories",)]


async def test_a_file_that_is_no_database_is_refused_by_name(tmp_path: Path) -> None:
    (tmp_path / "m.db").write_text("not a database, but long enough to look at " * 9)

    with pytest.raises(ConfigurationError, match=r"m\.db.*not a database"):
        await SQLiteMemoryBackend(tmp_path / "m.db").open()


async def test_a_file_in_no_folder_is_refused_by_name(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match=r"nowhere/m\.db.*cannot be opened"):
        await SQLiteMemoryBackend(tmp_path / "nowhere" / "m.db").open()


async def test_an_open_memory_can_be_opened_again_and_closed_twice(tmp_path: Path) -> None:
    backend = SQLiteMemoryBackend(tmp_path / "m.db")

    assert await backend.open() is await backend.open()
    await backend.close()
    await backend.close()

    async with backend:
        assert (await backend.for_owner(OWNER).list()).total == 0


async def test_a_memory_in_no_file_lasts_until_it_is_closed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    backend = SQLiteMemoryBackend(":memory:")
    async with backend:
        await backend.for_owner(OWNER).add(MemoryDraft(content="Ada likes tea"))
        assert len(await hits(backend.for_owner(OWNER), "tea")) == 1

    async with backend:
        assert await hits(backend.for_owner(OWNER), "tea") == ()
    assert os.listdir(tmp_path) == []


async def test_a_closed_memory_says_so(tmp_path: Path) -> None:
    async with SQLiteMemoryBackend(tmp_path / "m.db") as backend:
        store = backend.for_owner(OWNER)

    with pytest.raises(StorageFailed, match="closed"):
        await store.add(MemoryDraft(content="too late"))
    with pytest.raises(StorageFailed, match="closed"):
        await hits(store, "late")


async def test_closing_commits_what_is_queued(tmp_path: Path) -> None:
    backend = await SQLiteMemoryBackend(tmp_path / "m.db").open()
    store = backend.for_owner(OWNER)
    writes = [
        asyncio.create_task(store.add(MemoryDraft(content=f"fact {number}")))
        for number in range(300)
    ]
    await writes[0]

    await backend.close()

    await asyncio.gather(*writes)
    async with backend:
        assert (await store.list()).total == 300


async def test_a_damaged_page_is_an_error_without_internals(tmp_path: Path) -> None:
    path = tmp_path / "m.db"
    async with SQLiteMemoryBackend(path) as backend:
        for number in range(50):
            await backend.for_owner(OWNER).add(MemoryDraft(content=f"fact {number} " + "x" * 500))
    with path.open("r+b") as file:
        file.seek(4096 * 4)
        file.write(b"\xff" * 4096 * 8)

    async with SQLiteMemoryBackend(path) as backend:
        with pytest.raises(StorageFailed, match="damaged") as failure:
            await backend.for_owner(OWNER).list(limit=100)

    assert str(path) not in str(failure.value)


async def test_a_full_disk_fails_the_write_and_reads_go_on(
    backend: SQLiteMemoryBackend, store: OwnedMemory
) -> None:
    await store.add(MemoryDraft(content="before"))
    await backend.write(_page_limit)

    with pytest.raises(StorageFailed, match="full"):
        for number in range(100):
            await store.add(MemoryDraft(content=f"{number} " + "long " * 5000))

    assert [hit.entry.content for hit in await hits(store, "before")] == ["before"]


def _page_limit(file: Transaction) -> None:
    file.all("PRAGMA max_page_count = 60")


async def test_forgetting_leaves_no_trace_in_the_file(
    backend: SQLiteMemoryBackend, store: OwnedMemory
) -> None:
    entry = await store.add(
        MemoryDraft(content="the Xylophone code", context="Quokka", tags=("wombat",))
    )
    await store.add(MemoryDraft(content="Zanzibar trip", subject=ADA))
    await store.observe("with ada", [said("1", "Yggdrasil")], subject=ADA)
    await store.add(MemoryDraft(content="something else"))

    await store.forget([entry.id])
    await store.forget_subject(ADA)
    await backend.close()

    left = backend.path.read_bytes().lower()
    assert b"something" in left
    for word in (b"xylophon", b"quokka", b"wombat", b"zanzibar", b"yggdrasil", b"with ada"):
        assert word not in left
