"""GroupCommit: one writer; queued writes share a transaction and one sync."""

from __future__ import annotations

import asyncio
import logging
import sqlite3
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from spade_llm.core.errors import Busy, ServiceError, StorageFailed
from spade_llm.memory.sqlite.connection import Transaction, storage_failed

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from spade_llm.memory.sqlite.connection import SqliteThread

logger = logging.getLogger(__name__)

T = TypeVar("T")

MAX_QUEUED = 1024
"""Maximum number of queued writes; one more is refused."""

MAX_BATCH = 256
"""Maximum number of writes in one transaction."""

TRUNCATE_WAL = "PRAGMA wal_checkpoint (TRUNCATE)"
BUSY_TIMEOUT = "PRAGMA busy_timeout"
BUSY_TIMEOUT_MS = 250
"""Timeout in milliseconds of the single wait for the write-ahead log. By then own reads have mostly
ended; with a longer wait, a long read of another process (an export) would delay every write."""
TRUNCATE_RETRY_S = 0.5
"""Interval in seconds for truncating the log again, even if nothing is written."""


class _QueuedWrite(Generic[T]):
    """Queued operation, its result until the commit, and the future of its caller."""

    def __init__(self, operation: Callable[[Transaction], T]) -> None:
        self._operation = operation
        self._result: list[T] = []
        self._refusal: ServiceError | None = None
        self.transaction: Transaction | None = None
        self.done: asyncio.Future[T] = asyncio.get_running_loop().create_future()

    def run(self, connection: sqlite3.Connection) -> None:
        """Run the operation. A refusal before any change is kept for the caller; other errors are
        raised."""
        self._refusal, self.transaction = None, Transaction(connection)
        before = connection.total_changes
        try:
            self._result = [self._operation(self.transaction)]
        except ServiceError as refusal:
            self._refusal = refusal
            # What it changed before it refused can only be undone together with the whole group.
            if connection.total_changes != before:
                raise

    def acknowledge(self) -> None:
        # The caller was cancelled; what it asked for is committed all the same.
        if self.done.done():
            return
        if self._refusal is not None:
            self.done.set_exception(self._refusal)
        else:
            self.done.set_result(self._result[0])

    def fail(self, error: BaseException) -> None:
        if not self.done.done():
            self.done.set_exception(error)


