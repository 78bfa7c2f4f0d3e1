"""WindowSizeContext: the last messages of a conversation."""

from __future__ import annotations

from typing import TYPE_CHECKING

from spade_llm.context.arguments import checked_count
from spade_llm.context.retention import Retention
from spade_llm.context.strategy import ContextManagement, ContextStats
from spade_llm.context.system_prompt import with_system_prompt

if TYPE_CHECKING:
    from spade_llm.providers.messages import ContextMessage


class WindowSizeContext(ContextManagement):
    """At most `max_messages` of the newest messages; costs the same however long the history."""

    def __init__(self, max_messages: int = 20) -> None:
        self.max_messages = checked_count("max_messages", max_messages, minimum=1)

    def apply_context_strategy(
        self, messages: list[ContextMessage], system_prompt: str | None = None
    ) -> list[ContextMessage]:
        retention = Retention(messages, max_messages=self.max_messages)
        if retention.has_all:
            return with_system_prompt(messages, system_prompt)
        retention.keep_current_turn()
        retention.keep_recent()
        return with_system_prompt(retention.in_order(), system_prompt)

    def get_stats(self, total_messages: int) -> ContextStats:
        total = checked_count("total_messages", total_messages, minimum=0)
        kept = min(total, self.max_messages)
        return ContextStats(
            strategy="window_size",
            max_messages=self.max_messages,
            total_messages=total,
            messages_in_context=kept,
            messages_dropped=total - kept,
        )
