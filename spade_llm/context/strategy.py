"""The ContextManagement role: which messages of a history the model sees. Knows no strategy."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, NotRequired, TypedDict

if TYPE_CHECKING:
    from spade_llm.providers.messages import ContextMessage


class ContextStats(TypedDict):
    """What a strategy does with a history of `total_messages`, the system prompt not counted."""

    strategy: str
    max_messages: NotRequired[int]
    preserve_initial: NotRequired[int]
    prioritize_tools: NotRequired[bool]
    total_messages: int
    messages_in_context: int
    """By the rule of counting alone: whole exchanges can make the real number differ a little."""
    messages_dropped: int


class ContextManagement(ABC):
    """Chooses messages; never changes, reorders or merges them."""

    @abstractmethod
    def apply_context_strategy(
        self, messages: list[ContextMessage], system_prompt: str | None = None
    ) -> list[ContextMessage]:
        """The messages for the model, as a new list in the order of the history.

        `system_prompt`, if given, comes first, once.
        """

    @abstractmethod
    def get_stats(self, total_messages: int) -> ContextStats:
        """How many of `total_messages` messages would be kept and dropped.

        Raises:
            ValueError: `total_messages` is negative.
        """
