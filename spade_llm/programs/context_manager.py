"""ContextManager, as spade_llm 0.3 has it: histories by conversation, and the prompt of one.

Over our own history (conversation/history.py) and strategies (context/); knows no agent.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from spade_llm.acl import bare
from spade_llm.context import NoContextManagement
from spade_llm.context.system_prompt import ensure_system_prompt
from spade_llm.conversation.history import Conversations
from spade_llm.programs.context_messages import (
    create_assistant_message,
    create_system_message,
    create_tool_result_message,
    spade_message_to_user_message,
)

if TYPE_CHECKING:
    from pydantic import BaseModel

    from spade_llm.context import ContextManagement, ContextStats
    from spade_llm.conversation.history import Conversation
    from spade_llm.providers.messages import ContextMessage
    from spade_llm.routing import RoutedMessage

ALL = "all"


class ContextManager:
    """`conversation_id=None` means the current one: the last that a message came to, or the one
    that was set. `max_tokens` bounds nothing, as in 0.3: give a strategy that does."""

    def __init__(
        self,
        max_tokens: int = 4096,
        system_prompt: str | None = None,
        context_management: ContextManagement | None = None,
    ) -> None:
        self.max_tokens = max_tokens
        self.system_prompt = system_prompt
        self.context_management = context_management or NoContextManagement()
        self._conversations = Conversations()
        self._current = ""
        self._schemas: dict[str, type[BaseModel]] = {}

    def add_message(self, message: RoutedMessage, conversation_id: str) -> None:
        """A SPADE message, as what its sender said."""
        peer = bare(str(message.sender))
        self._add(spade_message_to_user_message(message), conversation_id, peer=peer)

    def add_message_dict(self, message_dict: ContextMessage, conversation_id: str) -> None:
        self._add(message_dict, conversation_id)

    def add_assistant_message(self, content: str, conversation_id: str | None = None) -> None:
        self._add(create_assistant_message(content), self._named(conversation_id))

    def add_tool_result(
        self,
        tool_name: str,
        result: object,
        tool_call_id: str,
        conversation_id: str | None = None,
    ) -> None:
        """The call says the tool's name already."""
        message = create_tool_result_message(result, tool_call_id)
        self._add(message, self._named(conversation_id))

    def get_prompt(self, conversation_id: str | None = None) -> list[ContextMessage]:
        """The system prompt, and what the strategy keeps."""
        history = self.get_conversation_history(conversation_id)
        if history:
            kept = self.context_management.apply_context_strategy(history, self.system_prompt)
            return ensure_system_prompt(kept, self.system_prompt)
        return [create_system_message(self.system_prompt)] if self.system_prompt else []

    def get_conversation_history(self, conversation_id: str | None = None) -> list[ContextMessage]:
        name = conversation_id or self._current
        conversation = self._find(name)
        return list(conversation.messages) if conversation else []

    def get_active_conversations(self) -> list[str]:
        """Least recently used first."""
        return self._conversations.keys()

    def set_current_conversation(self, conversation_id: str) -> bool:
        """Whether there is one of this name."""
        if conversation_id not in self._conversations:
            return False
        self._current = conversation_id
        return True

    def clear(self, conversation_id: str | None = None) -> None:
        """Forget what was said; `all`: everywhere."""
        name = conversation_id or self._current
        for one in self._conversations.keys() if name == ALL else [name]:
            self._conversations.drop(one)
        if self._current not in self._conversations:
            self._current = ""

    def get_context_stats(self, conversation_id: str | None = None) -> ContextStats | None:
        """None: there is no such conversation."""
        conversation = self._find(conversation_id or self._current)
        if conversation is None:
            return None
        return self.context_management.get_stats(len(conversation.messages))

    def update_context_management(self, new_context_management: ContextManagement) -> None:
        self.context_management = new_context_management

    def set_output_schema(
        self, schema: type[BaseModel] | None, conversation_id: str | None = None
    ) -> None:
        name = self._named(conversation_id)
        self._schemas.pop(name, None)
        if schema is not None:
            self._schemas[name] = schema

    def get_output_schema(self, conversation_id: str | None = None) -> type[BaseModel] | None:
        return self._schemas.get(conversation_id or self._current)

    def get_tracing_metadata(self, conversation_id: str | None = None) -> dict[str, str]:
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
