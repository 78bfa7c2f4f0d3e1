"""Where copies of vectors are kept beside the words, and which namespaces were asked last. Knows no
search.

A row holds all vectors of a document, a byte a dimension. It is of one edition of its namespace's
vectors, and goes with whatever changes the document.
"""

from __future__ import annotations

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

ADD_VECTORS = """
    INSERT OR REPLACE INTO document_vectors (document_id, edition, ids, vectors)
    VALUES (?, ?, ?, ?)
"""
KEEP_VECTORS = """
    INSERT OR REPLACE INTO document_vectors (document_id, edition, ids, vectors)
    SELECT ?1, ?2, ?3, ?4 FROM chunks WHERE id = ?5 AND document_id = ?1
"""
"""Only while the chunks that they are of are there."""
EMBEDDED = """
    SELECT id, chunk_count FROM documents
    WHERE namespace_id = ? AND state = 'embedded' AND chunk_count > 0
"""
VECTORS = """
    SELECT d.id, v.ids, v.vectors FROM documents d
    LEFT JOIN document_vectors v ON v.document_id = d.id AND v.edition = ?
    WHERE d.id IN (SELECT value FROM json_each(?))
"""
CHUNKS_OF = """
    SELECT document_id, id FROM chunks
    WHERE document_id IN (SELECT value FROM json_each(?)) ORDER BY document_id, id
"""
NOTE_ASKED = """
    INSERT OR REPLACE INTO asked_namespaces (namespace_id) SELECT id FROM namespaces WHERE id = ?
"""
