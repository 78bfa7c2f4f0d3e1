"""What SQLite's errors mean to whoever asked: one table. Knows no statement."""

from __future__ import annotations

import sqlite3

from spade_llm.errors import StorageFailed

PRIMARY_CODE = 0xFF
"""SQLite's extended result codes carry the primary one in their lowest byte."""

MEANING = {
    sqlite3.SQLITE_FULL: "the memory's disk is full",
    sqlite3.SQLITE_READONLY: "the memory's file is read-only",
    sqlite3.SQLITE_CORRUPT: "the memory's file is damaged: restore it from a backup",
    sqlite3.SQLITE_NOTADB: "the memory's file is not a database",
    sqlite3.SQLITE_BUSY: "the memory's file is locked by another program",
    sqlite3.SQLITE_LOCKED: "the memory's file is locked by another program",
    sqlite3.SQLITE_IOERR: "the memory's disk failed",
    sqlite3.SQLITE_CANTOPEN: "the memory's file cannot be opened",
    sqlite3.SQLITE_TOOBIG: "it is too large for the memory",
}


def storage_failed(error: sqlite3.Error) -> StorageFailed:
    """The error for the asking side: no statement, no path."""
    return StorageFailed(meaning(error) or "the memory's database refused")


def meaning(error: sqlite3.Error) -> str:
    """One clause, or nothing if the error says nothing that a user could act on."""
    code = getattr(error, "sqlite_errorcode", None)
    return "" if code is None else MEANING.get(code & PRIMARY_CODE, "")
