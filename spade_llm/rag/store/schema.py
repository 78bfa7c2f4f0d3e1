"""Tables of a library, as both databases have them, and the migrations of SQLite files."""

from __future__ import annotations

import hashlib
import json
import sqlite3
from functools import partial
from typing import TYPE_CHECKING

from spade_llm.core.database import StoreTables
from spade_llm.rag.names import document_id

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from spade_llm.rag.contract import Scalar

VECTOR_TABLES = """
    CREATE TABLE document_vectors (
        document_id INTEGER PRIMARY KEY REFERENCES documents (id) ON DELETE CASCADE,
        edition INTEGER NOT NULL,
        ids BLOB NOT NULL,
        vectors BLOB NOT NULL
    );
    CREATE TRIGGER vectors_of_changed AFTER UPDATE ON documents BEGIN
        DELETE FROM document_vectors WHERE document_id = new.id;
    END;
    CREATE TABLE asked_namespaces (
        number INTEGER PRIMARY KEY AUTOINCREMENT,
        namespace_id INTEGER NOT NULL UNIQUE REFERENCES namespaces (id) ON DELETE CASCADE
    );
"""

INSERT_VECTORS = """
    INSERT OR REPLACE INTO document_vectors (document_id, edition, ids, vectors)
    VALUES (?, ?, ?, ?)
"""
"""Copies of vectors are in SQLite files only."""
SAVE_VECTORS = """
    INSERT OR REPLACE INTO document_vectors (document_id, edition, ids, vectors)
    SELECT ?1, ?2, ?3, ?4 FROM chunks WHERE id = ?5 AND document_id = ?1
"""
"""Upsert of a vector copy, only while its chunks exist."""
SELECT_EMBEDDED = """
    SELECT id, chunk_count FROM documents
    WHERE namespace_id = ? AND state = 'embedded' AND chunk_count > 0
"""
SELECT_VECTORS = """
    SELECT d.id, v.ids, v.vectors FROM documents d
    LEFT JOIN document_vectors v ON v.document_id = d.id AND v.edition = ?
    WHERE d.id IN (SELECT value FROM json_each(?))
"""
SELECT_CHUNK_IDS = """
    SELECT document_id, id FROM chunks
    WHERE document_id IN (SELECT value FROM json_each(?)) ORDER BY document_id, id
"""
DELETE_ASKED_NAMESPACE = "DELETE FROM asked_namespaces WHERE namespace_id = ?"
INSERT_ASKED_NAMESPACE = """
    INSERT INTO asked_namespaces (namespace_id) SELECT id FROM namespaces WHERE id = ?
"""


KEYWORD_TABLES = """
    DROP TRIGGER chunk_added;
    DROP TRIGGER chunk_removed;
    DROP TABLE chunk_words;
    CREATE TABLE document_words (
        document_id INTEGER PRIMARY KEY REFERENCES documents (id) ON DELETE CASCADE,
        version INTEGER NOT NULL,
        chunks BLOB NOT NULL,
        terms BLOB NOT NULL
    );
    CREATE TABLE changed_documents (
        number INTEGER PRIMARY KEY AUTOINCREMENT,
        namespace_id INTEGER NOT NULL,
        document_id INTEGER NOT NULL
    );
    CREATE TRIGGER words_of_added AFTER INSERT ON documents BEGIN
        INSERT INTO changed_documents (namespace_id, document_id)
        VALUES (new.namespace_id, new.id);
    END;
    CREATE TRIGGER words_of_changed AFTER UPDATE ON documents BEGIN
        DELETE FROM document_words WHERE document_id = new.id;
        INSERT INTO changed_documents (namespace_id, document_id)
        VALUES (new.namespace_id, new.id);
    END;
    CREATE TRIGGER words_of_removed AFTER DELETE ON documents BEGIN
        INSERT INTO changed_documents (namespace_id, document_id)
        VALUES (old.namespace_id, old.id);
    END;
    CREATE TRIGGER changes_bounded AFTER INSERT ON changed_documents BEGIN
        DELETE FROM changed_documents WHERE number <= new.number - 10000;
    END;
"""
"""Tables of keyword records and changes."""

