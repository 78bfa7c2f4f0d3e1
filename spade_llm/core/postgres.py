"""PostgreSQL databases of an agent: connection pool, schema of its own, deadlines (psycopg 3).

The tables of an agent stand in a PostgreSQL schema named by its bare JID, so that the statements of
all stores need no name of an agent, and the rights of a role can end at one agent. Each statement
has a deadline within which the server may be away: it waits for a connection, and a statement that
the server cannot have executed is repeated.
"""

from __future__ import annotations

import asyncio
import hashlib
import logging
import re
import select
import time
from collections.abc import (
    AsyncIterator,
    Awaitable,
    Callable,
    Coroutine,
    Iterator,
    Mapping,
    Sequence,
)
from contextlib import asynccontextmanager, suppress
from functools import lru_cache
from typing import TYPE_CHECKING, Self, TypeAlias, TypeVar

from spade_llm.core import sqlite_file
from spade_llm.core.database import DatabaseUrl, DialectSql, IdempotentSql, Row, StoreTables
from spade_llm.core.errors import ConfigurationError, StorageFailed
from spade_llm.core.imports import require_extra
from spade_llm.core.limits import FailureThrottle

if TYPE_CHECKING:
    import psycopg


MAX_CONNECTIONS = 8
"""Maximum number of connections of one agent; further statements wait in order of arrival."""
STATEMENT_TIMEOUT_S = 5.0
"""Deadline of a statement or a transaction, including the wait for a connection."""
OPEN_TIMEOUT_S = 15.0
"""Deadline of the first connection, and of the creation of tables."""
ERASE_TIMEOUT_S = 60.0
"""Deadline of `erase_deleted`."""
ABANDONED_END_S = 1.0
"""Maximum wait, at the end, for statements that were cancelled."""
CONNECT_RETRY_S = (0.05, 1.0)
"""First and longest pause between two attempts to connect."""
MIN_VERSION = 150000
"""Oldest server that the tests run on (PostgreSQL 15)."""
MAX_SCHEMA_BYTES = 63
"""PostgreSQL cuts longer names (NAMEDATALEN - 1)."""

ROLLED_BACK = frozenset({"40001", "40P01"})
"""serialization_failure, deadlock_detected."""
_REJECTED_CLASSES = frozenset({"28", "3D", "42"})
"""SQLSTATE classes of a connection that no later attempt would get: role, database, rights."""
_NO_PASSWORD = ("no password supplied", "password authentication failed", "does not exist")
"""Connection failures for which libpq gives no SQLSTATE."""

# A dead peer is noticed by keep-alives; a value in the URL has precedence.
_CONNECTION_DEFAULTS = {
    "connect_timeout": "5",
    "keepalives_idle": "10",
    "keepalives_interval": "5",
    "keepalives_count": "3",
    "tcp_user_timeout": "15000",
}
# One round trip for each connection. synchronous_commit=off is the promise of SQLite's NORMAL: a
# commit survives the agent; a crash of the server may lose those of its last 0.6 s, in order.
_CONFIGURE = """SELECT set_config('search_path', %s, false),
    set_config('synchronous_commit', 'off', false), set_config('jit', 'off', false),
    set_config('statement_timeout', %s, false),
    set_config('idle_in_transaction_session_timeout', %s, false)"""
_TIMEOUT = "SELECT set_config('statement_timeout', %s, false)"
_LONG_TRANSACTION = """SELECT set_config('statement_timeout', ?, true),
    set_config('synchronous_commit', 'on', true)"""
_HAS_VERSIONS = "SELECT to_regclass('store_versions') IS NOT NULL"
_STORES = "SELECT store FROM store_versions"
_VERSION = "SELECT version FROM store_versions WHERE store = %s"
_SET_VERSION = """INSERT INTO store_versions(store, version) VALUES (%s, %s)
    ON CONFLICT (store) DO UPDATE SET version = excluded.version"""
