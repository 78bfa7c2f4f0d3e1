"""Connections that only read, apart from the writer. Knows no statement of the memory."""

from __future__ import annotations

import asyncio
import sqlite3
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, TypeVar

from spade_llm.errors import StorageFailed
from spade_llm.memory.sqlite.errors import storage_failed
from spade_llm.memory.sqlite.transaction import Transaction

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Sequence

    from spade_llm.memory.sqlite.thread import SqliteThread

T = TypeVar("T")


class Readers:
    """A fixed number of connections; a read waits for a free one."""

    def __init__(self, threads: Sequence[SqliteThread]) -> None:
        self._free: asyncio.Queue[SqliteThread] = asyncio.Queue(len(threads))
        self._is_closed = False
        for thread in threads:
            self._free.put_nowait(thread)

    async def read(self, operation: Callable[[Transaction], T]) -> T:
        """Run it in a reader's thread; all its statements see the same state of the file.

        Raises:
            StorageFailed: the file could not be read.
            ServiceError: whatever the operation refuses with.
        """
        async with self._one() as thread:
            try:
                return await thread.run(lambda connection: snapshot(connection, operation))
            except sqlite3.Error as error:
                raise storage_failed(error) from error

    async def drain(self) -> None:
        """Refuse new reads and wait for those that run; whoever opened the connections closes."""
        self._is_closed = True
        for _ in range(self._free.maxsize):
            await self._free.get()

    @asynccontextmanager
    async def _one(self) -> AsyncIterator[SqliteThread]:
        if self._is_closed:
            raise StorageFailed("the memory is closed")
        thread = await self._free.get()
        try:
            yield thread
        finally:
            self._free.put_nowait(thread)


def snapshot(connection: sqlite3.Connection, operation: Callable[[Transaction], T]) -> T:
    connection.execute("BEGIN")
    try:
        return operation(Transaction(connection))
    finally:
        connection.rollback()
