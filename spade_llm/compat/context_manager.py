"""Context manager: histories by conversation id, and functions that create messages."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NotRequired, Protocol, TypedDict
from uuid import uuid4

from spade_llm.assistant.history.conversation_cache import Conversation, ConversationCache
from spade_llm.assistant.turn.prompt import user_message
from spade_llm.context import ContextManagement, ContextStats, NoContextManagement
from spade_llm.context.retention import ensure_system_prompt
from spade_llm.messaging import bare

if TYPE_CHECKING:
    from pydantic import BaseModel

    from spade_llm.assistant.middleware.routing import RoutedMessage
    from spade_llm.providers.model import (
        AssistantMessage,
        ContextMessage,
        SystemMessage,
        ToolCallEntry,
        ToolResultMessage,
        UserMessage,
    )

ALL = "all"


class Threaded(Protocol):
    """Message with a thread, as in SPADE."""

    thread: str | None

    @property
    def sender(self) -> object: ...

    @property
    def to(self) -> object: ...


def generate_unique_id(prefix: str = "session") -> str:
    return f"{prefix}_{uuid4().hex}"


def generate_conversation_id(msg: Threaded) -> str:
    """Return the message's thread; without one, set a new one named after sender and receiver."""
    if not msg.thread:
        msg.thread = generate_unique_id(f"{_local(msg.sender)}_{_local(msg.to)}")
    return msg.thread


class RequestedToolCall(TypedDict):
    """Tool call in the format of a provider of spade_llm 0.3."""

    id: str
    name: str
    arguments: NotRequired[Mapping[str, object] | str]


def create_system_message(content: str) -> SystemMessage:
    """System message with this text."""
    return {"role": "system", "content": content}


def create_user_message(content: str, name: str | None = None) -> UserMessage:
    """User message; `name`: JID of its sender, with `_` for unsafe characters."""
    return user_message(content, peer=name) if name else {"role": "user", "content": content}


def spade_message_to_user_message(message: RoutedMessage) -> UserMessage:
    """User message named by the sender's bare JID, with unsafe characters replaced by `_`."""
    return user_message(message.body or "", peer=bare(str(message.sender)))


def create_assistant_message(content: str) -> AssistantMessage:
    """Assistant message without tool calls."""
    return {"role": "assistant", "content": content}


def create_assistant_tool_call_message(tool_calls: Sequence[RequestedToolCall]) -> AssistantMessage:
    """Assistant message that requests tool calls, without text."""
    return {
        "role": "assistant",
        "content": None,
        "tool_calls": [_tool_call_entry(one) for one in tool_calls],
    }


def create_tool_result_message(result: object, tool_call_id: str) -> ToolResultMessage:
    """Result of the tool call with this id; `result` is converted with `str`."""
    return {"role": "tool", "content": str(result), "tool_call_id": tool_call_id}


