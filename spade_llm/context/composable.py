"""Composable: base class of strategies that share one context, and the context being built."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from math import inf
from typing import TYPE_CHECKING, ClassVar

from spade_llm.context.blocks import repair_history
from spade_llm.context.note_cache import HistoryNotesCache
from spade_llm.context.retention import ContextBudget, ContextCost, Retention
from spade_llm.context.strategy import (
    ContextManagement,
    ContextStats,
    leading_system_messages,
    with_system_prompt,
)
from spade_llm.context.truncation import Truncator
from spade_llm.providers.messages import SystemMessage

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from spade_llm.context.note_cache import NotedHistory
    from spade_llm.context.notes import HistoryNotes
    from spade_llm.context.token_counter import CachedTokenCounter
    from spade_llm.providers.messages import ContextMessage

DEFAULT_MESSAGES = 20
"""Maximum number of messages if no part of a composition has a limit."""
TYPICAL_TOKENS = 50
"""Assumed tokens per message, for statistics of a number of messages without texts."""
STEP_MESSAGES = 64
"""Noted at a time, before others get a turn: 2 ms."""


class ContextDraft:
    def __init__(self, retention: Retention, histories: HistoryNotesCache) -> None:
        self.retention = retention
        self._histories = histories
        self.reserved = ContextCost(0, 0)
        """Budget reserved for the summary by the first part that writes one."""
        self.summariser: object = None
        self.is_whole = False
        """Everything fits."""
        self.summarised: tuple[int, frozenset[int]] = (0, frozenset())
        """A summary stands for so many of the first noted blocks, but for these."""

    @cached_property
    def question_at(self) -> int:
        """Index of the newest user message; the length of the history if there is none."""
        return self.retention.question

    @cached_property
    def question(self) -> str:
        messages = self.retention.messages
        at = self.question_at
        return messages[at]["content"] or "" if at < len(messages) else ""

    @property
    def summarised_messages(self) -> int:
        stop, shown = self.summarised
        blocks = self.noted.notes.blocks[:stop] if stop else []
        return sum(len(block.place) for i, block in enumerate(blocks) if i not in shown)

    @cached_property
    def noted(self) -> NotedHistory:
        """Notes of the turns before the current one."""
        retention = self.retention
        return self._histories.of(retention.messages, retention.first, self.question_at)

    def in_steps(self, size: int) -> Iterator[NotedHistory]:
        """Note what has not been noted yet, by so many messages at a time."""
        retention = self.retention
        return self._histories.in_steps(retention.messages, retention.first, self.question_at, size)

    def share(self, part: float) -> ContextBudget:
        return self.retention.room.part(part)


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
    counted: CachedTokenCounter | None = None
    """Counter of the tokens; None if there is no token limit."""


class Composable(ContextManagement):
    """Base class of strategies that can be used alone or as a part of a CombinedContext.

    A subclass overrides the methods from `limits` to `degraded` that it needs.
    """

    name: ClassVar[str] = ""
    """Name in statistics."""
    keeps_all_that_fits: bool = True
    """False: leaves out what it need not, to keep contexts short."""
    reads_notes: bool = True
    """False: needs nothing that is noted of a history, so that nothing has to be prepared."""

    @property
    def parts(self) -> tuple[Composable, ...]:
        """Those that fill the context."""
        return (self,)

    @property
    def filters(self) -> tuple[ContextManagement, ...]:
        """Strategies of others: what they leave out is not looked at."""
        return ()

    def limits(self) -> ContextLimits:
        return ContextLimits()

    def reserve(self, filling: ContextDraft) -> None:
        """Take room for what `finish` writes."""

    def claim(self, filling: ContextDraft) -> None:
        """Keep what is more important than the newest messages."""

    def claim_rest(self, filling: ContextDraft) -> None:
        """Keep more of it, in room that the newest messages do not need."""

    def oldest(self, filling: ContextDraft) -> int:
        """Return the earliest index of the newest messages."""
        return 0

    def tools_from(self, filling: ContextDraft) -> int:
        """Return the earliest index of tool exchanges that are kept only because they are new."""
        return 0

    @property
    def fills_with_talk(self) -> bool:
        """True if the remaining budget is for messages other than tool exchanges."""
        return False

    def finish(self, filling: ContextDraft) -> None:
        """Write something of what was left out."""

    async def enrich(self, notes: HistoryNotes, question: str) -> None:
        """Part of `prepare`; the history does not fit."""

    async def enrich_ahead(self, notes: HistoryNotes) -> None:
        """Part of `work_ahead`; the history does not fit."""

    def describe(self, stats: ContextStats) -> None:
        """Write what this part was made with."""

    def degraded(self, filling: ContextDraft) -> str:
        """Return what this context had to do without; empty if nothing."""
        return ""

    def apply_context_strategy(
        self, messages: list[ContextMessage], system_prompt: str | None = None
    ) -> list[ContextMessage]:
        kept = self._filled(messages, system_prompt).retention.in_order()
        return with_system_prompt(kept, system_prompt)

    def get_stats(self, total_messages: int) -> ContextStats:
        total = check_count("total_messages", total_messages, minimum=0)
        limits = self._limits()
        kept = int(min(total, limits.max_messages, limits.token_limit // TYPICAL_TOKENS))
        stats = ContextStats(
            strategy="+".join([one.name for one in self.parts] + _filter_names(self.filters)),
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
        filling = self._filled(messages, system_prompt)
        retention = filling.retention
        total = len(messages) - leading_system_messages(messages)
        stats = self.get_stats(total)
        stats["messages_in_context"] = retention.kept_messages()
        stats["messages_dropped"] = total - stats["messages_in_context"]
        stats["messages_cut"] = retention.cut
        stats["summarised_messages"] = filling.summarised_messages
        lacks = dict.fromkeys(part.degraded(filling) for part in self.parts)
        stats["degraded"] = ", ".join(filter(None, lacks))
        limits = self._limits()
        if limits.counted is not None:
            context = with_system_prompt(retention.in_order(), system_prompt)
            stats["tokens_in_context"] = limits.counted.messages(context)
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
        filling = await self._noted(messages)
        if filling is not None:
            for part in self.parts:
                await part.enrich(filling.noted.notes, filling.question)

    async def work_ahead(self, messages: Sequence[ContextMessage]) -> None:
        for one in self.filters:
            await one.work_ahead(messages)
        filling = await self._noted(messages)
        if filling is not None:
            for part in self.parts:
                await part.enrich_ahead(filling.noted.notes)

    async def _noted(self, messages: Sequence[ContextMessage]) -> ContextDraft | None:
        """Note the history; None if it fits, or if no part reads notes."""
        if not any(part.reads_notes for part in self.parts):
            return None
        # Not above: it takes as long to import as all the rest.
        import asyncio

        filling = self._filling(self._narrowed(list(messages)), None)
        if self._keeps_all(filling):
            return None
        for _ in filling.in_steps(STEP_MESSAGES):
            await asyncio.sleep(0)
        return filling

    def _filled(self, messages: list[ContextMessage], system_prompt: str | None) -> ContextDraft:
        filling = self._filling(self._narrowed(messages), system_prompt)
        retention = filling.retention
        if self._keeps_all(filling):
            retention.keep_everything()
            filling.is_whole = True
            return filling
        retention.keep_current_turn()
        if retention.room.counted is not None:
            retention.keep_recent(oldest=filling.question_at)
        for part in self.parts:
            part.reserve(filling)
        for part in self.parts:
            part.claim(filling)
        self._keep_newest(filling)
        for part in self.parts:
            part.finish(filling)
        return filling

    def _keep_newest(self, filling: ContextDraft) -> None:
        oldest = max(part.oldest(filling) for part in self.parts)
        if any(part.fills_with_talk for part in self.parts):
            filling.retention.keep_recent_talk(oldest=oldest)
            return
        tools_from = max(part.tools_from(filling) for part in self.parts)
        filling.retention.keep_recent(oldest=oldest, tools_from=tools_from)
        if self._uses_all_room and (oldest or tools_from):
            for part in self.parts:
                part.claim_rest(filling)
            filling.retention.keep_recent(tools_from=tools_from)
            filling.retention.keep_recent()

    def _keeps_all(self, filling: ContextDraft) -> bool:
        return self._uses_all_room and filling.retention.has_all

    @property
    def _uses_all_room(self) -> bool:
        return all(part.keeps_all_that_fits for part in self.parts)

    def _narrowed(self, messages: list[ContextMessage]) -> list[ContextMessage]:
        for one in self.filters:
            messages = repair_history(messages, one)
        return messages

    def _filling(self, messages: list[ContextMessage], system_prompt: str | None) -> ContextDraft:
        limits = self._limits()
        room = ContextBudget(
            messages=limits.max_messages, tokens=limits.token_limit, counted=limits.counted
        )
        if system_prompt and room.counted:
            prompt = SystemMessage(role="system", content=system_prompt)
            is_there = bool(messages) and messages[0] == prompt
            room.tokens -= 0 if is_there else room.counted.message(prompt)
        cutting = self._cutting(limits) if limits.counted else None
        return ContextDraft(Retention(messages, room, cutting=cutting), self._histories)

    def _limits(self) -> ContextLimits:
        """The strictest of all; 20 messages if there is none."""
        every = [part.limits() for part in self.parts]
        strictest = min(every, key=lambda one: one.token_limit)
        messages = min(one.max_messages for one in every)
        if messages == inf and strictest.counted is None:
            messages = DEFAULT_MESSAGES
        return ContextLimits(
            max_messages=messages, token_limit=strictest.token_limit, counted=strictest.counted
        )

    def _cutting(self, limits: ContextLimits) -> Truncator | None:
        if limits.counted is None:
            return None
        known = self._cuttings.get(limits.token_limit)
        if known is None:
            known = Truncator(int(limits.token_limit), limits.counted)
            self._cuttings = {limits.token_limit: known}
        return known

    @cached_property
    def _histories(self) -> HistoryNotesCache:
        return HistoryNotesCache()

    @cached_property
    def _cuttings(self) -> dict[float, Truncator]:
        return {}


def _filter_names(filters: Sequence[ContextManagement]) -> list[str]:
    return [type(one).__name__ for one in filters]
