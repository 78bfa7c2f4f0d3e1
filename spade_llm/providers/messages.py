"""Messages that a model reads (OpenAI format), and valid tool names and tool call ids."""

from __future__ import annotations

import re
import uuid
from typing import Literal, NotRequired, TypedDict

MAX_NAME_CHARS = 64
_UNSAFE_CHAR = re.compile(r"[^a-zA-Z0-9_-]")

MAX_CALL_ID_CHARS = 64
"""Characters."""


class FunctionCall(TypedDict):
    name: str
    arguments: str
    """JSON text, as the model wrote it."""


class ToolCallEntry(TypedDict):
    id: str
    type: Literal["function"]
    function: FunctionCall


class SystemMessage(TypedDict):
    role: Literal["system"]
    content: str


class UserMessage(TypedDict):
    role: Literal["user"]
    content: str
    name: NotRequired[str]
    """Sender: a bare JID with unsafe characters as `_`."""


class AssistantMessage(TypedDict):
    role: Literal["assistant"]
    content: str | None
    tool_calls: NotRequired[list[ToolCallEntry]]


class ToolResultMessage(TypedDict):
    role: Literal["tool"]
    content: str
    tool_call_id: str


ContextMessage = SystemMessage | UserMessage | AssistantMessage | ToolResultMessage


def safe_name(name: str, *, max_chars: int = MAX_NAME_CHARS) -> str:
    """Every other character as `_`; may be empty."""
    return _UNSAFE_CHAR.sub("_", name)[:max_chars]


def valid_call_id(given: str, taken: set[str]) -> str:
    """The id as it is given, or a new one where it is missing, too long or taken; noted in
    `taken`."""
    is_fitting = 0 < len(given) <= MAX_CALL_ID_CHARS and given not in taken
    chosen = given if is_fitting else f"call_{uuid.uuid4().hex[:24]}"
    taken.add(chosen)
    return chosen
