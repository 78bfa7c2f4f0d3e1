"""One small SQLite file, used in the event loop's own thread. Knows no table.

For what is written at each message and must survive kill −9: a commit takes 30 µs, to hand it to
another thread takes longer. Only the checkpoint, which may wait for the disk, runs in another.
"""

from __future__ import annotations

import asyncio
import sqlite3
from contextlib import closing, suppress
from typing import TYPE_CHECKING

from spade_llm.errors import ConfigurationError, StorageFailed

if TYPE_CHECKING:
    from pathlib import Path

BOUND_EVERY = 100
"""Rows put between two looks at a bound: by so many it may be passed."""
BUSY_S = 0.05
"""Longest wait for another connection to the file."""
PASSIVE = "PRAGMA wal_checkpoint(PASSIVE)"
TRUNCATE = "PRAGMA wal_checkpoint(TRUNCATE)"

# NORMAL: a commit survives the process, not a power cut; the stores behind sync for themselves, and
# their writes are idempotent by key. Checkpoints: see `checkpoint`.
_PRAGMAS = """PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL; PRAGMA secure_delete=ON;
PRAGMA wal_autocheckpoint=0;"""


class SmallDatabase:
    def __init__(self, path: Path | None, *, schema: str, what: str) -> None:
        """`path=None`: in RAM only. `schema` makes what is missing. `what`: as people call it."""
        self._path = path
        self._schema = schema
        self._what = what
        self._db: sqlite3.Connection | None = None
        self._until_bound = 0

    def open(self) -> None:
        """Open the file, or make it, for its owner only: people's words and rooms' passwords.

        Raises:
            ConfigurationError: it is no such file, or cannot be read and written.
        """
        path = self._path or ":memory:"
        if self._path is not None:
            with suppress(OSError):  # SQLite says why it cannot be.
                self._path.touch(mode=0o600)
        try:
            self._db = sqlite3.connect(
                path, isolation_level=None, timeout=BUSY_S, check_same_thread=False
            )
            self._db.executescript(_PRAGMAS + self._schema)
        except sqlite3.Error as error:
            self.close()
            raise ConfigurationError(
                f"{self._what} {str(path)!r} cannot be used ({error}): check the path and its"
                " permissions, or remove the file"
            ) from error

    async def open_aside(self) -> None:
        """As `open`, in another thread: a new file waits for the disk, 1 to 40 ms."""
        await asyncio.to_thread(self.open)

    def close(self) -> None:
        if self._db is not None:
            self._db.close()
            self._db = None

    def run(self, sql: str, *values: object) -> list[tuple[object, ...]]:
        """The rows that the statement gives. `values` may be one mapping, for one with names.

        Raises:
            StorageFailed: the disk refuses.
        """
        if self._db is None:
            raise StorageFailed(f"{self._what} is not open")
        named = values[0] if values and isinstance(values[0], dict) else values
        try:
            return self._db.execute(sql, named).fetchall()
        except sqlite3.Error as error:
            raise StorageFailed(f"{self._what} cannot be used") from error

    async def hold_bound(self, sql: str, *values: object) -> None:
        """After each row that was put: now and then `sql` drops what is too much. Raises
        StorageFailed."""
        self._until_bound -= 1
        if self._until_bound <= 0:
            self._until_bound = BOUND_EVERY
            self.run(sql, *values)
            await self.checkpoint()

    async def checkpoint(self, how: str = PASSIVE) -> None:
        """Bring the WAL into the file: call it when nobody waits. Raises StorageFailed."""
        if self._path is not None:
            await asyncio.to_thread(self._checkpoint, self._path, how)

    def _checkpoint(self, path: Path, how: str) -> None:
        """By a connection of this thread's own."""
        try:
            with closing(sqlite3.connect(path, timeout=BUSY_S)) as connection:
                connection.execute(how)
        except sqlite3.Error as error:
            raise StorageFailed(f"{self._what} cannot be used") from error
