"""The memory's tables and how an older file becomes a current one. Knows no query.

Times are INTEGER microseconds since 1970, UTC. Migrations are only ever appended.
"""

from __future__ import annotations

import sqlite3
from typing import TYPE_CHECKING

from spade_llm.errors import ConfigurationError

if TYPE_CHECKING:
    import aiosqlite

APPLICATION_ID = 0x53504D45
"""`SPME` in the file's header: tells our files from another program's."""

OLDEST_SQLITE = (3, 37)
"""STRICT tables; RETURNING and generated columns are older."""

FIRST_SCHEMA = (
    # Reserved for what is not written yet: content_type, importance, surprise, stability,
    # difficulty, origin, embedding_model, valid_at, invalid_at, expires_at, deleted_at.
    """
    CREATE TABLE entry (
        seq INTEGER PRIMARY KEY,
        id BLOB NOT NULL UNIQUE,
        owner TEXT NOT NULL,
        subject TEXT,
        session TEXT,
        type TEXT NOT NULL,
        category TEXT NOT NULL,
        tier TEXT NOT NULL,
        content TEXT NOT NULL,
        content_type TEXT NOT NULL DEFAULT 'text',
        content_hash BLOB NOT NULL,
        merge_key BLOB UNIQUE,
        context TEXT,
        tags TEXT NOT NULL,
        metadata TEXT NOT NULL,
        confidence REAL NOT NULL,
        importance REAL,
        surprise REAL,
        stability REAL,
        difficulty REAL,
        origin TEXT,
        embedding_model TEXT,
        created_at INTEGER NOT NULL,
        updated_at INTEGER NOT NULL,
        last_accessed_at INTEGER,
        access_count INTEGER NOT NULL DEFAULT 0,
        valid_at INTEGER,
        invalid_at INTEGER,
        expires_at INTEGER,
        deleted_at INTEGER
    ) STRICT
    """,
    "CREATE INDEX entry_by_age ON entry (owner, created_at, subject)",
    "CREATE INDEX entry_by_category ON entry (owner, category, created_at)",
    # A keyed write that strengthened an entry of another id: the same key again finds it here.
    """
    CREATE TABLE entry_key (
        key_id BLOB PRIMARY KEY,
        entry_id BLOB NOT NULL REFERENCES entry (id) ON DELETE CASCADE
    ) STRICT, WITHOUT ROWID
    """,
    "CREATE INDEX entry_key_by_entry ON entry_key (entry_id)",
    """
    CREATE VIRTUAL TABLE entry_text USING fts5 (
        content, context, tags, content='entry', content_rowid='seq',
        tokenize='porter unicode61 remove_diacritics 2'
    )
    """,
    """
    CREATE TRIGGER entry_text_added AFTER INSERT ON entry BEGIN
        INSERT INTO entry_text (rowid, content, context, tags)
        VALUES (new.seq, new.content, new.context, new.tags);
    END
    """,
    """
    CREATE TRIGGER entry_text_removed AFTER DELETE ON entry BEGIN
        INSERT INTO entry_text (entry_text, rowid, content, context, tags)
        VALUES ('delete', old.seq, old.content, old.context, old.tags);
    END
    """,
    """
    CREATE TRIGGER entry_text_changed AFTER UPDATE OF content, context, tags ON entry
    WHEN old.content IS NOT new.content OR old.context IS NOT new.context
        OR old.tags IS NOT new.tags
    BEGIN
        INSERT INTO entry_text (entry_text, rowid, content, context, tags)
        VALUES ('delete', old.seq, old.content, old.context, old.tags);
        INSERT INTO entry_text (rowid, content, context, tags)
        VALUES (new.seq, new.content, new.context, new.tags);
    END
    """,
    # AUTOINCREMENT: a mark in `conversation` must never meet the number of a later message.
    """
    CREATE TABLE message (
        seq INTEGER PRIMARY KEY AUTOINCREMENT,
        owner TEXT NOT NULL,
        conversation TEXT NOT NULL,
        id TEXT NOT NULL,
        subject TEXT,
        role TEXT NOT NULL,
        content TEXT NOT NULL,
        at INTEGER NOT NULL,
        UNIQUE (owner, conversation, id)
    ) STRICT
    """,
    "CREATE INDEX message_in_order ON message (owner, conversation, seq)",
    # Only conversations that were closed: their history starts behind this message.
    """
    CREATE TABLE conversation (
        owner TEXT NOT NULL,
        name TEXT NOT NULL,
        closed_at_seq INTEGER NOT NULL,
        PRIMARY KEY (owner, name)
    ) STRICT, WITHOUT ROWID
    """,
)

MIGRATIONS: tuple[tuple[str, ...], ...] = (FIRST_SCHEMA,)
"""Number n (from 1) takes a file from version n - 1 to n."""

SCHEMA_VERSION = len(MIGRATIONS)


async def migrate(connection: aiosqlite.Connection, *, path: str) -> None:
    """Bring the file to SCHEMA_VERSION, in one transaction.

    Raises:
        ConfigurationError: SQLite is too old, the file is newer, or it is not a memory.
        sqlite3.Error: the file cannot be read or written.
    """
    if sqlite3.sqlite_version_info < OLDEST_SQLITE:
        needed = ".".join(map(str, OLDEST_SQLITE))
        raise ConfigurationError(
            f"SQLite {sqlite3.sqlite_version} is too old for the memory: use {needed} or newer"
        )
    await connection.execute_fetchall("BEGIN IMMEDIATE")
    try:
        await _apply(connection, await _checked_version(connection, path=path))
    except BaseException:
        await connection.rollback()
        raise
    await connection.commit()


async def _apply(connection: aiosqlite.Connection, version: int) -> None:
    for statements in MIGRATIONS[version:]:
        for statement in statements:
            await connection.execute_fetchall(statement)
    if version < SCHEMA_VERSION:
        await connection.execute_fetchall(f"PRAGMA application_id = {APPLICATION_ID}")
        await connection.execute_fetchall(f"PRAGMA user_version = {SCHEMA_VERSION}")


async def _checked_version(connection: aiosqlite.Connection, *, path: str) -> int:
    version = await _number(connection, "PRAGMA user_version")
    tables = await _number(connection, "SELECT count(*) FROM sqlite_schema")
    if tables and await _number(connection, "PRAGMA application_id") != APPLICATION_ID:
        raise ConfigurationError(
            f"{path!r} is a database of another program: give the memory a file of its own"
        )
    if version > SCHEMA_VERSION:
        raise ConfigurationError(
            f"{path!r} has schema {version}, newer than {SCHEMA_VERSION}, the newest this"
            " version can read: update spade-llm-agents"
        )
    return version


async def _number(connection: aiosqlite.Connection, sql: str) -> int:
    for row in await connection.execute_fetchall(sql):
        return int(row[0])
    return 0
