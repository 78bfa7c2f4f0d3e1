"""Memory in a database (SQLite file or PostgreSQL), with a search index in RAM for each owner."""