_SET_APPLICATION = "SELECT set_config('application_name', %s, true)"
_COUNT_SESSIONS = """SELECT count(*) FROM pg_stat_activity WHERE pid <> pg_backend_pid()
    AND datname = current_database() AND application_name = current_setting('application_name')"""
_HAS_SCHEMA = "SELECT 1 FROM pg_namespace WHERE nspname = %s"
_MAY_CREATE = "SELECT has_database_privilege(current_database(), 'CREATE')"
# Two sessions that run `create ... if not exists` at once fail with a unique violation.
_LOCK = "SELECT pg_advisory_xact_lock(hashtextextended(%s, 0))"
_MISSING_RIGHTS = """SELECT format('%%s on %%I', needed, name)
    FROM unnest(%s::text[]) AS name, unnest('{SELECT,INSERT,UPDATE,DELETE}'::text[]) AS needed
    WHERE NOT has_table_privilege(quote_ident(name), needed)"""
# json_or_null: a cast would fail the whole statement at the first text that is no JSON.
_COMMON_TABLES = (
    "CREATE TABLE IF NOT EXISTS store_versions (store TEXT PRIMARY KEY, version TEXT NOT NULL)",
    """CREATE OR REPLACE FUNCTION json_or_null(given TEXT) RETURNS JSONB LANGUAGE plpgsql IMMUTABLE
    AS $$ BEGIN RETURN given::jsonb; EXCEPTION WHEN data_exception THEN RETURN NULL; END $$""",
)

_T = TypeVar("_T")
_Values: TypeAlias = "tuple[object, ...] | dict[str, object]"

_PLACEHOLDER = re.compile(r"\?(?P<number>\d+)?|(?<!:):(?P<name>[a-z_]+)|%")
_LIST = re.compile(r"IN\s*\(SELECT value FROM json_each\(([?:]\w*)\)\)")
_TABLE = re.compile(r"CREATE TABLE IF NOT EXISTS (\w+) \((.*)\)(\s*WITHOUT ROWID)?", re.DOTALL)
# COLLATE "C": texts are compared by their bytes, as SQLite does; ranges of keys rely on it.
_TYPES = (
    (
        r"\bINTEGER PRIMARY KEY AUTOINCREMENT\b",
        "BIGINT GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY",
    ),
    (r"\bINTEGER\b", "BIGINT"),
    (r"\bREAL\b", "DOUBLE PRECISION"),
    (r"\bBLOB\b", "BYTEA"),
    (r"\bTEXT\b", 'TEXT COLLATE "C"'),
)
_ROWID = ", rowid BIGINT GENERATED BY DEFAULT AS IDENTITY"

logger = logging.getLogger(__name__)