_REPLACE_KEYWORDS = """
    ON CONFLICT (document_id) DO UPDATE
    SET version = excluded.version, chunks = excluded.chunks, terms = excluded.terms
"""
INSERT_KEYWORDS = f"""
    INSERT INTO document_words (document_id, version, chunks, terms)
    VALUES (?, ?, ?, ?) {_REPLACE_KEYWORDS}
"""
SAVE_KEYWORDS = f"""
    INSERT INTO document_words (document_id, version, chunks, terms)
    SELECT ?1, ?2, ?3, ?4 FROM chunks WHERE id = ?5 AND document_id = ?1 {_REPLACE_KEYWORDS}
"""
"""Upsert of a keyword record, only while its chunks exist."""
INSERT_CHANGE = "INSERT INTO changed_documents (namespace_id, document_id) VALUES (?, ?)"
BOUND_CHANGES = """
    DELETE FROM changed_documents
    WHERE number <= (SELECT max(number) FROM changed_documents) - 10000
"""
"""A cache that missed more changes than these reads everything again."""
SELECT_LAST_CHANGE = "SELECT coalesce(max(number), 0) FROM changed_documents"
SELECT_CHANGES = """
    SELECT c.number, c.document_id, c.namespace_id, n.id IS NOT NULL
    FROM changed_documents c LEFT JOIN namespaces n ON n.id = c.namespace_id
    WHERE c.number > ? ORDER BY c.number
"""
SELECT_DOCUMENTS = "SELECT id, chunk_count FROM documents WHERE namespace_id = ?"
SELECT_KEYWORDS = """
    SELECT d.id, w.chunks, w.terms FROM documents d
    LEFT JOIN document_words w ON w.document_id = d.id AND w.version = ?
    WHERE d.id IN (SELECT value FROM json_each(?)) AND d.chunk_count > 0
"""
SELECT_TEXTS = """
    SELECT document_id, id, heading, page, text FROM chunks
    WHERE document_id IN (SELECT value FROM json_each(?)) ORDER BY document_id, position
"""


INSERT_METADATA = "INSERT INTO document_facts (document_id, key, value) VALUES (?, ?, ?)"
MAX_KEY_CHARS = 256
"""Maximum length of a key that filters can name."""
MAX_FACT_CHARS = 200
"""Longer values are stored as their hash: an index of PostgreSQL takes 2700 bytes."""

_VERSION_1 = """
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

_VERSION_2 = """
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

_SELECT_IDS_2 = """
    SELECT d.id, n.owner, n.name, d.source, d.metadata
    FROM documents d JOIN namespaces n ON n.id = d.namespace_id
"""
_INSERT_METADATA_2 = """
    INSERT INTO document_facts (document_id, key, value, is_bool) VALUES (?, ?, ?, ?)
"""
_UPDATE_ID_2 = "UPDATE documents SET uid = ? WHERE id = ?"

_VERSION_2_INDEXES = """
    CREATE UNIQUE INDEX documents_by_uid ON documents (uid);
    CREATE TRIGGER document_changed AFTER UPDATE ON documents BEGIN
        UPDATE namespaces SET chunks = chunks + new.chunk_count - old.chunk_count,
            words_only = words_only + (new.state = 'words-only') - (old.state = 'words-only'),
            updated_at = max(updated_at, new.updated_at)
        WHERE id = new.namespace_id;
    END;
"""


def metadata_rows(document: int, metadata: Mapping[str, Scalar]) -> Sequence[tuple[int, str, str]]:
    """Build the rows for INSERT_METADATA, without keys that no filter can name."""
    return [
        (document, key, fact_text(value))
        for key, value in metadata.items()
        if len(key) <= MAX_KEY_CHARS
    ]


def fact_text(value: Scalar) -> str:
    """Text of a metadata value that is equal for equal values of the same type: 2024 equals 2024.0,
    but neither "2024" nor true."""
    if isinstance(value, str):
        # A quotation mark or a # tells strings from all others.
        if len(value) <= MAX_FACT_CHARS:
            return f'"{value}'
        return "#" + hashlib.sha256(value.encode(errors="surrogatepass")).hexdigest()
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return repr(value)


def _migrate_to_2(connection: sqlite3.Connection) -> None:
    """Add document ids and searchable metadata."""
    _run_script(connection, _VERSION_2)
    for number, owner, name, source, metadata in connection.execute(_SELECT_IDS_2).fetchall():
        connection.execute(_UPDATE_ID_2, (document_id(owner, name, source), number))
        facts = json.loads(metadata).items()
        rows = [(number, key, value, isinstance(value, bool)) for key, value in facts]
        connection.executemany(_INSERT_METADATA_2, rows)
    # The trigger comes last: filling in the ids is no change of a document.
    _run_script(connection, _VERSION_2_INDEXES)


_VERSION_5 = """
    DROP TRIGGER document_added;
    DROP TRIGGER document_changed;
    DROP TRIGGER document_removed;
    DROP TRIGGER words_of_added;
    DROP TRIGGER words_of_changed;
    DROP TRIGGER words_of_removed;
    DROP TRIGGER changes_bounded;
    DROP TABLE document_facts;
    CREATE TABLE document_facts (
        document_id INTEGER NOT NULL REFERENCES documents (id) ON DELETE CASCADE,
        key TEXT NOT NULL,
        value TEXT NOT NULL,
        PRIMARY KEY (document_id, key)
    ) WITHOUT ROWID;
    CREATE INDEX facts_by_value ON document_facts (key, value);
"""


