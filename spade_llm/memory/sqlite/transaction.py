"""Transaction: what one write does to the file, and which rows it touches. Knows no table."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterable, Iterator, Mapping

Value = str | int | float | bytes | None
Row = tuple[Any, ...]
"""SQLite's values; the columns' types are promised by the STRICT tables."""


class Transaction:
    """The statements of one write; its changes are committed or undone by whoever made it."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        self.touched: dict[str, set[int]] = {}
        """Keys of rows that are now different or gone, by owner."""
        self.used: dict[str, set[int]] = {}
        """Keys of rows whose use was counted, by owner: only their importance is different."""
        self.is_erasing = False
        """Its text must not stay in the write-ahead log either."""

    def all(self, sql: str, parameters: Mapping[str, Value] = {}) -> list[Row]:
        """Its rows."""
        return self._connection.execute(sql, parameters).fetchall()

    def pages(self, sql: str, parameters: Mapping[str, Value], *, size: int) -> Iterator[list[Row]]:
        """Its rows, `size` at a time: the rest is not in RAM."""
        cursor = self._connection.execute(sql, parameters)
        while rows := cursor.fetchmany(size):
            yield rows

    def first(self, sql: str, parameters: Mapping[str, Value] = {}) -> Row | None:
        """Its first row, if there is one."""
        rows = self.all(sql, parameters)
        return rows[0] if rows else None

    def count(self, sql: str, parameters: Mapping[str, Value] = {}) -> int:
        """How many rows it changed."""
        return max(self._connection.execute(sql, parameters).rowcount, 0)

    def each(self, sql: str, parameters: Iterable[Mapping[str, Value]]) -> int:
        """Run it once for each; how many rows changed in all."""
        return max(self._connection.executemany(sql, parameters).rowcount, 0)

    def touch(self, owner: str, keys: Iterable[int]) -> None:
        """Whoever holds these rows in RAM must read them again."""
        self.touched.setdefault(owner, set()).update(keys)

    def use(self, owner: str, keys: Iterable[int]) -> None:
        """Whoever weighs these rows' importance must read them again."""
        self.used.setdefault(owner, set()).update(keys)
