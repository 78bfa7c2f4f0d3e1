"""Authentication middleware: host, origin (CORS), bearer token, rate limit."""

from __future__ import annotations

from typing import TYPE_CHECKING

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import Response

from spade_llm.core.errors import StorageFailed
from spade_llm.gateway.errors import HttpError, ShuttingDown, error_response, http_error
from spade_llm.gateway.options import is_loopback, is_loopback_host_header
from spade_llm.gateway.tokens import Principal

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

    from spade_llm.gateway.gateway import Gateway

PUBLIC_PATHS = frozenset(
    {"/", "/health", "/ready", "/metrics", "/docs", "/openapi.json", "/console"}
)
"""Paths that need no token, because they reveal no personal data; /metrics checks access itself."""
_PUBLIC_PREFIXES = ("/console/",)
_PROXY_HEADERS = frozenset(
    {"forwarded", "via", "x-real-ip", "x-client-ip", "true-client-ip", "cf-connecting-ip"}
)
_PROXY_HEADER_PREFIXES = ("x-forwarded-", "x-original-", "x-envoy-", "tailscale-")
"""Prefixes of headers that proxies add. Behind a proxy, every client has a loopback address."""
_CHALLENGE = {"WWW-Authenticate": "Bearer"}
_ALLOWED_METHODS = "GET, POST, PUT, PATCH, DELETE"
_ALLOWED_HEADERS = "Authorization, Content-Type, Idempotency-Key, X-Request-ID, traceparent"
"""Access-Control-Allow-Headers for a preflight that names none."""
_PREFLIGHT_S = "600"
_EXPOSED_HEADERS = "X-Request-ID, X-Session-ID, Retry-After, Idempotency-Replayed"


class AuthMiddleware:
    """Authentication middleware: sets `scope["state"]["principal"]`, or None for an anonymous
    request to a public path."""

    def __init__(self, app: ASGIApp, gateway: Gateway) -> None:
        self._app = app
        self._gateway = gateway

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        headers = Headers(scope=scope)
        # Two Origin headers are joined to a text that matches no origin, and are refused.
        origin = ", ".join(headers.getlist("origin"))
        is_listed = bool(origin) and self._gateway.origin_policy.is_listed_origin(origin)
        if is_listed:
            # Before the checks, so that a page of a listed origin can read a refusal, too.
            send = _CorsSend(send, origin)
        try:
            # First of all: the port stays open while the requests in flight are drained.
            if self._gateway.shutdown.has_begun:
                raise ShuttingDown
            self._check_host_and_origin(scope, headers, origin)
            # A preflight has no credentials (Fetch standard), so no token is asked for.
            if scope["method"] == "OPTIONS" and "access-control-request-method" in headers:
                await _preflight(headers, is_listed=is_listed)(scope, receive, send)
                return
            await self._authenticate(scope, headers)
        except HttpError as error:
            await error_response(error, scope)(scope, receive, send)
        except StorageFailed as error:
            await error_response(http_error(error), scope)(scope, receive, send)
        else:
            await self._app(scope, receive, send)

    def _check_host_and_origin(self, scope: Scope, headers: Headers, origin: str) -> None:
        """Refuse DNS rebinding and pages of other sites (CSRF). Raises HttpError (403)."""
        host, policy = headers.get("host", ""), self._gateway.origin_policy
        # RFC 9112 §3.2: exactly one Host. A browser with a rebound DNS name sends that name.
        if len(headers.getlist("host")) != 1 or not policy.allows_host(host):
            raise HttpError(403, "Host: unknown host name; add it to [http] hosts")
        if origin and not policy.allows_origin(origin, host):
            raise HttpError(
                403, "Origin: this origin is not allowed; add it to [http] cors_origins"
            )
        # `same-site` is foreign, too: another program's port on localhost is the same site.
        is_foreign = headers.get("sec-fetch-site", "none") not in ("same-origin", "none")
        # Links to the gateway's public pages are allowed from everywhere.
        is_link = (
            scope["method"] == "GET"
            and headers.get("sec-fetch-mode") == "navigate"
            and headers.get("sec-fetch-dest") == "document"
            and _is_public(scope["path"])
        )
        # Browsers send no Origin with a plain GET (an image, a script): Sec-Fetch-Site tells those.
        if is_foreign and not origin and not is_link:
            raise HttpError(403, "Sec-Fetch-Site: pages of other sites may not use the gateway")

    async def _authenticate(self, scope: Scope, headers: Headers) -> None:
        """Raises HttpError, StorageFailed."""
        principal = await self._principal(scope, headers)
        scope["state"]["principal"] = principal
        if principal is None:
            if not _is_public(scope["path"]):
                raise HttpError(
                    401,
                    "Authorization: send `Bearer TOKEN`; create one with `spade-llm token create`",
                    headers=_CHALLENGE,
                )
            return
        if _is_public(scope["path"]):
            return
        await self._gateway.sessions.record_request(principal.jid)
        if not self._gateway.rate_limiter.take(principal.jid):
            raise HttpError(
                429, "Rate limit reached; try again later, or raise [http] requests_per_minute"
            )

    async def _principal(self, scope: Scope, headers: Headers) -> Principal | None:
        # A wrong token is 401 and never falls back to the rights of the loopback.
        credentials = headers.getlist("authorization")
        if not credentials:
            options = self._gateway.options
            if options.local_principal and options.is_loopback and is_local_request(scope, headers):
                return Principal(jid=options.local_principal, is_admin=True)
            return None
        scheme, _, token = credentials[0].partition(" ")
        found = None
        if len(credentials) == 1 and scheme.lower() == "bearer":
            found = await self._gateway.tokens.principal(token.strip())
        if found is None:
            raise HttpError(
                401, "Authorization: this token is unknown or expired", headers=_CHALLENGE
            )
        return found


