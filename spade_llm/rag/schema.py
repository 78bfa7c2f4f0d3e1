"""The library's tables. Knows no query.

`chunks` holds what can be found, and nothing else: a new version of a document takes the place of
the old one in a single transaction. The vectors are in another store, that is no part of that
transaction: so a vector's id is written to `loose_vectors` before the vector is stored, and leaves
it when its chunk is there. Whatever is in `loose_vectors` when nobody is ingesting is rubbish.

A namespace's vectors are in the collection of its `edition`. A new edition is in
`loose_collections` while it is made, and the old one from the moment on that the new one is used.
"""

from __future__ import annotations

import json
import sqlite3
from typing import TYPE_CHECKING

from spade_llm.rag.names import document_id
from spade_llm.rag.vector_tables import VECTOR_TABLES
from spade_llm.rag.word_tables import WORDS_TABLES

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from spade_llm.rag.retriever import Scalar

ADD_FACT = """
    INSERT INTO document_facts (document_id, key, value, is_bool) VALUES (?, ?, ?, ?)
"""

_FIRST = """
    CREATE TABLE namespaces (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        owner TEXT NOT NULL,
        name TEXT NOT NULL,
        model TEXT,
        dimension INTEGER,
        documents INTEGER NOT NULL DEFAULT 0,
        words_only INTEGER NOT NULL DEFAULT 0,
        chunks INTEGER NOT NULL DEFAULT 0,
        updated_at TEXT NOT NULL,
        UNIQUE (owner, name)
    );
    CREATE TABLE documents (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        namespace_id INTEGER NOT NULL REFERENCES namespaces (id) ON DELETE CASCADE,
        source TEXT NOT NULL,
        content_hash TEXT NOT NULL,
        version INTEGER NOT NULL,
        state TEXT NOT NULL CHECK (state IN ('embedded', 'words-only')),
        chunk_count INTEGER NOT NULL,
        metadata TEXT NOT NULL,
        created_at TEXT NOT NULL,
        updated_at TEXT NOT NULL,
        UNIQUE (namespace_id, source)
    );
    CREATE TRIGGER document_added AFTER INSERT ON documents BEGIN
        UPDATE namespaces SET documents = documents + 1, chunks = chunks + new.chunk_count,
            words_only = words_only + (new.state = 'words-only'), updated_at = new.updated_at
        WHERE id = new.namespace_id;
    END;
    CREATE TRIGGER document_changed AFTER UPDATE ON documents BEGIN
        UPDATE namespaces SET chunks = chunks + new.chunk_count - old.chunk_count,
            words_only = words_only + (new.state = 'words-only') - (old.state = 'words-only'),
            updated_at = new.updated_at
        WHERE id = new.namespace_id;
    END;
    CREATE TRIGGER document_removed AFTER DELETE ON documents BEGIN
        UPDATE namespaces SET documents = documents - 1, chunks = chunks - old.chunk_count,
            words_only = words_only - (old.state = 'words-only')
        WHERE id = old.namespace_id;
    END;
    CREATE TABLE chunks (
        id INTEGER PRIMARY KEY,
        document_id INTEGER NOT NULL REFERENCES documents (id) ON DELETE CASCADE,
        scope TEXT NOT NULL,
        position INTEGER NOT NULL,
        start INTEGER NOT NULL,
        stop INTEGER NOT NULL,
        heading TEXT NOT NULL,
        text TEXT NOT NULL
    );
    CREATE INDEX chunks_of_document ON chunks (document_id, position);
    CREATE VIRTUAL TABLE chunk_words USING fts5 (
        scope, heading, text,
        content = 'chunks', content_rowid = 'id',
        tokenize = 'porter unicode61 remove_diacritics 2'
    );
    CREATE TRIGGER chunk_added AFTER INSERT ON chunks BEGIN
        INSERT INTO chunk_words (rowid, scope, heading, text)
        VALUES (new.id, new.scope, new.heading, new.text);
    END;
    CREATE TRIGGER chunk_removed AFTER DELETE ON chunks BEGIN
        INSERT INTO chunk_words (chunk_words, rowid, scope, heading, text)
        VALUES ('delete', old.id, old.scope, old.heading, old.text);
    END;
    CREATE TABLE loose_vectors (
        chunk_id INTEGER PRIMARY KEY AUTOINCREMENT,
        namespace_id INTEGER NOT NULL
    );
    CREATE INDEX loose_vectors_of_namespace ON loose_vectors (namespace_id);
    CREATE TABLE dropped_namespaces (namespace_id INTEGER PRIMARY KEY);
"""

