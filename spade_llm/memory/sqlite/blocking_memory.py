"""BlockingMemory: transactions on a memory file without an event loop."""

from __future__ import annotations

import sqlite3
from contextlib import closing, contextmanager
from datetime import UTC, datetime
from typing import TYPE_CHECKING, TypeVar

from spade_llm.core.errors import StorageFailed
from spade_llm.memory.sqlite.connection import (
    Transaction,
    explain_error,
    make_file_private,
    open_connection,
)
from spade_llm.memory.sqlite.migrations import migrate

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

T = TypeVar("T")

PRAGMAS = (
    "PRAGMA journal_mode = WAL",
    "PRAGMA synchronous = FULL",
    "PRAGMA secure_delete = ON",
    "PRAGMA foreign_keys = ON",
)


class BlockingMemory:
    """The file is made when it is first used; its folder is not. Nothing stays open."""

    def __init__(
        self, path: Path, *, now: Callable[[], datetime] = lambda: datetime.now(UTC)
    ) -> None:
        self.path = path
        self.now = now

    def run(self, operation: Callable[[Transaction], T]) -> T:
        """Its result; what it changed is synced.

        Raises:
            ConfigurationError: the file is newer than this version, or no memory.
            StorageFailed: it could not be opened, read or written.
            ServiceError: whatever the operation refuses with.
        """
        with self._opened() as connection:
            transaction = Transaction(connection)
            connection.execute("BEGIN IMMEDIATE")
            result = operation(transaction)
            connection.execute("COMMIT")
            if transaction.is_erasing:
                connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
            return result

    @contextmanager
    def _opened(self) -> Iterator[sqlite3.Connection]:
        make_file_private(self.path)
        try:
            with closing(open_connection(self.path, ())) as connection:
                migrate(connection, path=str(self.path))
                for pragma in PRAGMAS:
                    connection.execute(pragma)
                yield connection
        except sqlite3.Error as error:
            reason = explain_error(error) or "SQLite cannot open it"
            raise StorageFailed(f"{str(self.path)!r}: {reason}") from error
