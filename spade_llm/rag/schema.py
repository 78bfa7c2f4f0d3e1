"""The library's tables. Knows no query.

`chunks` holds what can be found, and nothing else: a new version of a document takes the place of
the old one in a single transaction. The vectors are in another store, that is no part of that
transaction: so a vector's id is written to `loose_vectors` before the vector is stored, and leaves
it when its chunk is there. Whatever is in `loose_vectors` when nobody is ingesting is rubbish.
"""

MIGRATIONS = (
    """
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
    """,
)
