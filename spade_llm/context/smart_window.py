"""SmartWindowSizeContext: a window that can hold on to the beginning and to tool results."""

from __future__ import annotations

from typing import TYPE_CHECKING

from spade_llm.context.arguments import checked_count, checked_flag
from spade_llm.context.retention import Retention
from spade_llm.context.strategy import ContextManagement, ContextStats
from spade_llm.context.system_prompt import with_system_prompt

if TYPE_CHECKING:
    from spade_llm.providers.messages import ContextMessage


class SmartWindowSizeContext(ContextManagement):
    """Within `max_messages`: the current turn, the first messages, tool exchanges, the newest."""

    def __init__(
        self,
        max_messages: int = 20,
        preserve_initial: int = 0,
        prioritize_tools: bool = False,
    ) -> None:
        self.max_messages = checked_count("max_messages", max_messages, minimum=1)
        self.preserve_initial = checked_count("preserve_initial", preserve_initial, minimum=0)
        self.prioritize_tools = checked_flag("prioritize_tools", prioritize_tools)

    def apply_context_strategy(
        self, messages: list[ContextMessage], system_prompt: str | None = None
    ) -> list[ContextMessage]:
        retention = Retention(messages, max_messages=self.max_messages)
        if retention.has_all:
            return with_system_prompt(messages, system_prompt)
        self._fill(retention)
        return with_system_prompt(retention.in_order(), system_prompt)

    def _fill(self, retention: Retention) -> None:
        retention.keep_current_turn()
        retention.keep_initial(self.preserve_initial)
        if self.prioritize_tools:
            retention.keep_tools()
            retention.keep_recent_talk()
        else:
            retention.keep_recent()

    def get_stats(self, total_messages: int) -> ContextStats:
        total = checked_count("total_messages", total_messages, minimum=0)
        kept = min(total, self.max_messages)
        return ContextStats(
            strategy="smart_window_size",
            max_messages=self.max_messages,
            preserve_initial=self.preserve_initial,
            prioritize_tools=self.prioritize_tools,
            total_messages=total,
            messages_in_context=kept,
            messages_dropped=total - kept,
        )
