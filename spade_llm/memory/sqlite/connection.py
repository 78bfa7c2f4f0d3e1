"""SQLite connections: writer thread, reader pool, blocking access, transactions, errors."""

from __future__ import annotations

import asyncio
import os
import sqlite3
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager, closing, contextmanager
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Self, TypeVar

from spade_llm.core.errors import StorageFailed
from spade_llm.memory.sqlite.migrations import migrate

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

T = TypeVar("T")

PRIMARY_CODE_MASK = 0xFF
"""SQLite's extended result codes carry the primary one in their lowest byte."""

ERROR_EXPLANATIONS = {
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

PRIVATE_MODE = 0o600

SqlValue = str | int | float | bytes | None
SqlRow = tuple[Any, ...]
"""Values of a row; their types are guaranteed by the STRICT tables."""

LOCK_WAIT_S = 5.0
"""Maximum wait in seconds for another process's lock on the file before a statement fails."""

CACHED_STATEMENTS = 256

# In the event loop's thread a locked file must fail at once instead of blocking.
NO_BUSY_TIMEOUT = "PRAGMA busy_timeout = 0"


BLOCKING_PRAGMAS = (
    "PRAGMA journal_mode = WAL",
    "PRAGMA synchronous = FULL",
    "PRAGMA secure_delete = ON",
    "PRAGMA foreign_keys = ON",
)


def storage_failed(error: sqlite3.Error) -> StorageFailed:
    """Error for the caller, without the statement and the path."""
    return StorageFailed(explain_error(error) or "the memory's database returned an error")


def explain_error(error: sqlite3.Error) -> str:
    """Explain the error in one clause; empty if there is nothing that a user could act on."""
    # Only errors that come from SQLite itself have a code.
    code = getattr(error, "sqlite_errorcode", None)
    return "" if code is None else ERROR_EXPLANATIONS.get(code & PRIMARY_CODE_MASK, "")


def make_file_private(path: Path) -> None:
    """Create the file if it is missing, and remove the access rights of other users.

    SQLite gives the rights of the file to its log. A failure is left to SQLite, which explains it;
    the rights of another user's file stay.
    """
    try:
        os.close(os.open(path, os.O_CREAT | os.O_RDWR, PRIVATE_MODE))
    except OSError:
        return
    # O_CREAT leaves the rights of a file that was there as they are.
    if path.stat().st_mode & 0o077 and path.stat().st_uid == os.getuid():
        path.chmod(PRIVATE_MODE)


class Transaction:
    """Statements of one write; the creator of the transaction commits or rolls back."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        self.changed: dict[str, set[int]] = {}
        """Keys of rows that are now different or gone, by owner."""
        self.accessed: dict[str, set[int]] = {}
        """Keys of rows with counted accesses, by owner: only their importance has changed."""
        self.is_erasing = False
        """Its text must not stay in the write-ahead log either."""

    def all(self, sql: str, parameters: Mapping[str, SqlValue] = {}) -> list[SqlRow]:
        """Execute a statement and return all rows."""
        return self._connection.execute(sql, parameters).fetchall()

    def pages(
        self, sql: str, parameters: Mapping[str, SqlValue], *, size: int
    ) -> Iterator[list[SqlRow]]:
        """Execute a statement and yield its rows in lists of `size`, to bound the memory used."""
        cursor = self._connection.execute(sql, parameters)
        while rows := cursor.fetchmany(size):
            yield rows

    def first(self, sql: str, parameters: Mapping[str, SqlValue] = {}) -> SqlRow | None:
        """Execute a statement and return its first row, if there is one."""
        rows = self.all(sql, parameters)
        return rows[0] if rows else None

    def count(self, sql: str, parameters: Mapping[str, SqlValue] = {}) -> int:
        """Execute a statement; return the number of changed rows."""
        # rowcount is -1 for all but INSERT, UPDATE, DELETE and REPLACE.
        return max(self._connection.execute(sql, parameters).rowcount, 0)

    def each(self, sql: str, parameters: Iterable[Mapping[str, SqlValue]]) -> int:
        """Execute a statement once for each set of parameters; return the number of changed
        rows."""
        return max(self._connection.executemany(sql, parameters).rowcount, 0)

    def mark_changed(self, owner: str, keys: Iterable[int]) -> None:
        """Mark rows as changed: caches must read them again."""
        self.changed.setdefault(owner, set()).update(keys)

    def mark_accessed(self, owner: str, keys: Iterable[int]) -> None:
        """Mark rows as accessed: caches must read their importance again."""
        self.accessed.setdefault(owner, set()).update(keys)


class SqliteThread:
    """Thread with a connection of its own; functions given to `run` are called one after the
    other."""

    def __init__(self, connection: sqlite3.Connection, executor: ThreadPoolExecutor) -> None:
        self._connection = connection
        self._executor = executor

    @classmethod
    async def open(cls, path: Path, *, name: str, pragmas: Sequence[str]) -> Self:
        """Start the thread and open its connection. Raises sqlite3.Error."""
        # One worker: sqlite3 refuses a connection outside the thread that opened it.
        executor = ThreadPoolExecutor(max_workers=1, thread_name_prefix=name)
        opening = asyncio.get_running_loop().run_in_executor(
            executor, open_connection, path, pragmas
        )
        try:
            return cls(await opening, executor)
        except BaseException:
            # Waiting for the thread here would block the event loop.
            executor.shutdown(wait=False)
            raise

    async def run(self, function: Callable[[sqlite3.Connection], T]) -> T:
        """Run a function in the thread; a caller that is cancelled does not stop it."""
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._executor, function, self._connection)

    async def close(self) -> None:
        """Wait for the running function, then close the connection and end the thread."""
        await self.run(sqlite3.Connection.close)
        self._executor.shutdown(wait=True)


def open_connection(path: Path, pragmas: Sequence[str]) -> sqlite3.Connection:
    # isolation_level None: by default Python begins transactions itself, before each change.
    connection = sqlite3.connect(
        path, timeout=LOCK_WAIT_S, isolation_level=None, cached_statements=CACHED_STATEMENTS
    )
    try:
        for pragma in pragmas:
            connection.execute(pragma)
    except BaseException:
        connection.close()
        raise
    return connection


class ReaderPool:
    """Fixed number of reader connections; a read waits for a free one."""

    def __init__(self, threads: Sequence[SqliteThread]) -> None:
        self._free: asyncio.Queue[SqliteThread] = asyncio.Queue(len(threads))
        self._is_closed = False
        for thread in threads:
            self._free.put_nowait(thread)

    async def read(self, operation: Callable[[Transaction], T]) -> T:
        """Run an operation in a reader thread, on a snapshot of the file.

        Raises:
            StorageFailed: the file could not be read.
            ServiceError: the operation refuses.
        """
        async with self._one() as thread:
            try:
                return await thread.run(lambda connection: read_snapshot(connection, operation))
            except sqlite3.Error as error:
                raise storage_failed(error) from error

    async def drain(self) -> None:
        """Refuse new reads and wait for running ones. The connections are not closed."""
        self._is_closed = True
        # A connection is free when its read has ended: with all of them, all reads have ended.
        for _ in range(self._free.maxsize):
            await self._free.get()

    @asynccontextmanager
    async def _one(self) -> AsyncIterator[SqliteThread]:
        if self._is_closed:
            raise StorageFailed("the memory store is closed")
        thread = await self._free.get()
        try:
            yield thread
        finally:
            self._free.put_nowait(thread)


def read_snapshot(connection: sqlite3.Connection, operation: Callable[[Transaction], T]) -> T:
    # Without a transaction each statement would see a state of the file of its own.
    connection.execute("BEGIN")
    try:
        return operation(Transaction(connection))
    finally:
        # Ends the snapshot: an open one would keep the write-ahead log from being emptied.
        connection.rollback()


class InlineReader:
    """Reader connection for short reads in the event loop's thread; it never waits for a lock."""

    def __init__(self, path: Path, *, pragmas: Sequence[str]) -> None:
        """Raises sqlite3.Error."""
        self._connection = open_connection(path, [*pragmas, NO_BUSY_TIMEOUT])

    def close(self) -> None:
        self._connection.close()

    def read(self, operation: Callable[[Transaction], T]) -> T:
        """Run an operation. Raises BlockingIOError if the file is locked, StorageFailed, or the
        operation's error."""
        try:
            return read_snapshot(self._connection, operation)
        except sqlite3.Error as error:
            # The beginning, for SQLITE_BUSY_RECOVERY and SQLITE_BUSY_SNAPSHOT, too.
            if getattr(error, "sqlite_errorname", "").startswith("SQLITE_BUSY"):
                raise BlockingIOError from error
            raise storage_failed(error) from error


class BlockingMemory:
    """Blocking access to a memory file, without an event loop.

    The file is created when it is first used; its folder is not. Nothing stays open.
    """

    def __init__(
        self, path: Path, *, now: Callable[[], datetime] = lambda: datetime.now(UTC)
    ) -> None:
        self.path = path
        self.now = now

    def run(self, operation: Callable[[Transaction], T]) -> T:
        """Run an operation in a transaction of its own; return its result when changes are synced.

        Raises:
            ConfigurationError: the file is newer than this version, or no memory.
            StorageFailed: it could not be opened, read or written.
            ServiceError: the operation refuses.
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
                for pragma in BLOCKING_PRAGMAS:
                    connection.execute(pragma)
                yield connection
        except sqlite3.Error as error:
            reason = explain_error(error) or "SQLite cannot open it"
            raise StorageFailed(f"{str(self.path)!r}: {reason}") from error
