"""Body limit middleware: size and read timeout of request bodies.

A body is read completely before its request is processed, so that a slow client does not hold up
others; an upload is streamed to its route.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from contextlib import ExitStack
from typing import TYPE_CHECKING

from starlette.datastructures import Headers

from spade_llm.core.errors import Busy
from spade_llm.gateway.errors import HttpError, error_response, http_error

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

    from spade_llm.gateway.gateway import Gateway

UPLOAD_PATH = "/api/v0/documents"
BODY_TIMEOUT_S = 30.0
"""Read timeout of a body in seconds; of an upload, of each part."""
MIN_UPLOAD_BYTES_PER_S = 8 * 1024
"""Minimum average rate of an upload after the first BODY_TIMEOUT_S: slow uploads block others."""
MAX_ANONYMOUS_BYTES = 1024
"""Maximum body size of an anonymous request in bytes: public paths read no body."""


class BodyLimitMiddleware:
    """Reads a request's body up to its limits, or refuses it."""

    def __init__(self, app: ASGIApp, gateway: Gateway) -> None:
        self._app = app
        self._options = gateway.options
        self._body_quota = gateway.body_quota

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        with ExitStack() as stack:
            try:
                receive = await self._limited_receive(scope, receive, stack)
            except HttpError as error:
                await error_response(error, scope)(scope, receive, send)
            except Busy as busy:
                await error_response(http_error(busy), scope)(scope, receive, send)
            else:
                await self._app(scope, receive, send)

    async def _limited_receive(self, scope: Scope, receive: Receive, stack: ExitStack) -> Receive:
        """Receive function with the limits of the request; `stack` is left at the end of the
        response. Raises HttpError, Busy."""
        headers, principal = Headers(scope=scope), scope["state"]["principal"]
        is_upload = scope["path"] == UPLOAD_PATH and scope["method"] == "POST"
        max_bytes = self._options.max_upload_bytes if is_upload else self._options.max_body_bytes
        if principal is None:
            max_bytes = MAX_ANONYMOUS_BYTES
        length = headers.get("content-length", "0")
        # int() raises ValueError for more than 4300 digits; 20 are beyond every limit already.
        if length.isdigit() and int(length[:20]) > max_bytes:
            raise _too_large(max_bytes)
        # An upload goes to the disk part by part; only bodies in RAM need the quota.
        if is_upload:
            return _LimitedReceive(receive, max_bytes, min_bytes_per_s=MIN_UPLOAD_BYTES_PER_S)
        if length == "0" and "transfer-encoding" not in headers:
            return receive
        # Counts what has come, not Content-Length: a chunked body has none.
        hold = stack.enter_context(self._body_quota.hold(principal.jid if principal else ""))
        return ReplayedReceive(await _read(receive, max_bytes, hold), receive)


class ReplayedReceive:
    """Receive function that gives a body that was read before, then the client's disconnect."""

    def __init__(self, whole: Message, receive: Receive) -> None:
        self._whole: Message | None = whole
        self._receive = receive

    async def __call__(self) -> Message:
        whole, self._whole = self._whole, None
        return whole or await self._receive()


def _too_large(max_bytes: int) -> HttpError:
    return HttpError(413, f"The body exceeds the limit of {max_bytes // 1024} KB")


async def _read(receive: Receive, max_bytes: int, hold: Callable[[int], None]) -> Message:
    """Read the whole body as one message. Raises HttpError, and what `hold` raises."""
    counted, parts = _LimitedReceive(receive, max_bytes), list[bytes]()
    try:
        # For the whole body: a byte now and then would never meet the timeout of a part.
        async with asyncio.timeout(BODY_TIMEOUT_S):
            while (part := await counted())["type"] == "http.request":
                hold(len(part.get("body", b"")))
                parts.append(part.get("body", b""))
                if not part.get("more_body", False):
                    return {"type": "http.request", "body": b"".join(parts), "more_body": False}
    except TimeoutError:
        raise _too_slow() from None
    raise HttpError(400, "The client disconnected before its request was read")


def _too_slow() -> HttpError:
    return HttpError(408, f"The body took longer than {BODY_TIMEOUT_S:g} s")


class _LimitedReceive:
    """Receive function with a size limit, a timeout and a minimum rate. Raises HttpError."""

    def __init__(self, receive: Receive, max_bytes: int, *, min_bytes_per_s: int = 0) -> None:
        """`min_bytes_per_s`: minimum average rate after BODY_TIMEOUT_S; 0 means no minimum."""
        self._receive = receive
        self._max_bytes = max_bytes
        self._left = max_bytes
        self._is_over = False
        self._min_bytes_per_s = min_bytes_per_s
        self._began = time.monotonic()

    async def __call__(self) -> Message:
        if self._is_over:
            return await self._receive()
        try:
            async with asyncio.timeout(BODY_TIMEOUT_S):
                message = await self._receive()
        except TimeoutError:
            raise _too_slow() from None
        self._left -= len(message.get("body", b""))
        self._is_over = not message.get("more_body", False)
        if self._left < 0:
            raise _too_large(self._max_bytes)
        # Negative in the first BODY_TIMEOUT_S: a slow start is allowed.
        seconds = time.monotonic() - self._began - BODY_TIMEOUT_S
        received = self._max_bytes - self._left
        if received < seconds * self._min_bytes_per_s and not self._is_over:
            raise HttpError(408, f"The upload is slower than {self._min_bytes_per_s} bytes/s")
        return message
