"""HTTP application: routes, middleware, console files, OpenAPI description and its page."""

from __future__ import annotations

import hashlib
import json
from base64 import b64encode
from collections.abc import Iterator, Mapping
from html import escape
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules
from typing import TYPE_CHECKING, Any, Literal

from fastapi import APIRouter, FastAPI
from pydantic.json_schema import models_json_schema
from starlette.datastructures import MutableHeaders
from starlette.responses import RedirectResponse
from starlette.staticfiles import StaticFiles

from spade_llm.gateway import routes
from spade_llm.gateway.errors import install_error_handlers
from spade_llm.gateway.middleware.auth import PUBLIC_PATHS, AuthMiddleware
from spade_llm.gateway.middleware.body_limit import BodyLimitMiddleware
from spade_llm.gateway.middleware.idempotency import IdempotencyMiddleware
from spade_llm.gateway.middleware.request_context import RequestContextMiddleware
from spade_llm.gateway.schemas.common import ErrorDetail
from spade_llm.gateway.schemas.openai import ErrorEnvelope

if TYPE_CHECKING:
    from pydantic import BaseModel
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

    from spade_llm.gateway.gateway import Gateway

TITLE = "Agent Lab API"
API_VERSION = "0.1.0"
"""Version of the Agent Lab API."""
DESCRIPTION = """\
Every response has an `X-Request-ID`: the client's, if it sent one. A request with `traceparent`
(W3C) joins that trace. A POST with an `Idempotency-Key` (1 to 255 characters) runs once: repeated
within 24 hours with the same path and body, it gets the first response again.
"""

_BEARER_SCHEME = {
    "type": "http",
    "scheme": "bearer",
    "description": "Created by `spade-llm token create`.",
}

_STYLE = """
:root { color-scheme: light dark; font: 16px/1.5 system-ui, sans-serif; }
body { max-width: 60rem; margin: 2rem auto; padding: 0 1rem; }
details { border: 1px solid #8886; border-radius: 6px; margin: .4rem 0; padding: .3rem .8rem; }
summary { cursor: pointer; } code, pre { font-family: ui-monospace, monospace; font-size: .9em; }
pre { overflow-x: auto; background: #8881; padding: .6rem; border-radius: 4px; }
b { display: inline-block; min-width: 4.5em; } h2 { text-transform: capitalize; }
"""
# The policy allows this one style by its hash; `unsafe-inline` would allow any.
_DIGEST = b64encode(hashlib.sha256(_STYLE.encode()).digest()).decode()
DOCS_CSP = (
    f"default-src 'none'; style-src 'sha256-{_DIGEST}'; frame-ancestors 'none'; base-uri 'none'"
)


class OpenApiApp(FastAPI):
    """FastAPI application whose OpenAPI description says which operations need a token."""

    def __init__(self, gateway: Gateway) -> None:
        super().__init__(
            title=TITLE,
            version=API_VERSION,
            description=DESCRIPTION,
            docs_url=None,
            redoc_url=None,
            # Behind a TLS proxy the redirect would be to http://, and send the token in clear.
            redirect_slashes=False,
            generate_unique_id_function=lambda route: route.name,
        )
        self.state.gateway = gateway
        options = gateway.options
        self._is_token_optional = bool(options.is_loopback and options.local_principal)

    def openapi(self) -> dict[str, Any]:
        if self.openapi_schema is None:
            schema = super().openapi()
            components = schema.setdefault("components", {})
            components["securitySchemes"] = {"token": _BEARER_SCHEME}
            components.setdefault("schemas", {}).update(_error_schemas(ErrorDetail, ErrorEnvelope))
            schema["security"] = [*([{}] if self._is_token_optional else []), {"token": []}]
            for path, operations in schema["paths"].items():
                for operation in operations.values():
                    if path in PUBLIC_PATHS:
                        operation["security"] = []
                    for status, response in operation["responses"].items():
                        contents = response.get("content", {})
                        # FastAPI gives errors the operation's own media type; they are JSON.
                        if status >= "400" and len(contents) == 1:
                            response["content"] = {
                                "application/json": next(iter(contents.values()))
                            }
            self.openapi_schema = schema
        return self.openapi_schema


def docs_page(schema: Mapping[str, Any]) -> str:
    """HTML page of an OpenAPI 3.1 document, without scripts."""
    title = escape(schema["info"]["title"])
    parts = [
        "<!doctype html><html lang=en><meta charset=utf-8>",
        "<meta name=viewport content='width=device-width'>",
        f"<title>{title}</title><style>{_STYLE}</style>",
        f"<h1>{title} {escape(schema['info']['version'])}</h1>",
        f"<p>{escape(schema['info']['description'])}",
        "<p>Machine-readable: <a href=/openapi.json>openapi.json</a>.",
        *_operations(schema["paths"]),
        "<h2>Schemas</h2>",
        *(
            f"<details id='{escape(name)}'><summary><code>{escape(name)}</code></summary>"
            f"{_json(body)}</details>"
            for name, body in schema["components"].get("schemas", {}).items()
        ),
    ]
    return "\n".join(parts)


def _error_schemas(*models: type[BaseModel]) -> dict[str, Any]:
    """JSON schemas of the models and of their parts, keyed by the names used in errors.py."""
    kinds: list[tuple[type[BaseModel], Literal["serialization"]]] = [
        (model, "serialization") for model in models
    ]
    _, found = models_json_schema(kinds, ref_template="#/components/schemas/{model}")
    schemas: dict[str, Any] = found["$defs"]
    return schemas


def _operations(paths: Mapping[str, Any]) -> Iterator[str]:
    every = [(path, method, one) for path, of in paths.items() for method, one in of.items()]
    every.sort(key=lambda one: _tag(one[2]))
    last = ""
    for path, method, operation in every:
        if (tag := _tag(operation)) != last:
            yield f"<h2>{escape(tag)}</h2>"
            last = tag
        yield _operation(path, method, operation)


def _tag(operation: Mapping[str, Any]) -> str:
    return str(next(iter(operation.get("tags", ())), "other"))


def _operation(path: str, method: str, operation: Mapping[str, Any]) -> str:
    body = operation.get("requestBody", {}).get("content", {})
    return "".join(
        (
            f"<details><summary><b>{escape(method.upper())}</b> <code>{escape(path)}</code>",
            f" {escape(operation.get('summary', ''))}</summary>",
            f"<p>{escape(operation.get('description', ''))}",
            _json(operation["parameters"]) if operation.get("parameters") else "",
            f"<p>Request body: {_media_types(body)}" if body else "",
            *(
                f"<p><b>{escape(status)}</b> {escape(answer.get('description', ''))}"
                f" {_media_types(answer.get('content', {}))}"
                for status, answer in operation["responses"].items()
            ),
            "</details>",
        )
    )


def _media_types(content: Mapping[str, Any]) -> str:
    """The media types, each with a link to its body where that has a name."""
    return ", ".join(
        f"{escape(media)} {_link(of.get('schema', {}).get('$ref', ''))}"
        for media, of in content.items()
    )


def _link(ref: str) -> str:
    name = escape(ref.rpartition("/")[2])
    return f"<a href='#{name}'><code>{name}</code></a>" if name else ""


def _json(value: object) -> str:
    return f"<pre>{escape(json.dumps(value, indent=2, ensure_ascii=False))}</pre>"


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
