"""SQLite file of a memory: connections, errors, blocking access."""

from __future__ import annotations

import logging
import os
import sqlite3
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AsyncExitStack, closing, contextmanager
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TypeVar

from spade_llm.core.errors import ConfigurationError, StorageFailed
from spade_llm.memory.database.connection import (
    DatabaseThread,
    OpenedDatabase,
    SqlRow,
    SqlValue,
    StorageUnavailable,
    Transaction,
)
from spade_llm.memory.database.migrations import migrate
from spade_llm.memory.database.queries import HAS_CONTENT

T = TypeVar("T")

logger = logging.getLogger(__name__)

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

IN_MEMORY = ":memory:"
MEMORY_FILE = "memory.db"
"""Name of the file in the folder of its agent."""

LOCK_WAIT_S = 5.0
"""Maximum wait in seconds for another process's lock on the file before a statement fails."""

CACHED_STATEMENTS = 256

READERS = 2
"""Number of reader connections; more are not faster, since one thread at a time runs Python."""

FILE_PRAGMAS = (
    # Readers go on while the writer commits.
    "PRAGMA journal_mode = WAL",
    # In WAL mode NORMAL syncs at checkpoints only: a power cut would lose acknowledged writes.
    "PRAGMA synchronous = FULL",
    # Overwrites what is deleted: what is forgotten must not stay in free pages.
    "PRAGMA secure_delete = ON",
)

READER_PRAGMAS = ("PRAGMA query_only = ON",)

FOREIGN_KEYS = "PRAGMA foreign_keys = ON"

# In the event loop's thread a locked file must fail at once instead of blocking.
NO_BUSY_TIMEOUT = "PRAGMA busy_timeout = 0"

TRUNCATE_WAL = "PRAGMA wal_checkpoint(TRUNCATE)"
BUSY_TIMEOUT = "PRAGMA busy_timeout"


def storage_failed(error: sqlite3.Error) -> StorageFailed:
    """Error for the caller, without the statement and the path."""
    reason = explain_error(error) or "the memory's database returned an error"
    return StorageUnavailable(reason) if _is_busy(error) else StorageFailed(reason)


def explain_error(error: sqlite3.Error) -> str:
    """Explain the error in one clause; empty if there is nothing that a user could act on."""
    # Only errors that come from SQLite itself have a code.
    code = getattr(error, "sqlite_errorcode", None)
    return "" if code is None else ERROR_EXPLANATIONS.get(code & PRIMARY_CODE_MASK, "")


def _is_busy(error: sqlite3.Error) -> bool:
    # The beginning, for SQLITE_BUSY_RECOVERY and SQLITE_BUSY_SNAPSHOT, too.
    return getattr(error, "sqlite_errorname", "").startswith("SQLITE_BUSY")


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


class SqliteConnection(sqlite3.Connection):
    """Connection to a memory file (`Connection`)."""

    _cannot_erase = False

    def pages(
        self, sql: str, parameters: Mapping[str, SqlValue], *, size: int
    ) -> Iterator[list[SqlRow]]:
        """Execute a statement and yield its rows in lists of `size`, to bound the memory used."""
        cursor = self.execute(sql, parameters)
        while rows := cursor.fetchmany(size):
            yield rows

    def read(self, operation: Callable[[Transaction], T], *, is_short: bool = False) -> T:
        """Run an operation on a snapshot of the file. Raises StorageFailed."""
        del is_short  # A snapshot costs 5 µs.
        try:
            return self.read_snapshot(operation)
        except sqlite3.Error as error:
            raise storage_failed(error) from error

    def read_snapshot(self, operation: Callable[[Transaction], T]) -> T:
        """Run an operation on a snapshot of the file. Raises sqlite3.Error."""
        # Without a transaction each statement would see a state of the file of its own.
        self.execute("BEGIN")
        try:
            return operation(Transaction(self))
        finally:
            # Ends the snapshot: an open one would keep the write-ahead log from being emptied.
            self.rollback()

    def write(self, operation: Callable[[], Sequence[Transaction]]) -> Mapping[str, int]:
        """Run an operation in a transaction and commit it, synced. Raises StorageFailed."""
        try:
            # Takes the lock at once: a transaction that reads first and then writes may fail with
            # SQLITE_BUSY_SNAPSHOT, for which no timeout helps.
            self.execute("BEGIN IMMEDIATE")
            operation()
            self.execute("COMMIT")
        except sqlite3.Error as error:
            raise storage_failed(error) from error
        finally:
            # No effect after COMMIT; one that failed may leave the transaction open.
            self.rollback()
        return {}

    def erase_deleted(self, *, timeout_s: float) -> bool:
        """Truncate the write-ahead log; False if a reader prevented it: it is tried again."""
        ((usual_ms,),) = self.execute(BUSY_TIMEOUT).fetchall()
        self.execute(f"{BUSY_TIMEOUT} = {round(timeout_s * 1000)}")
        try:
            ((is_busy, _, _),) = self.execute(TRUNCATE_WAL).fetchall()
        except sqlite3.Error as error:
            # Tried again twice a second: on a full disk, one line is enough.
            level = logging.DEBUG if self._cannot_erase else logging.WARNING
            logger.log(level, "the memory's write-ahead log could not be truncated: %s", error)
            self._cannot_erase = True
            return False
        finally:
            self.execute(f"{BUSY_TIMEOUT} = {usual_ms}")
        self._cannot_erase = False
        return not is_busy


