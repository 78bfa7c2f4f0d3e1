"""Memories and chats of other programs, from their files into ours."""

from __future__ import annotations

import json
import sqlite3
import zipfile
from contextlib import closing
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spade_llm.cli.command_line import IMPORT_FORMAT_NAMES
from spade_llm.core.errors import InvalidArguments
from spade_llm.memory import Category, SQLiteMemoryBackend
from spade_llm.memory.transfer import import_file
from spade_llm.memory.transfer.import_formats import FORMAT_NAMES, IMPORT_FORMATS, read_import
from spade_llm.memory.transfer.importer import import_records
from spade_llm.memory.transfer.memory_file import verify_memory
from spade_llm.memory.transfer.records import ImportedRecord, ImportTarget, parse_time

if TYPE_CHECKING:
    from collections.abc import Iterable

    from spade_llm.memory.contract import MemoryEntry, ObservedMessage
    from spade_llm.memory.transfer.memory_file import ImportSummary

FILES = Path(__file__).with_name("files")
OWNER, ADA = "helper@localhost", "ada@localhost"
TARGET = ImportTarget(owner=OWNER, subject=ADA)

EXPECTED = {
    "mem0_get_all.json": (3, 0, {}),
    "mem0_platform.json": (1, 0, {"expired memory": 1}),
    "mcp_memory.jsonl": (5, 0, {}),
    "letta.af": (
        4,
        4,
        {"system message": 2, "tool message": 1, "unfilled line": 1},
    ),
    "letta_server.af": (4, 3, {"system message": 2, "tool message": 2}),
    "letta_server_v1.af": (4, 2, {"system message": 2, "tool message": 1}),
    "llm_memory.json": (0, 3, {"system message": 1}),
    "chatgpt_conversations.json": (
        3,
        5,
        {"tool message": 1, "system message": 1, "reasoning message": 1, "other-branch message": 1},
    ),
    "claude_conversations.json": (0, 2, {"other-branch message": 1}),
    "claude_memories.json": (3, 0, {}),
    "claude_projects.json": (2, 0, {"project instruction": 1, "project document": 1}),
    "open_webui_chats.json": (0, 2, {"other-branch message": 1}),
    "open_webui_memories.json": (1, 0, {}),
}
"""Memories, messages and what is left out, for each file."""


@pytest.fixture
async def memory(tmp_path: Path) -> Path:
    path = tmp_path / "memory.db"
    async with SQLiteMemoryBackend(path):
        return path


def imported(
    memory: Path,
    *files: Path,
    format_name: str | None = None,
    person: str = "",
    is_dry_run: bool = False,
) -> ImportSummary:
    for file in files:
        done = import_records(
            memory,
            read_import(file, TARGET, lambda *_: None, format_name=format_name),
            person=person,
            is_dry_run=is_dry_run,
        )
    return done


async def entries(memory: Path) -> dict[str, MemoryEntry]:
    async with SQLiteMemoryBackend(memory) as backend:
        page = await backend.for_owner(OWNER).list(limit=1000)
    return {entry.content: entry for entry in page.entries}


async def history(memory: Path, conversation: str) -> list[ObservedMessage]:
    async with SQLiteMemoryBackend(memory) as backend:
        return list(await backend.for_owner(OWNER).history(conversation, limit=1000))


def written(path: Path, content: object) -> Path:
    path.write_text(json.dumps(content), encoding="utf-8")
    return path


def mem0_database(folder: Path) -> Path:
    return database_of(folder, "mem0_history.sql")


def database_of(folder: Path, dump: str) -> Path:
    """The database that another program wrote, from its dump."""
    path = folder / f"{dump}.db"
    with closing(sqlite3.connect(path)) as database:
        database.executescript((FILES / dump).read_text())
    return path


MEM0_OF_TWO = [
    {"id": "1", "user_id": "ada", "memory": "User likes tea"},
    {"id": "2", "user_id": "bob", "memory": "User likes jazz"},
    {"id": "3", "user_id": "bob", "memory": "User has a boat"},
]


async def test_memories_of_several_persons_do_not_become_those_of_one(
    memory: Path, tmp_path: Path
) -> None:
    file = written(tmp_path / "all.json", MEM0_OF_TWO)

    with pytest.raises(InvalidArguments, match=r"2 persons \(bob: 2, ada: 1\).*--person ID"):
        imported(memory, file)
    with pytest.raises(InvalidArguments, match=r"--person: it has no records of 'eve'"):
        imported(memory, file, person="eve")
    with pytest.raises(InvalidArguments, match="--person: .* names no persons"):
        imported(memory, FILES / "mcp_memory.jsonl", person="ada")
    assert await entries(memory) == {}

    done = imported(memory, file, person="ada")

    assert set(await entries(memory)) == {"User likes tea"}
    assert dict(done.omitted) == {"other person's record": 2}


