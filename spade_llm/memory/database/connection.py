"""Database connections of the memory: contract of SQLite and PostgreSQL, transactions, threads."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from typing import Any, Generic, Protocol, Self, TypeVar

from spade_llm.core.errors import StorageFailed

T = TypeVar("T")
C = TypeVar("C", bound="Connection")

SqlValue = str | int | float | bytes | None
SqlRow = tuple[Any, ...]
"""Values of a row; their types are guaranteed by the tables."""


class StorageUnavailable(StorageFailed):
    """The database is locked or away: other statements would fail as well now."""


class Cursor(Protocol):
    """Result of a statement."""

    @property
    def rowcount(self) -> int:
        """Number of changed rows; -1 for statements that change none."""

    def fetchall(self) -> list[SqlRow]: ...


class Connection(Protocol):
    """Connection to the database of a memory, used by one thread at a time.

    Statements are written in SQLite's dialect with named parameters (`:name`), as far as both
    databases understand it after a translation (postgres_dialect.py).
    """

    @property
    def total_changes(self) -> int:
        """Number of rows changed so far."""

    def execute(self, sql: str, parameters: Mapping[str, SqlValue] = ..., /) -> Cursor: ...

    def executemany(self, sql: str, parameters: Iterable[Mapping[str, SqlValue]], /) -> Cursor: ...

    def pages(
        self, sql: str, parameters: Mapping[str, SqlValue], *, size: int
    ) -> Iterator[list[SqlRow]]:
        """Execute a statement and yield its rows in lists of `size`, to bound the memory used."""

    def read(self, operation: Callable[[Transaction], T], *, is_short: bool = False) -> T:
        """Run an operation on a snapshot; it may be run again. `is_short`: it reads a few rows by
        key, and each of its statements may see a state of its own. Raises StorageFailed."""

    def write(self, operation: Callable[[], Sequence[Transaction]]) -> Mapping[str, int]:
        """Run an operation in a transaction that excludes other writers, and commit it, synced. It
        returns what it did; it may be run again, once in effect.

        Returns the new version of each changed owner, if the database counts them.

        Raises:
            StorageUnavailable: it did not take effect, and others would not either.
            StorageFailed: it did not take effect, or the connection was lost during the commit.
        """

    def erase_deleted(self, *, timeout_s: float) -> bool:
        """Remove what was deleted from where its bytes still are; False: try again."""

    def close(self) -> None: ...


class Transaction:
    """Statements of one operation; the creator of the transaction commits or rolls back."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self.changed: dict[str, set[int]] = {}
        """Keys of rows that are now different or gone, by owner."""
        self.accessed: dict[str, set[int]] = {}
        """Keys of rows with counted accesses, by owner: only their importance has changed."""
        self.embedded: set[int] = set()
        """Keys of changed rows that are different only in their vector."""
        self.is_erasing = False
        """Its text must not stay in the database's files either."""

    def all(self, sql: str, parameters: Mapping[str, SqlValue] = {}) -> list[SqlRow]:
        """Execute a statement and return all rows."""
        return self._connection.execute(sql, parameters).fetchall()

    def pages(
        self, sql: str, parameters: Mapping[str, SqlValue], *, size: int
    ) -> Iterator[list[SqlRow]]:
        """Execute a statement and yield its rows in lists of `size`, to bound the memory used."""
        return self._connection.pages(sql, parameters, size=size)

    def first(self, sql: str, parameters: Mapping[str, SqlValue] = {}) -> SqlRow | None:
        """Execute a statement and return its first row, if there is one."""
        rows = self.all(sql, parameters)
        return rows[0] if rows else None

    def count(self, sql: str, parameters: Mapping[str, SqlValue] = {}) -> int:
        """Execute a statement without rows; return the number of changed rows."""
        # rowcount is -1 for all but INSERT, UPDATE, DELETE and REPLACE.
        return max(self._connection.execute(sql, parameters).rowcount, 0)

    def each(self, sql: str, parameters: Iterable[Mapping[str, SqlValue]]) -> int:
        """Execute a statement for each set of parameters; return the number of changed rows."""
        return max(self._connection.executemany(sql, parameters).rowcount, 0)

    def mark_changed(self, owner: str, keys: Iterable[int]) -> None:
        """Mark rows as changed: caches must read them again."""
        self.changed.setdefault(owner, set()).update(keys)

    def mark_accessed(self, owner: str, keys: Iterable[int]) -> None:
        """Mark rows as accessed: caches must read their importance again."""
        self.accessed.setdefault(owner, set()).update(keys)


