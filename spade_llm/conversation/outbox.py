"""What is to be told to the memory agent, kept on disk until it has taken it. Knows no wire.

A turn ends when its messages are in here; whether memory is there at that moment does not matter.
Written in the event loop's own thread, as the answer log is (runtime/answer_log.py), and for its
reasons; only the checkpoint, which may wait for the disk, runs in another.
"""

from __future__ import annotations

import asyncio
import json
import sqlite3
from contextlib import closing
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Self

from spade_llm.errors import ConfigurationError, StorageFailed
from spade_llm.memory.store import ObservedMessage

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

BUSY_S = 0.05
"""Longest wait for another connection to the file."""
MAX_WAITING = 100_000
"""Observations kept while memory is away; beyond, the oldest is given up."""
BOUND_EVERY = 100
"""Observations put between two looks at the bound: by so many it may be passed."""

_SCHEMA = """
PRAGMA journal_mode=WAL;
PRAGMA synchronous=NORMAL;
PRAGMA secure_delete=ON;
PRAGMA wal_autocheckpoint=0;
CREATE TABLE IF NOT EXISTS observations (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    conversation TEXT NOT NULL,
    subject TEXT NOT NULL,
    messages TEXT NOT NULL
);
CREATE INDEX IF NOT EXISTS observations_subject ON observations(subject);
"""
_PUT = "INSERT INTO observations(conversation, subject, messages) VALUES (?, ?, ?)"
_OLDEST = "SELECT id, conversation, subject, messages FROM observations ORDER BY id LIMIT ?"
_OLDEST_OF = (
    "SELECT id, conversation, subject, messages FROM observations WHERE conversation = ?"
    " ORDER BY id LIMIT ?"
)
_OF = "SELECT messages FROM observations WHERE conversation = ? ORDER BY id DESC LIMIT ?"
_DONE = "DELETE FROM observations WHERE id IN (SELECT value FROM json_each(?))"
_BOUND = "DELETE FROM observations WHERE id <= (SELECT max(id) FROM observations) - ?"
_FORGET = "DELETE FROM observations WHERE subject = ?"


@dataclass(frozen=True, slots=True, kw_only=True)
class Observation:
    """Messages of one conversation that memory has not taken yet."""

    id: int = 0
    conversation: str
    subject: str
    messages: tuple[ObservedMessage, ...]


class Outbox:
    """A durable queue: `put` returns when it is written; `done` removes it."""

    def __init__(self, path: Path | None) -> None:
        """`path=None` keeps it in RAM only."""
        self._path = path
        self._db: sqlite3.Connection | None = None
        self._puts_until_bound = 0
        self.has_mail = asyncio.Event()

    async def __aenter__(self) -> Self:
        """Open the file, or make it.

        Raises:
            ConfigurationError: it is no such file, or cannot be read and written.
        """
        path = self._path or ":memory:"
        try:
            self._db = sqlite3.connect(path, isolation_level=None, timeout=BUSY_S)
            self._db.executescript(_SCHEMA)
        except sqlite3.Error as error:
            await self.__aexit__()
            raise ConfigurationError(
                f"the outbox {str(path)!r} cannot be used ({error}): check the path and its"
                " permissions, or remove the file"
            ) from error
        self.has_mail.set()
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._db is not None:
            self._db.close()
            self._db = None

    async def put(self, observation: Observation) -> None:
        self._run(_PUT, observation.conversation, observation.subject, _dump(observation.messages))
        self.has_mail.set()
        await self._bound_sometimes()

    async def oldest(self, limit: int = 100) -> list[Observation]:
        """In order; when there is none, `has_mail` waits for the next."""
        self.has_mail.clear()
        rows = self._run(_OLDEST, limit)
        if rows:
            self.has_mail.set()
        return list(map(_observation, rows))

    async def oldest_of(self, conversation: str, *, limit: int) -> list[Observation]:
        """In order, of one conversation."""
        return list(map(_observation, self._run(_OLDEST_OF, conversation, limit)))

    async def of_conversation(
        self, conversation: str, *, limit: int = 200
    ) -> list[ObservedMessage]:
        """What memory has not taken yet of this conversation, oldest first."""
        rows = self._run(_OF, conversation, limit)
        return [message for (text,) in reversed(rows) for message in _load(str(text))]

    async def done(self, observations: Sequence[Observation]) -> None:
        self._run(_DONE, json.dumps([observation.id for observation in observations]))

    async def forget(self, subject: str) -> None:
        """Drop what was not sent yet about this subject."""
        self._run(_FORGET, subject)

    async def _bound_sometimes(self) -> None:
        self._puts_until_bound -= 1
        if self._puts_until_bound <= 0:
            self._puts_until_bound = BOUND_EVERY
            self._run(_BOUND, MAX_WAITING)
            await asyncio.to_thread(self._checkpoint)

    def _checkpoint(self) -> None:
        """Bring the WAL into the file, by a connection of this thread's own."""
        if self._path is None:
            return
        try:
            with closing(sqlite3.connect(self._path, timeout=BUSY_S)) as connection:
                connection.execute("PRAGMA wal_checkpoint(PASSIVE)")
        except sqlite3.Error as error:
            raise StorageFailed("the outbox cannot be used") from error

    def _run(self, sql: str, *values: object) -> list[tuple[object, ...]]:
        if self._db is None:
            raise StorageFailed("the outbox is not open")
        try:
            return self._db.execute(sql, values).fetchall()
        except sqlite3.Error as error:
            raise StorageFailed("the outbox cannot be used") from error


def _observation(row: tuple[object, ...]) -> Observation:
    number, conversation, subject, messages = row
    return Observation(
        id=int(str(number)),
        conversation=str(conversation),
        subject=str(subject),
        messages=_load(str(messages)),
    )


def _dump(messages: Sequence[ObservedMessage]) -> str:
    return json.dumps(
        [[m.id, m.role, m.content, m.at.isoformat(), m.speaker, m.recalled] for m in messages]
    )


def _load(text: str) -> tuple[ObservedMessage, ...]:
    """Rows of version 0.1.0 end after the time."""
    return tuple(_message(*fields) for fields in json.loads(text))


def _message(
    id: str,
    role: str,
    content: str,
    at: str,
    speaker: str | None = None,
    recalled: Sequence[str] = (),
) -> ObservedMessage:
    return ObservedMessage(
        id=id,
        role=role,
        content=content,
        at=datetime.fromisoformat(at),
        speaker=speaker,
        recalled=tuple(recalled),
    )
