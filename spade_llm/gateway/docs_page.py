"""The API's description as one page that needs no script and no other server. Pure.

Swagger UI would load two of them from elsewhere, which no strict Content-Security-Policy allows.
"""

from __future__ import annotations

import hashlib
import json
from base64 import b64encode
from html import escape
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from typing import Any

_STYLE = """
:root { color-scheme: light dark; font: 16px/1.5 system-ui, sans-serif; }
body { max-width: 60rem; margin: 2rem auto; padding: 0 1rem; }
details { border: 1px solid #8886; border-radius: 6px; margin: .4rem 0; padding: .3rem .8rem; }
summary { cursor: pointer; } code, pre { font-family: ui-monospace, monospace; font-size: .9em; }
pre { overflow-x: auto; background: #8881; padding: .6rem; border-radius: 4px; }
b { display: inline-block; min-width: 4.5em; } h2 { text-transform: capitalize; }
"""
_DIGEST = b64encode(hashlib.sha256(_STYLE.encode()).digest()).decode()
CSP = f"default-src 'none'; style-src 'sha256-{_DIGEST}'; frame-ancestors 'none'; base-uri 'none'"


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
            f"<p>Takes {_named(body)}" if body else "",
            *(
                f"<p><b>{escape(status)}</b> {escape(answer.get('description', ''))}"
                f" {_named(answer.get('content', {}))}"
                for status, answer in operation["responses"].items()
            ),
            "</details>",
        )
    )


def _named(content: Mapping[str, Any]) -> str:
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
