"""Makes the messages that a model reads, under the names that spade_llm 0.3 has for it. Pure."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, NotRequired, TypedDict

from spade_llm.acl import bare
from spade_llm.conversation.prompt import user_message

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from spade_llm.providers.messages import (
        AssistantMessage,
        SystemMessage,
        ToolCallEntry,
        ToolResultMessage,
        UserMessage,
    )
    from spade_llm.routing import RoutedMessage


class WantedCall(TypedDict):
    """A tool call as a provider of spade_llm 0.3 gives it."""

    id: str
    name: str
    arguments: NotRequired[Mapping[str, object] | str]


def create_system_message(content: str) -> SystemMessage:
    return {"role": "system", "content": content}


def create_user_message(content: str, name: str | None = None) -> UserMessage:
    return user_message(content, peer=name) if name else {"role": "user", "content": content}


def spade_message_to_user_message(message: RoutedMessage) -> UserMessage:
    """Its name is the sender's bare JID, with unsafe characters as `_`."""
    return user_message(message.body or "", peer=bare(str(message.sender)))


def create_assistant_message(content: str) -> AssistantMessage:
    return {"role": "assistant", "content": content}


def create_assistant_tool_call_message(tool_calls: Sequence[WantedCall]) -> AssistantMessage:
    return {"role": "assistant", "content": None, "tool_calls": [_entry(one) for one in tool_calls]}


def create_tool_result_message(result: object, tool_call_id: str) -> ToolResultMessage:
    return {"role": "tool", "content": str(result), "tool_call_id": tool_call_id}


def _entry(call: WantedCall) -> ToolCallEntry:
    arguments = call.get("arguments", {})
    text = arguments if isinstance(arguments, str) else json.dumps(arguments)
    return {
        "id": call["id"],
        "type": "function",
        "function": {"name": call["name"], "arguments": text},
    }