class PostgresServer:
    """Pool of connections of one agent to a PostgreSQL server (`DatabaseServer`)."""

    def __init__(self, address: DatabaseUrl, *, agent: str, is_agent: bool = False) -> None:
        """`agent`: its bare JID, which names the schema. `is_agent`: the agent itself connects, and
        its sessions have its name; else a command.

        Raises:
            ConfigurationError: the extra `postgres` is not installed, or the URL is not valid.
        """
        require_extra("postgres")
        self.schema = schema_name(agent)
        application = self.schema if is_agent else "spade-llm"
        self._conninfo = _conninfo(address.url, address.setting, application=application)
        self._setting = address.setting
        self.version = ""
        """Product and version, once connected."""
        self._free = asyncio.Semaphore(MAX_CONNECTIONS)
        self._idle: list[psycopg.AsyncConnection] = []
        self._is_open = False
        self._away: psycopg.OperationalError | None = None
        """Last failure to connect, if no later attempt has succeeded."""
        self._failures = FailureThrottle(sqlite_file.FAILING_S, time.monotonic)
        self._submitted: set[asyncio.Task[None]] = set()
        self._submitting = asyncio.Lock()
        self._abandoned: set[asyncio.Task[object]] = set()
        """Statements that nothing waits for any more, until they have ended."""

    async def __aenter__(self) -> Self:
        """Connect, and check the server.

        Raises:
            ConfigurationError: the server does not answer within OPEN_TIMEOUT_S, rejects the role,
                or is too old.
        """
        import psycopg

        self._is_open = True
        try:
            async with asyncio.timeout(OPEN_TIMEOUT_S), self.connection() as connection:
                version = connection.info.server_version
        except (TimeoutError, psycopg.Error) as error:
            await self.__aexit__()
            raise self._unusable(self._reason(error)) from None
        self.version = f"PostgreSQL {version // 10000}.{version % 10000}"
        if version < MIN_VERSION:
            await self.__aexit__()
            oldest = MIN_VERSION // 10000
            raise self._unusable(f"{self.version}; {oldest} is the oldest that works")
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.written_down()
        self._is_open = False
        if self._abandoned:
            await asyncio.wait(set(self._abandoned), timeout=ABANDONED_END_S)
        while self._idle:
            await self._idle.pop().close()

    @property
    def name(self) -> str:
        """Name of the agent's schema in messages."""
        return f"the PostgreSQL schema {self.schema!r}"

    @property
    def is_failing(self) -> bool:
        """True if a statement failed within the last FAILING_S."""
        return self._failures.is_failing

    def database(self, tables: StoreTables) -> PostgresDatabase:
        """Tables of one store."""
        statements = list(_translated_schema(tables.schema, tables.added_columns))
        return PostgresDatabase(self, statements, what=tables.what, version=tables.version)

    @asynccontextmanager
    async def connection(self) -> AsyncIterator[psycopg.AsyncConnection]:
        """Context manager for one connection of the pool. Raises psycopg.Error; the caller sets the
        deadline of the wait."""
        connection = await self.acquire()
        try:
            yield connection
        finally:
            self.release(connection)

    async def acquire(self) -> psycopg.AsyncConnection:
        """Take a living connection out of the pool, or connect; `release` gives it back."""
        if not self._is_open:
            raise StorageFailed("the database is not open")
        await self._free.acquire()
        try:
            while self._idle:
                connection = self._idle.pop()
                if not connection.closed and not has_input(connection):
                    return connection
                connection.pgconn.finish()
            return await self._connect()
        except BaseException:
            self._free.release()
            raise

    def release(self, connection: psycopg.AsyncConnection) -> None:
        import psycopg

        is_idle = connection.info.transaction_status == psycopg.pq.TransactionStatus.IDLE
        if is_idle and self._is_open:
            self._idle.append(connection)
        else:  # Broken, or in the middle of a statement that was cancelled.
            connection.pgconn.finish()
        self._free.release()

    async def result_of(self, task: asyncio.Task[_T], timeout_s: float) -> _T:
        """Result of a task that uses a connection. At the deadline, or if the caller is cancelled,
        the task is cancelled and left alone: psycopg then asks the server to cancel the statement,
        and waits up to 10 s for one that does not answer. Raises TimeoutError."""
        try:
            await asyncio.wait((task,), timeout=timeout_s)
            if not task.done():
                raise TimeoutError
            return task.result()
        finally:
            if not task.done():
                task.cancel()
                self._abandoned.add(task)
                task.add_done_callback(self._forget)

    def _forget(self, task: asyncio.Task[object]) -> None:
        self._abandoned.discard(task)
        if not task.cancelled():
            task.exception()  # Seen: nothing waits for it any more.

    async def _connect(self) -> psycopg.AsyncConnection:
        """Connect, again and again until the caller's deadline, except where the server rejects
        the role or the database."""
        import psycopg

        pause_s, longest_s = CONNECT_RETRY_S
        while True:
            try:
                connection = await psycopg.AsyncConnection.connect(
                    self._conninfo, autocommit=True, prepare_threshold=2
                )
            except psycopg.OperationalError as error:
                if not is_away(error):
                    raise
                self._away = error
            else:
                self._away = None
                return await self._configured(connection)
            await asyncio.sleep(pause_s)
            pause_s = min(2 * pause_s, longest_s)

    async def _configured(self, connection: psycopg.AsyncConnection) -> psycopg.AsyncConnection:
        try:
            await connection.execute(_CONFIGURE, self._configuration())
        except BaseException:
            connection.pgconn.finish()
            raise
        return connection

    def _configuration(self) -> tuple[str, str, str]:
        """Values of _CONFIGURE."""
        from psycopg import sql

        timeout_ms = str(round(STATEMENT_TIMEOUT_S * 1000))
        return sql.Identifier(self.schema).as_string(), timeout_ms, timeout_ms

    def connect_blocking(
        self, kind: type[psycopg.Connection], *, give_up_s: float
    ) -> psycopg.Connection:
        """Connect from a thread that has a connection of its own, again and again until `give_up_s`
        (`time.monotonic`), except where the server rejects the role or the database. Raises
        psycopg.OperationalError."""
        import psycopg

        pause_s, longest_s = CONNECT_RETRY_S
        while True:
            try:
                return self._connect_once(kind)
            except psycopg.OperationalError as error:
                if not is_away(error) or time.monotonic() + pause_s > give_up_s:
                    raise
            time.sleep(pause_s)
            pause_s = min(2 * pause_s, longest_s)

    def _connect_once(self, kind: type[psycopg.Connection]) -> psycopg.Connection:
        connection = kind.connect(self._conninfo, autocommit=True, prepare_threshold=2)
        try:
            connection.execute(_CONFIGURE, self._configuration())
        except BaseException:
            connection.pgconn.finish()
            raise
        return connection

    def submit(self, write: Coroutine[object, object, object]) -> None:
        """Execute a statement in the background, in the order of these calls. Logs a failure."""
        task = asyncio.create_task(self._execute_later(write))
        self._submitted.add(task)
        task.add_done_callback(self._submitted.discard)

    async def _execute_later(self, write: Coroutine[object, object, object]) -> None:
        with suppress(StorageFailed):
            async with self._submitting:  # Fair, which keeps the order of the calls.
                await write

    async def written_down(self) -> None:
        """Wait until all submitted statements were executed, or failed."""
        if self._submitted:
            await asyncio.wait(set(self._submitted))

    async def find_schema(self) -> bool:
        """True if the agent has a schema, False if it has none and the role may create it.

        Raises:
            ConfigurationError: it has none, and the role may not.
        """
        import psycopg

        try:
            async with asyncio.timeout(OPEN_TIMEOUT_S), self.connection() as connection:
                if await (await connection.execute(_HAS_SCHEMA, (self.schema,))).fetchone():
                    return True
                row = await (await connection.execute(_MAY_CREATE)).fetchone()
        except (TimeoutError, psycopg.Error) as error:
            raise self._unusable(self._reason(error)) from None
        if row is None or not row[0]:
            raise self._unusable(
                f"the role may not create the schema {self.schema!r}: GRANT CREATE ON DATABASE, or"
                " start the agent once with the owner's role"
            )
        return False

    async def stores(self) -> frozenset[str]:
        """`what` of the stores with tables in the agent's schema. Raises ConfigurationError."""
        import psycopg

        try:
            async with asyncio.timeout(OPEN_TIMEOUT_S), self.connection() as connection:
                row = await (await connection.execute(_HAS_VERSIONS)).fetchone()
                if row is None or not row[0]:
                    return frozenset()
                found = await (await connection.execute(_STORES)).fetchall()
        except (TimeoutError, psycopg.Error) as error:
            raise self._unusable(self._reason(error)) from None
        return frozenset(str(name) for (name,) in found)

    async def agent_sessions(self) -> int:
        """Number of sessions of the agent itself, on any machine. Raises ConfigurationError."""
        import psycopg

        try:
            async with (
                asyncio.timeout(OPEN_TIMEOUT_S),
                self.connection() as connection,
                connection.transaction(),
            ):
                # The server writes other characters than ASCII in its own way.
                await connection.execute(_SET_APPLICATION, (self.schema,))
                row = await (await connection.execute(_COUNT_SESSIONS)).fetchone()
        except (TimeoutError, psycopg.Error) as error:
            raise self._unusable(self._reason(error)) from None
        return 0 if row is None else int(row[0])

    async def create_tables(self, what: str, statements: Sequence[str], version: int) -> None:
        """Create or extend the tables of a store, unless these statements were executed before.

        Raises:
            ConfigurationError: the role may not, or the tables are of a later version.
        """
        import psycopg

        digest = hashlib.sha256("\0".join((*_COMMON_TABLES, *statements)).encode()).hexdigest()
        own = f"{version} {digest}"
        try:
            async with asyncio.timeout(OPEN_TIMEOUT_S), self.connection() as connection:
                found = await self._version(connection, what)
                if found is not None and int(found.split()[0]) > version:
                    raise ConfigurationError(
                        f"{what} in the schema {self.schema!r} was written by a later version of"
                        " this software: install that version, or drop the schema"
                    )
                if found != own:
                    await self._migrate(connection, what, own, statements)
                tables = _tables(statements)
                missing = await (await connection.execute(_MISSING_RIGHTS, (tables,))).fetchall()
        except (TimeoutError, psycopg.Error) as error:
            raise self._unusable(f"{what}: {self._reason(error)}") from None
        if missing:
            rights = ", ".join(sorted(str(right) for (right,) in missing))
            raise self._unusable(
                f"{what}: the role lacks {rights} in the schema {self.schema!r}; GRANT them"
            )

    async def _version(self, connection: psycopg.AsyncConnection, store: str) -> str | None:
        """Version of a store's tables. A role for work only, which may create nothing, gets along
        with tables that the owner has created."""
        row = await (await connection.execute(_HAS_VERSIONS)).fetchone()
        if row is None or not row[0]:
            return None
        row = await (await connection.execute(_VERSION, (store,))).fetchone()
        return None if row is None else str(row[0])

    async def _migrate(
        self,
        connection: psycopg.AsyncConnection,
        store: str,
        version: str,
        statements: Sequence[str],
    ) -> None:
        from psycopg import sql

        async with connection.transaction():
            # Tables that a crash of the server takes back would be missed by all that follows.
            await connection.execute("SET LOCAL synchronous_commit = on")
            await connection.execute(_LOCK, (f"spade_llm {self.schema}",))
            # Asked first: CREATE SCHEMA IF NOT EXISTS needs its right even where it exists.
            if not await (await connection.execute(_HAS_SCHEMA, (self.schema,))).fetchone():
                create = sql.SQL("CREATE SCHEMA {}").format(sql.Identifier(self.schema))
                await connection.execute(create)
            for statement in (*_COMMON_TABLES, *statements):
                await connection.execute(statement)
            await connection.execute(_SET_VERSION, (store, version))

    def storage_error(self, what: str, error: Exception) -> StorageFailed:
        """Build the error for the caller; the reason is logged (throttled)."""
        if self._failures.record():
            logger.error("%s cannot be used: %s", what, self._reason(error))
        return StorageFailed(f"{what} cannot be used")

    def _reason(self, error: Exception) -> str:
        """Reason for logs and configuration errors."""
        return _reason(self._away or error if isinstance(error, TimeoutError) else error)

    def unusable(self, error: Exception) -> ConfigurationError:
        """Build the error for a connection that cannot be opened."""
        return self._unusable(self._reason(error))

    def _unusable(self, reason: str) -> ConfigurationError:
        return ConfigurationError(
            f"{self._setting}: the PostgreSQL database cannot be used ({reason}): check the"
            " address, the role's rights and that the server runs, or remove the setting"
        )