async def test_messages_in_mem0s_database_name_their_person(memory: Path, tmp_path: Path) -> None:
    path = mem0_database(tmp_path)
    with closing(sqlite3.connect(path)) as database, database:
        scope = "agent_id=helper&user_id=bob"
        database.execute("UPDATE messages SET session_scope = ? WHERE rowid = 1", [scope])

    with pytest.raises(InvalidArguments, match=r"2 persons \(u1: 3, bob: 1\)"):
        imported(memory, path)


def test_an_administrators_chats_of_open_webui_name_their_person(
    memory: Path, tmp_path: Path
) -> None:
    (chat,) = json.loads((FILES / "open_webui_chats.json").read_text())
    chats = [{**chat, "user_id": "u1"}, {**chat, "id": "other", "user_id": "u2"}]

    with pytest.raises(InvalidArguments, match="records of 2 persons"):
        imported(memory, written(tmp_path / "all-chats.json", chats))


@pytest.mark.parametrize(
    ("version", "conversations", "first"),
    [("0.27", 1, "01m8589gqdgxa7222kfpc917nc"), ("0.36", 2, "01m855x1crpqanp1j50yswgn86")],
)
async def test_the_log_of_llm_is_imported_once(
    memory: Path, tmp_path: Path, version: str, conversations: int, first: str
) -> None:
    path = database_of(tmp_path, f"llm_logs_{version}.sql")

    done = imported(memory, path)
    again = imported(memory, path)

    assert (done.conversations, done.faults) == (conversations, ())
    assert (again.added, again.present) == (0, done.added)
    said = await history(memory, f"llm:{first}")
    assert [(one.role, one.content) for one in said[:3]] == [
        ("user", "My violin teacher is called Ms Okafor"),
        ("assistant", "Noted: My violin teacher is called Ms Okafor"),
        ("user", "And I rehearse on Tuesdays at 18:00"),
    ]
    assert said[0].at.date().isoformat() == "2026-11-23"


@pytest.mark.parametrize("file", EXPECTED)
async def test_a_file_is_recognized_and_imported_once(memory: Path, file: str) -> None:
    memories, messages, omitted = EXPECTED[file]

    tried = imported(memory, FILES / file, is_dry_run=True)
    done = imported(memory, FILES / file)
    again = imported(memory, FILES / file)

    assert done.faults == ()
    assert (done.counts.get("entry", 0), done.counts.get("message", 0)) == (memories, messages)
    assert dict(done.omitted) == omitted
    assert (tried.counts, tried.omitted) == (done.counts, done.omitted)
    assert (again.added, again.updated, again.present) == (0, 0, memories + messages)
    assert verify_memory(memory) == []
    found = await entries(memory)
    assert len(found) == memories
    assert {entry.subject for entry in found.values()} <= {ADA, None}


async def test_mem0_keeps_dates_scopes_and_categories(memory: Path) -> None:
    imported(memory, FILES / "mem0_get_all.json", FILES / "mem0_platform.json")

    found = await entries(memory)
    sister, rowing = found["User's sister is called Ana"], found["Rows on the river every Sunday"]
    assert sister.metadata["topic"] == "family"
    assert (sister.metadata["imported_from"], sister.metadata["user_id"]) == ("mem0", "u1")
    assert sister.category is Category.FACT
    assert rowing.tags == ("mem0", "sports", "hobbies")
    assert rowing.created_at == datetime(2025, 3, 1, 10, 0, 0, 419171, tzinfo=UTC)
    assert rowing.updated_at == datetime(2025, 3, 2, 10, 0, 0, 419171, tzinfo=UTC)


async def test_mem0s_database_has_the_current_memories_under_the_same_ids(
    memory: Path, tmp_path: Path
) -> None:
    imported(memory, FILES / "mem0_get_all.json")

    done = imported(memory, mem0_database(tmp_path))

    assert dict(done.counts) == {"message": 4}
    assert (done.present, done.conversations) == (3, 3)
    assert dict(done.omitted) == {"deleted memory": 1}
    assert "User works at a library in Lisbon" in await entries(memory)


