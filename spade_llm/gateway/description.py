"""The API's description of itself (OpenAPI): what all operations have in common. Knows no route."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fastapi import FastAPI

from spade_llm.gateway.gate import OPEN

if TYPE_CHECKING:
    from typing import Any

    from spade_llm.gateway.gateway import Gateway

TITLE = "Agent Lab API"
VERSION = "0.1.0"
"""Of the API, as specs/4 has it."""
DESCRIPTION = """\
Every answer has an `X-Request-ID`: yours, if you send one. A request with `traceparent` (W3C) is a
part of that trace. A POST with an `Idempotency-Key` (1 to 255 characters) is done once: asked
again within 24 hours, with the same path and body, it is answered as the first time.
"""

_TOKEN = {
    "type": "http",
    "scheme": "bearer",
    "description": "Made by `spade-llm token`.",
}


class DescribedApp(FastAPI):
    """Says where a token is needed: nowhere, to programs of this machine, if it is set so."""

    def __init__(self, gateway: Gateway) -> None:
        super().__init__(
            title=TITLE,
            version=VERSION,
            description=DESCRIPTION,
            docs_url=None,
            redoc_url=None,
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
        schema.setdefault("components", {})["securitySchemes"] = {"token": _TOKEN}
        for operations in schema["paths"].values():
            for operation in operations.values():
                _as_json(operation["responses"])
        schema["security"] = [*([{}] if self._is_token_optional else []), {"token": []}]
        for path in OPEN & schema["paths"].keys():
            for operation in schema["paths"][path].values():
                operation["security"] = []
        return schema


def _as_json(answers: dict[str, Any]) -> None:
    """Errors are JSON, also where an answer is something else; FastAPI describes them as that."""
    for status, answer in answers.items():
        if status >= "400" and len(contents := answer.get("content", {})) == 1:
            answer["content"] = {"application/json": next(iter(contents.values()))}