class PostgresDatabase:
    """Tables of one store in PostgreSQL (`Database`)."""

    def __init__(
        self, server: PostgresServer, statements: Sequence[str], *, what: str, version: int
    ) -> None:
        """`statements` create the tables."""
        self._server = server
        self._statements = statements
        self._what = what
        self._version = version
        self._until_prune = 0
        self._is_open = False

    @property
    def is_failing(self) -> bool:
        """True if a statement of the agent failed within the last FAILING_S."""
        return self._server.is_failing

    async def open(self) -> None:
        """Create missing tables. The server's pool is opened before. Raises ConfigurationError."""
        if self._statements:
            await self._server.create_tables(self._what, self._statements, self._version)
        self._is_open = True

    async def close(self) -> None:
        """Wait for submitted statements, and close."""
        await self._server.written_down()
        self._is_open = False

    async def execute(self, statement: str | DialectSql, *values: object) -> list[Row]:
        """Execute a statement and return its rows (`Execute`).

        Raises:
            StorageFailed: the server refuses, or does not answer within STATEMENT_TIMEOUT_S.
        """
        query, given = _bind(statement, values)

        async def work(connection: psycopg.AsyncConnection) -> list[Row]:
            return await _run(connection, query, given)

        is_repeatable = query.startswith("SELECT") or isinstance(statement, IdempotentSql)
        return await self._within_deadline(work, is_repeatable=is_repeatable)

    def submit(self, statement: str | DialectSql, *values: object) -> None:
        """Execute a statement in the background, in the order of these calls. Logs a failure."""
        self._server.submit(self.execute(statement, *values))

    @asynccontextmanager
    async def transaction(
        self, *, timeout_s: float = STATEMENT_TIMEOUT_S
    ) -> AsyncIterator[PostgresTransaction]:
        """Context manager for statements that take effect together, or not at all.

        `timeout_s`: deadline of all of them; a connection is waited for no longer than
        STATEMENT_TIMEOUT_S. The commit of a longer one waits for the disk of the server.

        Raises:
            StorageFailed: the server refuses, or does not answer within the deadline.
        """
        import psycopg

        self._check_open()
        try:
            async with asyncio.timeout(STATEMENT_TIMEOUT_S):
                connection = await self._server.acquire()
            execute = PostgresTransaction(self._server, connection, timeout_s)
            try:
                await execute("BEGIN")
                if timeout_s > STATEMENT_TIMEOUT_S:
                    await execute(_LONG_TRANSACTION, f"{timeout_s}s")
                yield execute
                await execute("COMMIT")
            finally:
                execute.end()
        except (TimeoutError, psycopg.Error) as error:
            raise self._server.storage_error(self._what, error) from error

    async def prune_periodically(self, sql: str, *values: object) -> None:
        """Bound the table; call it after each inserted row. `sql` deletes the surplus every
        PRUNE_EVERY_ROWS rows. Raises StorageFailed."""
        self._until_prune -= 1
        if self._until_prune <= 0:
            self._until_prune = sqlite_file.PRUNE_EVERY_ROWS
            await self.execute(sql, *values)

    async def checkpoint(self) -> None:
        """Nothing: the server does it."""

    async def erase_deleted(self) -> None:
        """Remove dead rows (VACUUM), so that no statement can read them. Their bytes stay in the
        server's write-ahead log and backups until it reuses or deletes those. Raises
        StorageFailed."""
        tables = ", ".join(_tables(self._statements))

        async def work(connection: psycopg.AsyncConnection) -> list[Row]:
            try:
                await connection.execute(_TIMEOUT, (f"{ERASE_TIMEOUT_S}s",))
                await connection.execute(f"VACUUM {tables}")
                await connection.execute(_TIMEOUT, (f"{STATEMENT_TIMEOUT_S}s",))
            except BaseException:
                connection.pgconn.finish()  # Its timeout is not that of the others.
                raise
            return []

        await self._within_deadline(work, is_repeatable=True, timeout_s=ERASE_TIMEOUT_S)

    def _check_open(self) -> None:
        if not self._is_open:
            raise StorageFailed(f"{self._what} is not open")

    async def _within_deadline(
        self,
        work: Callable[[psycopg.AsyncConnection], Awaitable[list[Row]]],
        *,
        is_repeatable: bool,
        timeout_s: float | None = None,
    ) -> list[Row]:
        """Do this work with one connection, and again if that is lost. `timeout_s`:
        STATEMENT_TIMEOUT_S by default."""
        import psycopg

        self._check_open()
        task = asyncio.create_task(self._attempts(work, is_repeatable=is_repeatable))
        try:
            return await self._server.result_of(task, timeout_s or STATEMENT_TIMEOUT_S)
        except (TimeoutError, psycopg.Error) as error:
            raise self._server.storage_error(self._what, error) from error

    async def _attempts(
        self,
        work: Callable[[psycopg.AsyncConnection], Awaitable[list[Row]]],
        *,
        is_repeatable: bool,
    ) -> list[Row]:
        import psycopg

        while True:
            connection = await self._server.acquire()
            try:
                return await work(connection)
            except psycopg.OperationalError as error:
                # Rolled back for certain, or lost on the way: a write may have happened.
                is_undone = error.sqlstate in ROLLED_BACK
                if not (is_undone or (is_repeatable and connection.closed)):
                    raise
            finally:
                self._server.release(connection)


