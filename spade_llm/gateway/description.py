"""The API's description of itself (OpenAPI): what all operations have in common. Knows no route."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fastapi import FastAPI
from pydantic.json_schema import models_json_schema

from spade_llm.gateway.bodies.common import ErrorDetail
from spade_llm.gateway.bodies.openai import ErrorEnvelope
from spade_llm.gateway.gate import OPEN

if TYPE_CHECKING:
    from typing import Any, Literal

    from pydantic import BaseModel

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
        parts["securitySchemes"] = {"token": _TOKEN}
        parts.setdefault("schemas", {}).update(_schemas_of(ErrorDetail, ErrorEnvelope))
        for operations in schema["paths"].values():
            for operation in operations.values():
                _as_json(operation["responses"])
        schema["security"] = [*([{}] if self._is_token_optional else []), {"token": []}]
        for path in OPEN & schema["paths"].keys():
            for operation in schema["paths"][path].values():
                operation["security"] = []
        return schema


def _schemas_of(*models: type[BaseModel]) -> dict[str, Any]:
    """By name, as failures.py refers to them, with what they are made of."""
    kinds: list[tuple[type[BaseModel], Literal["serialization"]]] = [
        (model, "serialization") for model in models
    ]
    _, found = models_json_schema(kinds, ref_template="#/components/schemas/{model}")
    schemas: dict[str, Any] = found["$defs"]
    return schemas


def _as_json(answers: dict[str, Any]) -> None:
    """Errors are JSON, also where an answer is something else; FastAPI describes them as that."""
    for status, answer in answers.items():
        if status >= "400" and len(contents := answer.get("content", {})) == 1:
            answer["content"] = {"application/json": next(iter(contents.values()))}
