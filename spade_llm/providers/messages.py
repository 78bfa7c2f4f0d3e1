"""The messages a model reads, in the form that OpenAI-compatible servers take. Data only."""

from __future__ import annotations

from typing import Literal, NotRequired, TypedDict


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
    """Who said it: a bare JID with unsafe characters as `_`."""


class AssistantMessage(TypedDict):
    role: Literal["assistant"]
    content: str | None
    tool_calls: NotRequired[list[ToolCallEntry]]


class ToolResultMessage(TypedDict):
    role: Literal["tool"]
    content: str
    tool_call_id: str


ContextMessage = SystemMessage | UserMessage | AssistantMessage | ToolResultMessage
