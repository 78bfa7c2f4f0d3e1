"""Storage of a document library: SQLite tables, vectors in Chroma."""