class DatabaseThread(Generic[C]):
    """Thread with a connection of its own; functions given to `run` are called in order."""

    def __init__(self, connection: C, executor: ThreadPoolExecutor) -> None:
        self._connection = connection
        self._executor = executor

    @classmethod
    async def open(cls, connect: Callable[[], C], *, name: str) -> Self:
        """Start the thread and open its connection. Raises what `connect` raises."""
        # One worker: sqlite3 refuses a connection outside the thread that opened it.
        executor = ThreadPoolExecutor(max_workers=1, thread_name_prefix=name)
        opening = asyncio.get_running_loop().run_in_executor(executor, connect)
        try:
            return cls(await opening, executor)
        except BaseException:
            # Waiting for the thread here would block the event loop.
            executor.shutdown(wait=False)
            raise

    async def run(self, function: Callable[[C], T]) -> T:
        """Run a function in the thread; a caller that is cancelled does not stop it."""
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._executor, function, self._connection)

    async def close(self) -> None:
        """Wait for the running function, then close the connection and end the thread."""
        await self.run(lambda connection: connection.close())
        self._executor.shutdown(wait=True)


class InlineReader(Protocol):
    """Connection for short reads in the event loop's thread; it never waits."""

    def read(self, operation: Callable[[Transaction], T]) -> T:
        """Run an operation. Raises BlockingIOError if it would have to wait, StorageFailed, or the
        operation's error."""

    def close(self) -> None: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenedDatabase:
    """Connections of an open memory."""

    writer: DatabaseThread[Any]
    readers: Sequence[DatabaseThread[Any]]
    inline: InlineReader | None = None
    """Reader of the event loop's thread. None: every read runs in another one."""
    max_wait_s: float | None = None
    """Maximum wait in seconds of a read for a free connection; None: as long as reads run."""


class MemoryDatabase(Protocol):
    """Place of a memory's tables."""

    @property
    def name(self) -> str:
        """Name in error messages."""

    @property
    def has_other_writers(self) -> bool:
        """True if other processes may write to it, which then counts the versions of owners."""

    async def open(self, stack: AsyncExitStack) -> OpenedDatabase:
        """Open the connections, and create or migrate the tables. `stack` closes them.

        Raises:
            ConfigurationError: it cannot be used; names the reason and the fix.
        """


class ReaderPool:
    """Fixed number of reader connections; a read waits for a free one."""

    def __init__(
        self, threads: Sequence[DatabaseThread[Any]], *, max_wait_s: float | None = None
    ) -> None:
        self._free: asyncio.Queue[DatabaseThread[Any]] = asyncio.Queue(len(threads))
        self._max_wait_s = max_wait_s
        self._is_closed = False
        for thread in threads:
            self._free.put_nowait(thread)

    async def read(self, operation: Callable[[Transaction], T], *, is_short: bool = False) -> T:
        """Run an operation in a reader thread, on a snapshot of the database (`Connection.read`).

        Raises:
            StorageFailed: the database could not be read.
            ServiceError: the operation refuses.
        """
        async with self._one() as thread:
            result: T = await thread.run(
                lambda connection: connection.read(operation, is_short=is_short)
            )
            return result

    async def drain(self) -> None:
        """Refuse new reads and wait for running ones. The connections are not closed."""
        self._is_closed = True
        # A connection is free when its read has ended: with all of them, all reads have ended.
        for _ in range(self._free.maxsize):
            await self._free.get()

    @asynccontextmanager
    async def _one(self) -> AsyncIterator[DatabaseThread[Any]]:
        if self._is_closed:
            raise StorageFailed("the memory store is closed")
        try:
            async with asyncio.timeout(self._max_wait_s):
                thread = await self._free.get()
        except TimeoutError:
            raise StorageUnavailable("the memory's database does not answer") from None
        try:
            yield thread
        finally:
            self._free.put_nowait(thread)
