"""SQLite file of a library, with a writer and a reader connection."""

from __future__ import annotations

import asyncio
import os
import sqlite3
from collections.abc import Callable
from contextlib import AsyncExitStack, asynccontextmanager, closing, contextmanager
from typing import TYPE_CHECKING, Any

import aiosqlite

from spade_llm.core.errors import ConfigurationError, StorageFailed
from spade_llm.core.sqlite_file import bindable
from spade_llm.rag.store.library_database import ReadCache

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterable, Iterator, Sequence
    from pathlib import Path
    from typing import Self

    from spade_llm.core.database import DialectSql
    from spade_llm.rag.store.library_database import Row, SqlValue

Migration = Callable[[sqlite3.Connection], None]
"""Function that changes the tables to the next version, within a transaction of its caller."""

DATABASE_FILE = "documents.sqlite3"
_TRUNCATE_WAL = "PRAGMA wal_checkpoint (TRUNCATE)"


class LibraryFile:
    """SQLite database of a library (`LibraryDatabase`)."""

    def __init__(self, path: Path, *, migrations: Sequence[Migration]) -> None:
        self._path = path
        self._migrations = migrations
        self._one_writer = asyncio.Lock()
        self._opened = AsyncExitStack()
        self._cache = ReadCache()
        self._reader: aiosqlite.Connection
        self._writer: aiosqlite.Connection
        self._glancer: sqlite3.Connection

    async def __aenter__(self) -> Self:
        async with AsyncExitStack() as stack:
            await asyncio.to_thread(_migrate, self._path, self._migrations)
            self._writer = await stack.enter_async_context(_open_connection(self._path))
            self._reader = await stack.enter_async_context(_open_connection(self._path))
            with translate_sqlite_errors():
                # timeout=0: the thread of the event loop must never wait for a lock.
                glancer = sqlite3.connect(self._path, isolation_level=None, timeout=0)
            self._glancer = stack.enter_context(closing(glancer))
            # What an interrupted deletion left in the log.
            await self.erase_deleted()
            self._opened = stack.pop_all()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._opened.aclose()

    async def read(self, sql: str | DialectSql, values: Sequence[SqlValue] = ()) -> list[Row]:
        with translate_sqlite_errors():
            return await _fetch(self._reader, _text(sql), values)

    async def glance(self, sql: str, values: Sequence[SqlValue] = ()) -> list[Row]:
        """Read a few rows by key, synchronously in the event loop thread: this takes 0.1 ms, a
        thread switch up to 1 ms."""
        try:
            return self._glancer.execute(sql, _bound(values)).fetchall()
        except sqlite3.OperationalError:
            # Busy: the write-ahead log is being emptied. The reader waits in its thread.
            return await self.read(sql, values)

    async def read_often(self, sql: str | DialectSql, values: Sequence[SqlValue] = ()) -> list[Row]:
        """Read with a cache (`ReadCache`)."""
        return await self._cache.read(sql, values, self.read)

    @asynccontextmanager
    async def transaction(self) -> AsyncIterator[_SqliteWriter]:
        """Run a write transaction, one at a time."""
        async with self._one_writer:
            with self._cache.changing(), translate_sqlite_errors():
                try:
                    # The write lock at once: a read lock that is upgraded later may fail as busy.
                    await self._writer.execute("BEGIN IMMEDIATE")
                    yield _SqliteWriter(self._writer)
                    self._cache.commits()
                    await self._writer.execute("COMMIT")
                except BaseException:
                    await self._undone()
                    raise

    async def _undone(self) -> None:
        """Roll back the transaction; a rollback without one has no effect."""
        # The writer thread still runs the last statement of a cancelled caller, so this waits for
        # it, even if it is cancelled again.
        undoing = asyncio.ensure_future(self._writer.rollback())
        is_cancelled = False
        while not undoing.done():
            try:
                await asyncio.wait((undoing,))
            except asyncio.CancelledError:
                is_cancelled = True
        undoing.result()
        if is_cancelled:
            raise asyncio.CancelledError

    async def erase_deleted(self) -> bool:
        """Truncate the write-ahead log, so that it has no deleted text any more. Returns False if a
        reader prevented it; the next call tries again."""
        async with self._one_writer:
            with translate_sqlite_errors():
                ((is_busy, _, _),) = await self._writer.execute_fetchall(_TRUNCATE_WAL)
        return not is_busy


