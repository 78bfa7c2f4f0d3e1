"""A file of an older version becomes a current one, and nothing in it is lost."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING
from uuid import UUID, uuid5

import pytest

from spade_llm.core.errors import ConfigurationError
from spade_llm.memory import Category, MemoryDraft, SQLiteMemoryBackend, Tier
from spade_llm.memory.database.rows import KEY_NAMESPACE
from spade_llm.memory.database.schema import APPLICATION_ID, SCHEMA_VERSION
from spade_llm.memory.learning.learner import Learner
from spade_llm.memory.learning.novelty import KEY_MOMENT_SCORE
from spade_llm.memory.transfer.memory_file import verify_memory
from spade_llm.search.memory_query import Origin
from tests.memory.contract import NOON, contents, said

if TYPE_CHECKING:
    from pathlib import Path

NOW = int(datetime(2026, 3, 1, 12, tzinfo=UTC).timestamp() * 1_000_000)
OWNER = "assistant@localhost"

SCHEMA_1 = """
CREATE TABLE entry (
    seq INTEGER PRIMARY KEY, id BLOB NOT NULL UNIQUE, owner TEXT NOT NULL, subject TEXT,
    session TEXT, type TEXT NOT NULL, category TEXT NOT NULL, tier TEXT NOT NULL,
    content TEXT NOT NULL, content_type TEXT NOT NULL DEFAULT 'text', content_hash BLOB NOT NULL,
    merge_key BLOB UNIQUE, context TEXT, tags TEXT NOT NULL, metadata TEXT NOT NULL,
    confidence REAL NOT NULL, importance REAL, surprise REAL, stability REAL, difficulty REAL,
    origin TEXT, embedding_model TEXT, created_at INTEGER NOT NULL, updated_at INTEGER NOT NULL,
    last_accessed_at INTEGER, access_count INTEGER NOT NULL DEFAULT 0, valid_at INTEGER,
    invalid_at INTEGER, expires_at INTEGER, deleted_at INTEGER
) STRICT;
CREATE INDEX entry_by_age ON entry (owner, created_at, subject);
CREATE INDEX entry_by_category ON entry (owner, category, created_at);
CREATE TABLE entry_key (
    key_id BLOB PRIMARY KEY, entry_id BLOB NOT NULL REFERENCES entry (id) ON DELETE CASCADE
) STRICT, WITHOUT ROWID;
CREATE INDEX entry_key_by_entry ON entry_key (entry_id);
CREATE VIRTUAL TABLE entry_text USING fts5 (
    content, context, tags, content='entry', content_rowid='seq',
    tokenize='porter unicode61 remove_diacritics 2'
);
CREATE TRIGGER entry_text_added AFTER INSERT ON entry BEGIN
    INSERT INTO entry_text (rowid, content, context, tags)
    VALUES (new.seq, new.content, new.context, new.tags);
END;
CREATE TRIGGER entry_text_removed AFTER DELETE ON entry BEGIN
    INSERT INTO entry_text (entry_text, rowid, content, context, tags)
    VALUES ('delete', old.seq, old.content, old.context, old.tags);
END;
CREATE TRIGGER entry_text_changed AFTER UPDATE OF content, context, tags ON entry BEGIN
    INSERT INTO entry_text (entry_text, rowid, content, context, tags)
    VALUES ('delete', old.seq, old.content, old.context, old.tags);
END;
CREATE TABLE message (
    seq INTEGER PRIMARY KEY AUTOINCREMENT, owner TEXT NOT NULL, conversation TEXT NOT NULL,
    id TEXT NOT NULL, subject TEXT, role TEXT NOT NULL, content TEXT NOT NULL,
    at INTEGER NOT NULL, UNIQUE (owner, conversation, id)
) STRICT;
CREATE INDEX message_in_order ON message (owner, conversation, seq);
CREATE TABLE conversation (
    owner TEXT NOT NULL, name TEXT NOT NULL, closed_at_seq INTEGER NOT NULL,
    PRIMARY KEY (owner, name)
) STRICT, WITHOUT ROWID;
"""

ADD_1 = """
    INSERT INTO entry (id, owner, subject, type, category, tier, content, content_hash, merge_key,
        context, tags, metadata, confidence, created_at, updated_at, access_count)
    VALUES (?, ?, ?, 'profile', 'preference', 'working', ?, x'00', ?, 'breakfast', ?, ?, 0.8, ?, ?,
        3)
"""

OBSERVE_1 = """
    INSERT INTO message (owner, conversation, id, role, content, at) VALUES (?, 'c', ?, ?, ?, ?)
