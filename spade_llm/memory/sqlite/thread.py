"""SqliteThread: one SQLite connection and the thread that it lives in. Knows no table.

A function that makes several statements crosses to the thread once: with a crossing for each
statement, an add in a group of 32 took three times as long.
"""

from __future__ import annotations

import asyncio
import sqlite3
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Self, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

T = TypeVar("T")

LOCK_WAIT_S = 5.0
"""How long another program may hold the file before a statement fails."""

CACHED_STATEMENTS = 256


class SqliteThread:
    """Open it with `open`; functions given to `run` are called one after the other."""

    def __init__(self, connection: sqlite3.Connection, executor: ThreadPoolExecutor) -> None:
        self._connection = connection
        self._executor = executor

    @classmethod
    async def open(cls, path: Path, *, name: str, pragmas: Sequence[str]) -> Self:
        """Raises sqlite3.Error."""
        executor = ThreadPoolExecutor(max_workers=1, thread_name_prefix=name)
        opening = asyncio.get_running_loop().run_in_executor(executor, connect, path, pragmas)
        try:
            return cls(await opening, executor)
        except BaseException:
            executor.shutdown(wait=False)
            raise

    async def run(self, function: Callable[[sqlite3.Connection], T]) -> T:
        """Its result, or what it raises. A caller that leaves does not stop it."""
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._executor, function, self._connection)

    async def close(self) -> None:
        """Wait for what runs, then close the connection and end the thread."""
        await self.run(sqlite3.Connection.close)
        self._executor.shutdown(wait=True)


def connect(path: Path, pragmas: Sequence[str]) -> sqlite3.Connection:
    connection = sqlite3.connect(
        path, timeout=LOCK_WAIT_S, isolation_level=None, cached_statements=CACHED_STATEMENTS
    )
    try:
        for pragma in pragmas:
            connection.execute(pragma)
    except BaseException:
        connection.close()
        raise
    return connection