_SECOND = """
    CREATE TABLE library (id TEXT NOT NULL);
    INSERT INTO library SELECT lower(hex(randomblob(8)));

    ALTER TABLE namespaces ADD COLUMN edition INTEGER NOT NULL DEFAULT 0;
    CREATE TABLE loose_collections (
        namespace_id INTEGER NOT NULL,
        edition INTEGER NOT NULL,
        PRIMARY KEY (namespace_id, edition)
    ) WITHOUT ROWID;
    INSERT INTO loose_collections SELECT namespace_id, 0 FROM dropped_namespaces;
    DROP TABLE dropped_namespaces;

    CREATE TABLE grants (
        namespace_id INTEGER NOT NULL REFERENCES namespaces (id) ON DELETE CASCADE,
        grantee TEXT NOT NULL,
        access TEXT NOT NULL CHECK (access IN ('read', 'write')),
        created_at TEXT NOT NULL,
        PRIMARY KEY (namespace_id, grantee)
    ) WITHOUT ROWID;
    CREATE INDEX grants_to ON grants (grantee);

    ALTER TABLE chunks ADD COLUMN page INTEGER;

    CREATE TABLE document_facts (
        document_id INTEGER NOT NULL REFERENCES documents (id) ON DELETE CASCADE,
        key TEXT NOT NULL,
        value,
        is_bool INTEGER NOT NULL,
        PRIMARY KEY (document_id, key)
    ) WITHOUT ROWID;
    CREATE INDEX facts_by_value ON document_facts (key, value);

    DROP TRIGGER document_changed;
    ALTER TABLE documents ADD COLUMN uid TEXT;
"""

_SECOND_IDS = """
    SELECT d.id, n.owner, n.name, d.source, d.metadata
    FROM documents d JOIN namespaces n ON n.id = d.namespace_id
"""
_SECOND_SET_ID = "UPDATE documents SET uid = ? WHERE id = ?"

_SECOND_END = """
    CREATE UNIQUE INDEX documents_by_uid ON documents (uid);
    CREATE TRIGGER document_changed AFTER UPDATE ON documents BEGIN
        UPDATE namespaces SET chunks = chunks + new.chunk_count - old.chunk_count,
            words_only = words_only + (new.state = 'words-only') - (old.state = 'words-only'),
            updated_at = max(updated_at, new.updated_at)
        WHERE id = new.namespace_id;
    END;
"""


def fact_rows(
    document: int, metadata: Mapping[str, Scalar]
) -> Sequence[tuple[int, str, Scalar, bool]]:
    """For ADD_FACT: what can be asked for. SQLite has no type of its own for True."""
    return [(document, key, value, isinstance(value, bool)) for key, value in metadata.items()]


def _make_first(connection: sqlite3.Connection) -> None:
    _run(connection, _FIRST)


def _make_second(connection: sqlite3.Connection) -> None:
    """Documents get ids, and facts to be found by."""
    _run(connection, _SECOND)
    for number, owner, name, source, metadata in connection.execute(_SECOND_IDS).fetchall():
        connection.execute(_SECOND_SET_ID, (document_id(owner, name, source), number))
        connection.executemany(ADD_FACT, fact_rows(number, json.loads(metadata)))
    _run(connection, _SECOND_END)


def _make_third(connection: sqlite3.Connection) -> None:
    _run(connection, WORDS_TABLES)


def _make_fourth(connection: sqlite3.Connection) -> None:
    _run(connection, VECTOR_TABLES)


def _run(connection: sqlite3.Connection, script: str) -> None:
    """Statement by statement: executescript would commit first."""
    statement = ""
    for line in script.splitlines(keepends=True):
        statement += line
        if sqlite3.complete_statement(statement):
            connection.execute(statement)
            statement = ""


MIGRATIONS: tuple[Callable[[sqlite3.Connection], None], ...] = (
    _make_first,
    _make_second,
    _make_third,
    _make_fourth,
)
"""From an empty file to the tables of today, in order; SQLite's user_version counts them."""
