"""Small databases of an agent: the contract that SQLite files and PostgreSQL fulfil.

A store (answer log, outbox, usage ledger, …) is one class with one SQL text for both. It is written
in SQLite's dialect, as far as PostgreSQL understands it after a translation of placeholders and
column types (core/postgres.py), and keeps to these rules:

- `?`, `?1` and `:name` are placeholders; a list is bound with
  `IN (SELECT value FROM json_each(?))`.
- An upsert is `ON CONFLICT (columns) DO UPDATE`, and its columns carry the table's name.
- `rowid` exists in a table without INTEGER PRIMARY KEY and without WITHOUT ROWID.
- What has no common form (JSON paths) is a `DialectSql`.

Each operation is a coroutine. With a file it does not suspend unless the file is locked; with a
server it always does, so that a caller must not rely on the order of two operations it has not
awaited.
"""

from __future__ import annotations

import logging
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Protocol, TypeAlias

from spade_llm.core.errors import ConfigurationError
from spade_llm.core.sqlite_file import SqliteFile

logger = logging.getLogger(__name__)

Row: TypeAlias = "tuple[object, ...]"
NO_LIMIT = 1_000_000_000
"""More rows than any table has: SQLite takes OFFSET only behind a LIMIT."""


@dataclass(frozen=True, slots=True)
class DialectSql:
    """Statement with a text of its own for each database. The placeholders are the same in both."""

    sqlite: str
    postgres: str


class IdempotentSql(str):
    """Statement with the same effect if it is executed twice: as reads, it is repeated if the
    connection to the server is lost on the way."""

    __slots__ = ()


class Execute(Protocol):
    """Executes a statement and returns its rows. `values` may be one mapping of named parameters.

    Raises:
        StorageFailed: the database refuses, or does not answer within the deadline; a statement
            outside of a transaction has then had its whole effect or none.
    """

    async def __call__(self, statement: str | DialectSql, *values: object) -> list[Row]: ...


class Database(Protocol):
    """Tables of one store."""

    @property
    def is_failing(self) -> bool:
        """True if a statement failed lately."""

    async def open(self) -> None:
        """Open the database and create missing tables.

        Raises:
            ConfigurationError: it cannot be used; names the reason and the fix.
        """

    async def close(self) -> None:
        """Wait for submitted statements, and close."""

    async def execute(self, statement: str | DialectSql, *values: object) -> list[Row]:
        """Execute one statement (see `Execute`). Raises StorageFailed."""

    def submit(self, statement: str | DialectSql, *values: object) -> None:
        """Execute a statement from a callback that cannot wait, in the order of these calls. At
        once with a file that is free, else in the background; a failure is logged."""

    def transaction(self) -> AbstractAsyncContextManager[Execute]:
        """Context manager for statements that take effect together when the block ends, or not at
        all. The block awaits nothing but these statements. Raises StorageFailed."""

    async def prune_periodically(self, sql: str, *values: object) -> None:
        """Bound a table; call it after each inserted row. `sql` deletes the surplus every
        PRUNE_EVERY_ROWS rows. Raises StorageFailed."""

    async def checkpoint(self) -> None:
        """Let the write-ahead log be reused; call it when no request is waiting. Raises
        StorageFailed."""

    async def erase_deleted(self) -> None:
        """Remove what was deleted from where the database still keeps its bytes, as far as it can.
        Raises StorageFailed."""


@dataclass(frozen=True, slots=True)
class DatabaseUrl:
    """Address of a database server, and the setting that it comes from."""

    url: str = field(repr=False)
    """`postgresql://USER:PASSWORD@HOST:PORT/DATABASE`; not in `repr`, because of the password."""
    setting: str = "[storage] database_url"
    """Named by errors."""


class DatabaseServer(Protocol):
    """Server that holds the tables of an agent."""

    def database(self, tables: StoreTables) -> Database: ...


DatabasePlace: TypeAlias = "Path | DatabaseServer | None"
"""Place of a store's tables: a file, a server, or None for RAM."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreTables:
    """Tables of one store of an agent: their SQL, and the file that holds them without a server."""

    name: str
    what: str
    """Name of the store in error messages."""
    schema: str
    """SQL that creates missing tables."""
    added_columns: tuple[str, ...] = ()
    """`TABLE COLUMN TYPE` of columns that tables of earlier versions lack."""
    version: int = 0
    """Version of the meaning of the columns; tables of a later one are refused."""
    is_named_by_agent: bool = True
    """The local part of the agent's JID is part of the file's name."""
    is_created_elsewhere: bool = False
    """The tables at a place are created by other code; `at` opens them."""

    def file_name(self, agent: str) -> str:
        """Name of the file. `agent`: the local part of its JID, or `*` for a glob pattern."""
        return f"{self.name}-{agent}.db" if self.is_named_by_agent else f"{self.name}.db"

    def at(self, place: DatabasePlace) -> Database:
        """Database at this place, not opened yet."""
        is_there = self.is_created_elsewhere and place is not None
        tables = replace(self, schema="", added_columns=()) if is_there else self
        if place is None or isinstance(place, Path):
            return SqliteFile(place, tables)
        return place.database(tables)


def check_unused_file(path: Path, *, what: str, place: str, has_copy: bool) -> None:
    """Check that nothing is lost from sight because it is in a file that a database has replaced.

    Args:
        path: the file, which holds something.
        what: plural of what it holds; also the key of [storage] that keeps it in use.
        place: name of the database.
        has_copy: the database holds some, too: the file is only named in the log.

    Raises:
        ConfigurationError: the database holds none.
    """
    if not has_copy:
        raise ConfigurationError(
            f"{str(path)!r} holds {what}, and {place} none: copy them with"
            " `spade-llm storage move --to database`, or keep using the file with"
            f' `{what} = "files"` in [storage] of its agent.toml, or rename the file to begin'
            " without them"
        )
    logger.warning(
        "%s holds %s, and is not used: they are in %s. Remove the file if they were copied",
        path,
        what,
        place,
    )
