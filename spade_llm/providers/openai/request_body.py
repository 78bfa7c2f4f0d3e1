"""Chat request in the OpenAI protocol: messages, tools, sampling, response schema."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from spade_llm.providers.model import ContextMessage, Sampling, ToolSpec

UNNAMED = "answer"
LONGEST_NAME = 64
_NOT_IN_A_NAME = re.compile(r"[^a-zA-Z0-9_-]+")
_PLAIN_KEYWORDS = {"enum", "const", "required", "type", "title", "description", "pattern", "format"}
"""Keywords with values that hold no schema."""
_SCHEMA_MAP_KEYWORDS = {"properties", "$defs", "definitions"}
"""Keywords with values that hold schemas under user-defined names."""
_DROPPED_KEYWORDS = {"default", "examples", "additionalProperties"}

RequestBody = dict[str, object]
TOKEN_LIMIT_FIELD = "max_tokens"
"""Default name of the field for the maximum number of tokens of an answer; some servers use another
one."""


def response_format(schema: Mapping[str, object]) -> RequestBody:
    """`strict`, which binds the model, where every object's fields are known."""
    strict = strict_form(schema)
    form = {"schema": dict(schema) if strict is None else strict, "strict": strict is not None}
    return {"type": "json_schema", "json_schema": {"name": _name(schema), **form}}


def strict_form(schema: Mapping[str, object]) -> object | None:
    """Schema in strict form: closed objects that require every field. None: there is none."""
    if schema.get("type") == "object":
        with suppress(_NotStrict):
            return _strict(schema)
    return None


class _NotStrict(Exception):
    """Raised for an object with arbitrary field names, which has no strict form."""


def build_request(
    messages: Sequence[ContextMessage],
    tools: Sequence[ToolSpec],
    *,
    settings: RequestBody,
    tool_choice: str = "auto",
    response_schema: Mapping[str, object] | None = None,
    sampling: Sampling | None = None,
    token_limit_field: str = TOKEN_LIMIT_FIELD,
) -> RequestBody:
    """`settings` holds the model and whatever else is the same in every request."""
    body: RequestBody = {**settings, **_with_sampling(settings, sampling, token_limit_field)}
    body["messages"] = list(messages)
    if tools:
        body["tools"] = [_tool(spec) for spec in tools]
        body["tool_choice"] = _choice(tool_choice)
    if response_schema is not None:
        body["response_format"] = response_format(response_schema)
    return body


def with_stream(body: RequestBody) -> RequestBody:
    """Ask for the answer as a stream, with the token counts at its end."""
    return {**body, "stream": True, "stream_options": {"include_usage": True}}


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
    kept = {key: _value(key, value) for key, value in node.items() if key not in _DROPPED_KEYWORDS}
    kind, fields = node.get("type"), node.get("properties")
    is_object = kind == "object" or (isinstance(kind, list) and "object" in kind)
    if is_object or "properties" in node:
        if not isinstance(fields, Mapping) or node.get("additionalProperties") not in (None, False):
            raise _NotStrict
        kept |= {"required": list(fields), "additionalProperties": False}
    return kept


def _value(key: str, value: object) -> object:
    if key in _PLAIN_KEYWORDS:
        return value
    # A field may be called `type` or `default`: its name is no keyword.
    if key in _SCHEMA_MAP_KEYWORDS and isinstance(value, Mapping):
        return {name: _strict(part) for name, part in value.items()}
    return _strict(value)


def _with_sampling(
    settings: RequestBody, sampling: Sampling | None, token_limit_field: str
) -> RequestBody:
    """Build the fields for `sampling`; a request can only lower the provider's token limit."""
    if sampling is None:
        return {}
    fields: RequestBody = {}
    if sampling.temperature is not None:
        fields["temperature"] = sampling.temperature
    if sampling.max_tokens is not None:
        most = settings.get(token_limit_field)
        wanted = sampling.max_tokens
        fields[token_limit_field] = min(wanted, most) if isinstance(most, int) else wanted
    return fields


def _tool(spec: ToolSpec) -> RequestBody:
    function: RequestBody = {
        "name": spec.name,
        "description": spec.description,
        "parameters": dict(spec.parameters),
    }
    if spec.is_strict and (form := strict_form(spec.parameters)) is not None:
        function |= {"parameters": form, "strict": True}
    return {"type": "function", "function": function}


def _choice(tool_choice: str) -> object:
    if tool_choice in {"auto", "none", "required"}:
        return tool_choice
    return {"type": "function", "function": {"name": tool_choice}}