class _SqliteWriter:
    """Statements of one transaction (`LibraryWriter`)."""

    def __init__(self, connection: aiosqlite.Connection) -> None:
        self._connection = connection

    async def execute(self, sql: str, values: Sequence[SqlValue] = ()) -> list[Row]:
        return await _fetch(self._connection, sql, values)

    async def execute_many(self, sql: str, rows: Sequence[Sequence[SqlValue]]) -> None:
        if rows:
            await self._connection.executemany(sql, [_bound(row) for row in rows])


async def _fetch(
    connection: aiosqlite.Connection, sql: str, values: Sequence[SqlValue]
) -> list[Row]:
    rows: Iterable[Any] = await connection.execute_fetchall(sql, _bound(values))
    return list(rows)


def _text(sql: str | DialectSql) -> str:
    return sql if isinstance(sql, str) else sql.sqlite


def _bound(values: Sequence[SqlValue]) -> Sequence[Any]:
    return [bindable(one) for one in values]


@asynccontextmanager
async def _open_connection(path: Path) -> AsyncIterator[aiosqlite.Connection]:
    with translate_sqlite_errors():
        # aiosqlite 0.22 leaves its thread behind when connecting fails in there.
        sqlite3.connect(path).close()
        # isolation_level=None: otherwise Python's sqlite3 begins transactions by itself.
        connection = await aiosqlite.connect(path, isolation_level=None, timeout=5.0)
    try:
        # Off by default in SQLite, and set per connection.
        await connection.execute("PRAGMA foreign_keys = ON")
        # Deleted text is overwritten in the file, not only unlinked.
        await connection.execute("PRAGMA secure_delete = ON")
        yield connection
    finally:
        await connection.close()


def _migrate(path: Path, migrations: Sequence[Migration]) -> None:
    """Run the migrations, each in its own transaction, so that an interrupted one is repeated."""
    make_database_private(path)
    with (
        translate_sqlite_errors(),
        closing(sqlite3.connect(path, isolation_level=None)) as connection,
    ):
        connection.execute("PRAGMA journal_mode = WAL")
        ((version,),) = connection.execute("PRAGMA user_version").fetchall()
        if version > len(migrations):
            raise ConfigurationError(
                f"{path} was created by a newer version of this program; update the program"
            )
        for number, migration in enumerate(migrations[version:], start=version + 1):
            connection.execute("BEGIN IMMEDIATE")
            migration(connection)
            # A PRAGMA takes no bound values.
            connection.execute(f"PRAGMA user_version = {number}")
            connection.execute("COMMIT")


def has_documents(path: Path) -> bool:
    """True if this is the file of a library, and has documents."""
    if not path.exists():
        return False
    with (
        translate_sqlite_errors(),
        closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)) as connection,
    ):
        tables = connection.execute("SELECT name FROM sqlite_master WHERE name = 'documents'")
        if not tables.fetchall():
            return False
        ((is_filled,),) = connection.execute("SELECT EXISTS (SELECT 1 FROM documents)").fetchall()
        return bool(is_filled)


def make_database_private(path: Path) -> None:
    """Make the database readable by this user only; its log inherits the permissions."""
    # Before SQLite creates the file with the permissions of the umask.
    path.touch(0o600)
    if path.stat().st_uid == os.getuid():
        path.chmod(0o600)


@contextmanager
def translate_sqlite_errors() -> Iterator[None]:
    """Translate SQLite errors to StorageFailed; the cause carries the original message to the
    log."""
    try:
        yield
    except sqlite3.Error as error:
        raise StorageFailed("the document database could not be read or written") from error
