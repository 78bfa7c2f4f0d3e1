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
PRAGMA user_version = 1;

INSERT INTO namespaces (id, owner, name, model, dimension, updated_at) VALUES
    (1, 'ann@localhost', 'default', 'bag-of-words/1', 256, '2026-10-01T08:00:00+00:00'),
    (2, 'bob@localhost', 'default', NULL, NULL, '2026-10-02T08:00:00+00:00');
INSERT INTO documents (id, namespace_id, source, content_hash, version, state, chunk_count, metadata,
    created_at, updated_at) VALUES
    (1, 1, 'tides.md', 'x', 3, 'embedded', 2, '{"year": 2024, "is_draft": true, "place": "Höfn"}',
        '2026-10-01T08:00:00+00:00', '2026-10-03T08:00:00+00:00'),
    (2, 2, 'tides.md', 'y', 1, 'words-only', 1, '{}',
        '2026-10-02T08:00:00+00:00', '2026-10-02T08:00:00+00:00');
INSERT INTO chunks (id, document_id, scope, position, start, stop, heading, text) VALUES
    (1, 1, 'n1', 0, 0, 41, 'Tides', 'The tide turns at noon in the eastern bay'),
    (2, 1, 'n1', 1, 42, 72, 'Tides', 'Herons wait for it on the pier'),
    (3, 2, 'n2', 0, 0, 24, '', 'The tide turns at sunset');
INSERT INTO loose_vectors (chunk_id, namespace_id) VALUES (9, 1);
INSERT INTO dropped_namespaces (namespace_id) VALUES (7);