"""


def id_of(key: str) -> UUID:
    return uuid5(KEY_NAMESPACE, f"{OWNER}\0{key}")


@pytest.fixture
def old(tmp_path: Path) -> Path:
    """A file as version 1 left it."""
    path = tmp_path / "m.db"
    with closing(sqlite3.connect(path)) as file:
        file.executescript(SCHEMA_1)
        file.execute(f"PRAGMA application_id = {APPLICATION_ID}")
        file.execute("PRAGMA user_version = 1")
        one = (id_of("k1").bytes, OWNER, "ada@x", "Ada prefers tea", b"m1", '["té"]', '{"n": 3}')
        file.execute(ADD_1, (*one, NOW, NOW))
        file.execute(ADD_1, (b"2" * 16, "b@c", None, "foreign tea", b"m2", "[]", "{}", NOW, NOW))
        file.execute("INSERT INTO entry_key VALUES (?, ?)", (id_of("k2").bytes, one[0]))
        for id, role in (("1", "user"), ("2", "assistant"), ("3", "user")):
            file.execute(OBSERVE_1, (OWNER, id, role, f"line {id}", NOW))
        file.execute("INSERT INTO conversation VALUES (?, 'c', 1)", (OWNER,))
        file.execute("INSERT INTO conversation VALUES (?, 'silent', 0)", (OWNER,))
        file.commit()
    return path


async def test_all_that_version_1_knew_of_a_memory_is_kept(old: Path) -> None:
    async with SQLiteMemoryBackend(old) as backend:
        (entry,) = (await backend.for_owner(OWNER).list()).entries

    assert entry.id == str(id_of("k1"))
    assert (entry.content, entry.context, entry.category) == (
        "Ada prefers tea",
        "breakfast",
        Category.PREFERENCE,
    )
    assert (entry.tier, entry.tags, dict(entry.metadata)) == (Tier.WORKING, ("té",), {"n": 3})
    assert (entry.confidence, entry.access_count, entry.subject) == (0.8, 3, "ada@x")
    assert entry.created_at == datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=NOW)


async def test_memories_and_conversations_of_version_1_work_as_before(old: Path) -> None:
    async with SQLiteMemoryBackend(old) as backend:
        store = backend.for_owner(OWNER)

        assert await contents(store, "who prefers tea?") == ["Ada prefers tea"]
        assert [one.id for one in await store.history("c")] == ["2", "3"]
        assert await store.observe("c", [said("3"), said("4")]) == 1
        for key in ("k1", "k2"):
            again = await store.add(MemoryDraft(content="Ada prefers tea"), key=key)
            assert again.id == str(id_of("k1"))
        other = backend.for_owner("b@c")
        assert [entry.content for entry in (await other.list()).entries] == ["foreign tea"]


def _drop_reflection(file: sqlite3.Connection) -> None:
    """What came with version 7."""
    for what in ("TABLE reflection", "TABLE reflection_run", "INDEX entry_summary"):
        file.execute(f"DROP {what}")
    file.execute("DROP INDEX entry_closed")


async def test_a_file_of_version_2_keeps_all_and_can_be_asked_for_consent(tmp_path: Path) -> None:
    path = tmp_path / "m.db"
    async with SQLiteMemoryBackend(path) as backend:
        await backend.for_owner(OWNER).add(MemoryDraft(content="Ada rows"))
    with closing(sqlite3.connect(path)) as file:
        _without_clearing(file)
        file.execute("DROP TABLE consent")
        file.execute("DROP INDEX entry_pattern")
        file.execute("DROP INDEX entry_learned")
        _drop_reflection(file)
        _drop_salience(file)
        file.execute("PRAGMA user_version = 2")

    async with SQLiteMemoryBackend(path) as backend:
        store = backend.for_owner(OWNER)

        assert await contents(store, "who rows?") == ["Ada rows"]
        assert (await store.set_consent("ada@x", is_given=True)).since is not None
    assert verify_memory(path) == []


async def test_a_conversation_of_version_3_can_be_cleared(tmp_path: Path) -> None:
    path = tmp_path / "m.db"
    async with SQLiteMemoryBackend(path) as backend:
        await backend.for_owner(OWNER).observe("c", [said("1")])
    with closing(sqlite3.connect(path)) as file:
        _without_clearing(file)
        file.execute("DROP INDEX entry_learned")
        _drop_reflection(file)
        _drop_salience(file)
        file.execute("PRAGMA user_version = 3")

    async with SQLiteMemoryBackend(path) as backend:
        store = backend.for_owner(OWNER)

        assert len(await store.history("c")) == 1
        assert await store.clear_messages(["c"]) == 1
        assert await store.history("c") == []
    assert verify_memory(path) == []


async def test_facts_that_a_diet_closed_are_open_again(tmp_path: Path) -> None:
    path = tmp_path / "m.db"
    async with SQLiteMemoryBackend(path) as backend:
        store = backend.for_owner(OWNER)
        for content in (
            "User is allergic to peanuts",
            "El usuario es ingeniero",
            "User is married",
            "User is vegetarian",
            "User lives in Rome",
            "Bob is a nurse",
        ):
            await store.add(MemoryDraft(content=content, subject="ada@x", valid_at=BEFORE))
        await store.observe("c", [said("1", content="I'm vegan.")], subject="ada@x")
        await Learner(backend.learning(), backend).learn()
        await store.add(MemoryDraft(content="The user is divorced.", subject="ada@x"))
    with closing(sqlite3.connect(path)) as file:
        file.execute(CLOSE_ALL_4)
        file.execute("DROP INDEX entry_learned")
        _drop_reflection(file)
        _drop_salience(file)
        file.execute("PRAGMA user_version = 4")
        file.commit()

    async with SQLiteMemoryBackend(path) as backend:
        listed = (await backend.about("ada@x").list()).entries

    ends = {one.content: one.invalid_at for one in listed if one.origin is not Origin.EPISODE}
    divorced = next(one.created_at for one in listed if "divorced" in one.content)
    assert ends == {
        "User is allergic to peanuts": None,
        "El usuario es ingeniero": None,
        "User is married": divorced,
        "User is vegetarian": NOON,
        "User lives in Rome": NOON,
        "Bob is a nurse": NOON,
        "The user is vegan.": None,
        "The user is divorced.": None,
    }
    assert verify_memory(path) == []


BEFORE = NOON - timedelta(days=1)

CLOSE_ALL_4 = """
    UPDATE entry SET invalid_at = (SELECT valid_at FROM entry WHERE origin = 3)
    WHERE origin = 1 AND content NOT LIKE '%divorced%'
