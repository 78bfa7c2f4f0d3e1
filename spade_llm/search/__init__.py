"""Search engine: words, index terms, postings, vectors, and the indexes of memories and passages."""
