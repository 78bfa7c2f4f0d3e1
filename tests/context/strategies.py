"""Every strategy and compositions of them, also with strategies that programs bring. Random."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hypothesis import strategies as st

from spade_llm.context import (
    AdaptiveSmartContext,
    AdaptiveWindow,
    CombinedContext,
    Compression,
    ContextManagement,
    NoContextManagement,
    SemanticRetention,
    SmartWindowSizeContext,
    TokenBudget,
    WindowSizeContext,
)

if TYPE_CHECKING:
    from spade_llm.context import ContextMessage, ContextStats


class EverySecond(ContextManagement):
    """A strategy of a program's own, as careless as one can be."""

    def apply_context_strategy(
        self, messages: list[ContextMessage], system_prompt: str | None = None
    ) -> list[ContextMessage]:
        return messages[::2]

    def get_stats(self, total_messages: int) -> ContextStats:
        kept = -(-total_messages // 2)
        return {
            "strategy": "every_second",
            "total_messages": total_messages,
            "messages_in_context": kept,
            "messages_dropped": total_messages - kept,
        }


class LastThree(EverySecond):
    def apply_context_strategy(
        self, messages: list[ContextMessage], system_prompt: str | None = None
    ) -> list[ContextMessage]:
        return messages[-3:]


BUDGETS = st.integers(64, 600)

SINGLE: st.SearchStrategy[ContextManagement] = st.one_of(
    st.builds(WindowSizeContext, st.integers(1, 30)),
    st.builds(SmartWindowSizeContext, st.integers(1, 30), st.integers(0, 40), st.booleans()),
    st.builds(TokenBudget, BUDGETS),
    st.builds(SemanticRetention, st.one_of(st.none(), st.integers(1, 30)), st.floats(0, 1)),
    st.builds(Compression, st.integers(120, 400)),
    st.builds(AdaptiveWindow, st.integers(1, 8), st.integers(8, 30), only_if_needed=st.booleans()),
    st.builds(AdaptiveSmartContext, BUDGETS, st.floats(0, 1), st.booleans(), st.booleans()),
    st.builds(NoContextManagement),
)
OWN: st.SearchStrategy[ContextManagement] = st.one_of(st.builds(EverySecond), st.builds(LastThree))
COMBINED = st.lists(st.one_of(SINGLE, OWN), min_size=1, max_size=4).map(CombinedContext)
STRATEGIES = st.one_of(SINGLE, COMBINED)
WITHIN_TOKENS = st.builds(
    lambda budget, others: CombinedContext([TokenBudget(budget), *others]),
    BUDGETS,
    st.lists(st.one_of(SINGLE, OWN), max_size=3),
)