async def test_a_text_that_changed_in_the_other_program_is_updated(
    memory: Path, tmp_path: Path
) -> None:
    page = json.loads((FILES / "mem0_platform.json").read_text())
    imported(memory, FILES / "mem0_platform.json")
    page["results"][0] |= {"memory": "Rows on Mondays", "updated_at": "2025-06-01T00:00:00Z"}
    newer = written(tmp_path / "newer.json", page)

    done = imported(memory, newer)
    older = imported(memory, FILES / "mem0_platform.json")

    assert (done.added, done.updated, older.updated, older.present) == (0, 1, 0, 1)
    assert list(await entries(memory)) == ["Rows on Mondays"]


async def test_a_graph_becomes_sentences(memory: Path) -> None:
    imported(memory, FILES / "mcp_memory.jsonl")

    assert set(await entries(memory)) == {
        "Speaks Portuguese",
        "Plays the cello",
        "Is allergic to peanuts",
        "Harbour Library: Opens at nine",
        "The user works at Harbour Library",
    }


async def test_lettas_blocks_become_lines_and_its_messages_words(memory: Path) -> None:
    imported(memory, FILES / "letta.af")

    found = await entries(memory)
    assert (found["Likes sailing"].subject, found["Likes sailing"].tags) == (
        ADA,
        ("letta", "human"),
    )
    assert found["I am Sam. I am curious."].subject is None
    assert [(message.role, message.content) for message in await history(memory, "letta:sam")] == [
        ("user", "My parrot is called Kiki."),
        ("assistant", "Hello Kiki!"),
        ("user", "Which seeds does Kiki like?"),
        ("assistant", "Most parrots like millet."),
    ]


async def test_lettas_first_version_of_agent_files_is_read(memory: Path, tmp_path: Path) -> None:
    content = [{"type": "text", "text": "My parrot is called Kiki."}]
    old = {
        "agent_type": "memgpt_agent",
        "name": "sam",
        "core_memory": [
            {"label": "human", "value": "Name: Ada", "created_at": "2025-03-01T10:00:00+00:00"}
        ],
        "messages": [{"role": "user", "content": content, "created_at": "2025-03-01T10:00:01"}],
    }

    done = imported(memory, written(tmp_path / "old.af", old))

    assert dict(done.counts) == {"entry": 1, "message": 1}
    assert (await entries(memory))["Name: Ada"].created_at.isoformat().startswith("2025-03-01T10")


async def test_chatgpts_branch_that_is_shown_is_imported_with_its_dates(memory: Path) -> None:
    imported(memory, FILES / "chatgpt_conversations.json")

    found = await history(memory, "chatgpt:67757f00-0000-8000-8000-000000000001")
    assert [(message.role, message.content) for message in found] == [
        ("user", "My dog is called Bruno and he is afraid of thunder."),
        ("assistant", "I will remember Bruno."),
        ("user", "What breed is he in this picture?"),
        ("assistant", "He looks like a beagle."),
    ]
    assert found[0].at == datetime(2025, 1, 1, 10, 0, 1, tzinfo=UTC)
    facts = await entries(memory)
    assert set(facts) == {
        "I am a violin maker from Cremona.",
        "Answer briefly.",
        "Has a dog called Bruno.",
    }
    assert facts["Answer briefly."].category is Category.PREFERENCE


def test_a_conversation_that_chatgpt_must_not_remember_is_left_out(
    memory: Path, tmp_path: Path
) -> None:
    export = json.loads((FILES / "chatgpt_conversations.json").read_text(encoding="utf-8"))
    export[0]["is_do_not_remember"] = True

    done = imported(memory, written(tmp_path / "x.json", export))

    assert (done.added, dict(done.omitted)) == (1, {"do-not-remember conversation": 1})


async def test_a_newer_export_adds_what_is_new(memory: Path, tmp_path: Path) -> None:
    export = json.loads((FILES / "chatgpt_conversations.json").read_text(encoding="utf-8"))
    imported(memory, FILES / "chatgpt_conversations.json")
    node = json.loads(json.dumps(export[0]["mapping"]["q2"]))
    node |= {"id": "q3", "parent": "a2", "children": []}
    node["message"] |= {"id": "q3", "create_time": 1735730000.0}
    export[0]["mapping"]["q3"] = node
    export[0]["current_node"] = "q3"

    done = imported(memory, written(tmp_path / "newer.json", export))

    assert dict(done.counts) == {"message": 1}
    found = await history(memory, "chatgpt:67757f00-0000-8000-8000-000000000001")
    assert [message.id for message in found][-2:] == ["a2", "q3"]


