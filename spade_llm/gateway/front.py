"""The outermost layer: every request gets an id, a trace, a line in the log and its numbers, and
every answer the headers that all have. Knows no route.
"""

from __future__ import annotations

import asyncio
import hashlib
import logging
import time
from typing import TYPE_CHECKING

from starlette.datastructures import Headers, MutableHeaders

from spade_llm.gateway.errors import Stopping, error_answer
from spade_llm.gateway.request_ids import name_request

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

    from spade_llm.gateway.gateway import Gateway

logger = logging.getLogger(__name__)

REQUEST_ID = "X-Request-ID"
CSP = "default-src 'none'; frame-ancestors 'none'"
"""Of answers that are no pages; pages say their own."""
_HEADERS = {
    "Cache-Control": "no-store",
    "Content-Security-Policy": CSP,
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
}
_METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})
"""What a label may say."""


class Front:
    def __init__(self, app: ASGIApp, gateway: Gateway) -> None:
        self._app = app
        self._gateway = gateway

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return
        headers = Headers(scope=scope)
        named = name_request(headers.get(REQUEST_ID, ""), headers.get("traceparent", ""))
        scope["state"]["request_id"] = named.request_id
        answer = _Answer(send, named.request_id)
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
                    await error_answer(Stopping(), scope)(scope, receive, answer)
            finally:
                self._note(scope, answer.status, time.perf_counter() - began)

    def _note(self, scope: Scope, status: int, seconds: float) -> None:
        method, route = _method(scope), _route(scope)
        metrics = self._gateway.metrics
        metrics.requests.labels(method, route, str(status)).inc()
        metrics.seconds.labels(route).observe(seconds)
        logger.log(
            logging.DEBUG if route in ("/health", "/metrics") else logging.INFO,
            "%s %s %s in %d ms, request %s of %s",
            method,
            route,
            status or "unanswered",
            round(seconds * 1000),
            scope["state"]["request_id"],
            _asker(scope),
        )


class _Answer:
    """`send`, with what every answer has."""

    def __init__(self, send: Send, request_id: str) -> None:
        self._send = send
        self._request_id = request_id
        self.status = 0
        """0: none was sent."""

    async def __call__(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.status = message["status"]
            self._add_headers(message)
        await self._send(message)

    def _add_headers(self, message: Message) -> None:
        headers = MutableHeaders(scope=message)
        headers[REQUEST_ID] = self._request_id
        for name, value in _HEADERS.items():
            headers.setdefault(name, value)


def _method(scope: Scope) -> str:
    method = str(scope["method"])
    return method if method in _METHODS else "OTHER"


def _route(scope: Scope) -> str:
    """Its template: no text of people."""
    return getattr(scope.get("route"), "path", "") or "other"


def _asker(scope: Scope) -> str:
    """Tells askers apart, and says nothing of who they are."""
    principal = scope["state"].get("principal")
    return hashlib.sha256(principal.jid.encode()).hexdigest()[:8] if principal else "nobody"
