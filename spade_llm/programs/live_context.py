"""What an assistant has of its conversations in RAM: `agent.context` of spade_llm 0.3."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from spade_llm.conversation.history import Conversations
    from spade_llm.providers.messages import ContextMessage

ALL = "all"


class LiveContext:
    """A conversation is named by its key (`peer`, `peer#thread`), or by its thread alone."""

    def __init__(self, conversations: Conversations) -> None:
        self._conversations = conversations

    def get_active_conversations(self) -> list[str]:
        """Least recently used first."""
        return self._conversations.keys()

    def get_conversation_history(self, conversation_id: str) -> list[ContextMessage]:
        found = self._conversations.find(conversation_id)
        return list(found.messages) if found else []

    def clear(self, conversation_id: str) -> None:
        """Forget what was said, here and not in memory; `all`: everywhere."""
        found = self._conversations.find(conversation_id)
        named = [found.key] if found else []
        for key in self._conversations.keys() if conversation_id == ALL else named:
            self._conversations.drop(key)
