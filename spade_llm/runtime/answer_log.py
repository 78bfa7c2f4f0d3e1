"""What an agent was asked and what it answered, so that the same id gets the same answer.

Knows no handler. A request that changes something is written down before it is started and its
answer before it is sent; whoever asks again is given that answer, also after a kill −9.
"""

from __future__ import annotations

import hashlib
import json
import time
from collections import OrderedDict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol, Self

import aiosqlite

from spade_llm.acl import AclMessage, Encoding, from_metadata, to_metadata
from spade_llm.errors import StorageFailed

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

KEEP_S = 15 * 60
"""How long an answer is remembered; longer than the longest deadline of a request."""
MAX_REMEMBERED = 50_000
"""Rows kept at the most, oldest out first."""

# NORMAL: a commit survives the process, not a power cut; the stores behind the handlers sync for
# themselves, and their writes are idempotent by key.
_PRAGMAS = "PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL; PRAGMA secure_delete=ON;"
_SCHEMA = """
CREATE TABLE IF NOT EXISTS requests (
    sender TEXT NOT NULL,
    id TEXT NOT NULL,
    fingerprint TEXT NOT NULL,
    at REAL NOT NULL,
    question TEXT,
    answer TEXT,
    PRIMARY KEY (sender, id)
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS requests_at ON requests(at);
"""
_START = "INSERT OR REPLACE INTO requests(sender, id, fingerprint, at, question) VALUES (?,?,?,?,?)"
_FINISH = "UPDATE requests SET answer = ?, question = NULL WHERE sender = ? AND id = ?"
_ERASE = "UPDATE requests SET answer = '', question = NULL WHERE sender = ? AND id = ?"
_FIND = "SELECT answer FROM requests WHERE sender = ? AND id = ? AND fingerprint = ?"
_UNFINISHED = "SELECT question FROM requests WHERE question IS NOT NULL ORDER BY at"
_UNSENT = "SELECT answer FROM requests WHERE answer <> '' AND at > ? ORDER BY at"
_PURGE_OLD = "DELETE FROM requests WHERE at < ?"
_PURGE_MANY = """DELETE FROM requests WHERE at <
    (SELECT min(at) FROM (SELECT at FROM requests ORDER BY at DESC LIMIT ?))"""


@dataclass(frozen=True, slots=True)
class Logged:
    """A request that was seen before."""

    answer: AclMessage | None
    """None: it was started, and no answer is known."""
    is_erased: bool = False
    """It was answered, the answer was sent, and is kept no longer."""


class AnswerLog(Protocol):
    async def find(self, request: AclMessage) -> Logged | None: ...

    async def start(self, request: AclMessage) -> None:
        """Write the request down, before its handler runs."""
        ...

    async def finish(self, request: AclMessage, answer: AclMessage) -> None:
        """Write the answer down, before it is sent."""
        ...

    async def erase(self, answer: AclMessage) -> None:
        """Forget what was said, not that it was answered: for people's chats, once sent."""
        ...

    async def unfinished(self) -> Sequence[AclMessage]:
        """Requests that were started and have no answer, oldest first."""
        ...

    async def unsent(self) -> Sequence[AclMessage]:
        """Answers that were not erased since, oldest first."""
        ...


class VolatileAnswerLog:
    """Forgets when the process ends: for tests, and for agents that only read."""

    def __init__(self, *, max_remembered: int = 4096) -> None:
        self._max = max_remembered
        self._rows: OrderedDict[tuple[str, str], tuple[AclMessage, Logged]] = OrderedDict()

    async def find(self, request: AclMessage) -> Logged | None:
        row = self._rows.get((request.sender, request.reply_with))
        return row[1] if row and fingerprint(row[0]) == fingerprint(request) else None

    async def start(self, request: AclMessage) -> None:
        self._rows[request.sender, request.reply_with] = (request, Logged(None))
        if len(self._rows) > self._max:
            self._rows.popitem(last=False)

    async def finish(self, request: AclMessage, answer: AclMessage) -> None:
        self._rows[request.sender, request.reply_with] = (request, Logged(answer))

    async def erase(self, answer: AclMessage) -> None:
        key = (answer.receiver, answer.in_reply_to)
        if key in self._rows:
            self._rows[key] = (self._rows[key][0], Logged(None, is_erased=True))

    async def unfinished(self) -> Sequence[AclMessage]:
        return [asked for asked, row in self._rows.values() if row == Logged(None)]

    async def unsent(self) -> Sequence[AclMessage]:
        return [row.answer for _, row in self._rows.values() if row.answer]