class ContextManager:
    """Histories by conversation id.

    `conversation_id=None` means the current conversation: the last one with a new message, or the
    one that was set. `max_tokens` has no effect, as in 0.3: give a strategy with a token limit.
    """

    def __init__(
        self,
        max_tokens: int = 4096,
        system_prompt: str | None = None,
        context_management: ContextManagement | None = None,
    ) -> None:
        self.max_tokens = max_tokens
        self.system_prompt = system_prompt
        self.context_management = context_management or NoContextManagement()
        self._conversations = ConversationCache()
        self._current = ""
        self._schemas: dict[str, type[BaseModel]] = {}

    def add_message(self, message: RoutedMessage, conversation_id: str) -> None:
        """Add a SPADE message as a message of its sender."""
        peer = bare(str(message.sender))
        self._add(spade_message_to_user_message(message), conversation_id, peer=peer)

    def add_message_dict(self, message_dict: ContextMessage, conversation_id: str) -> None:
        """Add a message in the format of the OpenAI API."""
        self._add(message_dict, conversation_id)

    def add_assistant_message(self, content: str, conversation_id: str | None = None) -> None:
        """Add an answer of the model."""
        self._add(create_assistant_message(content), self._named(conversation_id))

    def add_tool_result(
        self, tool_name: str, result: object, tool_call_id: str, conversation_id: str | None = None
    ) -> None:
        """Add the result of a tool call. The name is not used, as the call already has it."""
        message = create_tool_result_message(result, tool_call_id)
        self._add(message, self._named(conversation_id))

    def get_prompt(self, conversation_id: str | None = None) -> list[ContextMessage]:
        """Return the system prompt, and the messages that the strategy keeps."""
        history = self.get_conversation_history(conversation_id)
        if history:
            kept = self.context_management.apply_context_strategy(history, self.system_prompt)
            return ensure_system_prompt(kept, self.system_prompt)
        return [create_system_message(self.system_prompt)] if self.system_prompt else []

    def get_conversation_history(self, conversation_id: str | None = None) -> list[ContextMessage]:
        """Return a copy of all messages of a conversation; empty if it does not exist."""
        name = conversation_id or self._current
        conversation = self._find(name)
        return list(conversation.messages) if conversation else []

    def get_active_conversations(self) -> list[str]:
        """Return the conversation ids, least recently used first."""
        return self._conversations.keys()

    def set_current_conversation(self, conversation_id: str) -> bool:
        """Make this conversation the current one; False if it does not exist."""
        if conversation_id not in self._conversations:
            return False
        self._current = conversation_id
        return True

    def clear(self, conversation_id: str | None = None) -> None:
        """Delete the messages of a conversation, or of all conversations with `all`."""
        name = conversation_id or self._current
        for one in self._conversations.keys() if name == ALL else [name]:
            self._conversations.drop(one)
        if self._current not in self._conversations:
            self._current = ""

    def get_context_stats(self, conversation_id: str | None = None) -> ContextStats | None:
        """Return statistics of a conversation; None if it does not exist."""
        conversation = self._find(conversation_id or self._current)
        if conversation is None:
            return None
        return self.context_management.get_stats(len(conversation.messages))

    def update_context_management(self, new_context_management: ContextManagement) -> None:
        """Replace the strategy, from the next prompt on."""
        self.context_management = new_context_management

    def set_output_schema(
        self, schema: type[BaseModel] | None, conversation_id: str | None = None
    ) -> None:
        """Set the model of the structured output of a conversation; None removes it."""
        name = self._named(conversation_id)
        self._schemas.pop(name, None)
        if schema is not None:
            self._schemas[name] = schema

    def get_output_schema(self, conversation_id: str | None = None) -> type[BaseModel] | None:
        """Return the model of the structured output of a conversation; None: text."""
        return self._schemas.get(conversation_id or self._current)

    def get_tracing_metadata(self, conversation_id: str | None = None) -> dict[str, str]:
        """Return `conversation_id`, and `sender_id` if the peer is known."""
        name = conversation_id or self._current
        conversation = self._find(name)
        peer = conversation.peer if conversation else ""
        return {"conversation_id": name, **({"sender_id": peer} if peer else {})}

    def _add(self, message: ContextMessage, name: str, *, peer: str = "") -> None:
        self._conversations.get(name, peer=peer).extend([message])
        self._current = name

    def _find(self, name: str) -> Conversation | None:
        return self._conversations.find(name) if name in self._conversations else None

    def _named(self, conversation_id: str | None) -> str:
        name = conversation_id or self._current
        if not name:
            raise ValueError("conversation_id: there is no current conversation; name one")
        return name


def _local(jid: object) -> str:
    return str(jid).partition("@")[0]


def _tool_call_entry(call: RequestedToolCall) -> ToolCallEntry:
    arguments = call.get("arguments", {})
    text = arguments if isinstance(arguments, str) else json.dumps(arguments)
    return {
        "id": call["id"],
        "type": "function",
        "function": {"name": call["name"], "arguments": text},
    }
