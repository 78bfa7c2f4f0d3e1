"""GroupCommit: one writer; queued writes share a transaction and one sync."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Any, Generic, TypeVar

from spade_llm.core.errors import Busy, ServiceError, StorageFailed
from spade_llm.memory.database.connection import (
    Connection,
    DatabaseThread,
    StorageUnavailable,
    Transaction,
)

logger = logging.getLogger(__name__)

T = TypeVar("T")

MAX_QUEUED = 1024
"""Maximum number of queued writes; one more is refused."""

MAX_BATCH = 256
"""Maximum number of writes in one transaction."""

ERASE_TIMEOUT_S = 0.25
"""Timeout in seconds of the single wait for the write-ahead log. By then own reads have mostly
ended; with a longer wait, a long read of another process (an export) would delay every write."""
ERASE_RETRY_S = 0.5
"""Interval in seconds for erasing again, even if nothing is written."""


class _QueuedWrite(Generic[T]):
    """Queued operation, its result until the commit, and the future of its caller."""

    def __init__(self, operation: Callable[[Transaction], T]) -> None:
        self._operation = operation
        self._result: list[T] = []
        self._refusal: ServiceError | None = None
        self.transaction: Transaction | None = None
        self.done: asyncio.Future[T] = asyncio.get_running_loop().create_future()

    def run(self, connection: Connection) -> None:
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
        on_commit: called with the transactions of a group before they are acknowledged, and the new
            versions of changed owners.
    """

    def __init__(
        self,
        thread: DatabaseThread[Any],
        *,
        on_commit: Callable[[Sequence[Transaction], Mapping[str, int]], None] = (
            lambda transactions, versions: None
        ),
    ) -> None:
        self._thread = thread
        self._on_commit = on_commit
        self._queue: asyncio.Queue[_QueuedWrite[Any] | None] = asyncio.Queue(MAX_QUEUED)
        self._is_closed = False
        self._must_erase = False
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
        """Queue an operation that may be lost, without waiting; None: dropped, queue is full."""
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
        """Wait for queued writes and return at least one; empty after the end of the queue."""
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
        while self._must_erase:
            with suppress(TimeoutError):
                async with asyncio.timeout(ERASE_RETRY_S):
                    return await self._queue.get()
            await self._erase_deleted(timeout_s=0)
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
        is_unavailable = isinstance(failure, StorageUnavailable)
        if failure is None:
            await self._acknowledge(writes, attempt.result())
        elif len(writes) == 1 or is_unavailable:
            # A bug is raised to its caller, and the writer goes on for the others.
            for write in writes:
                write.fail(failure)
        else:
            for write in writes:
                await self._commit([write])

    async def _acknowledge(
        self, writes: Sequence[_QueuedWrite[Any]], versions: Mapping[str, int]
    ) -> None:
        transactions = [write.transaction for write in writes if write.transaction is not None]
        # Before any acknowledgement: a search that follows a write must find it.
        self._on_commit(transactions, versions)
        if any(transaction.is_erasing for transaction in transactions):
            await self._erase_deleted(timeout_s=ERASE_TIMEOUT_S)
        elif self._must_erase:
            await self._erase_deleted(timeout_s=0)
        for write in writes:
            write.acknowledge()

    async def _erase_deleted(self, *, timeout_s: float) -> None:
        self._must_erase = not await self._thread.run(
            lambda connection: connection.erase_deleted(timeout_s=timeout_s)
        )


def _commit_together(
    connection: Connection, writes: Sequence[_QueuedWrite[Any]]
) -> Mapping[str, int]:
    """Run writes in one transaction. If one raises, all are undone and its error is raised."""

    def run() -> Sequence[Transaction]:
        for write in writes:
            write.run(connection)
        return [write.transaction for write in writes if write.transaction is not None]

    return connection.write(run)


def _log_failure(done: asyncio.Future[object]) -> None:
    if not done.cancelled() and (error := done.exception()) is not None:
        logger.warning("deferred access counts could not be written: %s", error)
