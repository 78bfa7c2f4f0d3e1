"""Small SQLite file (WAL) for the event loop's thread: retry, checkpoints, bounded size.

For data that is written with each message and must survive kill −9. A commit takes 30 µs, less than
a switch to another thread; only checkpoints, which may wait for the disk, run in one.
"""

from __future__ import annotations

import asyncio
import json
import logging
import sqlite3
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, closing, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from spade_llm.core.errors import ConfigurationError, StorageFailed
from spade_llm.core.limits import FailureThrottle

if TYPE_CHECKING:
    from spade_llm.core.database import DialectSql, Execute, Row, StoreTables

PRUNE_EVERY_ROWS = 100
"""Rows inserted between two prunings; the bound may be exceeded by this many."""
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

_HAS_COLUMN = "SELECT 1 FROM pragma_table_info(?) WHERE name = ?"

logger = logging.getLogger(__name__)


class SqliteFile:
    """Database in one SQLite file (`Database`), with retries while another process holds it."""

    def __init__(self, path: Path | None, tables: StoreTables) -> None:
        """`path=None`: in RAM only. The version of `tables` is the file's user_version."""
        self._path = path
        self._tables = tables
        self._what = tables.what
        self._db: sqlite3.Connection | None = None
        self._until_prune = 0
        self._writing = asyncio.Lock()
        self._queued = 0
        """Callers that wait for `_writing` or hold it for several statements."""
        self._failures = FailureThrottle(FAILING_S, time.monotonic)
        self._submitted: set[asyncio.Task[None]] = set()

    async def open(self) -> None:
        """Open the file, or create it with permissions for its owner only; a new file waits for the
        disk, 1 to 40 ms, in another thread.

        Raises:
            ConfigurationError: it is not an SQLite file, or cannot be read and written.
        """
        if self._path is None:
            self._open()
        else:
            await asyncio.to_thread(self._open)

    def _open(self) -> None:
        path = self._path or ":memory:"
        if self._path is not None:
            with suppress(OSError):  # SQLite reports the reason below.
                # Before SQLite creates it: that would be readable as far as the umask allows.
                self._path.touch(mode=0o600)
        try:
            # Autocommit: a statement that has returned survives a kill. Not bound to a thread,
            # because it is opened in another one.
            self._db = sqlite3.connect(
                path, isolation_level=None, timeout=LOCK_TIMEOUT_S, check_same_thread=False
            )
            self._check_version(self._db, path)
            self._db.executescript(_PRAGMAS + self._tables.schema)
            for column in self._tables.added_columns:
                add_missing_column(self._db, column)
            # At the end: opening may wait for a lock, statements on the event loop must not.
            self._db.execute("PRAGMA busy_timeout=0")
        except sqlite3.Error as error:
            self._close()
            raise ConfigurationError(
                f"{self._what} {str(path)!r} cannot be used ({error}): check the path and its"
                " permissions, or remove the file"
            ) from error

    def _check_version(self, db: sqlite3.Connection, path: Path | str) -> None:
        """Refuse a file of a later version, which may have changed what columns mean, before
        anything is written over it. Raises ConfigurationError."""
        ((version,),) = db.execute("PRAGMA user_version").fetchall()
        known = self._tables.version
        if version > known > 0:
            self._close()
            raise ConfigurationError(
                f"{self._what} {str(path)!r} was written by a later version of this software:"
                " install that version, or move the file away"
            )
        if version < known:
            db.execute(f"PRAGMA user_version={known}")

    async def close(self) -> None:
        """Wait for submitted statements, and close."""
        if self._submitted:
            await asyncio.wait(self._submitted)
        self._close()

    def _close(self) -> None:
        if self._db is not None:
            self._db.close()
            self._db = None

    @property
    def is_failing(self) -> bool:
        """True if a statement failed within the last FAILING_S."""
        return self._failures.is_failing

    async def execute(self, statement: str | DialectSql, *values: object) -> list[Row]:
        """Execute a statement and return its rows, in the order of the calls. `values` may be one
        mapping of named parameters. The event loop continues while another connection holds the
        file, up to LOCK_TIMEOUT_S.

        Raises:
            StorageFailed: the disk refuses, or another process held the file for too long.
        """
        rows = None if self._must_wait else self._attempt(statement, values)
        if rows is not None:
            return rows
        async with self._turn():
            return await self._retried(statement, values)

    def submit(self, statement: str | DialectSql, *values: object) -> None:
        """Execute a statement from a callback that cannot wait, in the order of these calls: at
        once, or in the background while the file is locked. A failure is logged."""
        with suppress(StorageFailed):
            if self._must_wait or self._attempt(statement, values) is None:
                task = asyncio.create_task(self._execute_later(statement, values))
                self._submitted.add(task)
                task.add_done_callback(self._submitted.discard)

    async def _execute_later(self, statement: str | DialectSql, values: tuple[object, ...]) -> None:
        with suppress(StorageFailed):
            async with self._turn():
                await self._retried(statement, values)

    @property
    def _must_wait(self) -> bool:
        """True if other statements wait. Otherwise the lock's cost is saved."""
        return bool(self._queued or self._submitted or self._writing.locked())

    @asynccontextmanager
    async def transaction(self) -> AsyncIterator[Execute]:
        """Context manager for statements that take effect together, or not at all.

        Raises:
            StorageFailed: the disk refuses, or another process held the file for too long.
        """

        async def execute(statement: str | DialectSql, *values: object) -> list[Row]:
            return await self._retried(statement, values)

        async with self._turn():
            # The write lock at once: an upgrade of a read lock could fail in the middle.
            await self._retried("BEGIN IMMEDIATE", ())
            try:
                yield execute
                await self._retried("COMMIT", ())
            except BaseException:
                with suppress(sqlite3.Error):  # The error that ended the block is reported.
                    if self._db is not None:
                        self._db.execute("ROLLBACK")
                raise

    @asynccontextmanager
    async def _turn(self) -> AsyncIterator[None]:
        """Wait for the statements of earlier calls; bounds the wait and the block."""
        self._queued += 1
        try:
            # asyncio.Lock is fair, which keeps the order of the calls.
            async with asyncio.timeout(LOCK_TIMEOUT_S), self._writing:
                yield
        except TimeoutError as error:
            raise self._storage_error(None) from error
        finally:
            self._queued -= 1

    async def _retried(self, statement: str | DialectSql, values: tuple[object, ...]) -> list[Row]:
        """Execute the statement, again and again while another connection holds the file."""
        while True:
            rows = self._attempt(statement, values)
            if rows is not None:
                return rows
            await asyncio.sleep(RETRY_S)

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

    async def erase_deleted(self) -> None:
        """Checkpoint the WAL into the file and truncate it, so that it keeps no deleted bytes; in
        the file they are overwritten (secure_delete).

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

    def _attempt(self, statement: str | DialectSql, values: tuple[object, ...]) -> list[Row] | None:
        """Execute the statement once, without waiting; None: another connection holds the file.
        Raises StorageFailed."""
        if self._db is None:
            raise StorageFailed(f"{self._what} is not open")
        sql = statement if isinstance(statement, str) else statement.sqlite
        bound: tuple[object, ...] | dict[str, object] = values
        if values and isinstance(values[0], dict):
            bound = {name: bindable(value) for name, value in values[0].items()}
        elif list in map(type, values):
            bound = tuple(map(bindable, values))
        try:
            return self._db.execute(sql, bound).fetchall()
        except sqlite3.Error as error:
            if getattr(error, "sqlite_errorname", "").startswith("SQLITE_BUSY"):
                return None
            raise self._storage_error(error) from error

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


def add_missing_column(db: sqlite3.Connection, column: str) -> None:
    """Add a column, `TABLE COLUMN TYPE`, unless the table has it."""
    table, name, kind = column.split(maxsplit=2)
    if not db.execute(_HAS_COLUMN, (table, name)).fetchall():
        db.execute(f"ALTER TABLE {table} ADD COLUMN {name} {kind}")


def bindable(value: object) -> object:
    """Value as SQLite takes it: a list as JSON text, for json_each."""
    return json.dumps(value) if type(value) is list else value
