"""The memory's file: what survives, what is refused, and what a forgotten memory leaves behind."""

from __future__ import annotations

import asyncio
import os
import sqlite3
import sys
from contextlib import closing
from typing import TYPE_CHECKING
from uuid import UUID

import pytest

from spade_llm.core.errors import ConfigurationError, InvalidArguments, StorageFailed
from spade_llm.memory import MemoryDraft, OwnedMemory, SQLiteMemoryBackend
from spade_llm.memory.contract import MemoryChange
from spade_llm.memory.database.schema import APPLICATION_ID, SCHEMA_VERSION
from tests.integration.network import eventually
from tests.memory.contract import ADA, hits, said

if TYPE_CHECKING:
    from pathlib import Path

    from spade_llm.memory.database.connection import Transaction
    from tests.conftest import PlaceOf

OWNER = "assistant@localhost"


@pytest.fixture
def place_of(tmp_path: Path) -> PlaceOf:
    return tmp_path.joinpath


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


async def test_what_is_damaged_does_not_keep_the_rest_from_being_read(tmp_path: Path) -> None:
    path = tmp_path / "m.db"
    async with SQLiteMemoryBackend(path) as backend:
        store = backend.for_owner(OWNER)
        ids = (await store.add_many([long_text(number) for number in range(40)])).ids
        await store.observe("c", [said("1")])
    damage(path, b"entry 39 ")

    async with SQLiteMemoryBackend(path) as backend:
        store = backend.for_owner(OWNER)
        with pytest.raises(StorageFailed, match="damaged"):
            await store.get(ids[39])

        assert (await store.get(ids[0])).content.startswith("entry 0 ")
        assert await store.history("c") == [said("1")]


def long_text(number: int) -> MemoryDraft:
    return MemoryDraft(content=f"entry {number} " + "x" * 900)


def damage(path: Path, text: bytes) -> None:
    """Overwrite the head of the page that has this text."""
    at = path.read_bytes().rindex(text)
    with path.open("r+b") as file:
        file.seek(at - at % 4096)
        file.write(b"\xff" * 64)


async def test_a_file_that_may_only_be_read_is_read(
    backend: SQLiteMemoryBackend, store: OwnedMemory
) -> None:
    entry = await store.add(MemoryDraft(content="before"))
    await backend.write(lambda file: file.all("PRAGMA query_only = ON"))

    with pytest.raises(StorageFailed, match="read-only"):
        await store.add(MemoryDraft(content="after"))

    assert [hit.entry.id for hit in await hits(store, "before")] == [entry.id]
    assert (await store.get(entry.id)).content == "before"


@pytest.mark.thorough
async def test_a_disk_without_room_loses_nothing_that_was_acknowledged(tmp_path: Path) -> None:
    path = tmp_path / "m.db"
    child = await asyncio.create_subprocess_exec(
        sys.executable, "-c", FULL_DISK, str(path), stdout=asyncio.subprocess.PIPE
    )
    async with asyncio.timeout(60):
        output, _ = await child.communicate()
    acknowledged = [line for line in output.decode().splitlines() if not line.startswith("failed")]

    async with SQLiteMemoryBackend(path) as backend:
        page = await backend.for_owner(OWNER).list(limit=1000)

    assert child.returncode == 0
    assert "failed" in output.decode()
    assert acknowledged
    assert [entry.id for entry in reversed(page.entries)] == acknowledged
    with closing(sqlite3.connect(path)) as file:
        assert file.execute("PRAGMA integrity_check").fetchall() == [("ok",)]


FULL_DISK = f"""
import asyncio, resource, signal, sys
from spade_llm.core.errors import StorageFailed
from spade_llm.memory import MemoryDraft, SQLiteMemoryBackend

async def main(path):
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    async with SQLiteMemoryBackend(path) as backend:
        store = backend.for_owner({OWNER!r})
        resource.setrlimit(resource.RLIMIT_FSIZE, (600_000, resource.RLIM_INFINITY))
        for number in range(200):
            try:
                entry = await store.add(MemoryDraft(content=f"{{number}} " + "long " * 1000))
                print(entry.id)
            except StorageFailed as failure:
                print("failed", failure)
                break
        (await store.list()).entries[0]
        resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY,) * 2)
        print((await store.add(MemoryDraft(content="there is room again"))).id)

asyncio.run(main(sys.argv[1]))
"""


def modes_of(folder: Path, name: str) -> dict[str, int]:
    return {path.name: path.stat().st_mode & 0o777 for path in folder.glob(f"{name}*")}


async def test_only_its_user_may_read_the_file(tmp_path: Path) -> None:
    (tmp_path / "old.db").touch(mode=0o644)
    for name in ("new.db", "old.db"):
        async with SQLiteMemoryBackend(tmp_path / name) as backend:
            await backend.for_owner(OWNER).add(MemoryDraft(content="private"))
            modes = modes_of(tmp_path, name)

        assert modes == dict.fromkeys((name, f"{name}-wal", f"{name}-shm"), 0o600)


SECRETS = (
    "xylophon",
    "quokka",
    "wombat",
    "zanzibar",
    "yggdrasil",
    "with ada",
    "narwhal",
    "axolotl",
)


