"""What is to be told to the memory agent, kept on disk until it has taken it. Knows no wire.

A turn ends when its messages are in here; whether memory is there at that moment does not matter.
"""

from __future__ import annotations

import asyncio
import json
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Self

from spade_llm.memory.store import ObservedMessage
from spade_llm.memory.subject import in_rooms
from spade_llm.small_database import SmallDatabase

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

MAX_WAITING = 100_000
"""Observations kept while memory is away; beyond, the oldest is given up."""

RETRACTED = "retracted"
"""The role of what stands for a message that was said otherwise; it has its id."""

_SCHEMA = """
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
_OLDEST_ABOUT = (
    "SELECT id, conversation, subject, messages FROM observations WHERE subject = ?"
    " ORDER BY id LIMIT ?"
)
_OF = "SELECT messages FROM observations WHERE conversation = ? ORDER BY id DESC LIMIT ?"
_DONE = "DELETE FROM observations WHERE id IN (SELECT value FROM json_each(?))"
_BOUND = "DELETE FROM observations WHERE id <= (SELECT max(id) FROM observations) - ?"
_FORGET_CONVERSATIONS = (
    "DELETE FROM observations WHERE conversation IN (SELECT value FROM json_each(?))"
)
_FORGET = "DELETE FROM observations WHERE subject = ? OR (subject >= ? AND subject < ?)"


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
        self._db = SmallDatabase(path, schema=_SCHEMA, what="the outbox")
        self.has_mail = asyncio.Event()

    async def __aenter__(self) -> Self:
        """Raises ConfigurationError: the file cannot be used."""
        self._db.open()
        self.has_mail.set()
        return self

    async def __aexit__(self, *_: object) -> None:
        self._db.close()

    async def put(self, observation: Observation) -> None:
        await self._db.execute(
            _PUT, observation.conversation, observation.subject, _dump(observation.messages)
        )
        self.has_mail.set()
        await self._db.hold_bound(_BOUND, MAX_WAITING)

    async def oldest(self, limit: int = 100) -> list[Observation]:
        """In order; when there is none, `has_mail` waits for the next."""
        self.has_mail.clear()
        rows = await self._db.execute(_OLDEST, limit)
        if rows:
            self.has_mail.set()
        return list(map(_observation, rows))

    async def oldest_of(self, conversation: str, *, limit: int) -> list[Observation]:
        """In order, of one conversation."""
        return list(map(_observation, await self._db.execute(_OLDEST_OF, conversation, limit)))

    async def oldest_about(self, subject: str, limit: int = 100) -> list[Observation]:
        """In order, of all conversations with this subject, without those of rooms."""
        return list(map(_observation, await self._db.execute(_OLDEST_ABOUT, subject, limit)))

    async def of_conversation(
        self, conversation: str, *, limit: int = 200
    ) -> list[ObservedMessage]:
        """What memory has not taken yet of this conversation, oldest first."""
        rows = await self._db.execute(_OF, conversation, limit)
        return [message for (text,) in reversed(rows) for message in _load(str(text))]

    async def done(self, observations: Sequence[Observation]) -> None:
        await self._db.execute(_DONE, json.dumps([observation.id for observation in observations]))

    async def forget_conversations(self, conversations: Sequence[str]) -> None:
        """Drop what was not sent yet of these, and leave no bytes of what was."""
        await self._db.execute(_FORGET_CONVERSATIONS, json.dumps(list(conversations)))
        await self._db.empty_log()

    async def forget(self, subject: str) -> None:
        """Drop what was not sent yet about this subject, in rooms too, and leave no bytes of what
        was."""
        await self._db.execute(_FORGET, subject, *in_rooms(subject))
        await self._db.empty_log()


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
