"""Idempotency-Key middleware: replays the stored answer of a repeated POST.

Stored answers survive a restart. A request that was running when the gateway died has none;
repeated, it reaches the assistant under the same id (`wire_id`), which answers from its own log.
"""

from __future__ import annotations

import asyncio
import hashlib
import logging
import secrets
import time
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

from fastapi.exceptions import RequestValidationError
from starlette.datastructures import Headers
from starlette.responses import Response

from spade_llm.core.database import Database, IdempotentSql
from spade_llm.core.errors import StorageFailed
from spade_llm.gateway.errors import (
    HttpError,
    error_response,
    http_error,
    validation_error_response,
)
from spade_llm.gateway.gateway_database import KEEP_ANSWERS_S, enforce_bounds
from spade_llm.gateway.middleware.body_limit import UPLOAD_PATH, ReplayedReceive
from spade_llm.messaging.message import stable_id

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send


logger = logging.getLogger(__name__)

MAX_BODY_BYTES = 256 * 1024
"""Maximum size of a stored answer; longer ones are not stored."""
MAX_KEY_CHARS = 255
WAIT_S = 200.0
"""Time in seconds that a repeated request waits for the first one; longer than a turn."""
_NOT_STORED = frozenset({401, 403, 408, 413, 429})
"""Statuses that do not depend on the request itself: repeated, it may succeed."""
_KEY_REUSED = {
    "type": "idempotency_key",
    "loc": ("header", "Idempotency-Key"),
    "msg": "This key was used for another request; use a new one",
}

_STILL_RUNS = "Idempotency-Key: the first request with this key still runs; try again later"
CLAIM_S = 15.0
"""Lease of a request that runs in one of several gateway processes; another one runs it after the
end. It is longer than the clocks of their machines differ."""
CLAIM_POLL_S = 0.2

_CLAIM = IdempotentSql(
    """INSERT INTO running(principal, key, token, until) VALUES (:principal, :key, :token, :until)
    ON CONFLICT (principal, key) DO UPDATE SET token = excluded.token, until = excluded.until
    WHERE running.token = excluded.token OR running.until <= :now RETURNING token"""
)
# Also the claims of processes that were killed.
_RELEASE = "DELETE FROM running WHERE principal = ? AND key = ? AND token = ? OR until <= ?"
_FIND = """SELECT fingerprint, status, type, body FROM answers
    WHERE principal = ? AND key = ? AND at > ?"""
_KEEP = """INSERT INTO answers(principal, key, fingerprint, status, type, body, at)
    VALUES (?,?,?,?,?,?,?) ON CONFLICT (principal, key) DO UPDATE SET
    fingerprint = excluded.fingerprint, status = excluded.status, type = excluded.type,
    body = excluded.body, at = excluded.at"""
_FORGET = "DELETE FROM answers WHERE principal = ?"
_FORGET_ALL = "DELETE FROM answers"

IDEMPOTENCY_KEY = "Idempotency-Key"
REPLAYED_HEADER = {"Idempotency-Replayed": "true"}
_STORED_TYPE = "application/json"
"""Other answers, such as streams, are not stored: a repeated request goes to the assistant, which
finds its answer by the id."""


@dataclass(frozen=True, slots=True)
class StoredAnswer:
    status: int
    type: str
    """Content-Type."""
    body: bytes

    @property
    def is_final(self) -> bool:
        return self.status < 500 and self.status not in _NOT_STORED


@dataclass(frozen=True, slots=True)
class KeyedRequest:
    """Request with an Idempotency-Key."""

    principal: str
    key: str
    fingerprint: bytes

    @property
    def name(self) -> tuple[str, str]:
        return self.principal, self.key


def keyed_request(principal: str, key: str, *parts: bytes) -> KeyedRequest:
    """`parts`: everything that identifies the request. Raises HttpError (400)."""
    if not (0 < len(key) <= MAX_KEY_CHARS and key.isprintable()):
        raise HttpError(400, f"Idempotency-Key: use 1 to {MAX_KEY_CHARS} printable characters")
    digest = hashlib.sha256()
    for part in parts:
        # Hashed one by one, so that moving bytes between path, query and body changes the result.
        digest.update(hashlib.sha256(part).digest())
    return KeyedRequest(principal, key, digest.digest())


