"""Memory outbox (SQLite queue): messages kept until the memory agent took them, with retry."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Callable, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from datetime import datetime
from itertools import groupby
from typing import Self

from spade_llm.core.database import DatabasePlace, StoreTables
from spade_llm.core.errors import (
    Busy,
    DeadlinePassed,
    Refusal,
    RequestError,
    RequestFailed,
    RequestNotUnderstood,
    RequestRefused,
)
from spade_llm.memory.contract import HistoryStore, ObservedMessage
from spade_llm.memory.validation import room_subject_range

logger = logging.getLogger(__name__)

MAX_QUEUED = 100_000
"""Observations kept while memory is away; beyond, the oldest is given up."""

RETRACTED = "retracted"
"""The role of what stands for a message that was said otherwise; it has its id."""

# AUTOINCREMENT: SQLite would reuse the id of a deleted row, and failures are counted by id.
_SCHEMA = """
CREATE TABLE IF NOT EXISTS observations (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    conversation TEXT NOT NULL,
    subject TEXT NOT NULL,
    messages TEXT NOT NULL
);
CREATE INDEX IF NOT EXISTS observations_subject ON observations(subject);
"""
OUTBOX_TABLES = StoreTables(name="outbox", what="the outbox", schema=_SCHEMA)
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
# json_each: SQLite bounds the number of `?` in a statement.
_DONE = "DELETE FROM observations WHERE id IN (SELECT value FROM json_each(?))"
# By number instead of count(*), which would scan; gaps only make the bound stricter.
_BOUND = "DELETE FROM observations WHERE id <= (SELECT max(id) FROM observations) - ?"
_FORGET_CONVERSATIONS = (
    "DELETE FROM observations WHERE conversation IN (SELECT value FROM json_each(?))"
)
_FORGET = "DELETE FROM observations WHERE subject = ? OR (subject >= ? AND subject < ?)"


@dataclass(frozen=True, slots=True, kw_only=True)
class QueuedObservation:
    """Messages of one conversation that memory has not taken yet."""

    id: int = 0
    conversation: str
    subject: str
    messages: tuple[ObservedMessage, ...]


class MemoryOutbox:
    """A durable queue: `put` returns when it is written; `done` removes it."""

    def __init__(self, place: DatabasePlace) -> None:
        self._db = OUTBOX_TABLES.at(place)
        self.has_mail = asyncio.Event()
        self.is_ours: Callable[[QueuedObservation], bool] = lambda _: True
        """Selects what this process delivers, where several replicas share the outbox."""

    async def __aenter__(self) -> Self:
        """Raises ConfigurationError: the file cannot be used."""
        await self._db.open()
        # The file may hold observations of the process before.
        self.has_mail.set()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._db.close()

    async def put(self, observation: QueuedObservation) -> None:
        text = json.dumps(
            [
                [m.id, m.role, m.content, m.at.isoformat(), m.speaker, m.recalled]
                for m in observation.messages
            ]
        )
        await self._db.execute(_PUT, observation.conversation, observation.subject, text)
        self.has_mail.set()
        await self._db.prune_periodically(_BOUND, MAX_QUEUED)

    async def oldest(self, limit: int = 100) -> list[QueuedObservation]:
        """Oldest observations, in order; if none, `has_mail` is cleared until the next `put`."""
        # Before the query: a `put` during it sets it again.
        self.has_mail.clear()
        waiting = map(_observation, await self._db.execute(_OLDEST, limit))
        ours = [one for one in waiting if self.is_ours(one)]
        if ours:
            self.has_mail.set()
        return ours

    async def oldest_of(self, conversation: str, *, limit: int) -> list[QueuedObservation]:
        """Oldest observations of one conversation, in order."""
        return list(map(_observation, await self._db.execute(_OLDEST_OF, conversation, limit)))

    async def oldest_about(self, subject: str, limit: int = 100) -> list[QueuedObservation]:
        """Oldest observations with this subject, in order, from all conversations except rooms."""
        return list(map(_observation, await self._db.execute(_OLDEST_ABOUT, subject, limit)))

    async def of_conversation(
        self, conversation: str, *, limit: int = 200
    ) -> list[ObservedMessage]:
        """Messages of this conversation not delivered to memory yet, oldest first."""
        rows = await self._db.execute(_OF, conversation, limit)
        return [message for (text,) in reversed(rows) for message in _load(str(text))]

    async def done(self, observations: Sequence[QueuedObservation]) -> None:
        await self._db.execute(_DONE, [observation.id for observation in observations])

    async def forget_conversations(self, conversations: Sequence[str]) -> None:
        """Erase the queued observations of these conversations, also from the file's free space."""
        await self._db.execute(_FORGET_CONVERSATIONS, list(conversations))
        await self._db.erase_deleted()

    async def forget(self, subject: str) -> None:
        """Erase the queued observations about this subject, in rooms too, also from the file's free
        space."""
        await self._db.execute(_FORGET, subject, *room_subject_range(subject))
        await self._db.erase_deleted()


def _observation(row: tuple[object, ...]) -> QueuedObservation:
    number, conversation, subject, messages = row
    return QueuedObservation(
        id=int(str(number)),
        conversation=str(conversation),
        subject=str(subject),
        messages=_load(str(messages)),
    )