def _migrate_to_5(connection: sqlite3.Connection) -> None:
    """Totals and changes are written by the registry, and metadata values are texts: the same
    statements work in PostgreSQL."""
    _run_script(connection, _VERSION_5)
    for number, metadata in connection.execute("SELECT id, metadata FROM documents").fetchall():
        connection.executemany(INSERT_METADATA, metadata_rows(number, json.loads(metadata)))


def _run_script(connection: sqlite3.Connection, script: str) -> None:
    """Run the script statement by statement, within the open transaction."""
    # Not executescript, which would commit the open transaction first.
    statement = ""
    for line in script.splitlines(keepends=True):
        statement += line
        if sqlite3.complete_statement(statement):
            connection.execute(statement)
            statement = ""


MIGRATIONS: tuple[Callable[[sqlite3.Connection], None], ...] = (
    partial(_run_script, script=_VERSION_1),
    _migrate_to_2,
    partial(_run_script, script=KEYWORD_TABLES),
    partial(_run_script, script=VECTOR_TABLES),
    _migrate_to_5,
)
"""Migrations from an empty file to the current tables, in order; SQLite's user_version counts them.
"""

DOCUMENT_TABLES = StoreTables(
    name="documents",
    what="the documents",
    is_named_by_agent=False,
    version=len(MIGRATIONS),
    schema="""
CREATE TABLE IF NOT EXISTS library (id TEXT PRIMARY KEY) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS namespaces (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    owner TEXT NOT NULL,
    name TEXT NOT NULL,
    model TEXT,
    dimension INTEGER,
    documents INTEGER NOT NULL DEFAULT 0,
    words_only INTEGER NOT NULL DEFAULT 0,
    chunks INTEGER NOT NULL DEFAULT 0,
    updated_at TEXT NOT NULL,
    edition INTEGER NOT NULL DEFAULT 0,
    UNIQUE (owner, name)
);
CREATE TABLE IF NOT EXISTS documents (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    namespace_id INTEGER NOT NULL REFERENCES namespaces (id) ON DELETE CASCADE,
    source TEXT NOT NULL,
    content_hash TEXT NOT NULL,
    version INTEGER NOT NULL,
    state TEXT NOT NULL,
    chunk_count INTEGER NOT NULL,
    metadata TEXT NOT NULL,
    created_at TEXT NOT NULL,
    updated_at TEXT NOT NULL,
    uid TEXT UNIQUE,
    UNIQUE (namespace_id, source)
);
CREATE TABLE IF NOT EXISTS chunks (
    id INTEGER PRIMARY KEY,
    document_id INTEGER NOT NULL REFERENCES documents (id) ON DELETE CASCADE,
    scope TEXT NOT NULL,
    position INTEGER NOT NULL,
    start INTEGER NOT NULL,
    stop INTEGER NOT NULL,
    heading TEXT NOT NULL,
    text TEXT NOT NULL,
    page INTEGER
);
CREATE INDEX IF NOT EXISTS chunks_of_document ON chunks (document_id, position);
CREATE TABLE IF NOT EXISTS document_words (
    document_id INTEGER PRIMARY KEY REFERENCES documents (id) ON DELETE CASCADE,
    version INTEGER NOT NULL,
    chunks BLOB NOT NULL,
    terms BLOB NOT NULL
);
CREATE TABLE IF NOT EXISTS document_facts (
    document_id INTEGER NOT NULL REFERENCES documents (id) ON DELETE CASCADE,
    key TEXT NOT NULL,
    value TEXT NOT NULL,
    PRIMARY KEY (document_id, key)
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS facts_by_value ON document_facts (key, value);
CREATE TABLE IF NOT EXISTS changed_documents (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    namespace_id INTEGER NOT NULL,
    document_id INTEGER NOT NULL
);
CREATE TABLE IF NOT EXISTS loose_vectors (
    chunk_id INTEGER PRIMARY KEY AUTOINCREMENT,
    namespace_id INTEGER NOT NULL
);
CREATE INDEX IF NOT EXISTS loose_vectors_of_namespace ON loose_vectors (namespace_id);
CREATE TABLE IF NOT EXISTS loose_collections (
    namespace_id INTEGER NOT NULL,
    edition INTEGER NOT NULL,
    PRIMARY KEY (namespace_id, edition)
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS asked_namespaces (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    namespace_id INTEGER NOT NULL UNIQUE REFERENCES namespaces (id) ON DELETE CASCADE
);
CREATE TABLE IF NOT EXISTS grants (
    namespace_id INTEGER NOT NULL REFERENCES namespaces (id) ON DELETE CASCADE,
    grantee TEXT NOT NULL,
    access TEXT NOT NULL,
    created_at TEXT NOT NULL,
    PRIMARY KEY (namespace_id, grantee)
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS grants_to ON grants (grantee);
""",
)
"""Tables of a library in PostgreSQL: those of a file after the last migration, without copies of
vectors."""
