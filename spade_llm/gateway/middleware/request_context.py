"""Request context middleware: request id, trace, access log, security headers.

Without a traceparent from the client, the trace id is derived from the request id: 32 hexadecimal
digits (a UUID, or a generated id) are used as they are, any other id is hashed (SHA-256, the first
16 bytes).
"""

from __future__ import annotations

import asyncio
import hashlib
import logging
import re
import secrets
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from starlette.datastructures import Headers, MutableHeaders

from spade_llm.core.tracing import read_trace_parent
from spade_llm.gateway.errors import ShuttingDown, error_response

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

    from spade_llm.gateway.gateway import Gateway

logger = logging.getLogger(__name__)

MAX_REQUEST_ID_CHARS = 128
_VALID_REQUEST_ID = re.compile(rf"[A-Za-z0-9._:+/=@-]{{1,{MAX_REQUEST_ID_CHARS}}}")
# W3C Trace Context §3.2.2.3: a trace id of zeros is invalid.
_TRACE_ID = re.compile(r"(?!0{32})[0-9a-f]{32}")

REQUEST_ID = "X-Request-ID"
DEFAULT_CSP = "default-src 'none'; frame-ancestors 'none'"
"""Content-Security-Policy of responses that are not pages; pages set their own."""
_SECURITY_HEADERS = {
    "Cache-Control": "no-store",
    "Content-Security-Policy": DEFAULT_CSP,
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
}
_METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})
"""HTTP methods that are used as metric labels; others become OTHER."""


@dataclass(frozen=True, slots=True)
class RequestIds:
    request_id: str
    trace_parent: str
    """W3C."""


def identify_request(request_id: str, trace_parent: str) -> RequestIds:
    """Request id and trace parent from the headers X-Request-ID and traceparent; a missing or
    invalid one is generated."""
    parent = read_trace_parent(trace_parent.strip().lower())
    known = request_id if _VALID_REQUEST_ID.fullmatch(request_id) else ""
    if parent:
        return RequestIds(known or parent.split("-")[1], parent)
    known = known or secrets.token_hex(16)
    # Flags 01 (sampled): programs that sample by their parent would record nothing else.
    return RequestIds(known, f"00-{trace_id_of(known)}-{secrets.token_hex(8)}-01")


def trace_id_of(request_id: str) -> str:
    digits = request_id.replace("-", "").lower()
    if _TRACE_ID.fullmatch(digits):
        return digits
    return hashlib.sha256(request_id.encode()).hexdigest()[:32]


class RequestContextMiddleware:
    """Gives each request its id and trace, and records its outcome in log and metrics."""

    def __init__(self, app: ASGIApp, gateway: Gateway) -> None:
        self._app = app
        self._gateway = gateway

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return
        headers = Headers(scope=scope)
        named = identify_request(headers.get(REQUEST_ID, ""), headers.get("traceparent", ""))
        scope["state"]["request_id"] = named.request_id
        answer = _SendWithHeaders(send, named.request_id)
        began, metrics = time.perf_counter(), self._gateway.metrics
        with metrics.in_flight.track_inprogress(), self._gateway.shutdown.running():
            try:
                with self._gateway.tracer.serving(scope["method"], named.trace_parent) as span:
                    await self._app(scope, receive, answer)
                    span.rename(f"{_method(scope)} {_route(scope)}")
            except asyncio.CancelledError:
                # Only the server cancels, at the end of a shutdown, and its task ends here; passed
                # on, it would become a 500 without JSON and a traceback in the log.
                if not answer.status:
                    await error_response(ShuttingDown(), scope)(scope, receive, answer)
            finally:
                self._record(scope, answer.status, time.perf_counter() - began)

    def _record(self, scope: Scope, status: int, seconds: float) -> None:
        method, route = _method(scope), _route(scope)
        metrics = self._gateway.metrics
        metrics.requests.labels(method, route, str(status)).inc()
        metrics.seconds.labels(route).observe(seconds)
        principal = scope["state"].get("principal")
        # A pseudonym tells callers apart in the log without naming them.
        digest = (
            hashlib.sha256(principal.jid.encode()).hexdigest()[:8] if principal else "anonymous"
        )
        logger.log(
            # Probes arrive every few seconds, and would fill the log.
            logging.DEBUG if route in ("/health", "/metrics") else logging.INFO,
            "%s %s %s in %d ms, request %s of %s",
            method,
            route,
            status or "unanswered",
            round(seconds * 1000),
            scope["state"]["request_id"],
            digest,
        )


class _SendWithHeaders:
    """`send` that adds the headers of every response, and notes its status."""

    def __init__(self, send: Send, request_id: str) -> None:
        self._send = send
        self._request_id = request_id
        self.status = 0
        """Status of the response; 0 before it was sent."""

    async def __call__(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.status = message["status"]
            headers = MutableHeaders(scope=message)
            headers[REQUEST_ID] = self._request_id
            for name, value in _SECURITY_HEADERS.items():
                headers.setdefault(name, value)
        await self._send(message)


def _method(scope: Scope) -> str:
    method = str(scope["method"])
    return method if method in _METHODS else "OTHER"


def _route(scope: Scope) -> str:
    """Path template of the route: the path itself may hold personal data."""
    return getattr(scope.get("route"), "path", "") or "other"
