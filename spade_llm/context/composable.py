"""Composable: base class of strategies that fill one context together."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import inf
from typing import ClassVar

from spade_llm.context.notes import Block, HistoryNotes, HistoryNotesCache
from spade_llm.context.retention import (
    ContextBudget,
    Retention,
    leading_system_messages,
    repair_history,
    with_system_prompt,
)
from spade_llm.context.stable_prefix import (
    MIN_MESSAGES,
    MIN_TOKENS,
    fill_stable_context,
    walk_history,
)
from spade_llm.context.strategy import ContextDraft, ContextManagement, ContextStats
from spade_llm.context.token_counter import CachedTokenCounter, Truncator
from spade_llm.providers.model import ContextMessage, SystemMessage

DEFAULT_MESSAGES = 20
"""Maximum number of messages if no part of a composition has a limit."""
TYPICAL_TOKENS = 50
"""Assumed tokens per message, for statistics of a number of messages without texts."""
STEP_MESSAGES = 64
"""Messages noted before the event loop runs other tasks: 2 ms."""


def check_count(name: str, value: int, *, minimum: int) -> int:
    """`value`, if it is an int of at least `minimum`.

    Raises:
        ValueError: it is not; the message names the argument.
    """
    if not isinstance(value, int) or isinstance(value, bool) or value < minimum:
        raise ValueError(f"{name} must be an integer of at least {minimum}, not {value!r}")
    return value


def check_flag(name: str, value: bool) -> bool:
    """`value`, if it is a bool.

    Raises:
        ValueError: it is not; the message names the argument.
    """
    if not isinstance(value, bool):
        raise ValueError(f"{name} must be True or False, not {value!r}")
    return value


def check_share(name: str, value: float) -> float:
    """`value`, if it is a number from 0 to 1.

    Raises:
        ValueError: it is not; the message names the argument.
    """
    if not isinstance(value, int | float) or isinstance(value, bool) or not 0 <= value <= 1:
        raise ValueError(f"{name} must be a number from 0 to 1, not {value!r}")
    return float(value)


@dataclass(frozen=True, slots=True, kw_only=True)
class ContextLimits:
    max_messages: float = inf
    token_limit: float = inf
    counter: CachedTokenCounter | None = None
    """Counter of the tokens; None if there is no token limit."""


class Composable(ContextManagement):
    """Base class of strategies that can be used alone or as a part of a CombinedContext.

    A subclass overrides the methods from `limits` to `degraded` that it needs.
    """

    name: ClassVar[str] = ""
    """Name in statistics."""
    keeps_fitting_history: bool = True
    """False: drops messages even if the whole history fits, to keep contexts short."""
    allows_stable_prefix: bool = False
    """True: within a token limit, a selection may be kept for several turns (stable_prefix.py);
    only `reserve`, `earliest_tool_index` and `add_summary` are called for it."""
    quotes: bool = False
    """True: `relevant_blocks` finds what is quoted before a question, if the rest is stable."""
    _latest_prompt: str | None = None
    """System prompt of the latest call: `prepare` and `work_ahead` are not told it."""
    reads_notes: bool = True
    """False: does not use the notes of a history, so that nothing has to be prepared."""

    @property
    def parts(self) -> tuple[Composable, ...]:
        """Strategies that fill the context together; itself, unless it is a composition."""
        return (self,)

    @property
    def filters(self) -> tuple[ContextManagement, ...]:
        """Strategies of other programs, applied first: the parts do not see what they drop."""
        return ()

    def limits(self) -> ContextLimits:
        """Limits of the kept messages; by default there are none."""
        return ContextLimits()

    def reserve(self, draft: ContextDraft) -> None:
        """Reserve budget for what `add_summary` writes."""

    def select_important(self, draft: ContextDraft) -> None:
        """Keep what is more important than the newest messages."""

    def select_more(self, draft: ContextDraft) -> None:
        """Keep more of the important messages, in budget that the newest ones do not need."""

    def relevant_blocks(self, notes: HistoryNotes, question: str) -> Iterable[Block]:
        """Return the noted blocks that matter for the question, the best first."""
        return ()

    def earliest_index(self, draft: ContextDraft) -> int:
        """Return the earliest index of the newest messages."""
        return 0

    def earliest_tool_index(self, draft: ContextDraft) -> int:
        """Return the earliest index of tool exchanges that are kept only because they are new."""
        return 0

    @property
    def prefers_talk(self) -> bool:
        """True if the remaining budget is for messages other than tool exchanges."""
        return False

    def add_summary(self, draft: ContextDraft) -> None:
        """Write a summary of the dropped messages."""

    async def prepare_notes(self, notes: HistoryNotes, question: str) -> None:
        """Do this part's work for `prepare`; called if the history does not fit."""

    async def prepare_notes_ahead(self, notes: HistoryNotes) -> None:
        """Do this part's work for `work_ahead`; called if the history does not fit."""

    def describe(self, stats: ContextStats) -> None:
        """Add the options of this part to the statistics."""

    def degraded(self, draft: ContextDraft) -> str:
        """Return what this context had to do without; empty if nothing."""
        return ""

    def apply_context_strategy(
        self, messages: list[ContextMessage], system_prompt: str | None = None
    ) -> list[ContextMessage]:
        self._latest_prompt = system_prompt
        kept = self._build_draft(messages, system_prompt).result()
        return with_system_prompt(kept, system_prompt)

    def get_stats(self, total_messages: int) -> ContextStats:
        total = check_count("total_messages", total_messages, minimum=0)
        limits = self._limits()
        kept = int(min(total, limits.max_messages, limits.token_limit // TYPICAL_TOKENS))
        names = [one.name for one in self.parts] + [type(one).__name__ for one in self.filters]
        stats = ContextStats(
            strategy="+".join(names),
            total_messages=total,
            messages_in_context=kept,
            messages_dropped=total - kept,
        )
        for part in self.parts:
            part.describe(stats)
        return stats

    def stats_of(
        self, messages: list[ContextMessage], system_prompt: str | None = None
    ) -> ContextStats:
        draft = self._build_draft(messages, system_prompt)
        total = len(messages) - leading_system_messages(messages)
        stats = self.get_stats(total)
        stats["messages_in_context"] = draft.kept_messages
        stats["messages_dropped"] = total - stats["messages_in_context"]
        stats["messages_cut"] = draft.truncated_messages
        stats["summarised_messages"] = draft.summarised_messages
        lacks = dict.fromkeys(part.degraded(draft) for part in self.parts)
        stats["degraded"] = ", ".join(filter(None, lacks))
        limits = self._limits()
        if limits.counter is not None:
            context = with_system_prompt(draft.result(), system_prompt)
            stats["tokens_in_context"] = limits.counter.messages(context)
            stats["is_over_limit"] = stats["tokens_in_context"] > limits.token_limit
        return stats

    @property
    def has_preparations(self) -> bool:
        kind, usual = type(self), Composable
        if kind.prepare is not usual.prepare or kind.work_ahead is not usual.work_ahead:
            return True
        return bool(self.filters) or any(part.reads_notes for part in self.parts)

    async def prepare(self, messages: Sequence[ContextMessage]) -> None:
        for one in self.filters:
            await one.prepare(messages)
        draft = await self._note_history(messages, is_ahead=False)
        if draft is not None:
            for part in self.parts:
                await part.prepare_notes(draft.followed.notes, draft.question)

    async def work_ahead(self, messages: Sequence[ContextMessage]) -> None:
        for one in self.filters:
            await one.work_ahead(messages)
        draft = await self._note_history(messages, is_ahead=True)
        if draft is not None:
            for part in self.parts:
                await part.prepare_notes_ahead(draft.followed.notes)

    async def _note_history(
        self, messages: Sequence[ContextMessage], *, is_ahead: bool
    ) -> ContextDraft | None:
        """Note the history; None if it fits, or if no part reads notes. `is_ahead`: also what
        follows a stable selection, for the next one."""
        if not any(part.reads_notes for part in self.parts):
            return None
        # Imported here: it takes as long to import as the rest of this package.
        import asyncio

        draft = self._new_draft(self._apply_filters(list(messages)), self._latest_prompt)
        stop = draft.question_index
        if self._has_stable_prefix(draft):
            if not draft.is_followed and self._keeps_all(draft):
                return None
            walked = walk_history(draft, self.parts)
            noted = walked.noted
            if not is_ahead:
                stop = walked.question
        elif self._keeps_all(draft):
            return None
        else:
            noted = draft.followed
        for _ in draft.note_in_steps(noted, stop, STEP_MESSAGES):
            # Lets other tasks run between two steps.
            await asyncio.sleep(0)
        return draft

    def _build_draft(
        self, messages: list[ContextMessage], system_prompt: str | None
    ) -> ContextDraft:
        draft = self._new_draft(self._apply_filters(messages), system_prompt)
        retention = draft.retention
        has_stable_prefix = self._has_stable_prefix(draft)
        # A history that is followed already need not be counted again.
        if not (has_stable_prefix and draft.is_followed) and self._keeps_all(draft):
            draft.keep_everything()
            return draft
        if has_stable_prefix and fill_stable_context(draft, self.parts):
            return draft
        retention.keep_current_turn()
        # The rest of the current turn comes before anything older.
        if retention.budget.counter is not None:
            retention.keep_recent(oldest=draft.question_index)
        # First, or the newest messages would leave no room for a summary.
        for part in self.parts:
            part.reserve(draft)
        for part in self.parts:
            part.select_important(draft)
        self._keep_newest(draft)
        for part in self.parts:
            part.add_summary(draft)
        return draft

    def _has_stable_prefix(self, draft: ContextDraft) -> bool:
        """True for strategies without exact rules of their own that have a token limit."""
        budget = draft.retention.budget
        return (
            budget.counter is not None
            and budget.tokens >= MIN_TOKENS
            and budget.messages >= MIN_MESSAGES
            and not self.filters
            and all(part.allows_stable_prefix for part in self.parts)
        )

    def discard(self, messages: Sequence[ContextMessage]) -> None:
        for one in self.filters:
            one.discard(messages)
        self._histories.discard(messages)

    def _keep_newest(self, draft: ContextDraft) -> None:
        oldest = max(part.earliest_index(draft) for part in self.parts)
        if any(part.prefers_talk for part in self.parts):
            draft.retention.keep_recent_non_tool(oldest=oldest)
            return
        earliest_tool_index = max(part.earliest_tool_index(draft) for part in self.parts)
        draft.retention.keep_recent(oldest=oldest, earliest_tool_index=earliest_tool_index)
        if self._uses_whole_budget and (oldest or earliest_tool_index):
            for part in self.parts:
                part.select_more(draft)
            draft.retention.keep_recent(earliest_tool_index=earliest_tool_index)
            draft.retention.keep_recent()

    def _keeps_all(self, draft: ContextDraft) -> bool:
        return self._uses_whole_budget and draft.retention.fits_whole

    @property
    def _uses_whole_budget(self) -> bool:
        return all(part.keeps_fitting_history for part in self.parts)

    def _apply_filters(self, messages: list[ContextMessage]) -> list[ContextMessage]:
        for one in self.filters:
            messages = repair_history(messages, one)
        return messages

    def _new_draft(self, messages: list[ContextMessage], system_prompt: str | None) -> ContextDraft:
        limits = self._limits()
        budget = ContextBudget(
            messages=limits.max_messages, tokens=limits.token_limit, counter=limits.counter
        )
        if system_prompt and budget.counter:
            prompt = SystemMessage(role="system", content=system_prompt)
            # Retention charges the leading system messages: the prompt must not be counted twice.
            is_there = bool(messages) and messages[0] == prompt
            budget.tokens -= 0 if is_there else budget.counter.message(prompt)
        truncator = self._truncator(limits) if limits.counter else None
        retention = Retention(messages, budget, truncator=truncator)
        return ContextDraft(retention, self._histories, truncator)

    def _limits(self) -> ContextLimits:
        """The strictest limits of all parts; 20 messages if there are none."""
        every = [part.limits() for part in self.parts]
        strictest = min(every, key=lambda one: one.token_limit)
        messages = min(one.max_messages for one in every)
        if messages == inf and strictest.counter is None:
            messages = DEFAULT_MESSAGES
        return ContextLimits(
            max_messages=messages, token_limit=strictest.token_limit, counter=strictest.counter
        )

    def _truncator(self, limits: ContextLimits) -> Truncator | None:
        if limits.counter is None:
            return None
        known = self._truncators.get(limits.token_limit)
        if known is None:
            known = Truncator(int(limits.token_limit), limits.counter)
            self._truncators = {limits.token_limit: known}
        return known

    @cached_property
    def _histories(self) -> HistoryNotesCache:
        return HistoryNotesCache()

    @cached_property
    def _truncators(self) -> dict[float, Truncator]:
        return {}
