"""Connections that only read, apart from the writer. Knows no statement of the memory."""

from __future__ import annotations

import asyncio
import sqlite3
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from spade_llm.errors import StorageFailed
from spade_llm.memory.sqlite_errors import storage_failed

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Mapping, Sequence

    import aiosqlite

    from spade_llm.memory.rows import Row, Value


class Readers:
    """A fixed number of connections; a read waits for a free one."""

    def __init__(self, connections: Sequence[aiosqlite.Connection]) -> None:
        self._free: asyncio.Queue[aiosqlite.Connection] = asyncio.Queue(len(connections))
        self._is_closed = False
        for connection in connections:
            self._free.put_nowait(connection)

    async def fetch(self, sql: str, parameters: Mapping[str, Value]) -> list[Row]:
        """All rows.

        Raises:
            StorageFailed: the file could not be read.
        """
        async with self._one() as connection:
            try:
                return [tuple(row) for row in await connection.execute_fetchall(sql, parameters)]
            except sqlite3.Error as error:
                raise storage_failed(error) from error

    async def drain(self) -> None:
        """Refuse new reads and wait for those that run; whoever opened the connections closes."""
        self._is_closed = True
        for _ in range(self._free.maxsize):
            await self._free.get()

    @asynccontextmanager
    async def _one(self) -> AsyncIterator[aiosqlite.Connection]:
        if self._is_closed:
            raise StorageFailed("the memory is closed")
        connection = await self._free.get()
        try:
            yield connection
        finally:
            self._free.put_nowait(connection)