def is_local_request(scope: Scope, headers: Headers) -> bool:
    """True for a request by a program on this machine that did not pass a proxy."""
    client = scope.get("client")
    if client is None or not is_loopback(client[0]):
        return False
    # A proxy on this machine adds headers, passes on its own host name, or speaks HTTP/1.0 (nginx
    # unless `proxy_http_version` says otherwise).
    is_proxied = (
        scope["http_version"] == "1.0"
        or not is_loopback_host_header(headers.get("host", ""))
        or any(
            name in _PROXY_HEADERS or name.startswith(_PROXY_HEADER_PREFIXES) for name in headers
        )
    )
    return not is_proxied


class _CorsSend:
    """`send` with CORS headers, for pages of a listed origin."""

    def __init__(self, send: Send, origin: str) -> None:
        self._send = send
        self._origin = origin

    async def __call__(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = MutableHeaders(scope=message)
            headers["Access-Control-Allow-Origin"] = self._origin
            headers["Access-Control-Expose-Headers"] = _EXPOSED_HEADERS
            headers["Cross-Origin-Resource-Policy"] = "cross-origin"
            headers.add_vary_header("Origin")
        await self._send(message)


def _is_public(path: str) -> bool:
    return path in PUBLIC_PATHS or path.startswith(_PUBLIC_PREFIXES)


def _preflight(headers: Headers, *, is_listed: bool) -> Response:
    """Answer to a CORS preflight. Pages of listed origins may send any header: clients add their
    own (`x-stainless-*`), and `Access-Control-Allow-Headers: *` does not cover Authorization."""
    named = headers.get("access-control-request-headers", "") if is_listed else ""
    return Response(
        status_code=204,
        headers={
            "Access-Control-Allow-Methods": _ALLOWED_METHODS,
            "Access-Control-Allow-Headers": named or _ALLOWED_HEADERS,
            "Access-Control-Max-Age": _PREFLIGHT_S,
        },
    )
