"""Copy of a store's tables from one database to another (SQLite file, PostgreSQL), verified.

A table is compared page by page in the order of its key, and only pages that differ are written, so
that another run continues a copy that was interrupted, or adds what has changed since. Until then
no agent starts with the target: it would go on from a part, and lose what it writes to the copy.
"""

from __future__ import annotations

import hashlib
import sqlite3
from contextlib import AsyncExitStack, asynccontextmanager, closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from spade_llm.core.database import DialectSql, StoreTables
from spade_llm.core.errors import ConfigurationError, StorageFailed
from spade_llm.core.postgres import PostgresServer
from spade_llm.core.sqlite_file import add_missing_column

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Sequence

    from spade_llm.core.database import Database, DatabasePlace, Row

    OnProgress: TypeAlias = Callable[[int, int], None]
    """Called with the number of rows that were written, and of all to write."""

PAGE_ROWS = 200
"""Rows of a page; a store's longest rows have some 100 KB."""
INSERTED_ROWS = 50
"""Rows of one INSERT."""

COPY_TABLES = StoreTables(
    name="copies",
    what="the record of copied tables",
    is_named_by_agent=False,
    schema="""CREATE TABLE IF NOT EXISTS copied_tables (
    name TEXT PRIMARY KEY,
    digest TEXT NOT NULL
) WITHOUT ROWID;""",
)
"""Digests of tables that a copy has written into this database."""
UNFINISHED = ""
"""Digest of a table that a copy has begun to write."""
_SELECT_UNFINISHED = "SELECT name FROM copied_tables WHERE digest = '' ORDER BY name"
_DIGEST = "SELECT digest FROM copied_tables WHERE name = ?"
_SET_DIGEST = """INSERT INTO copied_tables(name, digest) VALUES (?1, ?2)
    ON CONFLICT (name) DO UPDATE SET digest = ?2"""


@dataclass(frozen=True, slots=True, kw_only=True)
class TableLayout:
    """Table of a store, as both databases have it."""

    name: str
    columns: tuple[str, ...]
    """With `rowid`, if the table has one besides its key: the order of its rows may matter."""
    key: tuple[str, ...]
    number: str
    """Column with values that the database assigns; empty: there is none."""
    has_references: bool = False
    """Its rows name rows of other tables, which come before it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TableState:
    rows: int
    digest: str
    """SHA-256 of the rows in the order of their key; the same for equal rows in both databases."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CopiedTable:
    name: str
    rows: int
    """Rows in the source."""
    written: int
    """Rows of the pages that differed; a dry run does not write them."""
    is_verified: bool
    """Both have the same rows, read again after something was written; False with a dry run."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _KeyRange:
    """Range of keys: beyond `after` and up to `until`; None: no limit."""

    after: Row | None = None
    until: Row | None = None
    rows: int = 0
    is_new: bool = False
    """The target has no rows in it."""

    def condition(self, table: TableLayout) -> tuple[str, tuple[object, ...]]:
        """WHERE clause, and its values."""
        key, mark = (f"({', '.join(one)})" for one in (table.key, "?" * len(table.key)))
        limits = [(f"{key} > {mark}", self.after), (f"{key} <= {mark}", self.until)]
        given = [(clause, row) for clause, row in limits if row is not None]
        where = " AND ".join(clause for clause, _ in given)
        values = tuple(value for _, row in given for value in row)
        return (f" WHERE {where}" if where else ""), values


def tables_of(store: StoreTables) -> list[TableLayout]:
    """Tables that the store's SQL creates, in this order."""
    with closing(sqlite3.connect(":memory:")) as database:
        database.executescript(store.schema)
        for column in store.added_columns:
            add_missing_column(database, column)
        names = database.execute(
            "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite%'"
            " ORDER BY rowid"
        ).fetchall()
        return [_table(database, name) for (name,) in names]


def _table(database: sqlite3.Connection, name: str) -> TableLayout:
    columns = database.execute(f"PRAGMA table_info({name})").fetchall()
    key = tuple(column for _, column, _, _, _, at in sorted(columns, key=lambda one: one[5]) if at)
    names = tuple(column for _, column, *_ in columns)
    kinds = {column: kind for _, column, kind, *_ in columns}
    (has_no_rowid,) = database.execute(
        "SELECT wr FROM pragma_table_list WHERE name = ?", (name,)
    ).fetchone()
    number = ""
    if not has_no_rowid:
        number = key[0] if len(key) == 1 and kinds[key[0]] == "INTEGER" else "rowid"
    return TableLayout(
        name=name,
        columns=(*names, "rowid") if number == "rowid" else names,
        key=key or ("rowid",),
        number=number,
        has_references=bool(database.execute(f"PRAGMA foreign_key_list({name})").fetchall()),
    )