class PostgresTransaction:
    """Statements of one transaction (`Execute`), with a common deadline."""

    def __init__(
        self, server: PostgresServer, connection: psycopg.AsyncConnection, timeout_s: float
    ) -> None:
        self._server, self._connection = server, connection
        self._give_up_s = asyncio.get_running_loop().time() + timeout_s
        self._task: asyncio.Task[list[Row]] | None = None

    async def __call__(self, statement: str | DialectSql, *values: object) -> list[Row]:
        return await self._result_of(_run(self._connection, *_bind(statement, values)))

    async def many(self, statement: str, rows: Sequence[Sequence[object]]) -> None:
        """Execute a statement once for each row of values, without a round trip for each."""
        if rows:
            await self._result_of(_run_many(self._connection, statement, rows))

    async def _result_of(self, work: Coroutine[object, object, list[Row]]) -> list[Row]:
        self._task = asyncio.create_task(work)
        left_s = self._give_up_s - asyncio.get_running_loop().time()
        return await self._server.result_of(self._task, left_s)

    def end(self) -> None:
        """Give the connection back. In the middle of a transaction it is closed (rollback)."""
        if self._task is None or self._task.done():
            self._server.release(self._connection)
        else:
            self._task.add_done_callback(lambda _: self._server.release(self._connection))


