"""Memory in one SQLite file, with a search index in RAM for each owner."""
