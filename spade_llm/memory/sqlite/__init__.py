"""The memory in one SQLite file: every role of `store.py`, with an index in RAM for each owner."""
