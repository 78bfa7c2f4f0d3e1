"""SQLiteMemoryBackend: many owners' memories in one SQLite file. Knows no wire.

One connection writes, in group commits with a synced write-ahead log; others read beside it.
"""

from __future__ import annotations

import asyncio
import sqlite3
from contextlib import AsyncExitStack
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Self

import aiosqlite

from spade_llm.errors import ConfigurationError, StorageFailed
from spade_llm.memory.group_commit import GroupCommit
from spade_llm.memory.limits import check_name
from spade_llm.memory.readers import Readers
from spade_llm.memory.schema import migrate
from spade_llm.memory.sqlite_errors import meaning
from spade_llm.memory.sqlite_store import SqliteMemoryStore

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping
    from types import TracebackType

    from spade_llm.memory.group_commit import T
    from spade_llm.memory.rows import Row, Value

IN_MEMORY = ":memory:"

READERS = 2
"""Connections that read. More would not be faster: rows become objects one thread at a time."""

LOCK_WAIT_S = 5.0
"""How long another program may hold the file before a write fails."""

WRITER_PRAGMAS = (
    "PRAGMA journal_mode = WAL",
    "PRAGMA synchronous = FULL",
    "PRAGMA foreign_keys = ON",
    "PRAGMA secure_delete = ON",
)

READER_PRAGMAS = ("PRAGMA query_only = ON",)


class SQLiteMemoryBackend:
    """A MemoryBackend. Open it with `async with` or `open`; whoever opens it closes it.

    Args:
        path: the file; it is made if it is not there, its folder is not. `:memory:` is a file
            that goes when it is closed.
        now: the clock, UTC.
    """

    def __init__(
        self, path: Path | str, *, now: Callable[[], datetime] = lambda: datetime.now(UTC)
    ) -> None:
        self.path = Path(path)
        self.now = now
        self._opening = asyncio.Lock()
        self._resources = AsyncExitStack()
        self._writer: GroupCommit | None = None
        self._readers: Readers | None = None

    def for_owner(self, owner: str) -> SqliteMemoryStore:
        """The memory of one owner, a bare JID.

        Raises:
            InvalidArguments: it is empty or too long.
        """
        check_name("owner", owner)
        return SqliteMemoryStore(self, owner)

    async def open(self) -> Self:
        """Open the file and bring its schema up to date; nothing if it is open.

        Raises:
            ConfigurationError: it cannot be opened, is newer than this version, or no memory.
        """
        async with self._opening:
            if self._writer is None:
                await self._open_or_explain()
        return self

    async def close(self) -> None:
        """Commit what is queued, let running reads finish, close the file."""
        async with self._opening:
            self._writer = self._readers = None
            await self._resources.aclose()

    async def __aenter__(self) -> Self:
        return await self.open()

    async def __aexit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await self.close()

    async def read(self, sql: str, parameters: Mapping[str, Value]) -> list[Row]:
        """All rows of a statement that only reads.

        Raises:
            StorageFailed: the file is closed or could not be read.
        """
        if self._readers is None:
            raise StorageFailed("the memory is closed")
        return await self._readers.fetch(sql, parameters)

    async def write(self, operation: Callable[[aiosqlite.Connection], Awaitable[T]]) -> T:
        """Run it in the next group commit; return when that is synced.

        Raises:
            Busy: too many writes wait.
            StorageFailed: the file is closed or could not be written.
        """
        if self._writer is None:
            raise StorageFailed("the memory is closed")
        return await self._writer.write(operation)

    def write_later(self, operation: Callable[[aiosqlite.Connection], Awaitable[object]]) -> None:
        """Write what may be lost, without waiting."""
        if self._writer is not None:
            self._writer.write_later(operation)

    async def _open_or_explain(self) -> None:
        try:
            async with AsyncExitStack() as stack:
                await self._open(stack)
                self._resources = stack.pop_all()
        except sqlite3.Error as error:
            reason = meaning(error) or "SQLite refuses it"
            raise ConfigurationError(
                f"{str(self.path)!r}: {reason}; check the path and its rights"
            ) from error

    async def _open(self, stack: AsyncExitStack) -> None:
        path = self.path if str(self.path) != IN_MEMORY else _fleeting_path(stack)
        # aiosqlite 0.22 leaves its thread behind when connecting fails in there.
        sqlite3.connect(path).close()
        connection = await _connect(stack, path, WRITER_PRAGMAS)
        await migrate(connection, path=str(path))
        readers = Readers([await _connect(stack, path, READER_PRAGMAS) for _ in range(READERS)])
        writer = GroupCommit(connection)
        stack.push_async_callback(writer.close)
        stack.push_async_callback(readers.drain)
        self._readers, self._writer = readers, writer


def _fleeting_path(stack: AsyncExitStack) -> Path:
    """SQLite's own memory databases cannot be read beside a writer without blocking it."""
    return Path(stack.enter_context(TemporaryDirectory())) / "memory.db"


async def _connect(
    stack: AsyncExitStack, path: Path, pragmas: tuple[str, ...]
) -> aiosqlite.Connection:
    connection = await stack.enter_async_context(
        aiosqlite.connect(path, isolation_level=None, timeout=LOCK_WAIT_S)
    )
    for pragma in pragmas:
        await connection.execute_fetchall(pragma)
    return connection
