"""Bodies of requests: how large and how slow they may be. Knows no route beyond the upload's.

A body is read whole before anybody works for it, so that a slow client holds up nobody; an upload
goes to its route as it comes.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from starlette.datastructures import Headers

from spade_llm.gateway.errors import HttpError, error_answer

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

    from spade_llm.gateway.options import HttpOptions

UPLOAD = "/api/v0/documents"
BODY_S = 30.0
"""For a body; of an upload, for each part."""


class Reading:
    def __init__(self, app: ASGIApp, options: HttpOptions) -> None:
        self._app = app
        self._options = options

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        headers = Headers(scope=scope)
        is_upload = scope["path"] == UPLOAD and scope["method"] == "POST"
        most = self._options.max_upload_bytes if is_upload else self._options.max_body_bytes
        try:
            _check_length(headers.get("content-length"), most)
            if is_upload:
                receive = _Counted(receive, most)
            elif _has_body(headers):
                receive = Again(await _read(receive, most), receive)
        except HttpError as error:
            await error_answer(error)(scope, receive, send)
        else:
            await self._app(scope, receive, send)


def _has_body(headers: Headers) -> bool:
    return "transfer-encoding" in headers or headers.get("content-length", "0") != "0"


def _check_length(length: str | None, most: int) -> None:
    """Raises HttpError."""
    if length is not None and length.isdigit() and int(length[:20]) > most:
        raise _too_large(most)


def _too_large(most: int) -> HttpError:
    return HttpError(413, f"The body is larger than {most // 1024} KB")


async def _read(receive: Receive, most: int) -> Message:
    """The whole body as one message. Raises HttpError."""
    counted, parts = _Counted(receive, most), list[bytes]()
    try:
        async with asyncio.timeout(BODY_S):
            while (part := await counted())["type"] == "http.request":
                parts.append(part.get("body", b""))
                if not part.get("more_body", False):
                    return {"type": "http.request", "body": b"".join(parts), "more_body": False}
    except TimeoutError:
        raise _too_slow() from None
    raise HttpError(400, "The client left before its request was read")


def _too_slow() -> HttpError:
    return HttpError(408, f"The body took longer than {BODY_S:g} s")


class _Counted:
    """`receive`, up to so many bytes of a body. Raises HttpError."""

    def __init__(self, receive: Receive, most: int) -> None:
        self._receive = receive
        self._most = most
        self._left = most
        self._is_over = False

    async def __call__(self) -> Message:
        if self._is_over:
            return await self._receive()
        try:
            async with asyncio.timeout(BODY_S):
                message = await self._receive()
        except TimeoutError:
            raise _too_slow() from None
        self._left -= len(message.get("body", b""))
        self._is_over = not message.get("more_body", False)
        if self._left < 0:
            raise _too_large(self._most)
        return message


class Again:
    """`receive` of what was read already; then that the client has left, once it has."""

    def __init__(self, whole: Message, receive: Receive) -> None:
        self._whole: Message | None = whole
        self._receive = receive

    async def __call__(self) -> Message:
        whole, self._whole = self._whole, None
        return whole or await self._receive()
