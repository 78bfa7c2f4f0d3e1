"""Answers by Idempotency-Key: who asks the same thing again gets the same answer. Knows no HTTP.

They survive a restart. What was asked when the gateway died has no answer here; asked again, it
reaches the assistant under the same id (`wire_id`), which answers from its own log.
"""

from __future__ import annotations

import asyncio
import hashlib
import time
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

from fastapi.exceptions import RequestValidationError

from spade_llm.gateway.database import KEEP_ANSWERS_S, hold_bounds
from spade_llm.gateway.errors import HttpError

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable

    from spade_llm.small_database import SmallDatabase

MAX_BODY_BYTES = 256 * 1024
"""A longer answer is not kept."""
MAX_KEY_CHARS = 255
WAIT_S = 200.0
"""For the first of equal requests; longer than a turn."""
_PASSING = frozenset({401, 403, 408, 413, 429})
"""Statuses that say nothing about the request itself: asked again, it may be answered."""
_USED = {
    "type": "idempotency_key",
    "loc": ("header", "Idempotency-Key"),
    "msg": "It was used for another request; take a new key for this one",
}

_FIND = """SELECT fingerprint, status, type, body FROM answers
    WHERE principal = ? AND key = ? AND at > ?"""
_KEEP = """INSERT OR REPLACE INTO answers(principal, key, fingerprint, status, type, body, at)
    VALUES (?,?,?,?,?,?,?)"""
_FORGET = "DELETE FROM answers WHERE principal = ?"
_FORGET_ALL = "DELETE FROM answers"


@dataclass(frozen=True, slots=True)
class KeptAnswer:
    status: int
    type: str
    """Content-Type."""
    body: bytes

    @property
    def is_final(self) -> bool:
        return self.status < 500 and self.status not in _PASSING


@dataclass(frozen=True, slots=True)
class Keyed:
    """A request with a key."""

    principal: str
    key: str
    fingerprint: bytes

    @property
    def name(self) -> tuple[str, str]:
        return self.principal, self.key


def keyed(principal: str, key: str, *what: bytes) -> Keyed:
    """`what`: all that makes it this request. Raises HttpError (400)."""
    if not (0 < len(key) <= MAX_KEY_CHARS and key.isprintable()):
        raise HttpError(400, f"Idempotency-Key: use 1 to {MAX_KEY_CHARS} printable characters")
    digest = hashlib.sha256()
    for part in what:
        digest.update(hashlib.sha256(part).digest())
    return Keyed(principal, key, digest.digest())


def wire_id(principal: str, key: str) -> str:
    """Of the request to the assistant: the same for the same key, also after a crash."""
    return "k" + hashlib.sha256(f"{principal}\n{key}".encode()).hexdigest()[:40]


class KeptAnswers:
    def __init__(self, database: SmallDatabase, *, clock: Callable[[], float] = time.time) -> None:
        self._db = database
        self._clock = clock
        self._running: dict[tuple[str, str], tuple[bytes, asyncio.Event]] = {}

    @asynccontextmanager
    async def turn(self, request: Keyed) -> AsyncGenerator[KeptAnswer | None]:
        """The answer that there is; None: there is none, and it is up to us, alone, to make one
        within the block.

        Raises:
            RequestValidationError: the key was used for another request.
            HttpError: 409, the first of equal requests takes too long.
        """
        await self._until_free(request)
        if (found := self.find(request)) is not None:
            yield found
            return
        done = asyncio.Event()
        self._running[request.name] = (request.fingerprint, done)
        try:
            yield None
        finally:
            del self._running[request.name]
            done.set()

    async def _until_free(self, request: Keyed) -> None:
        try:
            async with asyncio.timeout(WAIT_S):
                while running := self._running.get(request.name):
                    _check(running[0], request)
                    await running[1].wait()
        except TimeoutError:
            raise HttpError(
                409, "Idempotency-Key: the first request with it still runs; try again later"
            ) from None

    def find(self, request: Keyed) -> KeptAnswer | None:
        rows = self._db.run(_FIND, *request.name, self._clock() - KEEP_ANSWERS_S)
        if not rows:
            return None
        # SQLite gives what `keep` put into these columns.
        fingerprint, status, type_, body = cast("tuple[bytes, int, str, bytes]", rows[0])
        _check(fingerprint, request)
        return KeptAnswer(status, type_, body)

    async def keep(self, request: Keyed, answer: KeptAnswer) -> None:
        """If it is one that is kept. Raises StorageFailed."""
        if not answer.is_final or len(answer.body) > MAX_BODY_BYTES:
            return
        now = self._clock()
        row = (*request.name, request.fingerprint, answer.status, answer.type, answer.body, now)
        self._db.run(_KEEP, *row)
        await hold_bounds(self._db, now)

    async def forget(self, principal: str) -> None:
        """Delete the kept answers, which hold what was said, and every byte of deleted rows in the
        write-ahead log. Raises StorageFailed."""
        self._db.run(_FORGET, principal)
        await self._db.empty_log()

    async def forget_all(self) -> None:
        """As `forget`, of all principals. Raises StorageFailed."""
        self._db.run(_FORGET_ALL)
        await self._db.empty_log()


def _check(fingerprint: bytes, request: Keyed) -> None:
    if fingerprint != request.fingerprint:
        raise RequestValidationError([_USED])
