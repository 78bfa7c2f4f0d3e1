"""Window strategies: no limit, last messages, smart window, token budget, combination."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from spade_llm.context.composable import Composable, ContextLimits, check_count, check_flag
from spade_llm.context.token_counter import CachedTokenCounter
from spade_llm.context.tokenizers import counter_for

if TYPE_CHECKING:
    from collections.abc import Sequence

    from spade_llm.context.composable import ContextDraft
    from spade_llm.context.strategy import ContextManagement, ContextStats
    from spade_llm.context.token_counter import TokenCounter

MIN_TOKENS = 64


class NoContextManagement(Composable):
    """Strategy without a limit, for short conversations; a long one exceeds the model's context
    window."""

    name = "none"
    reads_notes = False

    def limits(self) -> ContextLimits:
        return ContextLimits(max_messages=sys.maxsize)


class WindowSizeContext(Composable):
    """Window of at most `max_messages` newest messages; the cost does not depend on the history's
    length."""

    name = "window_size"
    reads_notes = False

    def __init__(self, max_messages: int = 20) -> None:
        self.max_messages = check_count("max_messages", max_messages, minimum=1)

    def limits(self) -> ContextLimits:
        return ContextLimits(max_messages=self.max_messages)

    def describe(self, stats: ContextStats) -> None:
        stats["max_messages"] = self.max_messages


class SmartWindowSizeContext(Composable):
    """Within `max_messages`: the current turn, the first messages, tool exchanges, the newest."""

    name = "smart_window_size"
    reads_notes = False

    def __init__(
        self,
        max_messages: int = 20,
        preserve_initial: int = 0,
        prioritize_tools: bool = False,
    ) -> None:
        self.max_messages = check_count("max_messages", max_messages, minimum=1)
        self.preserve_initial = check_count("preserve_initial", preserve_initial, minimum=0)
        self.prioritize_tools = check_flag("prioritize_tools", prioritize_tools)

    def limits(self) -> ContextLimits:
        return ContextLimits(max_messages=self.max_messages)

    def select_important(self, draft: ContextDraft) -> None:
        draft.retention.keep_initial(self.preserve_initial)
        if self.prioritize_tools:
            draft.retention.keep_tools()

    @property
    def prefers_talk(self) -> bool:
        return self.prioritize_tools

    def describe(self, stats: ContextStats) -> None:
        stats["max_messages"] = self.max_messages
        stats["preserve_initial"] = self.preserve_initial
        stats["prioritize_tools"] = self.prioritize_tools


class TokenBudget(Composable):
    """Never more than `token_limit`, but for one case: the system messages, the newest question and
    the calls of the exchange behind it are more by themselves. Then they are all there is, results
    cut to a note, and the statistics say `is_over_limit`.

    A message of an earlier turn that takes more than an eighth is shown in part, with a note.
    """

    name = "token_budget"
    reads_notes = False

    def __init__(
        self,
        token_limit: int = 4000,
        *,
        model: str | None = None,
        counter: TokenCounter | None = None,
    ) -> None:
        """`model`: counts by its table if it is at hand (context/tokenizers.py); `counter` wins."""
        self.token_limit = check_count("token_limit", token_limit, minimum=MIN_TOKENS)
        self._counter = CachedTokenCounter(counter or counter_for(model))

    def limits(self) -> ContextLimits:
        return ContextLimits(token_limit=self.token_limit, counter=self._counter)

    def describe(self, stats: ContextStats) -> None:
        stats["token_limit"] = self.token_limit
        stats["token_counter"] = self._counter.counter.name
        stats["tokens_are_exact"] = self._counter.counter.is_exact


class CombinedContext(Composable):
    """Within the strictest of all limits; what a strategy claims, the next ones cannot.

    Strategies of your own are asked first: what they leave out, the others do not see.
    """

    name = "combined"

    def __init__(self, strategies: Sequence[ContextManagement]) -> None:
        """Raises ValueError if there is none."""
        if not strategies:
            raise ValueError("strategies must hold at least one strategy")
        ours = [one for one in strategies if isinstance(one, Composable)]
        self._parts = tuple(part for one in ours for part in one.parts) or (NoContextManagement(),)
        self._filters = tuple(
            own
            for one in strategies
            for own in (one.filters if isinstance(one, Composable) else (one,))
        )

    @property
    def parts(self) -> tuple[Composable, ...]:
        return self._parts

    @property
    def filters(self) -> tuple[ContextManagement, ...]:
        return self._filters
