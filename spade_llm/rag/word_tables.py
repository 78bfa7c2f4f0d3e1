"""Where the words of documents are kept, and which documents have changed. Knows no search.

Whoever changes a document need not know of this: triggers write down that it is another one, and
that what was kept of its words holds no more.
"""

from __future__ import annotations

WORDS_TABLES = """
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
"""The last 10 000 changes are told; who has missed more reads all anew."""

ADD_WORDS = """
    INSERT OR REPLACE INTO document_words (document_id, version, chunks, terms)
    VALUES (?, ?, ?, ?)
"""
KEEP_WORDS = """
    INSERT OR REPLACE INTO document_words (document_id, version, chunks, terms)
    SELECT ?1, ?2, ?3, ?4 FROM chunks WHERE id = ?5 AND document_id = ?1
"""
"""Only while the chunks that they were made of are there."""
LAST_CHANGE = "SELECT coalesce(max(number), 0) FROM changed_documents"
CHANGES = """
    SELECT c.number, c.document_id, c.namespace_id, n.id IS NOT NULL
    FROM changed_documents c LEFT JOIN namespaces n ON n.id = c.namespace_id
    WHERE c.number > ? ORDER BY c.number
"""
DOCUMENTS = "SELECT id, chunk_count FROM documents WHERE namespace_id = ?"
WORDS = """
    SELECT d.id, w.chunks, w.terms FROM documents d
    LEFT JOIN document_words w ON w.document_id = d.id AND w.version = ?
    WHERE d.id IN (SELECT value FROM json_each(?)) AND d.chunk_count > 0
"""
TEXTS = """
    SELECT document_id, id, heading, page, text FROM chunks
    WHERE document_id IN (SELECT value FROM json_each(?)) ORDER BY document_id, position
"""
