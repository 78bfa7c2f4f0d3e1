"""PostgreSQL schema of a memory: blocking connections in threads, with deadlines (psycopg 3)."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AsyncExitStack, contextmanager
from functools import partial
from typing import TYPE_CHECKING, ClassVar, TypeVar

import psycopg

from spade_llm.core.errors import StorageFailed
from spade_llm.core.postgres import ROLLED_BACK, STATEMENT_TIMEOUT_S, PostgresServer, has_input
from spade_llm.memory.database.connection import (
    DatabaseThread,
    OpenedDatabase,
    StorageUnavailable,
    Transaction,
)
from spade_llm.memory.database.postgres_dialect import postgres_schema, translated
from spade_llm.memory.database.schema import SCHEMA_VERSION

if TYPE_CHECKING:
    from psycopg.abc import PQGen

    from spade_llm.memory.database.connection import SqlRow, SqlValue

T = TypeVar("T")

WHAT = "the memory"
"""Name in error messages, and of its version in the schema."""
READERS = 3
"""Number of reader connections; while one waits for the server, another can run Python."""
ANSWER_TIMEOUT_S = STATEMENT_TIMEOUT_S + 1.0
"""Deadline of one statement at this end: the server that does not cancel it is frozen."""
COMMAND_TIMEOUT_S = 600.0
"""Deadline of one statement of a command (export, verification), which reads whole tables."""
MAX_LOGGED_KEYS = 4096
"""Maximum number of changed rows of an owner that a commit names; above it, other processes read
the index of this owner again."""
KEPT_VERSIONS = 1000
"""Number of versions of an owner with their changes, kept for other processes."""

# Writers of all processes one after the other, as with a file: what one has read before it writes
# still holds when it commits.
BEGIN_WRITE = (
    "BEGIN; SELECT pg_advisory_xact_lock(hashtextextended(current_schema() || ' memory', 0))"
)
BEGIN_READ = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"
# A commit that is acknowledged is on the server's disk, as with a file.
SYNCED = "SET synchronous_commit = on"
# A command may wait for a file or a pipe between two statements.
LONG = """SELECT set_config('statement_timeout', %s, false),
    set_config('idle_in_transaction_session_timeout', '0', false)"""
SELECT_VERSION = "SELECT version FROM store_versions WHERE store = %s"

SET_VERSION = """
    INSERT INTO owner_version (owner, version, keys, accessed)
    SELECT %(owner)s, coalesce(max(version), 0) + 1, %(keys)s::bigint[], %(accessed)s::bigint[]
    FROM owner_version WHERE owner = %(owner)s
    RETURNING version
"""
PRUNE_VERSIONS = "DELETE FROM owner_version WHERE owner = %s AND version <= %s"

VACUUM = "VACUUM (SKIP_LOCKED) entry, message, vector, conversation, link, consent, reflection"

_OF_ALL = ("08", "28", "3D", "53", "55", "57", "58")
"""SQLSTATE classes of failures that other statements would meet as well: connection, rights,
resources, locks, shutdown, timeouts, the server's disk."""


class BoundedConnection(psycopg.Connection[tuple[object, ...]]):
    """Connection that waits at most `answer_timeout_s` for an answer of the server."""

    answer_timeout_s: ClassVar[float] = ANSWER_TIMEOUT_S

    def wait(self, gen: PQGen[T], interval: float = 0.1, timeout: float | None = None) -> T:
        """Wait for what a generator of psycopg does. Raises psycopg.OperationalError."""
        give_up_s = time.monotonic() + (timeout or self.answer_timeout_s)
        return super().wait(_until(give_up_s, gen), interval)


class CommandConnection(BoundedConnection):
    """Connection of a command, with deadlines for statements that read whole tables."""

    answer_timeout_s = COMMAND_TIMEOUT_S + 1.0


def _until(give_up_s: float, gen: PQGen[T]) -> PQGen[T]:
    try:
        wanted = next(gen)
        while True:
            ready = yield wanted
            if not ready and time.monotonic() > give_up_s:
                raise psycopg.OperationalError("no answer within the deadline")
            wanted = gen.send(ready)
    except StopIteration as end:
        result: T = end.value
        return result