def _load(text: str) -> tuple[ObservedMessage, ...]:
    """Parse the messages of a row. Those of version 0.1.0 end after the time."""
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


MAX_GROUP_BYTES = 96 * 1024
MAX_FAILURES = 5
"""Maximum number of failures of a group, counted for its first observation; then that one is sent
alone, and the following ones without it."""
MAX_PER_CONVERSATION = 1000
"""Observations handed over at once before a conversation is closed."""


class OutboxFlusher:
    """Background sender of the outbox to the memory."""

    def __init__(self, memory: HistoryStore, outbox: MemoryOutbox) -> None:
        self._memory = memory
        self._outbox = outbox
        self._failures: dict[int, int] = {}
        """Failure counts by the id of a group's first observation; removed after delivery."""
        self._underway = asyncio.Lock()

    async def all(self) -> None:
        """Deliver all conversations concurrently. Raises RequestError or ServiceError if one must
        wait."""
        async with self._underway:
            await self._groups(_by_conversation(await self._outbox.oldest()))

    async def of(self, conversation: str) -> None:
        """Deliver the observations of one conversation. Raises RequestError or ServiceError."""
        async with self._underway:
            waiting = await self._outbox.oldest_of(conversation, limit=MAX_PER_CONVERSATION)
            for observation in waiting:
                await self._deliver([observation])

    async def about(self, subject: str) -> None:
        """Deliver the pending observations about one person, from all conversations. Raises
        RequestError or ServiceError."""
        async with self._underway:
            while waiting := await self._outbox.oldest_about(subject):
                await self._groups(_by_conversation(waiting))

    def paused(self) -> AbstractAsyncContextManager[object]:
        """Context manager without deliveries in progress: what is removed in its block does not
        come back."""
        return self._underway

    async def _groups(self, groups: Sequence[Sequence[QueuedObservation]]) -> None:
        # All have ended when an error is raised: the caller then gives the lock back.
        outcomes = await asyncio.gather(*map(self._deliver, groups), return_exceptions=True)
        for outcome in outcomes:
            if outcome is not None:
                raise outcome

    async def _deliver(self, group: Sequence[QueuedObservation]) -> None:
        try:
            await self._observe(group)
        except (RequestRefused, RequestNotUnderstood, Refusal) as error:
            code = error.wire_code if isinstance(error, RequestError) else error.code
            # Memory did not look at what is to be kept.
            if code in (Busy.code, DeadlinePassed.code):
                raise
            await self._each_alone(group, error)
        except RequestFailed:
            first = group[0].id
            self._failures[first] = self._failures.get(first, 0) + 1
            if self._failures[first] < MAX_FAILURES:
                raise
            await self._first_alone(group[0])
        else:
            await self._done(group)

    async def _each_alone(self, group: Sequence[QueuedObservation], error: Exception) -> None:
        """Deliver each observation alone after a group was refused, so that only the invalid ones
        are dropped."""
        if len(group) == 1:
            logger.error("memory refused an observation; it is dropped: %s", error)
            await self._done(group)
            return
        for observation in group:
            await self._deliver([observation])

    async def _first_alone(self, observation: QueuedObservation) -> None:
        try:
            await self._observe([observation])
        except RequestFailed as error:
            await self._pass_over(observation, error)
        else:
            await self._done([observation])

    async def _pass_over(self, observation: QueuedObservation, error: RequestFailed) -> None:
        """Drop an observation if memory accepts the next one: then the fault is not memory's.

        The last observation of a conversation stays queued: it blocks no other, and memory may
        recover.
        """
        two = await self._outbox.oldest_of(observation.conversation, limit=2)
        if len(two) == 1:
            raise error
        await self._observe(two[1:])
        logger.error("memory failed repeatedly on an observation; it is dropped: %s", error)
        await self._done(two)

    async def _observe(self, group: Sequence[QueuedObservation]) -> None:
        """Send stored and retracted messages to memory, in their order."""
        messages = [message for observation in group for message in observation.messages]
        first = group[0]
        for is_retracted, some in groupby(messages, lambda one: one.role == RETRACTED):
            if is_retracted:
                await self._memory.retract(first.conversation, [one.id for one in some])
            else:
                await self._memory.observe(first.conversation, list(some), subject=first.subject)

    async def _done(self, group: Sequence[QueuedObservation]) -> None:
        await self._outbox.done(group)
        for observation in group:
            self._failures.pop(observation.id, None)


def _by_conversation(observations: Sequence[QueuedObservation]) -> list[list[QueuedObservation]]:
    """Group observations so that each group fits into one message; of one conversation only the
    first group, so that its order is kept."""
    groups: dict[str, list[QueuedObservation]] = {}
    full: set[str] = set()
    for observation in observations:
        group = groups.setdefault(observation.conversation, [])
        if group and _size([*group, observation]) > MAX_GROUP_BYTES:
            full.add(observation.conversation)
        if observation.conversation not in full:
            group.append(observation)
    return list(groups.values())


def _size(group: Sequence[QueuedObservation]) -> int:
    """Upper bound of the size of a group as JSON, in bytes: a character may become six."""
    texts = (message.content for observation in group for message in observation.messages)
    return sum(2 * len(text.encode()) + 200 for text in texts)
