"""Small SQLite file (WAL) for the event loop's thread: retry, checkpoints, bounded size.

For data that is written with each message and must survive kill −9. A commit takes 30 µs, less than
a switch to another thread; only checkpoints, which may wait for the disk, run in one. Use `execute`
for a file with TRUNCATE checkpoints, because they hold the write lock while they sync.
"""

from __future__ import annotations

import asyncio
import logging
import sqlite3
import time
from contextlib import closing, suppress
from typing import TYPE_CHECKING

from spade_llm.core.errors import ConfigurationError, StorageFailed
from spade_llm.core.limits import FailureThrottle

if TYPE_CHECKING:
    from pathlib import Path

PRUNE_EVERY_ROWS = 100
"""Rows inserted between two prunings; the bound may be exceeded by this many."""
RUN_TIMEOUT_S = 1.0
"""Maximum time for which `run` blocks the event loop while another process holds the file."""
LOCK_TIMEOUT_S = 5.0
"""Maximum wait of `open`, `execute` and TRUNCATE checkpoints; the event loop is not blocked."""
RETRY_S = 0.005
TRUNCATE_RETRY_S = 0.1
"""Pause between two attempts, in which writers get the lock."""
TRUNCATE_TIMEOUT_S = 0.25
FAILING_S = 60.0
"""Time between two log lines about one file, and how long a failure is reported as current."""
PASSIVE = "PRAGMA wal_checkpoint(PASSIVE)"
TRUNCATE = "PRAGMA wal_checkpoint(TRUNCATE)"

# NORMAL: a commit survives the process, not a power cut; the stores behind sync for themselves, and
# their writes are idempotent by key. Checkpoints: see `checkpoint`.
# secure_delete overwrites what is deleted: a forgotten text stays in no free page.
_PRAGMAS = """PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL; PRAGMA secure_delete=ON;
PRAGMA wal_autocheckpoint=0;"""

logger = logging.getLogger(__name__)