def left_in(backend: SQLiteMemoryBackend) -> set[str]:
    """Which of the secrets are in the file, its log or its shared memory."""
    files = [backend.path, *backend.path.parent.glob(f"{backend.path.name}-*")]
    text = b"".join(path.read_bytes() for path in files).lower()
    return {secret for secret in SECRETS if secret.encode() in text}


async def test_forgetting_leaves_no_trace_in_the_file_or_its_log(
    backend: SQLiteMemoryBackend, store: OwnedMemory
) -> None:
    entry = await store.add(
        MemoryDraft(content="the Xylophone code", context="Quokka", tags=("wombat",))
    )
    await store.update(MemoryChange(id=entry.id, metadata={"x": "narwhal"}))
    await store.set_importance(entry.id, 0.9, reason="axolotl")
    await store.add(MemoryDraft(content="Zanzibar trip", subject=ADA))
    await store.observe("with ada", [said("1", "Yggdrasil")], subject=ADA)
    kept = await store.add(MemoryDraft(content="something else"))
    there_before = left_in(backend)

    await store.forget([entry.id])
    await store.forget_subject(ADA)

    assert there_before == set(SECRETS)
    assert left_in(backend) == set()
    assert (await store.get(kept.id)).content == "something else"


async def test_forgetting_waits_for_nobody_and_is_made_good_later(
    backend: SQLiteMemoryBackend, store: OwnedMemory
) -> None:
    entry = await store.add(MemoryDraft(content="the Xylophone code"))
    with closing(sqlite3.connect(backend.path, isolation_level=None)) as reader:
        reader.execute("BEGIN")
        reader.execute("SELECT count(*) FROM entry").fetchone()
        await backend.write(lambda file: file.all("PRAGMA busy_timeout = 0"))

        await store.forget([entry.id])
        left_while_read = left_in(backend)

    await store.add(MemoryDraft(content="the next write"))

    assert left_while_read == {"xylophon"}
    assert left_in(backend) == set()


async def test_what_is_forgotten_is_noted_without_its_text(
    backend: SQLiteMemoryBackend, store: OwnedMemory
) -> None:
    entry = await store.add(MemoryDraft(content="the Xylophone code"))

    await store.forget([entry.id])

    with closing(sqlite3.connect(backend.path)) as file:
        lines = file.execute("SELECT action, count, ids FROM audit").fetchall()
    assert lines == [("forget", 1, UUID(entry.id).bytes)]


async def test_a_memory_takes_no_more_than_400_bytes(tmp_path: Path) -> None:
    path = tmp_path / "m.db"
    async with SQLiteMemoryBackend(path) as backend:
        store = backend.for_owner(OWNER)
        for batch in range(5):
            drafts = [MemoryDraft(content=sentence(batch * 1000 + at)) for at in range(1000)]
            await store.add_many(drafts)

    assert len(sentence(0)) == 110
    assert path.stat().st_size / 5000 <= 400


def sentence(number: int) -> str:
    """110 characters, as people write them."""
    names = ("Ada", "Grace", "Barbara", "Edsger", "Alan")
    places = ("Lisbon", "Athens", "Prague", "Vienna")
    return (
        f"{names[number % 5]} told me that the meeting about project {number:04} is now"
        f" on Friday in {places[number % 4]}, and that we should bring tea"
    ).ljust(110, ".")[:110]


async def test_what_is_more_than_an_answer_carries_is_refused_before_it_is_stored(
    store: OwnedMemory,
) -> None:
    large, half = {"a": "é" * 16_000}, {"a": "é" * 8_000}
    with pytest.raises(InvalidArguments, match="together"):
        await store.add(MemoryDraft(content="é" * 32_000, metadata=large, context="é" * 4000))
    one = await store.add(MemoryDraft(content="é" * 32_000, metadata=half))
    other = await store.add(MemoryDraft(content="x", metadata={"b": "é" * 7_900}))
    tags = tuple(f"{number}" + "日" * 120 for number in range(32))
    with pytest.raises(InvalidArguments, match="together"):
        await store.update(MemoryChange(id=one.id, tags=tags, context="日" * 4000))
    await store.update(MemoryChange(id=other.id, tags=tags, context="日" * 4000))
    with pytest.raises(InvalidArguments, match="together"):
        await store.merge(one.id, [other.id])

    assert (await store.list()).total == 2


async def test_writes_do_not_wait_behind_an_export_after_something_was_forgotten(
    backend: SQLiteMemoryBackend, store: OwnedMemory
) -> None:
    entry = await store.add(MemoryDraft(content="the code is swordfish"))
    log = backend.path.with_name(f"{backend.path.name}-wal")
    with closing(sqlite3.connect(backend.path, isolation_level=None)) as exporting:
        exporting.execute("BEGIN")
        exporting.execute("SELECT count(*) FROM entry").fetchall()
        async with asyncio.timeout(4):
            await store.forget([entry.id])
            for number in range(5):
                await store.add(MemoryDraft(content=f"{number}"))
        assert b"swordfish" in log.read_bytes()

    async def is_gone() -> bool:
        await store.list()
        return b"swordfish" not in log.read_bytes() + backend.path.read_bytes()

    await eventually(is_gone)
