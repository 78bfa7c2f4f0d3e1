"""HTTP application: routes, stack of middleware, static files of the console."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules
from typing import TYPE_CHECKING

from fastapi import APIRouter
from starlette.datastructures import MutableHeaders
from starlette.responses import RedirectResponse
from starlette.staticfiles import StaticFiles

from spade_llm.gateway import routes
from spade_llm.gateway.errors import install_error_handlers
from spade_llm.gateway.middleware.auth import AuthMiddleware
from spade_llm.gateway.middleware.body_limit import BodyLimitMiddleware
from spade_llm.gateway.middleware.idempotency import IdempotencyMiddleware
from spade_llm.gateway.middleware.request_context import RequestContextMiddleware
from spade_llm.gateway.openapi import OpenApiApp

if TYPE_CHECKING:
    from fastapi import FastAPI
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

    from spade_llm.gateway.gateway import Gateway

CONSOLE_FOLDER = Path(__file__).parent / "console"
CONSOLE_CSP = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:;"
    " font-src 'self'; connect-src 'self'; manifest-src 'self'; form-action 'none';"
    " base-uri 'none'; frame-ancestors 'none'"
)
"""`blob:` is for what the page makes itself, such as an export."""


def build_app(gateway: Gateway) -> FastAPI:
    """Build the FastAPI application: routes, error handlers and OpenAPI schema. `build_server_app`
    adds the middleware, which sets the principal of a request."""
    app = OpenApiApp(gateway)
    install_error_handlers(app)
    for found in sorted(iter_modules(routes.__path__), key=lambda one: one.name):
        module = import_module(f"{routes.__name__}.{found.name}")
        for router in vars(module).values():
            if isinstance(router, APIRouter):
                app.include_router(router)
    if gateway.options.console:

        async def redirect_to_console(_request: object) -> RedirectResponse:
            return RedirectResponse("/console/", status_code=307)

        app.add_route("/console", redirect_to_console, methods=["GET"], include_in_schema=False)
        app.mount("/console", _ConsoleFiles(directory=CONSOLE_FOLDER, html=True))
    return app


def build_server_app(gateway: Gateway) -> ASGIApp:
    """Wrap the application in its middleware, innermost first: idempotency, body limit,
    authentication, request context."""
    inner = build_app(gateway)
    # FastAPI builds the match state of a route at the first request, which would delay all
    # concurrent requests by 0.1 s.
    nowhere = {"type": "http", "method": "GET", "path": "/", "root_path": "", "headers": []}
    for route in inner.routes:
        route.matches(dict(nowhere))
    # Plain ASGI: Starlette's own middleware costs a task per layer. Authentication comes
    # first: without a principal no body is worth reading. The key needs both principal and body.
    app: ASGIApp = IdempotencyMiddleware(inner, gateway.answers)
    app = BodyLimitMiddleware(app, gateway)
    app = AuthMiddleware(app, gateway)
    return RequestContextMiddleware(app, gateway)


class _ConsoleFiles(StaticFiles):
    """Static files with the console's Content-Security-Policy."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def send_page(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                headers["Content-Security-Policy"] = CONSOLE_CSP
                headers["Cache-Control"] = "no-cache"
            await send(message)

        await super().__call__(scope, receive, send_page)
