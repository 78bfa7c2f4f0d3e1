"""One writer for many: queued writes share a transaction and are acknowledged after its sync.

Knows no statement of the memory. When a write fails its transaction is undone and each write of it
is tried in one of its own, so that no other is touched; operations must therefore be repeatable.
"""

from __future__ import annotations

import asyncio
import logging
import sqlite3
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from spade_llm.errors import Busy, StorageFailed
from spade_llm.memory.sqlite_errors import storage_failed

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    import aiosqlite

logger = logging.getLogger(__name__)

T = TypeVar("T")

MAX_QUEUED = 1024
"""Writes waiting; one more is refused."""

MAX_BATCH = 256
"""Writes that share one transaction."""


class _Write(Generic[T]):
    """One operation, its result until the commit, and who waits for it."""

    def __init__(self, operation: Callable[[aiosqlite.Connection], Awaitable[T]]) -> None:
        self._operation = operation
        self._result: list[T] = []
        self.done: asyncio.Future[T] = asyncio.get_running_loop().create_future()

    async def run(self, connection: aiosqlite.Connection) -> None:
        self._result = [await self._operation(connection)]

    def acknowledge(self) -> None:
        if not self.done.done():
            self.done.set_result(self._result[0])

    def fail(self, error: StorageFailed) -> None:
        if not self.done.done():
            self.done.set_exception(error)


class GroupCommit:
    """The only writer of one connection, whose transactions it owns.

    Open it inside the running loop; `close` commits what is queued.
    """

    def __init__(self, connection: aiosqlite.Connection) -> None:
        self._connection = connection
        self._queue: asyncio.Queue[_Write[Any] | None] = asyncio.Queue(MAX_QUEUED)
        self._is_closed = False
        self._task = asyncio.create_task(self._run(), name="memory-writer")

    async def write(self, operation: Callable[[aiosqlite.Connection], Awaitable[T]]) -> T:
        """Run it, once in effect; return when its transaction is committed and synced.

        Raises:
            Busy: too many writes are waiting; nothing changed.
            StorageFailed: it was not written.
        """
        return await self._enqueue(operation).done

    def write_later(self, operation: Callable[[aiosqlite.Connection], Awaitable[object]]) -> None:
        """The same without waiting, for what may be lost: dropped when the queue is full."""
        if self._is_open and not self._queue.full():
            self._enqueue(operation).done.add_done_callback(_log_failure)

    async def close(self) -> None:
        """Commit what is queued, then refuse everything."""
        if not self._is_closed:
            self._is_closed = True
            await self._queue.put(None)
        await self._task

    @property
    def _is_open(self) -> bool:
        return not (self._is_closed or self._task.done())

    def _enqueue(self, operation: Callable[[aiosqlite.Connection], Awaitable[T]]) -> _Write[T]:
        if not self._is_open:
            raise StorageFailed("the memory is closed")
        write = _Write(operation)
        try:
            self._queue.put_nowait(write)
        except asyncio.QueueFull:
            raise Busy("too many writes wait for the memory: ask again later") from None
        return write

    async def _run(self) -> None:
        batch: list[_Write[Any]] = []
        try:
            while batch := await self._next_batch():
                await self._commit(batch)
        finally:
            for write in (*batch, *self._drained()):
                write.fail(StorageFailed("the memory was stopped"))

    async def _next_batch(self) -> list[_Write[Any]]:
        """What is waiting, at least one; nothing once the end is reached."""
        batch: list[_Write[Any]] = []
        item = await self._queue.get()
        while item is not None:
            batch.append(item)
            if len(batch) == MAX_BATCH or self._queue.empty():
                return batch
            item = self._queue.get_nowait()
        if batch:
            self._queue.put_nowait(None)
        return batch

    def _drained(self) -> list[_Write[Any]]:
        items = [self._queue.get_nowait() for _ in range(self._queue.qsize())]
        return [item for item in items if item is not None]

    async def _commit(self, writes: list[_Write[Any]]) -> None:
        """All in one transaction; if one of them fails, each in its own."""
        try:
            await self._connection.execute_fetchall("BEGIN IMMEDIATE")
            failure = await self._first_failure(writes)
            await (self._connection.commit() if failure is None else self._connection.rollback())
        except sqlite3.Error as error:
            await self._undo(writes, storage_failed(error))
        else:
            await self._conclude(writes, failure)

    async def _first_failure(self, writes: list[_Write[Any]]) -> sqlite3.Error | None:
        try:
            for write in writes:
                await write.run(self._connection)
        except sqlite3.Error as error:
            return error
        return None

    async def _conclude(self, writes: list[_Write[Any]], failure: sqlite3.Error | None) -> None:
        if failure is None:
            for write in writes:
                write.acknowledge()
        elif len(writes) == 1:
            writes[0].fail(storage_failed(failure))
        else:
            for write in writes:
                await self._commit([write])

    async def _undo(self, writes: list[_Write[Any]], error: StorageFailed) -> None:
        for write in writes:
            write.fail(error)
        await self._connection.rollback()


def _log_failure(done: asyncio.Future[object]) -> None:
    if not done.cancelled() and (error := done.exception()) is not None:
        logger.warning("a note about use was not written to the memory: %s", error)
