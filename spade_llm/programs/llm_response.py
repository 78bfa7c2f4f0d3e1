"""What spade_llm 0.2/0.3's `get_llm_response` takes and gives: forms, and ours as theirs. Pure."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Protocol, TypedDict

from pydantic import ValidationError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pydantic import BaseModel

    from spade_llm.providers.messages import ContextMessage
    from spade_llm.providers.model import Completion


class PromptSource(Protocol):
    """What of a ContextManager is needed to ask a model."""

    def get_prompt(self, conversation_id: str | None = None) -> Sequence[ContextMessage]: ...


class RequestedCall(TypedDict):
    id: str
    name: str
    arguments: Mapping[str, object]


class LLMResponse(TypedDict, total=False):
    text: str | None
    """None where there are calls, or an object."""
    tool_calls: list[RequestedCall]
    structured: BaseModel | None
    """Of the schema that was asked for."""


def response_of(completion: Completion, schema: type[BaseModel] | None) -> LLMResponse:
    """An answer that is no object of the schema is given as text."""
    if completion.tool_calls:
        calls = [
            RequestedCall(id=call.id, name=call.name, arguments=arguments_of(call.arguments))
            for call in completion.tool_calls
        ]
        return LLMResponse(text=None, tool_calls=calls, structured=None)
    found = _object(completion.text, schema)
    return LLMResponse(
        text=completion.text if found is None else None, tool_calls=[], structured=found
    )


def arguments_of(text: str) -> dict[str, object]:
    """None, where a model wrote no JSON object."""
    try:
        arguments = json.loads(text or "{}")
    except (ValueError, RecursionError):
        return {}
    return arguments if isinstance(arguments, dict) else {}


def _object(text: str, schema: type[BaseModel] | None) -> BaseModel | None:
    if schema is None:
        return None
    try:
        return schema.model_validate_json(text)
    except ValidationError:
        return None
