"""Asking an OpenAI-compatible server for an answer of a given form. Pure; checks no answer."""

from __future__ import annotations

import re
from collections.abc import Mapping
from contextlib import suppress
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from spade_llm.providers.openai_request import RequestBody

UNNAMED = "answer"
LONGEST_NAME = 64
_NOT_IN_A_NAME = re.compile(r"[^a-zA-Z0-9_-]+")
_PLAIN = {"enum", "const", "required", "type", "title", "description", "pattern", "format"}
"""Keywords whose values hold no schema."""
_NAMED = {"properties", "$defs", "definitions"}
"""Keywords whose values hold schemas under names that a person chose."""
_LEFT_OUT = {"default", "examples", "additionalProperties"}


def response_format(schema: Mapping[str, object]) -> RequestBody:
    """`strict`, which binds the model, where every object's fields are known."""
    strict = strict_form(schema)
    form = {"schema": dict(schema) if strict is None else strict, "strict": strict is not None}
    return {"type": "json_schema", "json_schema": {"name": _name(schema), **form}}


def strict_form(schema: Mapping[str, object]) -> object | None:
    """What binds a model: closed objects that need every field. None: it cannot be said so."""
    if schema.get("type") == "object":
        with suppress(_NotStrict):
            return _strict(schema)
    return None


class _NotStrict(Exception):
    """An object whose fields have any name cannot be bound."""


def _name(schema: Mapping[str, object]) -> str:
    name = _NOT_IN_A_NAME.sub("_", str(schema.get("title", ""))).strip("_")
    return name[:LONGEST_NAME] or UNNAMED


def _strict(node: object) -> object:
    """Closed objects that need every field, no defaults, nothing beside a `$ref`."""
    if isinstance(node, list):
        return [_strict(part) for part in node]
    if not isinstance(node, Mapping):
        return node
    if "$ref" in node:
        return {"$ref": node["$ref"]}
    kept = {key: _value(key, value) for key, value in node.items() if key not in _LEFT_OUT}
    return {**kept, **_closed(node)} if _is_object(node) else kept


def _value(key: str, value: object) -> object:
    if key in _PLAIN:
        return value
    if key in _NAMED and isinstance(value, Mapping):
        return {name: _strict(part) for name, part in value.items()}
    return _strict(value)


def _is_object(node: Mapping[str, object]) -> bool:
    kind = node.get("type")
    return kind == "object" or (isinstance(kind, list) and "object" in kind) or "properties" in node


def _closed(node: Mapping[str, object]) -> dict[str, object]:
    fields = node.get("properties")
    if not isinstance(fields, Mapping) or node.get("additionalProperties") not in (None, False):
        raise _NotStrict
    return {"required": list(fields), "additionalProperties": False}