class SqliteFile:
    """Connection to one SQLite file, with retries while another process holds it."""

    def __init__(self, path: Path | None, *, schema: str, what: str) -> None:
        """`path=None`: in RAM only. `schema`: SQL that creates missing tables. `what`: name of the
        file in error messages."""
        self._path = path
        self._schema = schema
        self._what = what
        self._db: sqlite3.Connection | None = None
        self._until_prune = 0
        self._writing = asyncio.Lock()
        self._failures = FailureThrottle(FAILING_S, time.monotonic)

    def open(self) -> None:
        """Open the file, or create it with permissions for its owner only.

        Raises:
            ConfigurationError: it is not an SQLite file, or cannot be read and written.
        """
        path = self._path or ":memory:"
        if self._path is not None:
            with suppress(OSError):  # SQLite reports the reason below.
                # Before SQLite creates it: that would be readable as far as the umask allows.
                self._path.touch(mode=0o600)
        try:
            # Autocommit: a statement that has returned survives a kill. Not bound to a thread,
            # because `open_in_thread` opens it in another one.
            self._db = sqlite3.connect(
                path, isolation_level=None, timeout=LOCK_TIMEOUT_S, check_same_thread=False
            )
            # At the end: opening may wait for a lock, statements on the event loop must not.
            self._db.executescript(_PRAGMAS + self._schema + "PRAGMA busy_timeout=0;")
        except sqlite3.Error as error:
            self.close()
            raise ConfigurationError(
                f"{self._what} {str(path)!r} cannot be used ({error}): check the path and its"
                " permissions, or remove the file"
            ) from error

    async def open_in_thread(self) -> None:
        """Open the file like `open`, in another thread: a new file waits for the disk, 1 to 40
        ms."""
        await asyncio.to_thread(self.open)

    def close(self) -> None:
        if self._db is not None:
            self._db.close()
            self._db = None

    @property
    def is_failing(self) -> bool:
        """True if a statement failed within the last FAILING_S."""
        return self._failures.is_failing

    def run(self, sql: str, *values: object) -> list[tuple[object, ...]]:
        """Execute a statement and return its rows. `values` may be one mapping of named parameters.

        Raises:
            StorageFailed: the disk refuses, or another process held the file for RUN_TIMEOUT_S.
        """
        give_up_s = time.monotonic() + RUN_TIMEOUT_S
        while True:
            try:
                return self._attempt(sql, values)
            except sqlite3.Error as error:
                if not _is_busy(error) or time.monotonic() >= give_up_s:
                    raise self._storage_error(error) from error
            time.sleep(RETRY_S)

    async def execute(self, sql: str, *values: object) -> list[tuple[object, ...]]:
        """Execute a statement like `run`, in the order of the calls. The event loop continues while
        another connection holds the file, up to LOCK_TIMEOUT_S."""
        busy: sqlite3.Error | None = None
        try:
            # asyncio.Lock is fair, which keeps the order of the calls.
            async with asyncio.timeout(LOCK_TIMEOUT_S), self._writing:
                while True:
                    try:
                        return self._attempt(sql, values)
                    except sqlite3.Error as error:
                        if not _is_busy(error):
                            raise self._storage_error(error) from error
                        busy = error
                    await asyncio.sleep(RETRY_S)
        except TimeoutError:
            raise self._storage_error(busy) from busy

    async def prune_periodically(self, sql: str, *values: object) -> None:
        """Bound the table; call it after each inserted row. `sql` deletes the surplus every
        PRUNE_EVERY_ROWS rows. Raises StorageFailed."""
        self._until_prune -= 1
        if self._until_prune <= 0:
            self._until_prune = PRUNE_EVERY_ROWS
            await self.execute(sql, *values)
            await self.checkpoint()

    async def checkpoint(self) -> None:
        """Checkpoint the WAL into the file; call it when no request is waiting. Raises
        StorageFailed."""
        if self._path is not None:
            await asyncio.to_thread(self._checkpoint, self._path, PASSIVE)

    async def truncate_wal(self) -> None:
        """Checkpoint the WAL into the file and truncate it, so that it keeps no deleted bytes.

        Raises:
            StorageFailed: the disk refuses, or another process reads the file for longer than
                LOCK_TIMEOUT_S.
        """
        if self._path is None:
            return
        await self.checkpoint()  # Most of the work is done without the write lock.
        give_up_s = time.monotonic() + LOCK_TIMEOUT_S
        while True:
            async with self._writing:
                if await asyncio.to_thread(self._checkpoint, self._path, TRUNCATE):
                    return
            if time.monotonic() >= give_up_s:
                raise self._storage_error(None)
            await asyncio.sleep(TRUNCATE_RETRY_S)

    def _attempt(self, sql: str, values: tuple[object, ...]) -> list[tuple[object, ...]]:
        """Execute the statement once, without waiting. Raises sqlite3.Error."""
        if self._db is None:
            raise StorageFailed(f"{self._what} is not open")
        named = values[0] if values and isinstance(values[0], dict) else values
        return self._db.execute(sql, named).fetchall()

    def _checkpoint(self, path: Path, how: str) -> bool:
        """Checkpoint over a separate connection of this thread. False: another connection held the
        lock."""
        try:
            # `closing`, because a connection's own `with` ends the transaction, not the connection.
            with closing(sqlite3.connect(path, timeout=TRUNCATE_TIMEOUT_S)) as connection:
                ((is_busy, _, _),) = connection.execute(how).fetchall()
        except sqlite3.Error as error:
            raise self._storage_error(error) from error
        return not is_busy

    def _storage_error(self, error: sqlite3.Error | None) -> StorageFailed:
        """Build the error for the caller, without SQLite's text, which is logged (throttled). None:
        another connection held the file for too long."""
        reason = "database is locked" if error is None else str(error)
        name = "SQLITE_BUSY" if error is None else getattr(error, "sqlite_errorname", "")
        if self._failures.record():
            logger.error("%s %s cannot be used: %s (%s)", self._what, self._path, reason, name)
        return StorageFailed(f"{self._what} cannot be used")


def _is_busy(error: sqlite3.Error) -> bool:
    """Check whether another connection holds the file."""
    return getattr(error, "sqlite_errorname", "").startswith("SQLITE_BUSY")