class PostgresConnection:
    """Connection to the schema of a memory (`Connection`); renewed when it is lost."""

    def __init__(
        self, server: PostgresServer, *, kind: type[BoundedConnection] = BoundedConnection
    ) -> None:
        self._server = server
        self._kind = kind
        self._connection: psycopg.Connection | None = None
        self._is_committing = False
        self.total_changes = 0

    def execute(
        self, sql: str, parameters: Mapping[str, SqlValue] = {}, /
    ) -> psycopg.Cursor[SqlRow]:
        """Execute a statement within `read` or `write`. Raises psycopg.Error."""
        statement = translated(sql)
        cursor = self._opened.execute(statement.query, statement.bound(parameters), binary=True)
        if statement.is_change:
            self.total_changes += max(cursor.rowcount, 0)
        return cursor

    def executemany(
        self, sql: str, parameters: Iterable[Mapping[str, SqlValue]], /
    ) -> psycopg.Cursor[SqlRow]:
        """Execute a statement for each set of parameters. Raises psycopg.Error."""
        statement = translated(sql)
        cursor = self._opened.cursor(binary=True)
        # Sent together (pipeline).
        cursor.executemany(statement.query, [statement.bound(one) for one in parameters])
        self.total_changes += max(cursor.rowcount, 0)
        return cursor

    def pages(
        self, sql: str, parameters: Mapping[str, SqlValue], *, size: int
    ) -> Iterator[list[SqlRow]]:
        """Execute a statement and yield its rows in lists of `size`, to bound the memory used."""
        statement = translated(sql)
        with self._opened.cursor("pages", binary=True) as cursor:
            cursor.execute(statement.query, statement.bound(parameters))
            while rows := cursor.fetchmany(size):
                yield rows

    def read(self, operation: Callable[[Transaction], T], *, is_short: bool = False) -> T:
        """Run an operation on a snapshot; without one, which saves two round trips, if it is short.
        Raises StorageFailed."""

        def run(connection: psycopg.Connection) -> T:
            if is_short:
                return operation(Transaction(self))
            connection.execute(BEGIN_READ)
            result = operation(Transaction(self))
            connection.execute("COMMIT")
            return result

        return self._within_deadline(run)

    def write(self, operation: Callable[[], Sequence[Transaction]]) -> Mapping[str, int]:
        """Run an operation in a transaction and commit it, synced; return the new versions of
        changed owners. Raises StorageFailed."""

        def run(connection: psycopg.Connection) -> Mapping[str, int]:
            connection.execute(BEGIN_WRITE)
            versions = self._count_versions(connection, operation())
            self._is_committing = True
            connection.execute("COMMIT")
            return versions

        return self._within_deadline(run)

    def erase_deleted(self, *, timeout_s: float) -> bool:
        """Remove dead rows, so that no statement can read them. A role that may not (it needs to
        own the tables, or MAINTAIN) gets a warning of the server."""
        del timeout_s  # Of the wait for readers: VACUUM waits for none.
        try:
            self._within_deadline(lambda connection: connection.execute(VACUUM))
        except StorageFailed:
            return False
        return True

    def open_for_command(self) -> psycopg.Connection:
        """Connect for `command_transaction`. Raises ConfigurationError, StorageFailed."""
        try:
            connection = self._connected(time.monotonic() + STATEMENT_TIMEOUT_S)
            connection.execute(LONG, (f"{COMMAND_TIMEOUT_S}s",))
        except psycopg.Error as error:
            raise self._server.unusable(error) from None
        try:
            found = connection.execute(SELECT_VERSION, (WHAT,)).fetchone()
        except psycopg.errors.UndefinedTable:
            found = None
        if found is None:
            raise StorageFailed(f"{self._server.name} has no memory")
        version = int(str(found[0]).split()[0])
        if version != SCHEMA_VERSION:
            raise StorageFailed(
                f"{self._server.name} has a memory of schema {version}, not {SCHEMA_VERSION}: start"
                " a memory agent of this version to migrate an older one"
            )
        return connection

    def end_command(self, transaction: Transaction, *, is_kept: bool) -> None:
        """Commit, with the new versions of changed owners, or roll back. Raises psycopg.Error."""
        if is_kept:
            self._count_versions(self._opened, [transaction])
        self._opened.execute("COMMIT" if is_kept else "ROLLBACK")

    def close(self) -> None:
        """Close the connection. What is in flight is rolled back."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    @property
    def _opened(self) -> psycopg.Connection:
        assert self._connection is not None  # Only `read` and `write` run operations.
        return self._connection

    def _count_versions(
        self, connection: psycopg.Connection, transactions: Sequence[Transaction]
    ) -> Mapping[str, int]:
        """Note what changed, for the caches of other processes."""
        changed: dict[str, set[int]] = {}
        accessed: dict[str, set[int]] = {}
        for transaction in transactions:
            for owner, keys in transaction.changed.items():
                changed.setdefault(owner, set()).update(keys)
            for owner, keys in transaction.accessed.items():
                accessed.setdefault(owner, set()).update(keys)
        versions = {}
        for owner in changed.keys() | accessed.keys():
            keys, uses = changed.get(owner, set()), accessed.get(owner, set())
            if not (keys or uses):
                continue
            is_named = len(keys) + len(uses) <= MAX_LOGGED_KEYS
            values = {
                "owner": owner,
                "keys": sorted(keys) if is_named else None,
                "accessed": sorted(uses),
            }
            ((version,),) = connection.execute(SET_VERSION, values, binary=True).fetchall()
            if version % KEPT_VERSIONS == 0:
                connection.execute(PRUNE_VERSIONS, (owner, version - KEPT_VERSIONS))
            versions[owner] = version
        return versions

    def _within_deadline(self, work: Callable[[psycopg.Connection], T]) -> T:
        """Do this work; again on another connection if this one was lost before a commit was
        sent. Whatever fails is rolled back."""
        give_up_s = time.monotonic() + STATEMENT_TIMEOUT_S
        while True:
            self._is_committing = False
            try:
                return work(self._connected(give_up_s))
            except psycopg.Error as error:
                is_lost = self._connection is None or self._connection.closed
                is_undone = error.sqlstate in ROLLED_BACK or (is_lost and not self._is_committing)
                self._roll_back()
                if not is_undone or self._connection is None or time.monotonic() > give_up_s:
                    raise self._storage_failed(error) from error
            except BaseException:
                self._roll_back()
                raise

    def _connected(self, give_up_s: float) -> psycopg.Connection:
        connection = self._connection
        if connection is None or connection.closed or has_input(connection):
            self.close()
            connection = self._server.connect_blocking(self._kind, give_up_s=give_up_s)
            connection.execute(SYNCED)
            self._connection = connection
        return connection

    def _roll_back(self) -> None:
        """End the transaction. A connection that is in the middle of a statement is closed, which
        rolls back, too."""
        connection = self._connection
        if connection is None:
            return
        try:
            if connection.info.transaction_status in (
                psycopg.pq.TransactionStatus.INTRANS,
                psycopg.pq.TransactionStatus.INERROR,
            ):
                connection.execute("ROLLBACK")
        except psycopg.Error:
            pass
        if connection.info.transaction_status != psycopg.pq.TransactionStatus.IDLE:
            connection.pgconn.finish()

    def _storage_failed(self, error: psycopg.Error) -> StorageFailed:
        failed = self._server.storage_error(WHAT, error)
        is_of_all = error.sqlstate is None or error.sqlstate.startswith(_OF_ALL)
        if isinstance(error, psycopg.OperationalError) and is_of_all:
            return StorageUnavailable(str(failed))
        return failed


@contextmanager
def command_transaction(
    server: PostgresServer, *, is_read_only: bool, is_dry_run: bool = False
) -> Iterator[Transaction]:
    """Transaction of a command on the memory in a schema, in this thread: a snapshot, or a write
    that excludes other writers and is committed when the block ends, except in a dry run.

    Raises:
        ConfigurationError: the server cannot be used.
        StorageFailed: the schema has no memory of this version, or the server fails.
    """
    connection = PostgresConnection(server, kind=CommandConnection)
    try:
        opened = connection.open_for_command()
        opened.execute(BEGIN_READ if is_read_only else BEGIN_WRITE)
        transaction = Transaction(connection)
        yield transaction
        connection.end_command(transaction, is_kept=not (is_read_only or is_dry_run))
    except psycopg.Error as error:
        raise server.storage_error(WHAT, error) from error
    finally:
        connection.close()


class MemorySchema:
    """PostgreSQL schema with the tables of a memory (`MemoryDatabase`): that of its agent."""

    def __init__(self, server: PostgresServer) -> None:
        """`server` is opened before, and closed after the memory."""
        self._server = server

    @property
    def name(self) -> str:
        return self._server.name

    @property
    def has_other_writers(self) -> bool:
        return True

    async def open(self, stack: AsyncExitStack) -> OpenedDatabase:
        """Create missing tables. Raises ConfigurationError."""
        await self._server.create_tables(WHAT, postgres_schema(), SCHEMA_VERSION)
        connect = partial(PostgresConnection, self._server)
        threads = []
        for name in ("memory-writer", *["memory-reader"] * READERS):
            thread = await DatabaseThread.open(connect, name=name)
            stack.push_async_callback(thread.close)
            threads.append(thread)
        return OpenedDatabase(
            writer=threads[0], readers=threads[1:], max_wait_s=STATEMENT_TIMEOUT_S
        )
