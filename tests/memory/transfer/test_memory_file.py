"""A memory's file as JSON Lines: out and in again, it is the same memory."""

from __future__ import annotations

import json
import os
import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING

import psycopg
import pytest
from hypothesis import given
from hypothesis import strategies as st

from spade_llm.core.database import DatabaseUrl
from spade_llm.core.errors import InvalidArguments, StorageFailed
from spade_llm.core.postgres import PostgresServer
from spade_llm.memory import MemoryDraft, PostgresMemoryBackend, SQLiteMemoryBackend
from spade_llm.memory.contract import DecayPolicy, MemoryAccess, ObservedMessage
from spade_llm.memory.transfer import json_lines, memory_file
from spade_llm.memory.transfer.memory_file import verify_memory
from spade_llm.search.memory_query import Category, MemoryFilter, MemoryQuery, Tier
from tests.memory.contract import NOON, said

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from spade_llm.memory.transfer.memory_file import MemoryPlace
    from tests.postgres_server import PostgresProcess

ADA = "ada@localhost"


def nothing(_done: int, _total: int) -> None:
    return


def exported(place: MemoryPlace) -> list[str]:
    return list(memory_file.export_lines(place, nothing))


async def filled(path: Path) -> Path:
    """Something of every kind, with two owners."""
    async with SQLiteMemoryBackend(path) as backend:
        one, two = backend.for_owner("one@localhost"), backend.for_owner("two@localhost")
        first = await one.add(
            MemoryDraft(
                content="Ada likes tea\u2028 \u0007 😀",
                category=Category.PREFERENCE,
                context="breakfast",
                subject=ADA,
                tags=("té", "b"),
                metadata={"z": [1, None, {"a": 0.1}], "a": "x"},
                importance=0.25,
                valid_at=NOON,
            ),
            key="k1",
        )
        again = MemoryDraft(
            content=first.content, category=Category.PREFERENCE, subject=ADA, session="s"
        )
        await one.add(again, key="k2")
        second = await one.add(MemoryDraft(content="short", tier=Tier.SHORT_TERM, ttl_s=3600))
        hidden = await one.add(MemoryDraft(content="hidden"))
        await one.delete(MemoryFilter(), ids=[hidden.id])
        await one.link(first.id, second.id, relation="before")
        await one.grant("two@localhost", access=MemoryAccess.WRITE, tag="té")
        await one.configure_decay(DecayPolicy(older_than_s=60))
        await one.set_consent(ADA, is_given=True)
        await two.add(MemoryDraft(content="of another"))
        await one.observe("c", [said("1"), said("2", "…", "assistant")], subject=ADA)
        await one.close_conversation("c")
        recalled = ObservedMessage(
            id="3", role="user", content="x", at=NOON, speaker="Ada", recalled=(first.id,)
        )
        await one.observe("c", [recalled], subject=ADA)
        await one.forget([(await one.add(MemoryDraft(content="forgotten"))).id])
    return path


async def empty(path: Path) -> Path:
    async with SQLiteMemoryBackend(path):
        return path


async def test_an_export_that_is_imported_is_exported_the_same(tmp_path: Path) -> None:
    lines = exported(await filled(tmp_path / "a.db"))
    target = await empty(tmp_path / "b.db")

    done = memory_file.import_lines(target, [line + "\n" for line in lines])

    assert exported(target) == lines
    assert (done.added, done.present) == (len(lines) - 1, 0)
    assert {json.loads(line)["kind"] for line in lines[1:]} == set(json_lines.RECORD_FIELDS)
    assert verify_memory(target) == []


@pytest.mark.thorough
async def test_an_export_of_a_database_is_that_of_the_file_that_it_was_filled_with(
    tmp_path: Path, postgres: PostgresProcess
) -> None:
    file = await filled(tmp_path / "a.db")
    lines = exported(file)
    address = DatabaseUrl(postgres.url())
    async with PostgresServer(address, agent="exported@example.org") as server:
        with pytest.raises(StorageFailed, match="has no memory"):
            exported(server)
        async with PostgresMemoryBackend(server) as backend:
            store = backend.for_owner("one@localhost")
            before = await store.search(MemoryQuery(text="tea"))  # Its index is in RAM now.
            tried = memory_file.import_lines(server, lines, is_dry_run=True)
            done = memory_file.import_lines(server, lines)
            written = exported(server)
            found = await store.search(MemoryQuery(text="tea"))
        again = memory_file.import_lines(server, lines)

        assert written == lines
        assert (tried.added, done.added, again.added) == (len(lines) - 1, len(lines) - 1, 0)
        assert not before.hits
        assert "Ada likes tea" in found.hits[0].entry.content
        assert verify_memory(server) == []
        owners, whole = memory_file.read_statistics(server)
        assert owners == memory_file.read_statistics(file)[0]
        with psycopg.connect(postgres.url()) as connection:
            connection.execute(
                'UPDATE "exported@example.org".entry SET content_hash = 1'
                " WHERE deleted_at IS NOT NULL"
            )
        assert verify_memory(server) == ["1 texts that do not match their hash"]
        assert whole.size_bytes > 100_000


