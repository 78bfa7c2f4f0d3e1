"""LibraryDatabase: contract of the databases of a library (SQLite file, PostgreSQL), read cache.

Statements are written in SQLite's dialect, as far as PostgreSQL understands it after a translation
of placeholders and column types (core/database.py). A list is one value, bound with
`IN (SELECT value FROM json_each(?))`.
"""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterator, Sequence
    from contextlib import AbstractAsyncContextManager
    from typing import Self

    from spade_llm.core.database import DialectSql

SqlValue: TypeAlias = "str | int | float | bytes | list[int] | list[str] | None"
Row: TypeAlias = tuple[Any, ...]
"""Values of a row; their types are guaranteed by the tables."""

MAX_CACHED_READS = 1000
MAX_CACHED_ROWS = 100_000
"""Bounds of the cache of `read_often`; each transaction clears it."""


class LibraryWriter(Protocol):
    """Statements of one transaction. Raises StorageFailed."""

    async def execute(self, sql: str, values: Sequence[SqlValue] = ()) -> list[Row]:
        """Execute a statement and return its rows."""
        ...

    async def execute_many(self, sql: str, rows: Sequence[Sequence[SqlValue]]) -> None:
        """Execute a statement once for each row of values."""
        ...


class LibraryDatabase(Protocol):
    """Database of a library. Open it with `async with`, in one process at a time unless it is of
    replicas. Each operation raises StorageFailed if the database cannot be used."""

    async def __aenter__(self) -> Self: ...

    async def __aexit__(self, *_: object) -> None: ...

    async def read(self, sql: str | DialectSql, values: Sequence[SqlValue] = ()) -> list[Row]: ...

    async def glance(self, sql: str, values: Sequence[SqlValue] = ()) -> list[Row]:
        """Read a few rows by key, with a file without a change of threads."""
        ...

    async def read_often(self, sql: str | DialectSql, values: Sequence[SqlValue] = ()) -> list[Row]:
        """Read with a cache that is valid until the next transaction, if this process is the only
        writer. It is meant for reads of every query."""
        ...

    def transaction(self) -> AbstractAsyncContextManager[LibraryWriter]:
        """Context manager for changes that take effect together, or not at all; one at a time."""
        ...

    async def erase_deleted(self) -> bool:
        """Remove deleted text from where the database still keeps it. False: it was not possible
        yet; the next call tries again."""
        ...


Read: TypeAlias = "Callable[[str | DialectSql, Sequence[SqlValue]], Awaitable[list[Row]]]"


class ReadCache:
    """Rows of frequent reads, valid until the next transaction of this process."""

    def __init__(self) -> None:
        self._remembered: dict[object, list[Row]] = {}
        self._remembered_rows = 0
        self._changes = 0
        self._is_committing = False

    async def read(
        self, sql: str | DialectSql, values: Sequence[SqlValue], read: Read
    ) -> list[Row]:
        key = (sql, tuple(tuple(one) if isinstance(one, list) else one for one in values))
        if self._is_committing:
            # A cached row could be older than one that the caller has already read.
            return await read(sql, values)
        if key in self._remembered:
            return self._remembered[key]
        changes = self._changes
        rows = await read(sql, values)
        # If a transaction ended while we read, the rows may be older than it.
        has_room = (
            len(self._remembered) < MAX_CACHED_READS
            and self._remembered_rows + len(rows) <= MAX_CACHED_ROWS
        )
        if changes == self._changes and has_room:
            self._remembered[key] = rows
            self._remembered_rows += len(rows)
        return rows

    @contextmanager
    def changing(self) -> Iterator[None]:
        """Context manager for a transaction, from its begin to its end."""
        try:
            yield
        finally:
            self._is_committing = False
            self._changes += 1
            self._remembered.clear()
            self._remembered_rows = 0

    def commits(self) -> None:
        """Bypass the cache until the transaction has ended."""
        self._is_committing = True
