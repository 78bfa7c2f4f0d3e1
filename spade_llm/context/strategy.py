"""ContextManagement role (the strategies' contract) and context statistics."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, NotRequired, TypedDict

from spade_llm.context.retention import leading_system_messages

if TYPE_CHECKING:
    from collections.abc import Sequence

    from spade_llm.providers.model import ContextMessage


class ContextStats(TypedDict):
    """Statistics of a strategy for a history of `total_messages`, without the system prompt."""

    strategy: str
    """Name of the strategy; a composition joins the names of its parts with `+`."""
    total_messages: int
    messages_in_context: int
    """Number of messages kept. If only a number was given it is an estimate: whole exchanges change
    it a little, and messages of unusual length much."""
    messages_dropped: int
    conversations: NotRequired[int]
    """Number of conversations of an agent in RAM."""
    tokens_in_context: NotRequired[int]
    """System prompt, summary and messages; this key and the next four only of a real history."""
    is_over_limit: NotRequired[bool]
    """The system prompt and the current turn alone are more than the limit."""
    messages_cut: NotRequired[int]
    """Shown in part, with a note."""
    summarised_messages: NotRequired[int]
    degraded: NotRequired[str]
    """Missing resources: `vectors` (similarity by words), `model` (summary by words); empty if
    none."""

    max_messages: NotRequired[int]
    preserve_initial: NotRequired[int]
    prioritize_tools: NotRequired[bool]
    token_limit: NotRequired[int]
    token_counter: NotRequired[str]
    """Name of the tokenizer, or `estimate`."""
    tokens_are_exact: NotRequired[bool]
    similarity_threshold: NotRequired[float]
    similarity_by: NotRequired[str]
    """`vectors`, or `words` where there is no embedder."""
    summary_tokens: NotRequired[int]
    summary_by: NotRequired[str]
    """`model`, or `words` where there is none."""
    min_messages: NotRequired[int]


class ContextManagement(ABC):
    """Chooses messages; never reorders or merges them.

    The same messages give the same context, given what was prepared.
    """

    @abstractmethod
    def apply_context_strategy(
        self, messages: list[ContextMessage], system_prompt: str | None = None
    ) -> list[ContextMessage]:
        """The messages for the model, as a new list in the order of the history.

        `system_prompt`, if given, comes first, once.
        """

    @abstractmethod
    def get_stats(self, total_messages: int) -> ContextStats:
        """Estimate how many of `total_messages` messages would be kept and dropped.

        Raises:
            ValueError: `total_messages` is negative.
        """

    @property
    def has_preparations(self) -> bool:
        """False if `prepare` and `work_ahead` do nothing, so that the caller need not await
        them."""
        kind, nothing = type(self), ContextManagement
        return kind.prepare is not nothing.prepare or kind.work_ahead is not nothing.work_ahead

    async def prepare(self, messages: Sequence[ContextMessage]) -> None:
        """Prepare the selection before a turn with optional data, such as vectors.

        It has a short deadline, and may be cancelled at any point; the next call continues. A
        strategy also works without it, and reports in its statistics that it is degraded.
        """
        return

    async def work_ahead(self, messages: Sequence[ContextMessage]) -> None:
        """Work between turns that takes a model's time, such as a summary.

        Raises ModelError if a model fails; nothing is lost.
        """
        return

    def discard(self, messages: Sequence[ContextMessage]) -> None:
        """Drop what is kept of the history with these messages: it has ended, or something in it
        must be forgotten."""
        return

    def stats_of(
        self, messages: list[ContextMessage], system_prompt: str | None = None
    ) -> ContextStats:
        """Compute the statistics of this history."""
        kept = self.apply_context_strategy(messages, system_prompt)
        total = len(messages) - leading_system_messages(messages)
        stats = self.get_stats(total)
        stats["messages_in_context"] = len(kept) - leading_system_messages(kept)
        stats["messages_dropped"] = max(0, total - stats["messages_in_context"])
        return stats