async def copy_store(
    store: StoreTables,
    source: DatabasePlace,
    target: DatabasePlace,
    *,
    is_dry_run: bool = False,
    may_replace: bool = False,
    progress: OnProgress | None = None,
) -> list[CopiedTable]:
    """Make the tables of a store at `target` equal to those at `source`.

    `may_replace`: tables of the target that no copy has written, or that were changed after it, are
    overwritten, too.

    In tables that refer to one another, a row that was changed or deleted since an earlier copy
    lets all be copied anew.

    Raises:
        ConfigurationError: a place cannot be used, the source is itself a copy that was not
            finished, or the target's rows are not those of a copy.
        StorageFailed: a database does not answer.
    """
    # A part that is copied over the whole would count as verified.
    server = source if isinstance(source, PostgresServer) else None
    folder = source.parent if isinstance(source, Path) else None
    await refuse_unfinished_copy(server, folder, store=store)
    tables = tables_of(store)
    read, write, record = store.at(source), store.at(target), COPY_TABLES.at(_beside(target))
    async with AsyncExitStack() as stack:
        for database in (read, write, record):
            await database.open()
            stack.push_async_callback(database.close)
        if not may_replace:
            for table in tables:
                await _check_replaceable(store, table, write, record)
        found = {one.name: await _different_ranges(one, read, write) for one in tables}
        unfinished = {name for (name,) in await record.execute(_SELECT_UNFINISHED)}
        is_unfinished = not unfinished.isdisjoint(table.name for table in tables)
        if is_dry_run or not (is_unfinished or any(found.values())):
            return [
                CopiedTable(
                    name=one.name,
                    rows=await _count(read, one),
                    written=sum(page.rows for page in found[one.name]),
                    is_verified=not is_dry_run,
                )
                for one in tables
            ]
        for table in tables:
            await record.execute(_SET_DIGEST, table.name, UNFINISHED)
        if await _clear(tables, found, write):
            found = {one.name: await _different_ranges(one, read, write) for one in tables}
        await _fill(tables, found, read, write, progress)
        return [await _verified(one, found[one.name], read, write, record) for one in tables]


@asynccontextmanager
async def marked_unfinished(target: DatabasePlace, table: str) -> AsyncIterator[None]:
    """Context manager that marks a table of the target, which the block writes, as unfinished until
    the block succeeds. Raises ConfigurationError, StorageFailed."""
    record = COPY_TABLES.at(_beside(target))
    await record.open()
    try:
        await record.execute(_SET_DIGEST, table, UNFINISHED)
        yield
        await record.execute(_SET_DIGEST, table, "written")
    finally:
        await record.close()


async def refuse_unfinished_copy(
    server: PostgresServer | None, folder: Path | None, *, store: StoreTables | None = None
) -> None:
    """Check, for an agent that starts and for a copy's source, that no copy into these databases is
    unfinished.

    Args:
        server: the agent's server, open; None: the databases are files.
        folder: the folder of the files.
        store: the one to check; None: all.

    Raises:
        ConfigurationError: a copy was interrupted, or its source has changed meanwhile; or the
            record of copied tables cannot be read.
    """
    if server is None:
        places: list[Path | PostgresServer] = [] if folder is None else _records_in(folder)
    else:
        places = [server] if COPY_TABLES.what in await server.stores() else []
    for place in places:
        to, name = ("files", place) if isinstance(place, Path) else ("database", place.name)
        record = replace(COPY_TABLES, is_created_elsewhere=True).at(place)
        await record.open()
        try:
            unfinished = await record.execute(_SELECT_UNFINISHED)
        except StorageFailed as error:
            raise ConfigurationError(
                f"{name}: {error}, the role needs SELECT on its table copied_tables: GRANT it"
            ) from error
        finally:
            await record.close()
        names = [str(table) for (table,) in unfinished]
        if store is not None:
            own = {table.name for table in tables_of(store)}
            names = [name for name in names if name in own]
        if names:
            raise ConfigurationError(
                f"{name}: a copy was not finished (tables {', '.join(names)}): run `spade-llm"
                f" storage move --to {to}` again, until it says that all tables were verified"
            )


def _records_in(folder: Path) -> list[Path | PostgresServer]:
    name = COPY_TABLES.file_name("")
    return [*folder.glob(name), *folder.glob(f"*/{name}")]


def _beside(target: DatabasePlace) -> DatabasePlace:
    """Place of the record: the target's server, or a file in its folder."""
    return target.with_name(COPY_TABLES.file_name("")) if isinstance(target, Path) else target


async def _check_replaceable(
    store: StoreTables, table: TableLayout, target: Database, record: Database
) -> None:
    state = await table_state(target, table)
    if not state.rows:
        return
    found = await record.execute(_DIGEST, table.name)
    if not found or found[0][0] not in (UNFINISHED, state.digest):
        how = "that were changed since they were copied" if found else "that no copy has written"
        raise ConfigurationError(
            f"{store.what}: the target has {state.rows} rows of its own in {table.name!r}, {how}:"
            " nothing was copied; --replace overwrites them"
        )