def database_server(address: DatabaseUrl | None, *, agent: str) -> PostgresServer | None:
    """Server of an agent's databases, not opened yet. Raises ConfigurationError."""
    return None if address is None else PostgresServer(address, agent=agent, is_agent=True)


def schema_name(jid: str) -> str:
    """PostgreSQL schema of an agent: its bare JID, cut and marked by a hash if it is too long."""
    name = jid.lower().encode()
    if len(name) <= MAX_SCHEMA_BYTES:
        return name.decode()
    digest = hashlib.sha256(name).hexdigest()[:12]
    return name[: MAX_SCHEMA_BYTES - 13].decode(errors="ignore") + "-" + digest


def _conninfo(url: str, setting: str, *, application: str) -> str:
    """Check the URL and add our defaults. Its text, which may hold a password, stays out of the
    error."""
    import psycopg
    from psycopg.conninfo import conninfo_to_dict, make_conninfo

    form = "write postgresql://USER:PASSWORD@HOST:PORT/DATABASE"
    if not url.startswith(("postgresql://", "postgres://")):
        raise ConfigurationError(f"{setting}: not the URL of a PostgreSQL database: {form}")
    try:
        given = conninfo_to_dict(url)
        defaults = {**_CONNECTION_DEFAULTS, "application_name": application}
        return make_conninfo("", **{**defaults, **given})
    except psycopg.ProgrammingError:
        raise ConfigurationError(
            f"{setting}: not a valid URL (percent-encode special characters of the password):"
            f" {form}"
        ) from None


