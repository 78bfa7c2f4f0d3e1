"""ContextOfTurn: what a strategy keeps, worked out once for all who ask in one turn. Knows no
strategy."""

from __future__ import annotations

from typing import TYPE_CHECKING

from spade_llm.context import ContextManagement
from spade_llm.context.system_prompt import ensure_system_prompt

if TYPE_CHECKING:
    from spade_llm.context import ContextStats
    from spade_llm.providers.messages import ContextMessage


class ContextOfTurn(ContextManagement):
    """Holds the latest context; a history that has grown since gets another one."""

    def __init__(self, strategy: ContextManagement) -> None:
        self._strategy = strategy
        self._asked: tuple[list[ContextMessage], str | None] | None = None
        self._kept: list[ContextMessage] = []

    def apply_context_strategy(
        self, messages: list[ContextMessage], system_prompt: str | None = None
    ) -> list[ContextMessage]:
        asked = (list(messages), system_prompt)
        if self._asked != asked:
            kept = self._strategy.apply_context_strategy(messages, system_prompt)
            self._kept = ensure_system_prompt(kept, system_prompt)
            self._asked = asked
        return list(self._kept)

    def get_stats(self, total_messages: int) -> ContextStats:
        return self._strategy.get_stats(total_messages)