class GroupCommit:
    """Single writer of one connection; commits queued writes in groups and owns the transactions.

    Open it inside the running loop; `close` commits what is queued.

    Args:
        on_commit: called with the transaction of each write before it is acknowledged.
    """

    def __init__(
        self,
        thread: SqliteThread,
        *,
        on_commit: Callable[[Transaction], None] = lambda transaction: None,
    ) -> None:
        self._thread = thread
        self._on_commit = on_commit
        self._queue: asyncio.Queue[_QueuedWrite[Any] | None] = asyncio.Queue(MAX_QUEUED)
        self._is_closed = False
        self._must_truncate_wal = False
        self._task = asyncio.create_task(self._run(), name="memory-writer")

    async def write(self, operation: Callable[[Transaction], T]) -> T:
        """Queue an operation for the writer thread; return when it is committed and synced.

        It may be run again, once in effect.

        Raises:
            Busy: too many writes are waiting; nothing changed.
            StorageFailed: it was not written.
            ServiceError: the operation refuses.
        """
        return await self._enqueue(operation).done

    def write_later(
        self, operation: Callable[[Transaction], object]
    ) -> asyncio.Future[object] | None:
        """Queue an operation that may be lost, without waiting; None: the queue is full, it is
        dropped."""
        if not self._is_open or self._queue.full():
            return None
        done = self._enqueue(operation).done
        done.add_done_callback(_log_failure)
        return done

    async def close(self) -> None:
        """Commit what is queued, then refuse everything."""
        if not self._is_closed:
            self._is_closed = True
            # Waits for room if the queue is full: the end stands behind every accepted write.
            await self._queue.put(None)
        await self._task

    @property
    def _is_open(self) -> bool:
        return not (self._is_closed or self._task.done())

    def _enqueue(self, operation: Callable[[Transaction], T]) -> _QueuedWrite[T]:
        if not self._is_open:
            raise StorageFailed("the memory store is closed")
        write = _QueuedWrite(operation)
        try:
            self._queue.put_nowait(write)
        except asyncio.QueueFull:
            raise Busy("the memory's write queue is full: try again later") from None
        return write

    async def _run(self) -> None:
        batch: list[_QueuedWrite[Any]] = []
        try:
            while batch := await self._next_batch():
                await self._commit(batch)
        finally:
            # Whatever ends this task, no caller waits for ever; finished writes are skipped by
            # `fail`.
            queued = [self._queue.get_nowait() for _ in range(self._queue.qsize())]
            for write in (*batch, *queued):
                if write is not None:
                    write.fail(StorageFailed("the memory store was stopped"))

    async def _next_batch(self) -> list[_QueuedWrite[Any]]:
        """Wait for queued writes and return at least one of them; empty after the end of the
        queue."""
        batch: list[_QueuedWrite[Any]] = []
        item = await self._next_write()
        while item is not None:
            batch.append(item)
            if len(batch) == MAX_BATCH or self._queue.empty():
                return batch
            item = self._queue.get_nowait()
        if batch:
            # The end was met behind writes: the next round must see it again.
            self._queue.put_nowait(None)
        return batch

    async def _next_write(self) -> _QueuedWrite[Any] | None:
        while self._must_truncate_wal:
            with suppress(TimeoutError):
                async with asyncio.timeout(TRUNCATE_RETRY_S):
                    return await self._queue.get()
            await self._truncate_wal(timeout_ms=0)
        return await self._queue.get()

    async def _commit(self, writes: Sequence[_QueuedWrite[Any]]) -> None:
        """Commit writes in one transaction; if one of them fails, each in its own."""
        attempt = asyncio.ensure_future(
            self._thread.run(lambda connection: _commit_together(connection, writes))
        )
        # wait() does not cancel the attempt: a commit that has begun runs to its end.
        await asyncio.wait([attempt])
        failure = attempt.exception()
        # If another program has the file, each write alone would wait for it as often, in vain.
        is_locked = getattr(failure, "sqlite_errorname", "").startswith("SQLITE_BUSY")
        if failure is None:
            await self._acknowledge(writes)
        elif len(writes) == 1 or is_locked:
            # A bug is raised to its caller, and the writer goes on for the others.
            error = storage_failed(failure) if isinstance(failure, sqlite3.Error) else failure
            for write in writes:
                write.fail(error)
        else:
            for write in writes:
                await self._commit([write])

    async def _acknowledge(self, writes: Sequence[_QueuedWrite[Any]]) -> None:
        transactions = [write.transaction for write in writes if write.transaction is not None]
        for transaction in transactions:
            # Before any acknowledgement: a search that follows a write must find it.
            self._on_commit(transaction)
        if any(transaction.is_erasing for transaction in transactions):
            await self._truncate_wal(timeout_ms=BUSY_TIMEOUT_MS)
        elif self._must_truncate_wal:
            await self._truncate_wal(timeout_ms=0)
        for write in writes:
            write.acknowledge()

    async def _truncate_wal(self, *, timeout_ms: int) -> None:
        emptied = partial(_has_truncated_wal, timeout_ms=timeout_ms)
        self._must_truncate_wal = not await self._thread.run(emptied)


def _commit_together(connection: sqlite3.Connection, writes: Sequence[_QueuedWrite[Any]]) -> None:
    """Run writes in one transaction. If one raises, all are undone and its error is raised."""
    try:
        # Takes the lock at once: a transaction that reads first and then writes may fail with
        # SQLITE_BUSY_SNAPSHOT, for which no timeout helps.
        connection.execute("BEGIN IMMEDIATE")
        for write in writes:
            write.run(connection)
        connection.execute("COMMIT")
    finally:
        # No effect after COMMIT; one that failed may leave the transaction open.
        connection.rollback()


def _has_truncated_wal(connection: sqlite3.Connection, *, timeout_ms: int) -> bool:
    """Truncate the write-ahead log; False if a reader prevented it: it is tried again."""
    ((usual_ms,),) = connection.execute(BUSY_TIMEOUT).fetchall()
    connection.execute(f"{BUSY_TIMEOUT} = {timeout_ms}")
    try:
        ((is_busy, _, _),) = connection.execute(TRUNCATE_WAL).fetchall()
    except sqlite3.Error as error:
        logger.warning("the memory's write-ahead log could not be truncated: %s", error)
        return False
    finally:
        connection.execute(f"{BUSY_TIMEOUT} = {usual_ms}")
    return not is_busy


def _log_failure(done: asyncio.Future[object]) -> None:
    if not done.cancelled() and (error := done.exception()) is not None:
        logger.warning("deferred access counts could not be written: %s", error)
