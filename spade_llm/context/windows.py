"""Window strategies: last messages, smart window, token budget, combination, adaptive windows."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

from spade_llm.context.composable import Composable, ContextLimits, check_count, check_flag
from spade_llm.context.compression import MIN_SUMMARY_TOKENS, Compression
from spade_llm.context.notes import TOPIC_WINDOW_TURNS, HistoryNotes, is_topic_shift
from spade_llm.context.salience import text_terms
from spade_llm.context.semantic import SemanticRetention
from spade_llm.context.token_counter import CachedTokenCounter, TokenCounter, counter_for

if TYPE_CHECKING:
    from spade_llm.context.strategy import ContextDraft, ContextManagement, ContextStats
    from spade_llm.providers.model import ChatModel, Embedder

MIN_TOKEN_LIMIT = 64
REACH_QUANTILE = 0.75
"""Share of the latest referring answers that must find what they refer to in the window."""
LATEST_TURNS = 4
TOOL_SHARE = 0.5
"""Share of tool messages in the latest turns above which the turns count as tool-heavy."""
KEPT_TOOL_TURNS = 2
"""Number of latest turns with kept tool exchanges, if turns are tool-heavy. Older exchanges are
dropped in favour of talk, which tells their outcome."""
SUMMARY_SHARE = 4
MAX_MESSAGES = 400
"""Maximum number of messages of the window; the tokens have their own limit."""


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
    """Window within `max_messages`: current turn, first messages, tool exchanges, the newest."""

    name = "smart_window_size"
    reads_notes = False

    def __init__(
        self, max_messages: int = 20, preserve_initial: int = 0, prioritize_tools: bool = False
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
    """Strategy with a token limit. Never more than `token_limit`, but for one case: the system
    messages, the newest question and the calls of the exchange behind it are more by themselves.
    Then they are all there is, results cut to a note, and the statistics say `is_over_limit`.

    A message of an earlier turn that takes more than an eighth is shown in part, with a note.
    """

    name = "token_budget"
    allows_stable_prefix = True
    reads_notes = False

    def __init__(
        self,
        token_limit: int = 4000,
        *,
        model: str | None = None,
        counter: TokenCounter | None = None,
    ) -> None:
        """`model`: counts by its table if it is at hand (`counter_for`); `counter` wins."""
        self.token_limit = check_count("token_limit", token_limit, minimum=MIN_TOKEN_LIMIT)
        self._counter = CachedTokenCounter(counter or counter_for(model))

    def limits(self) -> ContextLimits:
        return ContextLimits(token_limit=self.token_limit, counter=self._counter)

    def describe(self, stats: ContextStats) -> None:
        stats["token_limit"] = self.token_limit
        stats["token_counter"] = self._counter.counter.name
        stats["tokens_are_exact"] = self._counter.counter.is_exact


class CombinedContext(Composable):
    """Combination of strategies, within the strictest of all limits; what a strategy claims, the
    next ones cannot.

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


def topic_start(notes: HistoryNotes, question: str) -> int:
    """The turn in which the present topic began: behind the last where the question opens one, the
    first where no other is found."""
    latest = notes.terms_of_turns(notes.turns - TOPIC_WINDOW_TURNS, notes.turns)
    if is_topic_shift(latest, text_terms(question)):
        return notes.turns
    for turn in range(notes.turns - 1, notes.turns - TOPIC_WINDOW_TURNS - 1, -1):
        if notes.opens_topic(turn):
            return turn
    return notes.last_topic_start


def typical_reference_distance(notes: HistoryNotes) -> int:
    """Return how many turns back the latest answers refer, without the farthest quarter."""
    reference_distances = sorted(notes.reference_distances)
    return (
        reference_distances[int((len(reference_distances) - 1) * REACH_QUANTILE)]
        if reference_distances
        else 0
    )


def uses_many_tools(notes: HistoryNotes) -> bool:
    first = notes.turn_starts[-LATEST_TURNS:][:1]
    latest = notes.blocks[first[0] :] if first else []
    total = sum(len(block.indexes) for block in latest)
    tools = sum(len(block.indexes) for block in latest if len(block.indexes) > 1)
    return total > 0 and tools > TOOL_SHARE * total


def turn_start(notes: HistoryNotes, turn: int) -> int:
    """Its first message, among the noted ones; behind the last for a turn that is yet to come."""
    if turn >= notes.turns:
        return len(notes.messages)
    return notes.blocks[notes.turn_starts[max(turn, 0)]].indexes.start


class AdaptiveWindow(Composable):
    """The newest messages, back to where their topic began or, if that is farther, to what answers
    of this conversation usually refer to: from `min_messages` to `max_messages`."""

    name = "adaptive_window"

    def __init__(
        self, min_messages: int = 8, max_messages: int = 60, *, only_if_needed: bool = False
    ) -> None:
        """`only_if_needed`: nothing is left out of a history that fits."""
        self.min_messages = check_count("min_messages", min_messages, minimum=1)
        self.max_messages = check_count("max_messages", max_messages, minimum=min_messages)
        self.keeps_fitting_history = check_flag("only_if_needed", only_if_needed)
        self.allows_stable_prefix = only_if_needed

    def limits(self) -> ContextLimits:
        return ContextLimits(max_messages=self.max_messages)

    def earliest_index(self, draft: ContextDraft) -> int:
        noted = draft.noted_history
        topic = topic_start(noted.notes, draft.question)
        usual = noted.notes.turns - typical_reference_distance(noted.notes)
        start = turn_start(noted.notes, min(topic, usual)) + noted.offset
        return min(start, max(draft.question_index - self.min_messages + 1, 0))

    def earliest_tool_index(self, draft: ContextDraft) -> int:
        noted = draft.noted_history
        if not uses_many_tools(noted.notes):
            return 0
        turn = noted.notes.turns - KEPT_TOOL_TURNS
        return turn_start(noted.notes, turn) + noted.offset

    def describe(self, stats: ContextStats) -> None:
        stats["min_messages"] = self.min_messages
        stats["max_messages"] = self.max_messages


class AdaptiveSmartContext(Composable):
    """Strategy that shows everything while it fits. Then, within `token_limit`: the current turn, a
    summary of what is left out, what is nearest to the question, and the newest messages as far as
    they matter."""

    name = "adaptive_smart"

    def __init__(
        self,
        token_limit: int = 4000,
        semantic_similarity_threshold: float = 0.8,
        compression_enabled: bool = True,
        adaptive_window: bool = True,
        *,
        counter: TokenCounter | None = None,
        embedder: Embedder | None = None,
        summariser: ChatModel | None = None,
    ) -> None:
        """`embedder`: nearness by vectors, too; `summariser`: writes the summary between turns."""
        budget = TokenBudget(token_limit, counter=counter)
        parts: list[Composable] = [budget]
        if check_flag("compression_enabled", compression_enabled):
            tokens = max(token_limit // SUMMARY_SHARE, MIN_SUMMARY_TOKENS)
            parts.append(Compression(tokens, model=summariser))
        parts.append(SemanticRetention(None, semantic_similarity_threshold, embedder=embedder))
        if check_flag("adaptive_window", adaptive_window):
            parts.append(AdaptiveWindow(max_messages=MAX_MESSAGES, only_if_needed=True))
        self._parts = tuple(parts)

    @property
    def parts(self) -> tuple[Composable, ...]:
        return self._parts

    def get_stats(self, total_messages: int) -> ContextStats:
        stats = super().get_stats(total_messages)
        stats["strategy"] = self.name
        return stats
