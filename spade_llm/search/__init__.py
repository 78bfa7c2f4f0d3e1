"""Search engine: words, index terms, postings, vectors; indexes of memories and passages."""