def has_input(connection: psycopg.AsyncConnection | psycopg.Connection) -> bool:
    """True if an idle connection has something to read: the server has closed it. Nothing was sent
    yet, so another connection can take its place, unlike after a failure in a statement."""
    poll = select.poll()
    poll.register(connection.pgconn.socket, select.POLLIN)
    return bool(poll.poll(0))


def is_away(error: psycopg.OperationalError) -> bool:
    """True if a later attempt to connect may succeed."""
    if error.sqlstate is not None:
        return error.sqlstate[:2] not in _REJECTED_CLASSES
    return not any(text in str(error) for text in _NO_PASSWORD)


def _reason(error: Exception) -> str:
    """Reason for logs and configuration errors: no values of a statement, which DETAIL quotes."""
    import psycopg

    if isinstance(error, psycopg.Error) and error.diag.message_primary:
        return f"{error.diag.message_primary} ({error.sqlstate})"
    text = str(error).strip()
    return text.splitlines()[0] if text else "no answer within the deadline"


async def _run(connection: psycopg.AsyncConnection, query: str, values: _Values) -> list[Row]:
    cursor = await connection.execute(query, values)
    return await cursor.fetchall() if cursor.description else []


async def _run_many(
    connection: psycopg.AsyncConnection, statement: str, rows: Sequence[Sequence[object]]
) -> list[Row]:
    bound = [_bind(statement, tuple(row)) for row in rows]
    async with connection.cursor() as cursor:
        await cursor.executemany(bound[0][0], [values for _, values in bound])
    return []


