"""NoContextManagement: every message reaches the model."""

from __future__ import annotations

from typing import TYPE_CHECKING

from spade_llm.context.arguments import checked_count
from spade_llm.context.strategy import ContextManagement, ContextStats
from spade_llm.context.system_prompt import with_system_prompt

if TYPE_CHECKING:
    from spade_llm.providers.messages import ContextMessage


class NoContextManagement(ContextManagement):
    """For short conversations; a long one outgrows the model's context window."""

    def apply_context_strategy(
        self, messages: list[ContextMessage], system_prompt: str | None = None
    ) -> list[ContextMessage]:
        return with_system_prompt(messages, system_prompt)

    def get_stats(self, total_messages: int) -> ContextStats:
        total = checked_count("total_messages", total_messages, minimum=0)
        return ContextStats(
            strategy="none", total_messages=total, messages_in_context=total, messages_dropped=0
        )