async def test_claude_and_open_webui_keep_words_and_drop_reasoning(memory: Path) -> None:
    names = ("claude_conversations", "claude_memories", "open_webui_chats")
    imported(memory, *(FILES / f"{name}.json" for name in names))

    claude = await history(memory, "claude:c0000000-0000-4000-8000-000000000001")
    webui = await history(memory, "open-webui:w1")
    found = await entries(memory)
    assert [message.content for message in claude] == [
        "I grow tomatoes on my balcony.",
        "Lovely tomatoes!",
    ]
    assert [message.content for message in webui] == ["My boat is called Zephyr.", "A good name."]
    assert found["Runs a small bakery in Ghent."].context == "Work context"


async def test_an_archive_is_read_with_what_is_known_in_it(memory: Path, tmp_path: Path) -> None:
    archive = tmp_path / "export.zip"
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as file:
        for name in ("conversations", "memories", "projects"):
            file.write(FILES / f"claude_{name}.json", f"data/{name}.json")
        file.writestr("data/users.json", '[{"uuid": "ac", "full_name": "x"}]')
        file.writestr("data/photo.png", b"\x89PNG")

    done = imported(memory, archive)

    assert dict(done.counts) == {"message": 2, "entry": 5}


def test_a_zip_bomb_is_refused(memory: Path, tmp_path: Path) -> None:
    archive = tmp_path / "bomb.zip"
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as file:
        file.writestr("conversations.json", b" " * 20_000_000)

    with pytest.raises(InvalidArguments, match="ZIP bomb"):
        imported(memory, archive)


def test_a_damaged_archive_imports_nothing(memory: Path, tmp_path: Path) -> None:
    archive = tmp_path / "export.zip"
    with zipfile.ZipFile(archive, "w") as file:
        file.write(FILES / "claude_conversations.json", "conversations.json")
    archive.write_bytes(archive.read_bytes().replace(b"Lovely tomatoes", b"Lonely tomatoes"))

    with pytest.raises(InvalidArguments, match="cannot be read"):
        imported(memory, archive)

    assert imported(memory, FILES / "claude_conversations.json").added == 2


async def test_bad_records_are_named_with_place_and_field(memory: Path, tmp_path: Path) -> None:
    lines = [
        '{"type": "entity", "name": "Ada", "entityType": "person", "observations": ["Rows"]}',
        '{"type": "entity", "name": "Ada", "entityType": "person", "observations": [',
        '{"type": "relation", "from": "Ada", "to": 7, "relationType": "knows"}',
        '{"type": "entity", "name": "Ada", "entityType": "person", "observations": [7, "Sings"]}',
    ]
    file = tmp_path / "memory.jsonl"
    file.write_text("\n".join(lines))

    done = imported(memory, file)

    assert (done.added, done.left_out) == (2, 3)
    assert [fault.split(":")[0] for fault in done.faults] == [
        "record 2",
        "record 3",
        "record 4 ('Ada'), observation 1",
    ]
    assert "to: " in done.faults[1]


def test_an_array_that_ends_early_gives_what_was_in_it(memory: Path, tmp_path: Path) -> None:
    whole = (FILES / "mem0_get_all.json").read_text()
    memories = json.dumps(json.loads(whole)["results"])
    file = tmp_path / "cut.json"
    file.write_text(memories[: memories.rindex('"id"') + 20])

    done = imported(memory, file)

    assert (done.added, done.faults) == (2, ("record 3: the file ends within it",))


def test_a_cycle_in_a_tree_of_messages_ends(memory: Path, tmp_path: Path) -> None:
    export = json.loads((FILES / "chatgpt_conversations.json").read_text(encoding="utf-8"))
    export[1]["mapping"]["r"]["parent"] = "u"

    assert imported(memory, written(tmp_path / "x.json", [export[1]])).added == 1


@pytest.mark.parametrize(
    ("target", "option"),
    [
        (ImportTarget(subject=ADA), "needs --owner"),
        (ImportTarget(owner=OWNER), "needs --about"),
        (ImportTarget(owner="helper", subject=ADA), "--owner: 'helper' is not a bare JID"),
        (ImportTarget(owner=OWNER, subject=f"{ADA}/phone"), "--about"),
    ],
)
def test_a_missing_owner_or_person_is_asked_for(target: ImportTarget, option: str) -> None:
    with pytest.raises(InvalidArguments, match=option):
        list(read_import(FILES / "mcp_memory.jsonl", target, lambda *_: None))


async def test_what_was_forgotten_here_stays_forgotten(memory: Path) -> None:
    imported(memory, FILES / "open_webui_memories.json")
    async with SQLiteMemoryBackend(memory) as backend:
        store = backend.for_owner(OWNER)
        await store.forget([(await store.list()).entries[0].id])

    done = imported(memory, FILES / "open_webui_memories.json")

    assert (done.added, dict(done.omitted)) == (0, {"forgotten memory": 1})