def _bind(statement: str | DialectSql, values: tuple[object, ...]) -> tuple[str, _Values]:
    """Statement and values as psycopg takes them."""
    query, is_named = _translated(statement if isinstance(statement, str) else statement.postgres)
    if values and isinstance(values[0], Mapping):
        return query, {name: _storable(value) for name, value in values[0].items()}
    if is_named:
        return query, {str(at): _storable(value) for at, value in enumerate(values, 1)}
    return query, tuple(map(_storable, values))


def _storable(value: object) -> object:
    """PostgreSQL's texts cannot contain U+0000: the replacement character stands for it."""
    return value.replace("\0", "\ufffd") if isinstance(value, str) and "\0" in value else value


@lru_cache(maxsize=512)
def _translated(sql: str) -> tuple[str, bool]:
    """Statement with psycopg's placeholders; True: the positional values are named by number."""
    sql = _LIST.sub(r"= ANY(\1)", sql)
    has_numbers = re.search(r"\?\d", sql) is not None
    last = 0

    def placeholder(found: re.Match[str]) -> str:
        nonlocal last
        if found[0] == "%":
            return "%%"
        if found["name"]:
            return f"%({found['name']})s"
        if not has_numbers:
            return "%s"
        # SQLite gives `?` the number after the largest before it.
        number = int(found["number"] or last + 1)
        last = max(last, number)
        return f"%({number})s"

    return _PLACEHOLDER.sub(placeholder, sql).strip(), has_numbers


def _translated_schema(schema: str, added_columns: Sequence[str]) -> Iterator[str]:
    """Statements that create the same tables in PostgreSQL, written in SQLite's dialect."""
    for statement in filter(None, map(str.strip, schema.split(";"))):
        if statement.startswith("PRAGMA"):
            continue
        table = _TABLE.fullmatch(statement)
        if table is not None:
            has_rowid = table[3] is None and "INTEGER PRIMARY KEY" not in statement
            rowid = _ROWID if has_rowid else ""
            statement = f"CREATE TABLE IF NOT EXISTS {table[1]} ({table[2].rstrip()}{rowid})"
        yield translated_types(statement)
    for column in added_columns:
        name, rest = column.split(maxsplit=1)
        yield translated_types(f"ALTER TABLE {name} ADD COLUMN IF NOT EXISTS {rest}")


def _tables(statements: Sequence[str]) -> list[str]:
    return [found[1] for one in statements if (found := _TABLE.match(one))]


def translated_types(sql: str) -> str:
    """Definition of a table with PostgreSQL's names of SQLite's types."""
    for pattern, kind in _TYPES:
        sql = re.sub(pattern, kind, sql)
    return sql
