"""NearReader: a connection in the loop's own thread, for what is quicker than a change of threads.

Ten rows by key take 0.1 ms, another thread 0.3 more. It never waits for a lock: whoever asks goes
to a reader with a thread of its own then.
"""

from __future__ import annotations

import sqlite3
from typing import TYPE_CHECKING, TypeVar

from spade_llm.memory.sqlite.errors import storage_failed
from spade_llm.memory.sqlite.readers import snapshot
from spade_llm.memory.sqlite.thread import connect

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from spade_llm.memory.sqlite.transaction import Transaction

T = TypeVar("T")

NO_WAITING = "PRAGMA busy_timeout = 0"


class NearReader:
    def __init__(self, path: Path, *, pragmas: Sequence[str]) -> None:
        """Raises sqlite3.Error."""
        self._connection = connect(path, [*pragmas, NO_WAITING])

    def close(self) -> None:
        self._connection.close()

    def read(self, operation: Callable[[Transaction], T]) -> T:
        """Raises BlockingIOError if the file is locked; StorageFailed; what the operation does."""
        try:
            return snapshot(self._connection, operation)
        except sqlite3.Error as error:
            if getattr(error, "sqlite_errorname", "").startswith("SQLITE_BUSY"):
                raise BlockingIOError from error
            raise storage_failed(error) from error
