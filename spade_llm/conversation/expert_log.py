"""Which questions experts were asked, and what they answered: on disk, so that a kill loses none.

Knows no wire and nobody who waits.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

from spade_llm.small_database import SmallDatabase

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

# A question every few minutes: its checkpoints are in nobody's way.
_SCHEMA = """PRAGMA wal_autocheckpoint=1000; CREATE TABLE IF NOT EXISTS asked (
    id TEXT PRIMARY KEY, expert TEXT NOT NULL, question TEXT NOT NULL,
    expires_at REAL NOT NULL, is_sent INTEGER NOT NULL DEFAULT 0, answer TEXT) WITHOUT ROWID;"""


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
    """Each method raises StorageFailed if the disk refuses. `path=None`: in RAM only."""

    def __init__(self, path: Path | None) -> None:
        self._db = SmallDatabase(path, schema=_SCHEMA, what="the record of questions to experts")

    async def __aenter__(self) -> Self:
        """Raises ConfigurationError: the file cannot be used."""
        self._db.open()
        return self

    async def __aexit__(self, *_: object) -> None:
        self._db.close()

    def load(self, *, since: float) -> Sequence[AskedExpert]:
        """Those that had not expired then; older ones are removed."""
        self._db.run("DELETE FROM asked WHERE expires_at < ?", since)
        rows = self._db.run("SELECT id, expert, question, expires_at, is_sent, answer FROM asked")
        return list(map(_asked, rows))

    def add(self, asked: AskedExpert) -> None:
        values = (asked.id, asked.expert, asked.question, asked.expires_at)
        self._db.run(
            "INSERT OR REPLACE INTO asked(id, expert, question, expires_at) VALUES (?,?,?,?)",
            *values,
        )

    def sent(self, id: str) -> None:
        self._db.run("UPDATE asked SET is_sent = 1 WHERE id = ?", id)

    def answer(self, id: str, text: str) -> None:
        self._db.run("UPDATE asked SET answer = ? WHERE id = ?", text, id)

    def remove(self, id: str) -> None:
        self._db.run("DELETE FROM asked WHERE id = ?", id)


def _asked(row: tuple[object, ...]) -> AskedExpert:
    id, expert, question, expires_at, is_sent, answer = row
    return AskedExpert(
        id=str(id),
        expert=str(expert),
        question=str(question),
        expires_at=float(str(expires_at)),
        is_sent=bool(is_sent),
        answer=None if answer is None else str(answer),
    )