def request_wire_id(principal: str, key: str) -> str:
    """Id of the request to the assistant: the same for the same key, also after a crash."""
    # The principal is a part of it: equal keys of two principals are two requests.
    return stable_id(principal, key)


class AnswerStore:
    """Stored answers, keyed by principal and Idempotency-Key."""

    def __init__(
        self,
        database: Database,
        *,
        is_shared: bool = False,
        clock: Callable[[], float] = time.time,
    ) -> None:
        """`is_shared`: other processes of this gateway use the database, too."""
        self._db = database
        self._clock = clock
        self._is_shared = is_shared
        self._token = secrets.token_hex(8)
        self._running: dict[tuple[str, str], tuple[bytes, asyncio.Event]] = {}

    @asynccontextmanager
    async def claim(self, request: KeyedRequest) -> AsyncGenerator[StoredAnswer | None]:
        """Stored answer of the request. None: there is none, and the block, alone, has to run the
        request.

        Raises:
            RequestValidationError: the key was used for another request.
            HttpError: 409, the first of equal requests takes too long.
        """
        await self._wait_for_first_request(request)
        # No await between the end of the wait and this entry, so that only one waiter continues.
        done = asyncio.Event()
        self._running[request.name] = (request.fingerprint, done)
        try:
            async with self._claimed_from_others(request) as found:
                if found is None:
                    yield None
        finally:
            # Before the event: a waiter that wakes up must not find this request again.
            del self._running[request.name]
            done.set()
        if found is not None:
            yield found

    async def _wait_for_first_request(self, request: KeyedRequest) -> None:
        try:
            async with asyncio.timeout(WAIT_S):
                # A loop: if the first answer is not kept, another waiter runs the request.
                while running := self._running.get(request.name):
                    _check_fingerprint(running[0], request)
                    await running[1].wait()
        except TimeoutError:
            raise HttpError(409, _STILL_RUNS) from None

    @asynccontextmanager
    async def _claimed_from_others(
        self, request: KeyedRequest
    ) -> AsyncGenerator[StoredAnswer | None]:
        """Stored answer of the request. None: no other process runs it during the block. Raises
        HttpError: 409, another one takes too long."""
        give_up_s = time.monotonic() + WAIT_S
        found = await self.find(request)
        if found is not None or not self._is_shared:
            yield found
            return
        while not await self._claim(request):
            await asyncio.sleep(CLAIM_POLL_S)
            if (found := await self.find(request)) is not None:
                yield found
                return
            if time.monotonic() > give_up_s:
                raise HttpError(409, _STILL_RUNS)
        renewing = asyncio.create_task(self._renew(request))
        try:
            # Again: the holder before has stored its answer, and then given up its claim.
            yield await self.find(request)
        finally:
            renewing.cancel()
            await asyncio.wait([renewing])
            with suppress(StorageFailed):  # Then it ends with its lease.
                await self._db.execute(
                    _RELEASE, *request.name, self._token, self._clock() - KEEP_ANSWERS_S
                )

    async def _claim(self, request: KeyedRequest) -> bool:
        """Claim the request, or renew the claim. False: another process has it."""
        now = self._clock()
        values = {
            "principal": request.principal,
            "key": request.key,
            "token": self._token,
            "now": now,
            "until": now + CLAIM_S,
        }
        return bool(await self._db.execute(_CLAIM, values))

    async def _renew(self, request: KeyedRequest) -> None:
        while True:
            await asyncio.sleep(CLAIM_S / 3)
            try:
                await self._claim(request)
            except StorageFailed as error:
                logger.warning("an %s is not renewed: %s", IDEMPOTENCY_KEY, error)

    async def find(self, request: KeyedRequest) -> StoredAnswer | None:
        rows = await self._db.execute(_FIND, *request.name, self._clock() - KEEP_ANSWERS_S)
        if not rows:
            return None
        # The database gives what `store` put into these columns.
        fingerprint, status, type_, body = cast("tuple[bytes, int, str, bytes]", rows[0])
        _check_fingerprint(fingerprint, request)
        return StoredAnswer(status, type_, body)

    async def store(self, request: KeyedRequest, answer: StoredAnswer) -> None:
        """Store the answer if it is final and at most MAX_BODY_BYTES long. Raises StorageFailed."""
        if not answer.is_final or len(answer.body) > MAX_BODY_BYTES:
            return
        now = self._clock()
        row = (*request.name, request.fingerprint, answer.status, answer.type, answer.body, now)
        await self._db.execute(_KEEP, *row)
        await enforce_bounds(self._db, now)

    async def delete(self, principal: str) -> None:
        """Delete a principal's answers, also from the write-ahead log. Raises StorageFailed."""
        await self._db.execute(_FORGET, principal)
        await self._db.erase_deleted()

    async def delete_all(self) -> None:
        """Delete the stored answers of all principals, as `delete` does. Raises StorageFailed."""
        await self._db.execute(_FORGET_ALL)
        await self._db.erase_deleted()


