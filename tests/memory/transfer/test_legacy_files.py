"""What programs of spade_llm 0.2 and 0.3 remembered is in our memory, and stays in their files."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

import pytest

from spade_llm.core.errors import InvalidArguments
from spade_llm.memory import Category, MemoryType, SQLiteMemoryBackend
from spade_llm.memory.transfer.import_formats import is_own_export, read_import
from spade_llm.memory.transfer.importer import import_records
from spade_llm.memory.transfer.json_lines import HEADER
from spade_llm.memory.transfer.memory_file import verify_memory
from spade_llm.memory.transfer.records import ImportedRecord, ImportTarget
from spade_llm.search.memory_query import MemoryQuery
from tests.memory.old_files import AGENT, a_note, a_row, write_database, write_interactions

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture
async def memory(tmp_path: Path) -> Path:
    path = tmp_path / "memory.db"
    async with SQLiteMemoryBackend(path):
        return path


def _records(path: Path, target: ImportTarget | None = None) -> Iterator[ImportedRecord]:
    return read_import(path, target or ImportTarget(), lambda *_: None)


async def test_a_table_keeps_its_dates_and_categories(memory: Path, tmp_path: Path) -> None:
    rows = [
        a_row("1", "Ada likes tea", category="preference", context="said at noon", confidence=0.5),
        a_row("2", "Questions come on Mondays", category="pattern", access_count=3),
        a_row("3", "It speaks SQL", category="capability"),
    ]
    old = write_database(tmp_path / "old.db", rows)
    before = old.read_bytes()

    done = import_records(memory, _records(old))

    assert (done.added, done.present, done.faults) == (3, 0, ())
    assert old.read_bytes() == before
    assert verify_memory(memory) == []
    async with SQLiteMemoryBackend(memory) as backend:
        sql, monday, tea = (await backend.for_owner(AGENT).list()).entries
        found = await backend.for_owner(AGENT).search(MemoryQuery(text="tea"))
    at = datetime.fromisoformat("2025-03-01T10:00:00.123456").astimezone(UTC)
    assert (tea.content, tea.category, tea.type) == (
        "Ada likes tea",
        Category.PREFERENCE,
        MemoryType.PROFILE,
    )
    assert (tea.context, tea.confidence, tea.created_at) == ("said at noon", 0.5, at)
    assert tea.last_accessed_at is None
    assert (monday.category, monday.access_count) == (Category.PATTERN, 3)
    assert monday.last_accessed_at == datetime(2025, 3, 2, 10).astimezone(UTC)
    assert sql.category is Category.CAPABILITY
    assert [hit.entry.id for hit in found.hits] == [tea.id]


async def test_interactions_are_facts_of_their_conversation(memory: Path, tmp_path: Path) -> None:
    notes = {"a@x_b@y": [a_note("The API wants JSON"), a_note("It is slow")], "t-1": []}
    old = write_interactions(tmp_path / "old.json", notes)

    done = import_records(memory, _records(old, ImportTarget(owner="me@x", subject="Ada@X/phone")))

    assert done.added == 2
    async with SQLiteMemoryBackend(memory) as backend:
        entries = (await backend.for_owner("me@x").list()).entries
    assert {entry.content for entry in entries} == {"The API wants JSON", "It is slow"}
    assert {(one.session, one.subject, one.category) for one in entries} == {
        ("a@x_b@y", "ada@x", Category.FACT)
    }
    assert entries[0].created_at == datetime(2025, 3, 1, 10).astimezone(UTC)


async def test_the_same_file_again_changes_nothing(memory: Path, tmp_path: Path) -> None:
    table = write_database(tmp_path / "old.db", [a_row("1"), a_row("2", "Bob rows")])
    notes = write_interactions(tmp_path / "old.json", {"c": [a_note("x"), a_note("x")]})
    for file in (table, notes):
        import_records(memory, _records(file))

    again = [import_records(memory, _records(file)) for file in (table, notes)]

    assert [(done.added, done.present) for done in again] == [(0, 2), (0, 2)]


async def test_a_dry_run_says_what_it_would_do_and_does_nothing(
    memory: Path, tmp_path: Path
) -> None:
    old = write_database(tmp_path / "old.db", [a_row("1"), a_row("2", category="thought")])

    done = import_records(memory, _records(old), is_dry_run=True)

    assert (done.added, done.left_out) == (1, 1)
    assert import_records(memory, _records(old)).added == 1


async def test_bad_rows_are_named_and_the_rest_is_done(memory: Path, tmp_path: Path) -> None:
    rows = [
        a_row("good"),
        a_row("1", category="thought"),
        a_row("2", "  "),
        a_row("3", confidence=7.0),
        a_row("4", created_at="yesterday"),
        a_row("5", access_count=-1),
        a_row("6", b"\xff\xfe"),
        a_row("also good", "Bob rows"),
    ]
    old = write_database(tmp_path / "old.db", rows)

    done = import_records(memory, _records(old))

    assert (done.added, done.left_out) == (2, 6)
    assert [fault.partition(":")[0] for fault in done.faults] == [f"row {n}" for n in range(2, 8)]
    for fault, word in zip(
        done.faults,
        ["category", "content", "confidence", "created_at", "access_count", "content"],
        strict=True,
    ):
        assert word in fault


async def test_bad_notes_are_named_and_the_rest_is_done(memory: Path, tmp_path: Path) -> None:
    notes = {
        "c": [a_note(7), a_note("kept"), "text", a_note("x", "noon")],
        "d\ud800": [a_note("x")],
    }
    old = write_interactions(tmp_path / "old.json", notes)

    done = import_records(memory, _records(old))

    assert (done.added, done.left_out) == (1, 4)
    assert done.faults[0].startswith("'c' note 1: content")


def test_an_export_of_ours_is_left_to_its_own_reader(tmp_path: Path) -> None:
    old = write_interactions(tmp_path / "old.json", {"c": [a_note("x")]})
    (tmp_path / "x").write_text(f"{HEADER}\n")

    assert [is_own_export(path) for path in (old, tmp_path / "x")] == [False, True]


async def test_another_programs_database_is_refused(memory: Path) -> None:
    with pytest.raises(InvalidArguments, match="the format is not known"):
        import_records(memory, _records(memory))
