"""How an older file becomes a current one, and which files are refused. Migrations are numbered and
only ever appended.
"""

from __future__ import annotations

import json
import sqlite3
from typing import TYPE_CHECKING

from spade_llm.errors import ConfigurationError
from spade_llm.memory.sqlite.reopening import reopen_facts
from spade_llm.memory.sqlite.schema import (
    APPLICATION_ID,
    CONSENT,
    CONSENT_INDEXES,
    CONVERSATION_INDEX,
    OLDEST_SQLITE,
    SCHEMA,
    SCHEMA_VERSION,
)
from spade_llm.memory.subject import known_as
from spade_llm.text.terms import content_hash, encode_terms

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    Step = str | Callable[[sqlite3.Connection], None]

TO_NEWEST: Sequence[str] = (
    "DROP TABLE entry_text",
    "DROP INDEX entry_by_age",
    "DROP INDEX entry_by_category",
    "DROP INDEX entry_key_by_entry",
    "DROP INDEX message_in_order",
    "DROP TRIGGER entry_text_added",
    "DROP TRIGGER entry_text_removed",
    "DROP TRIGGER entry_text_changed",
    "ALTER TABLE entry RENAME TO entry_1",
    "ALTER TABLE entry_key RENAME TO entry_key_1",
    "ALTER TABLE message RENAME TO message_1",
    "ALTER TABLE conversation RENAME TO conversation_1",
    *SCHEMA,
    """
    INSERT INTO owner (jid) SELECT owner FROM entry_1 UNION SELECT owner FROM message_1
    UNION SELECT owner FROM conversation_1
    """,
    """
    INSERT INTO entry (seq, owner, id, type, category, tier, content_type, origin, content,
        content_hash, terms, context, confidence, subject, session, tags, metadata, importance,
        surprise, stability, difficulty, created_at, updated_at, access_count, last_accessed_at,
        valid_at, invalid_at, expires_at, deleted_at)
    SELECT seq, number, id,
        CASE type WHEN 'semantic' THEN 1 WHEN 'episodic' THEN 2 WHEN 'profile' THEN 3 ELSE 4 END,
        CASE category WHEN 'fact' THEN 1 WHEN 'pattern' THEN 2 WHEN 'preference' THEN 3
            WHEN 'capability' THEN 4 END,
        CASE tier WHEN 'short_term' THEN 1 WHEN 'working' THEN 3 ELSE 2 END,
        1, 1, content, content_hash(content), encode_terms(content, context, tags), context,
        confidence, known_as(subject), session, nullif(tags, '[]'), nullif(metadata, '{}'),
        importance, surprise, stability, difficulty, created_at, updated_at, access_count,
        last_accessed_at, valid_at, invalid_at, expires_at, deleted_at
    FROM entry_1 JOIN owner ON jid = owner
    """,
    """
    INSERT INTO entry_key (key_id, entry)
    SELECT key_id, seq FROM entry_key_1 JOIN entry_1 ON entry_1.id = entry_id
    """,
    """
    INSERT INTO conversation (owner, name, closed_at_seq)
    SELECT number, conversation, coalesce(closed_at_seq, 0)
    FROM (SELECT owner, conversation FROM message_1 UNION SELECT owner, name FROM conversation_1)
        AS said JOIN owner ON jid = said.owner
        LEFT JOIN conversation_1
            ON conversation_1.owner = said.owner AND conversation_1.name = conversation
    """,
    """
    INSERT INTO message (seq, owner, conversation, id, subject, role, content, content_hash, terms,
        at)
    SELECT seq, owner.number, conversation.number, message_1.id, known_as(subject),
        CASE role WHEN 'user' THEN 1 ELSE 2 END, content, content_hash(content),
        encode_terms(content, NULL, NULL), at
    FROM message_1 JOIN owner ON jid = message_1.owner
        JOIN conversation ON conversation.owner = owner.number
            AND name = message_1.conversation
    ORDER BY seq
    """,
    "DROP TABLE entry_key_1",
    "DROP TABLE entry_1",
    "DROP TABLE message_1",
    "DROP TABLE conversation_1",
)
"""FTS5 and owners as text, to terms and numbers."""

TO_3: Sequence[str] = (CONSENT, *CONSENT_INDEXES)
"""Whom an owner may learn about across conversations."""

TO_4: Sequence[str] = (
    "ALTER TABLE conversation ADD COLUMN cleared_at_seq INTEGER NOT NULL DEFAULT 0",
    "ALTER TABLE conversation ADD COLUMN cleared_at INTEGER",
    CONVERSATION_INDEX,
)
"""Messages that are hidden until they have been learned from."""

TO_5: Sequence[Step] = (reopen_facts,)

MIGRATIONS: Mapping[int, Sequence[Step]] = {0: SCHEMA, 1: TO_NEWEST, 2: TO_3, 3: TO_4, 4: TO_5}
"""By the version that a file has. 0: an empty file, which becomes the newest at once, as one of
version 1 does: its tables are made anew."""

AFTER: Mapping[int, int] = {0: SCHEMA_VERSION, 1: SCHEMA_VERSION, 2: 3, 3: 4, 4: 5}
"""Which version each leads to."""


def migrate(connection: sqlite3.Connection, *, path: str) -> None:
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
    if _checked_version(connection, path=path) == SCHEMA_VERSION:
        return
    connection.create_function("content_hash", 1, content_hash, deterministic=True)
    connection.create_function("known_as", 1, known_as, deterministic=True)
    connection.create_function("encode_terms", 3, _encoded, deterministic=True)
    connection.execute("BEGIN IMMEDIATE")
    try:
        _apply(connection, _checked_version(connection, path=path))
        connection.execute("COMMIT")
    finally:
        connection.rollback()


def _apply(connection: sqlite3.Connection, version: int) -> None:
    while version < SCHEMA_VERSION:
        for step in MIGRATIONS[version]:
            if isinstance(step, str):
                connection.execute(step)
            else:
                step(connection)
        version = AFTER[version]
    connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
    connection.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")


def _checked_version(connection: sqlite3.Connection, *, path: str) -> int:
    version = _number(connection, "PRAGMA user_version")
    tables = _number(connection, "SELECT count(*) FROM sqlite_schema")
    if tables and _number(connection, "PRAGMA application_id") != APPLICATION_ID:
        raise ConfigurationError(
            f"{path!r} is a database of another program: give the memory a file of its own"
        )
    if version > SCHEMA_VERSION:
        raise ConfigurationError(
            f"{path!r} has schema {version}, newer than {SCHEMA_VERSION}, the newest this"
            " version can read: update spade-llm-agents"
        )
    return version


def _encoded(content: str, context: str | None, tags: str | None) -> bytes:
    return encode_terms(content, context, json.loads(tags or "[]"))


def _number(connection: sqlite3.Connection, sql: str) -> int:
    return int(connection.execute(sql).fetchone()[0])
