"""Stable context: selection, what was said since, quotes for the question, and the current turn."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from spade_llm.context.retention import ContextBudget, Retention
from spade_llm.context.stable_prefix import (
    PrefixLimits,
    PrefixWalk,
    StableSelection,
    quote_blocks,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from spade_llm.context.composable import Composable
    from spade_llm.context.draft import ContextDraft
    from spade_llm.context.notes import NotedHistory
    from spade_llm.providers.model import ContextMessage, UserMessage


@dataclass(frozen=True, slots=True, kw_only=True)
class WalkedHistory:
    """History with the place of its stable selection."""

    noted: NotedHistory
    limits: PrefixLimits
    walk: PrefixWalk
    is_passed: bool
    """True if the current turn needs a new selection."""

    @property
    def is_cut(self) -> bool:
        """False: everything fits so far."""
        return self.is_passed or self.walk.is_cut

    @property
    def start(self) -> int:
        """Index of the question for which the selection is made, among the noted messages."""
        return len(self.noted.notes.messages) if self.is_passed else self.walk.start

    @property
    def question(self) -> int:
        """Its index in the history."""
        return self.start + self.noted.offset


def walk_history(draft: ContextDraft, parts: Sequence[Composable]) -> WalkedHistory:
    """Read the messages since the last call. Further messages are not noted."""
    retention, noted = draft.retention, draft.followed
    limits = PrefixLimits(
        tokens=int(retention.budget.tokens),
        messages=retention.budget.messages,
        has_quotes=any(part.quotes for part in parts),
    )
    walks, first = noted.notes.walks, noted.first - noted.offset
    walk = walks.get(limits)
    if walk is None or walk.start < first:
        # New, or the history has lost what followed the selection.
        walk = walks[limits] = PrefixWalk(limits, draft.truncator, start=first)
    walk.read(noted.notes.messages)
    turn = retention.messages[draft.question_index :]
    return WalkedHistory(noted=noted, limits=limits, walk=walk, is_passed=walk.is_passed_by(turn))


def fill_stable_context(draft: ContextDraft, parts: Sequence[Composable]) -> bool:
    """Fill the context; False if the current turn leaves no room for the selection."""
    walked = walk_history(draft, parts)
    limits, retention, counter = walked.limits, draft.retention, draft.truncator.counter
    turn = retention.messages[draft.question_index :]
    tokens, count = counter.messages(turn), len(turn)
    shown: list[ContextMessage] = []
    if not walked.is_passed:
        shown = walked.walk.shown
        tokens, count = tokens + walked.walk.tokens, count + len(shown)
    if not walked.is_cut:
        fits = limits.allow(tokens, count, is_cut=False)
        if fits:
            draft.keep_everything()
        return fits
    selection = _selection(draft, walked, parts)
    quotation = _quotation(draft, walked, selection, parts)
    quotes = [] if quotation is None else [quotation]
    tokens += selection.tokens + counter.messages(quotes)
    if not limits.allow(tokens, count + len(selection.messages) + len(quotes), is_cut=False):
        return False
    system = retention.messages[: retention.first]
    draft.noted_history, draft.summarised = walked.noted, selection.summarised
    draft.stable, draft.appended = selection, count
    draft.shown = [*system, *selection.messages, *shown, *quotes, *turn]
    return True


def _selection(
    draft: ContextDraft, walked: WalkedHistory, parts: Sequence[Composable]
) -> StableSelection:
    """The selection as it was made, made again if it is not known."""
    noted, key = walked.noted, (walked.limits, walked.start)
    known = noted.notes.selections.get(key)
    # A history may lose its beginning.
    if known is not None and known.oldest + noted.offset >= noted.first:
        return known
    if any(part.reads_notes for part in parts):
        draft.note(noted, walked.question)
    made = noted.notes.selections[key] = _select(draft, walked, parts)
    return made


def _select(
    draft: ContextDraft, walked: WalkedHistory, parts: Sequence[Composable]
) -> StableSelection:
    """Summary and newest messages before the question, within the share of the budget."""
    noted, limits, counter = walked.noted, walked.limits, draft.truncator.counter
    messages = draft.retention.messages[: walked.question + 1]
    budget = ContextBudget(tokens=limits.tokens, counter=counter)
    retention = Retention(messages, budget, truncator=draft.truncator)
    # The question is charged, but no part of the selection; nor are the system messages.
    question = messages[walked.question :]
    budget.messages = limits.selected_messages + len(question)
    budget.tokens = limits.selected_tokens + counter.messages(question)
    selected = draft.of(retention, noted)
    retention.keep_current_turn()
    for part in parts:
        part.reserve(selected)
    earliest_tool_index = max(part.earliest_tool_index(selected) for part in parts)
    retention.keep_recent(earliest_tool_index=earliest_tool_index)
    retention.keep_recent()
    for part in parts:
        part.add_summary(selected)
    kept = [one for one in retention.kept_blocks if one[0].stop <= walked.question]
    shown = (*retention.generated, *(message for _, block in kept for message in block))
    starts = [block.start - noted.offset for block, _ in kept]
    return StableSelection(
        messages=shown,
        tokens=counter.messages(shown),
        kept=len(shown) - len(retention.generated),
        oldest=min(starts, default=walked.start),
        starts=frozenset(starts),
        summarised=selected.summarised,
    )


def _quotation(
    draft: ContextDraft,
    walked: WalkedHistory,
    selection: StableSelection,
    parts: Sequence[Composable],
) -> UserMessage | None:
    """What matters for the question and is not in the context otherwise, as a quotation that stays
    the same for the whole turn."""
    noted, limits, notes = walked.noted, walked.limits, walked.noted.notes
    # The length tells apart equal questions.
    key = (limits, walked.start, len(notes.messages), draft.question)
    if key not in notes.quotations:
        blocks = (
            block
            for part in parts
            if part.quotes
            for block in part.relevant_blocks(notes, draft.question)
            if block.indexes.start < walked.start
            and block.indexes.start not in selection.starts
            and noted.locate(block) is not None
        )
        notes.quotations[key] = quote_blocks(notes, blocks, draft.truncator, limits.quoted_tokens)
    return notes.quotations[key]