"""
"""As the rules of schema 4 closed facts, and some that another closed at the same time."""


def _drop_salience(file: sqlite3.Connection) -> None:
    file.execute("ALTER TABLE entry DROP COLUMN salience")


async def test_novelties_of_version_7_become_surprises(tmp_path: Path) -> None:
    path = tmp_path / "m.db"
    async with SQLiteMemoryBackend(path) as backend:
        store = backend.for_owner(OWNER)
        drafts = [
            MemoryDraft(content="It rained.", subject="ada@x", surprise=0.123456),
            MemoryDraft(content="I was laid off.", subject="ada@x", surprise=0.456789),
            MemoryDraft(content="I was laid off!", subject="ada@x", surprise=0.25),
            MemoryDraft(content="It snowed.", subject="ada@x"),
        ]
        for draft in drafts:
            await store.add(draft)
    with closing(sqlite3.connect(path)) as file:
        _drop_salience(file)
        file.execute("PRAGMA user_version = 7")
        file.commit()

    async with SQLiteMemoryBackend(path) as backend:
        entries = (await backend.for_owner(OWNER).list()).entries

    rained, laid_off, given, unknown = (one.surprise for one in reversed(entries))
    assert rained is not None and 0.123456 < rained < KEY_MOMENT_SCORE
    assert laid_off is not None and laid_off >= KEY_MOMENT_SCORE
    assert (given, unknown) == (0.25, None)
    assert verify_memory(path) == []


def _without_clearing(file: sqlite3.Connection) -> None:
    file.execute("DROP INDEX conversation_to_purge")
    file.execute("ALTER TABLE conversation DROP COLUMN cleared_at")
    file.execute("ALTER TABLE conversation DROP COLUMN cleared_at_seq")


async def test_a_migrated_file_is_whole_and_has_nothing_of_the_old_one(old: Path) -> None:
    async with SQLiteMemoryBackend(old):
        pass

    with closing(sqlite3.connect(old)) as file:
        tables = "SELECT name FROM sqlite_schema WHERE type = 'table'"
        names = {row[0] for row in file.execute(tables)}
        assert file.execute("PRAGMA user_version").fetchone() == (SCHEMA_VERSION,)
    assert not [name for name in names if "text" in name or name.endswith("_1")]
    assert verify_memory(old) == []


async def test_a_migration_that_fails_leaves_the_old_file(old: Path) -> None:
    with closing(sqlite3.connect(old)) as file:
        file.execute("CREATE TABLE vector (mine TEXT)")

    with pytest.raises(ConfigurationError):
        await SQLiteMemoryBackend(old).open()

    with closing(sqlite3.connect(old)) as file:
        assert file.execute("PRAGMA user_version").fetchone() == (1,)
        assert file.execute("SELECT count(*) FROM entry").fetchone() == (2,)