def open_connection(path: Path, pragmas: Sequence[str]) -> SqliteConnection:
    # isolation_level None: by default Python begins transactions itself, before each change.
    connection = sqlite3.connect(
        path,
        timeout=LOCK_WAIT_S,
        isolation_level=None,
        cached_statements=CACHED_STATEMENTS,
        factory=SqliteConnection,
    )
    try:
        for pragma in pragmas:
            connection.execute(pragma)
    except BaseException:
        connection.close()
        raise
    return connection


class InlineFileReader:
    """Connection for short reads in the event loop's thread (`InlineReader`)."""

    def __init__(self, path: Path, *, pragmas: Sequence[str]) -> None:
        """Raises sqlite3.Error."""
        self._connection = open_connection(path, [*pragmas, NO_BUSY_TIMEOUT])

    def close(self) -> None:
        self._connection.close()

    def read(self, operation: Callable[[Transaction], T]) -> T:
        """Run an operation. Raises BlockingIOError if the file is locked, StorageFailed, or the
        operation's error."""
        try:
            return self._connection.read_snapshot(operation)
        except sqlite3.Error as error:
            if _is_busy(error):
                raise BlockingIOError from error
            raise storage_failed(error) from error


class MemoryFile:
    """SQLite file with the tables of a memory (`MemoryDatabase`).

    The file is created if it is missing, its folder is not. `:memory:` is a temporary file.
    """

    def __init__(self, path: Path) -> None:
        self.path = path

    @property
    def name(self) -> str:
        return repr(str(self.path))

    @property
    def has_other_writers(self) -> bool:
        return False

    async def open(self, stack: AsyncExitStack) -> OpenedDatabase:
        """Open the file and migrate it. Raises ConfigurationError."""
        try:
            return await self._open(stack)
        except sqlite3.Error as error:
            reason = explain_error(error) or "SQLite cannot open it"
            raise ConfigurationError(
                f"{self.name}: {reason}; check the path and its rights"
            ) from error

    async def _open(self, stack: AsyncExitStack) -> OpenedDatabase:
        # SQLite's own memory databases cannot be read beside a writer without blocking it.
        path = self.path
        if str(path) == IN_MEMORY:
            path = Path(stack.enter_context(TemporaryDirectory())) / "memory.db"
        # Before SQLite makes it by the umask; log and shared memory get the rights of the file.
        make_file_private(path)
        writer = await _open_thread(stack, path, "memory-writer", FILE_PRAGMAS)
        await writer.run(lambda connection: migrate(connection, path=str(path)))
        # After the migration: foreign keys must be off while tables are rebuilt, and cannot be
        # switched inside its transaction.
        await writer.run(lambda connection: connection.execute(FOREIGN_KEYS))
        readers = [
            await _open_thread(stack, path, "memory-reader", READER_PRAGMAS) for _ in range(READERS)
        ]
        inline = InlineFileReader(path, pragmas=READER_PRAGMAS)
        stack.callback(inline.close)
        return OpenedDatabase(writer=writer, readers=readers, inline=inline)


async def _open_thread(
    stack: AsyncExitStack, path: Path, name: str, pragmas: Sequence[str]
) -> DatabaseThread[SqliteConnection]:
    connect = partial(open_connection, path, pragmas)
    thread = await DatabaseThread.open(connect, name=name)
    stack.push_async_callback(thread.close)
    return thread


def has_memories(path: Path) -> bool:
    """Check whether a file holds memories or messages.

    Raises:
        ConfigurationError: it cannot be read.
    """
    if not path.exists():
        return False
    try:
        with closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)) as file:
            ((is_filled,),) = file.execute(HAS_CONTENT)
    except sqlite3.Error as error:
        reason = explain_error(error) or str(error)
        raise ConfigurationError(
            f"{str(path)!r} cannot be read ({reason}), and the memories are in PostgreSQL now:"
            " move the file away"
        ) from error
    return bool(is_filled)


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
                connection.execute(TRUNCATE_WAL)
            return result

    @contextmanager
    def _opened(self) -> Iterator[SqliteConnection]:
        make_file_private(self.path)
        try:
            with closing(open_connection(self.path, ())) as connection:
                migrate(connection, path=str(self.path))
                for pragma in (*FILE_PRAGMAS, FOREIGN_KEYS):
                    connection.execute(pragma)
                yield connection
        except sqlite3.Error as error:
            reason = explain_error(error) or "SQLite cannot open it"
            raise StorageFailed(f"{str(self.path)!r}: {reason}") from error