async def _clear(
    tables: Sequence[TableLayout], found: dict[str, list[_KeyRange]], target: Database
) -> bool:
    """Delete the target's rows in these ranges, before anything is inserted: a row of a later page
    may have a value that must be unique. In tables that refer to one another a deletion would take
    rows of other pages along: there all rows are deleted. True: so it was."""
    ranges = [(table, one) for table in tables for one in found[table.name] if not one.is_new]
    is_all = bool(ranges) and any(table.has_references for table in tables)
    if is_all:
        ranges = [
            (table, one) for table in reversed(tables) async for one, _ in _pages(target, table)
        ]
    for table, one in ranges:
        where, values = one.condition(table)
        await target.execute(f"DELETE FROM {table.name}{where}", *values)
    return is_all


async def _fill(
    tables: Sequence[TableLayout],
    found: dict[str, list[_KeyRange]],
    source: Database,
    target: Database,
    progress: OnProgress | None,
) -> None:
    """Insert the source's rows in these ranges, a transaction each."""
    done, total = 0, sum(one.rows for ranges in found.values() for one in ranges)
    for table in tables:
        for one in found[table.name]:
            await _insert(target, table, await _page(source, table, one))
            done += one.rows
            if progress is not None:
                progress(done, total)


async def _verified(
    table: TableLayout,
    found: Sequence[_KeyRange],
    source: Database,
    target: Database,
    record: Database,
) -> CopiedTable:
    """Read both sides again, and note the digest of a copy that is right."""
    if table.number:
        await target.execute(_next_number(table))
    wanted = await table_state(source, table)
    is_verified = await table_state(target, table) == wanted
    if is_verified:
        await record.execute(_SET_DIGEST, table.name, wanted.digest)
    written = sum(one.rows for one in found)
    return CopiedTable(name=table.name, rows=wanted.rows, written=written, is_verified=is_verified)


async def _different_ranges(
    table: TableLayout, source: Database, target: Database
) -> list[_KeyRange]:
    """Ranges of keys, a page of the source each, with other rows in the target."""
    found = []
    async for one, page in _pages(source, table):
        there = await _page(target, table, one)
        if there != page:
            found.append(replace(one, is_new=not there))
    return found


async def _count(database: Database, table: TableLayout) -> int:
    ((rows,),) = await database.execute(f"SELECT count(*) FROM {table.name}")
    return int(str(rows))


async def table_state(database: Database, table: TableLayout) -> TableState:
    """Number and digest of a table's rows. Raises StorageFailed."""
    digest, rows = hashlib.sha256(), 0
    async for _, page in _pages(database, table):
        rows += len(page)
        for row in page:
            digest.update(repr(row).encode())
    return TableState(rows=rows, digest=digest.hexdigest())


async def _pages(
    database: Database, table: TableLayout
) -> AsyncIterator[tuple[_KeyRange, list[Row]]]:
    """Rows of a table, PAGE_ROWS at once, with their ranges of keys; the last one has no end."""
    after: Row | None = None
    while True:
        page = await _page(database, table, _KeyRange(after=after))
        is_last = len(page) < PAGE_ROWS
        until = None if is_last else _key(table, page[-1])
        yield _KeyRange(after=after, until=until, rows=len(page)), page
        if is_last:
            return
        after = until


async def _page(database: Database, table: TableLayout, which: _KeyRange) -> list[Row]:
    """PAGE_ROWS rows of an open range, or all of a closed one: one more at most, which shows that
    there are too many."""
    where, values = which.condition(table)
    limit = PAGE_ROWS if which.until is None else PAGE_ROWS + 1
    rows = await database.execute(
        f"SELECT {', '.join(table.columns)} FROM {table.name}{where}"
        f" ORDER BY {', '.join(table.key)} LIMIT {limit}",
        *values,
    )
    return [tuple(map(_comparable, row)) for row in rows]


async def _insert(target: Database, table: TableLayout, page: Sequence[Row]) -> None:
    one = f"({', '.join('?' * len(table.columns))})"
    async with target.transaction() as execute:
        for begin in range(0, len(page), INSERTED_ROWS):
            rows = page[begin : begin + INSERTED_ROWS]
            await execute(
                f"INSERT INTO {table.name}({', '.join(table.columns)})"
                # A trigger of another table may have made some: they are compared at the end.
                f" VALUES {', '.join([one] * len(rows))} ON CONFLICT DO NOTHING",
                *(value for row in rows for value in row),
            )


def _key(table: TableLayout, row: Row) -> Row:
    return tuple(row[table.columns.index(column)] for column in table.key)


def _next_number(table: TableLayout) -> DialectSql:
    """Statement that lets the database number new rows behind the copied ones."""
    column = table.number
    return DialectSql(
        sqlite="SELECT 1",  # SQLite does so by itself.
        postgres=f"SELECT setval(pg_get_serial_sequence('{table.name}', '{column}'), max({column}))"
        f" FROM {table.name} HAVING max({column}) IS NOT NULL",
    )


def _comparable(value: object) -> object:
    """Value as both databases return it: PostgreSQL's texts cannot contain U+0000."""
    return value.replace("\0", "\ufffd") if isinstance(value, str) else value