class SqliteAnswerLog:
    """Survives kill −9: each step is committed (WAL) before the next one is taken."""

    def __init__(self, path: Path, *, keep_s: float = KEEP_S) -> None:
        self._path = path
        self._keep_s = keep_s
        self._db: aiosqlite.Connection | None = None
        self._writes_until_purge = 0

    async def __aenter__(self) -> Self:
        self._db = await aiosqlite.connect(self._path, isolation_level=None)
        await self._db.executescript(_PRAGMAS + _SCHEMA)
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._db is not None:
            await self._db.close()
            self._db = None

    async def find(self, request: AclMessage) -> Logged | None:
        key = (request.sender, request.reply_with, fingerprint(request))
        for (answer,) in await self._read(_FIND, *key):
            return Logged(_load(answer) if answer else None, is_erased=answer == "")
        return None

    async def start(self, request: AclMessage) -> None:
        key = (request.sender, request.reply_with, fingerprint(request))
        await self._write(_START, *key, time.time(), _dump(request))
        await self._purge_sometimes()

    async def finish(self, request: AclMessage, answer: AclMessage) -> None:
        await self._write(_FINISH, _dump(answer), request.sender, request.reply_with)

    async def erase(self, answer: AclMessage) -> None:
        await self._write(_ERASE, answer.receiver, answer.in_reply_to)

    async def unfinished(self) -> Sequence[AclMessage]:
        return [_load(question) for (question,) in await self._read(_UNFINISHED)]

    async def unsent(self) -> Sequence[AclMessage]:
        return [_load(a) for (a,) in await self._read(_UNSENT, time.time() - self._keep_s)]

    async def _purge_sometimes(self) -> None:
        self._writes_until_purge -= 1
        if self._writes_until_purge <= 0:
            self._writes_until_purge = 1000
            await self._write(_PURGE_OLD, time.time() - self._keep_s)
            await self._write(_PURGE_MANY, MAX_REMEMBERED)

    async def _read(self, sql: str, *values: object) -> list[tuple[str]]:
        try:
            rows = await self._connection().execute_fetchall(sql, values)
        except aiosqlite.Error as error:
            raise StorageFailed("the answer log cannot be read") from error
        return [(row[0],) for row in rows]

    async def _write(self, sql: str, *values: object) -> None:
        try:
            await self._connection().execute(sql, values)
        except aiosqlite.Error as error:
            raise StorageFailed("the answer log cannot be written") from error

    def _connection(self) -> aiosqlite.Connection:
        if self._db is None:
            raise StorageFailed("the answer log is not open")
        return self._db


def fingerprint(request: AclMessage) -> str:
    """Tells a retry from another request under a used id, which SPADE 4.1.4 programs and some
    chat clients send (tests/runtime/test_answer_log.py)."""
    parts = (request.ontology, request.conversation_id, request.content)
    return hashlib.sha256("\0".join(parts).encode(errors="surrogatepass")).hexdigest()


def _dump(message: AclMessage) -> str:
    addresses = [message.sender, message.receiver, message.encoding]
    return json.dumps([to_metadata(message), message.content, *addresses])


def _load(text: str) -> AclMessage:
    fields, content, sender, receiver, encoding = json.loads(text)
    return from_metadata(
        fields,
        sender=sender,
        receiver=receiver,
        content=content,
        encoding=Encoding(encoding),
    )
