"""Which questions experts were asked, and what they answered: on disk, so that a kill loses none.

Knows no wire and nobody who waits.
"""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

from spade_llm.errors import ConfigurationError, StorageFailed

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

_PRAGMAS = "PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL; PRAGMA secure_delete=ON;"
_SCHEMA = """CREATE TABLE IF NOT EXISTS asked (
    id TEXT PRIMARY KEY, expert TEXT NOT NULL, question TEXT NOT NULL,
    expires_at REAL NOT NULL, is_sent INTEGER NOT NULL DEFAULT 0, answer TEXT) WITHOUT ROWID;"""
_BUSY_S = 0.05
_Row = tuple[str, str, str, float, int, str | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class AskedExpert:
    """One question; equal ids are one question."""

    id: str
    expert: str
    """Bare JID."""
    question: str
    expires_at: float
    """Seconds since the epoch."""
    is_sent: bool = False
    answer: str | None = None


class ExpertLog:
    """Each method raises StorageFailed if the disk refuses. A commit takes 30 µs: in the event
    loop's own thread, as the answer log does it. `path=None`: nothing is kept."""

    def __init__(self, path: Path | None) -> None:
        self._path = path
        self._db: sqlite3.Connection | None = None

    async def __aenter__(self) -> Self:
        """Raises ConfigurationError: the file cannot be used."""
        if self._path is None:
            return self
        try:
            self._db = sqlite3.connect(self._path, isolation_level=None, timeout=_BUSY_S)
            self._db.executescript(_PRAGMAS + _SCHEMA)
        except sqlite3.Error as error:
            raise ConfigurationError(
                f"the questions to experts {str(self._path)!r} cannot be used ({error}):"
                " check the path and its permissions, or remove the file"
            ) from error
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._db is not None:
            self._db.close()
            self._db = None

    def load(self, *, since: float) -> Sequence[AskedExpert]:
        """Those that had not expired then; older ones are removed."""
        self._run("DELETE FROM asked WHERE expires_at < ?", since)
        rows = self._run("SELECT id, expert, question, expires_at, is_sent, answer FROM asked")
        return [
            AskedExpert(
                id=id,
                expert=expert,
                question=question,
                expires_at=at,
                is_sent=bool(is_sent),
                answer=answer,
            )
            for id, expert, question, at, is_sent, answer in rows
        ]

    def add(self, asked: AskedExpert) -> None:
        values = (asked.id, asked.expert, asked.question, asked.expires_at)
        self._run(
            "INSERT OR REPLACE INTO asked(id, expert, question, expires_at) VALUES (?,?,?,?)",
            *values,
        )

    def sent(self, id: str) -> None:
        self._run("UPDATE asked SET is_sent = 1 WHERE id = ?", id)

    def answer(self, id: str, text: str) -> None:
        self._run("UPDATE asked SET answer = ? WHERE id = ?", text, id)

    def remove(self, id: str) -> None:
        self._run("DELETE FROM asked WHERE id = ?", id)

    def _run(self, sql: str, *values: str | float) -> list[_Row]:
        if self._db is None:
            return []
        try:
            return self._db.execute(sql, values).fetchall()
        except sqlite3.Error as error:
            raise StorageFailed("the questions to experts cannot be kept") from error
