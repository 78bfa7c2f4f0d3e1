"""Idempotency-Key on POST: the layer that answers a repeated request as the first was answered."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from fastapi.exceptions import RequestValidationError
from starlette.datastructures import Headers
from starlette.responses import Response

from spade_llm.errors import StorageFailed
from spade_llm.gateway.errors import HttpError, error_answer, http_error, invalid_answer
from spade_llm.gateway.idempotency import MAX_BODY_BYTES, KeptAnswer, keyed
from spade_llm.gateway.reading import UPLOAD, Again

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

    from spade_llm.gateway.idempotency import KeptAnswers, Keyed

logger = logging.getLogger(__name__)

KEY = "Idempotency-Key"
REPLAYED = {"Idempotency-Replayed": "true"}
_KEPT = "application/json"
"""Other answers, streams among them, are not kept: their work is repeated at the assistant, which
knows it by its id."""


class Repeating:
    def __init__(self, app: ASGIApp, answers: KeptAnswers) -> None:
        self._app = app
        self._answers = answers

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        headers, principal = Headers(scope=scope), scope["state"].get("principal")
        key = headers.get(KEY)
        is_kept = scope["method"] == "POST" and scope["path"] != UPLOAD
        if key is None or principal is None or not is_kept:
            await self._app(scope, receive, send)
            return
        first = await receive()
        path, query = scope["path"].encode(errors="replace"), scope["query_string"]
        try:
            request = keyed(principal.jid, key, path, query, first.get("body", b""))
            await self._once(request, scope, Again(first, receive), send)
        except HttpError as error:
            await error_answer(error, scope)(scope, receive, send)
        except RequestValidationError as error:
            await invalid_answer(error, scope)(scope, receive, send)
        except StorageFailed as error:
            await error_answer(http_error(error), scope)(scope, receive, send)

    async def _once(self, request: Keyed, scope: Scope, receive: Receive, send: Send) -> None:
        async with self._answers.turn(request) as known:
            if known is not None:
                answer = Response(known.body, known.status, REPLAYED, known.type)
                await answer(scope, receive, send)
                return
            copy = _Copy(send)
            await self._app(scope, receive, copy)
            await self._keep(request, copy)

    async def _keep(self, request: Keyed, copy: _Copy) -> None:
        try:
            if (answer := copy.whole) is not None:
                await self._answers.keep(request, answer)
        except StorageFailed as error:
            logger.error("an answer by %s is not kept: %s", KEY, error)


class _Copy:
    """`send`, and what was sent, if it is kept."""

    def __init__(self, send: Send) -> None:
        self._send = send
        self._status = 0
        self._type = ""
        self._parts: list[bytes] = []
        self._bytes = 0
        self._is_whole = False

    @property
    def whole(self) -> KeptAnswer | None:
        is_kept = self._is_whole and self._type.startswith(_KEPT) and self._bytes <= MAX_BODY_BYTES
        return KeptAnswer(self._status, self._type, b"".join(self._parts)) if is_kept else None

    async def __call__(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self._status = message["status"]
            self._type = Headers(raw=message["headers"]).get("content-type", "")
        elif self._type.startswith(_KEPT):
            self._take(message)
        await self._send(message)

    def _take(self, message: Message) -> None:
        body = message.get("body", b"")
        self._bytes += len(body)
        if self._bytes <= MAX_BODY_BYTES:
            self._parts.append(body)
        self._is_whole = not message.get("more_body", False)