async def test_what_was_imported_answers_as_before(tmp_path: Path) -> None:
    source, target = await filled(tmp_path / "a.db"), await empty(tmp_path / "b.db")

    memory_file.import_lines(target, exported(source))

    async with SQLiteMemoryBackend(source) as before, SQLiteMemoryBackend(target) as after:
        for owner in ("one@localhost", "two@localhost"):
            one, other = before.for_owner(owner), after.for_owner(owner)
            ids = [entry.id for entry in (await one.list()).entries]
            assert [entry.id for entry in (await other.list()).entries] == ids
            assert await other.history("c") == await one.history("c")
            assert await other.grants() == await one.grants()
        store = after.for_owner("one@localhost")
        total = (await store.list()).total
        await store.add(MemoryDraft(content="anything"), key="k1")
        assert (await store.list()).total == total


async def test_what_is_there_already_stays_as_it_is(tmp_path: Path) -> None:
    path = await filled(tmp_path / "a.db")
    lines = exported(path)
    changed = [line.replace("Ada likes tea", "Ada hates tea") for line in lines]

    done = memory_file.import_lines(path, changed)

    assert done.added == 0
    assert exported(path) == lines


BAD: dict[str, Callable[[dict[str, object]], dict[str, object]]] = {
    "kind": lambda line: {**line, "kind": "dream"},
    "content: missing": lambda line: {k: v for k, v in line.items() if k != "content"},
    "type": lambda line: {**line, "type": "vague"},
    "id": lambda line: {**line, "id": "7"},
    "created_at": lambda line: {**line, "created_at": "soon"},
    "confidence": lambda line: {**line, "confidence": True},
    "tags": lambda line: {**line, "tags": "tag"},
    "metadata": lambda line: {**line, "metadata": [1]},
    "colour": lambda line: {**line, "colour": "red"},
    "owner": lambda line: {**line, "owner": 7},
}


@pytest.mark.parametrize("what", BAD)
async def test_a_bad_line_is_named_and_nothing_is_imported(tmp_path: Path, what: str) -> None:
    lines = exported(await filled(tmp_path / "a.db"))
    lines[3] = json.dumps(BAD[what](json.loads(lines[3])))
    target = await empty(tmp_path / "b.db")

    with pytest.raises(InvalidArguments, match=rf"^line 4: .*{what}"):
        memory_file.import_lines(target, lines)

    assert exported(target) == [json_lines.HEADER]


@pytest.mark.parametrize(
    "lines",
    [[], ["{}"], ["hello"], ['{"format": "spade-llm memory", "version": 2}'], ["[]"], ["\ud83d"]],
)
async def test_a_file_that_is_no_export_is_refused(tmp_path: Path, lines: list[str]) -> None:
    with pytest.raises(InvalidArguments):
        memory_file.import_lines(await empty(tmp_path / "b.db"), lines)


@given(st.text() | st.recursive(st.none() | st.text(), st.lists).map(json.dumps))
def test_no_line_is_answered_with_anything_else(line: str) -> None:
    for read in (json_lines.decode_record, json_lines.check_header):
        try:
            read(line)
        except InvalidArguments:
            continue


async def test_an_export_is_of_one_moment_while_others_write(tmp_path: Path) -> None:
    path = await filled(tmp_path / "a.db")
    expected = exported(path)

    async with SQLiteMemoryBackend(path) as backend:
        lines = memory_file.export_lines(path, nothing)
        begun = [next(lines), next(lines)]
        await backend.for_owner("late@localhost").add(MemoryDraft(content="too late"))
        rest = list(lines)

    assert begun + rest == expected


async def test_a_copy_is_the_memory_with_its_vectors(tmp_path: Path) -> None:
    path = await filled(tmp_path / "a.db")

    async with SQLiteMemoryBackend(path):
        memory_file.backup_file(path, tmp_path / "copy.db", nothing)

    assert exported(tmp_path / "copy.db") == exported(path)
    assert verify_memory(tmp_path / "copy.db") == []
    assert sorted(name for name in os.listdir(tmp_path) if name.startswith("copy")) == ["copy.db"]


async def test_a_text_that_was_changed_behind_our_back_is_noticed(tmp_path: Path) -> None:
    path = await filled(tmp_path / "a.db")
    path.write_bytes(path.read_bytes().replace(b"of another", b"of anybody"))

    assert any("do not match their hash" in fault for fault in verify_memory(path))


async def test_a_page_that_was_overwritten_is_noticed(tmp_path: Path) -> None:
    path = await filled(tmp_path / "a.db")
    whole = path.read_bytes()
    at = whole.index(b"of another") // 4096 * 4096
    path.write_bytes(whole[:at] + b"\xff" * 4096 + whole[at + 4096 :])

    assert verify_memory(path) != []


async def test_a_file_of_another_version_is_refused(tmp_path: Path) -> None:
    path = await filled(tmp_path / "a.db")
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA user_version = 99")

    with pytest.raises(StorageFailed, match="99"):
        exported(path)