class IdempotencyMiddleware:
    """Runs a POST with an Idempotency-Key once, and replays its answer."""

    def __init__(self, app: ASGIApp, answers: AnswerStore) -> None:
        self._app = app
        self._answers = answers

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        headers, principal = Headers(scope=scope), scope["state"].get("principal")
        key = headers.get(IDEMPOTENCY_KEY)
        # The body of an upload has not been read yet, so it has no fingerprint.
        is_idempotent_path = scope["method"] == "POST" and scope["path"] != UPLOAD_PATH
        if key is None or principal is None or not is_idempotent_path:
            await self._app(scope, receive, send)
            return
        # BodyLimitMiddleware has read the body: the first message is all of it.
        first = await receive()
        path, query = scope["path"].encode(errors="replace"), scope["query_string"]
        try:
            request = keyed_request(principal.jid, key, path, query, first.get("body", b""))
            await self._run_once(request, scope, ReplayedReceive(first, receive), send)
        except HttpError as error:
            await error_response(error, scope)(scope, receive, send)
        except RequestValidationError as error:
            await validation_error_response(error, scope)(scope, receive, send)
        except StorageFailed as error:
            await error_response(http_error(error), scope)(scope, receive, send)

    async def _run_once(
        self, request: KeyedRequest, scope: Scope, receive: Receive, send: Send
    ) -> None:
        async with self._answers.claim(request) as known:
            if known is not None:
                answer = Response(known.body, known.status, REPLAYED_HEADER, known.type)
                await answer(scope, receive, send)
                return
            copy = _RecordingSend(send)
            await self._app(scope, receive, copy)
            # Still within the claim, so that a twin that waits finds the answer.
            await self._store(request, copy)

    async def _store(self, request: KeyedRequest, copy: _RecordingSend) -> None:
        try:
            if (answer := copy.whole) is not None:
                await self._answers.store(request, answer)
        except StorageFailed as error:
            logger.error("cannot store the answer to an %s: %s", IDEMPOTENCY_KEY, error)


def _check_fingerprint(fingerprint: bytes, request: KeyedRequest) -> None:
    if fingerprint != request.fingerprint:
        raise RequestValidationError([_KEY_REUSED])


class _RecordingSend:
    """`send` that records a JSON answer up to MAX_BODY_BYTES."""

    def __init__(self, send: Send) -> None:
        self._send = send
        self._status = 0
        self._type = ""
        self._parts: list[bytes] = []
        self._bytes = 0
        self._is_whole = False

    @property
    def whole(self) -> StoredAnswer | None:
        is_kept = (
            self._is_whole and self._type.startswith(_STORED_TYPE) and self._bytes <= MAX_BODY_BYTES
        )
        return StoredAnswer(self._status, self._type, b"".join(self._parts)) if is_kept else None

    async def __call__(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self._status = message["status"]
            self._type = Headers(raw=message["headers"]).get("content-type", "")
        elif self._type.startswith(_STORED_TYPE):
            self._take(message)
        await self._send(message)

    def _take(self, message: Message) -> None:
        body = message.get("body", b"")
        self._bytes += len(body)
        # Counted on, but not copied: an answer that is not kept must not fill the RAM.
        if self._bytes <= MAX_BODY_BYTES:
            self._parts.append(body)
        self._is_whole = not message.get("more_body", False)
