"""Lets only requests with the right bearer token (RFC 6750) through. Knows no MCP."""

from __future__ import annotations

import hmac
from typing import TYPE_CHECKING

from starlette.datastructures import Headers
from starlette.responses import PlainTextResponse

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Receive, Scope, Send

SCHEME = "bearer "


class BearerOnly:
    def __init__(self, app: ASGIApp, token: str) -> None:
        self._app = app
        self._token = token.encode()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or self._is_right(Headers(scope=scope).get("authorization", "")):
            await self._app(scope, receive, send)
            return
        refusal = PlainTextResponse(
            "this needs the header Authorization: Bearer TOKEN",
            status_code=401,
            headers={"WWW-Authenticate": "Bearer"},
        )
        await refusal(scope, receive, send)

    def _is_right(self, authorization: str) -> bool:
        scheme, token = authorization[: len(SCHEME)], authorization[len(SCHEME) :]
        # In the same time for every wrong token.
        return scheme.lower() == SCHEME and hmac.compare_digest(token.strip().encode(), self._token)