def test_an_unknown_file_lists_the_formats(tmp_path: Path) -> None:
    for content in ({"x": 1}, [], "text", [[1]]):
        with pytest.raises(InvalidArguments, match="open-webui"):
            list(read_import(written(tmp_path / "x", content), TARGET, lambda *_: None))


def test_a_format_can_be_forced(memory: Path, tmp_path: Path) -> None:
    file = written(tmp_path / "x.json", [{"text": "no memory"}])

    done = imported(memory, file, format_name="mem0")

    assert done.faults == ("record 1: id: Field required",)


def test_the_command_line_names_all_formats() -> None:
    assert IMPORT_FORMAT_NAMES == FORMAT_NAMES


def test_items_are_read_whatever_the_size_of_the_chunks(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    content = [{"id": f"{n}", "memory": 'é\\"😀' * n} for n in range(40)]
    array, lines = written(tmp_path / "a", content), tmp_path / "b"
    lines.write_text("\n".join(map(json.dumps, content)), encoding="utf-8-sig")

    for size in (1, 7, 4096):
        monkeypatch.setattr(import_file, "CHUNK_BYTES", size)
        for file in (array, lines):
            items = [item.value for part in import_file.read_parts(file) for item in part.items]
            assert items == content


def test_an_item_that_is_too_long_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(import_file, "CHUNK_BYTES", 16)
    monkeypatch.setattr(import_file, "MAX_ITEM_CHARS", 64)
    parts = import_file.read_parts(written(tmp_path / "a", [{"memory": "x" * 1000}]))

    faults = [item.fault for part in parts for item in part.items]

    assert faults == ["it has over 64 characters"]


JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner),
    max_leaves=8,
)


@given(st.sampled_from([one for one in IMPORT_FORMATS if one.read]), st.data())
def test_no_item_is_answered_with_anything_but_records(kind: object, data: st.DataObject) -> None:
    assert isinstance(kind, type(IMPORT_FORMATS[0]))
    assert kind.recognizes is not None and kind.read is not None
    value = data.draw(JSON_VALUES | _spoilt(kind.name))

    if isinstance(value, dict):
        kind.recognizes(value)
    records: Iterable[ImportedRecord] = kind.read("x", value, TARGET)

    assert all(isinstance(record, ImportedRecord) for record in records)


@cache
def _spoilt(name: str) -> st.SearchStrategy[object]:
    """Items of the format with one value replaced."""
    items = [
        item.value
        for file in FILES.glob(f"{name.replace('-', '_')}*.*")
        if file.suffix != ".sql"
        for part in import_file.read_parts(file)
        for item in part.items
    ]
    if not items:
        return JSON_VALUES
    return st.builds(_replaced, st.sampled_from(items), st.integers(0, 200), JSON_VALUES)


def _replaced(item: object, at: int, value: object) -> object:
    whole = json.loads(json.dumps(item))
    places: list[tuple[dict[str, object] | list[object], str | int]] = []
    _collect(whole, places)
    if places:
        container, key = places[at % len(places)]
        container[key] = value  # type: ignore[index]
    return whole


def _collect(
    value: object, places: list[tuple[dict[str, object] | list[object], str | int]]
) -> None:
    pairs: list[tuple[str | int, object]] = []
    if isinstance(value, dict):
        pairs = list(value.items())
    elif isinstance(value, list):
        pairs = list(enumerate(value))
    for key, inner in pairs:
        assert isinstance(value, dict | list)
        places.append((value, key))
        _collect(inner, places)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (None, None),
        ("2025-03-01T02:00:00-08:00", datetime(2025, 3, 1, 10, tzinfo=UTC)),
        ("2025-03-01", datetime(2025, 3, 1, tzinfo=UTC)),
        (1740823200, datetime(2025, 3, 1, 10, tzinfo=UTC)),
        (1740823200_000, datetime(2025, 3, 1, 10, tzinfo=UTC)),
        (1740823200_000_000_000, datetime(2025, 3, 1, 10, tzinfo=UTC)),
    ],
)
def test_times_are_read_in_any_unit(value: object, expected: datetime | None) -> None:
    assert parse_time("at", value) == expected


@pytest.mark.parametrize("value", ["noon", True, float("nan"), 1e30, -5, [], "0001-01-01"])
def test_what_is_no_time_is_an_error_with_its_field(value: object) -> None:
    with pytest.raises(InvalidArguments, match="^at: "):
        parse_time("at", value)
