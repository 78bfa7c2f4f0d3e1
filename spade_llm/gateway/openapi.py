"""OpenAPI description of the API, and its documentation page without scripts."""

from __future__ import annotations

import hashlib
import json
from base64 import b64encode
from html import escape
from typing import TYPE_CHECKING

from fastapi import FastAPI
from pydantic.json_schema import models_json_schema

from spade_llm.gateway.middleware.auth import PUBLIC_PATHS
from spade_llm.gateway.schemas.common import ErrorDetail
from spade_llm.gateway.schemas.openai import ErrorEnvelope

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from typing import Any, Literal

    from pydantic import BaseModel

    from spade_llm.gateway.gateway import Gateway

TITLE = "Agent Lab API"
API_VERSION = "0.1.0"
"""Version of the HTTP API (specs/4)."""
DESCRIPTION = """\
Every answer has an `X-Request-ID`: yours, if you send one. A request with `traceparent` (W3C) is a
part of that trace. A POST with an `Idempotency-Key` (1 to 255 characters) is done once: asked
again within 24 hours, with the same path and body, it is answered as the first time.
"""

_BEARER_SCHEME = {
    "type": "http",
    "scheme": "bearer",
    "description": "Made by `spade-llm token`.",
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
    """Says where a token is needed: nowhere, to programs of this machine, if it is set so."""

    def __init__(self, gateway: Gateway) -> None:
        super().__init__(
            title=TITLE,
            version=API_VERSION,
            description=DESCRIPTION,
            docs_url=None,
            redoc_url=None,
            # Behind a proxy with TLS the other address would begin with http://, token and all.
            redirect_slashes=False,
            generate_unique_id_function=lambda route: route.name,
        )
        self.state.gateway = gateway
        options = gateway.options
        self._is_token_optional = bool(options.is_loopback and options.local_principal)

    def openapi(self) -> dict[str, Any]:
        if self.openapi_schema is None:
            self.openapi_schema = self._described(super().openapi())
        return self.openapi_schema

    def _described(self, schema: dict[str, Any]) -> dict[str, Any]:
        parts = schema.setdefault("components", {})
        parts["securitySchemes"] = {"token": _BEARER_SCHEME}
        parts.setdefault("schemas", {}).update(_error_schemas(ErrorDetail, ErrorEnvelope))
        for operations in schema["paths"].values():
            for operation in operations.values():
                _describe_errors_as_json(operation["responses"])
        schema["security"] = [*([{}] if self._is_token_optional else []), {"token": []}]
        for path in PUBLIC_PATHS & schema["paths"].keys():
            for operation in schema["paths"][path].values():
                operation["security"] = []
        return schema


def docs_page(schema: Mapping[str, Any]) -> str:
    """`schema`: an OpenAPI 3.1 document."""
    title = escape(schema["info"]["title"])
    parts = [
        "<!doctype html><html lang=en><meta charset=utf-8>",
        "<meta name=viewport content='width=device-width'>",
        f"<title>{title}</title><style>{_STYLE}</style>",
        f"<h1>{title} {escape(schema['info']['version'])}</h1>",
        f"<p>{escape(schema['info']['description'])}",
        "<p>For programs: <a href=/openapi.json>openapi.json</a>.",
        *_operations(schema["paths"]),
        "<h2>Bodies</h2>",
        *(
            f"<details id='{escape(name)}'><summary><code>{escape(name)}</code></summary>"
            f"{_json(body)}</details>"
            for name, body in schema["components"].get("schemas", {}).items()
        ),
    ]
    return "\n".join(parts)


def _error_schemas(*models: type[BaseModel]) -> dict[str, Any]:
    """JSON schemas of the models and of their parts, keyed by the name that errors.py refers to."""
    kinds: list[tuple[type[BaseModel], Literal["serialization"]]] = [
        (model, "serialization") for model in models
    ]
    _, found = models_json_schema(kinds, ref_template="#/components/schemas/{model}")
    schemas: dict[str, Any] = found["$defs"]
    return schemas


def _describe_errors_as_json(answers: dict[str, Any]) -> None:
    """Errors are JSON, also where an answer is something else; FastAPI describes them as that."""
    for status, answer in answers.items():
        if status >= "400" and len(contents := answer.get("content", {})) == 1:
            answer["content"] = {"application/json": next(iter(contents.values()))}


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
            f"<p>Takes {_media_types(body)}" if body else "",
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
