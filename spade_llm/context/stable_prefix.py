"""Stable prefix: a selection that only grows until its budget is passed (hysteresis), so that model
servers can reuse the beginning of a prompt (prompt caching).

Where a selection is cut depends on the messages of the history alone: a walk over it adds up their
tokens, and begins a new selection in the turn that passes the budget. So a history that was
followed turn by turn and one that is read at once give the same context. The context is the
selection, what was said since, quotes for the question, and the current turn.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import islice
from math import inf
from typing import TYPE_CHECKING

from spade_llm.context.retention import ContextBudget, Retention
from spade_llm.context.salience import message_text
from spade_llm.providers.model import ContextMessage, UserMessage
from spade_llm.providers.quoted_context import CONTEXT_NAME, quote_earlier

if TYPE_CHECKING:
    from spade_llm.context.composable import Composable
    from spade_llm.context.notes import Block, HistoryNotes, NotedHistory
    from spade_llm.context.strategy import ContextDraft
    from spade_llm.context.token_counter import Truncator


MIN_TOKENS = 1000
"""Minimum budget for a stable prefix: model servers cache prompts from 1024 tokens on (OpenAI,
Anthropic), and less has no room for quotes."""
MIN_MESSAGES = 16
"""Minimum limit of messages for a stable prefix."""
KEPT_SHARE = 0.7
"""Share of the budget for a new selection and the quotes; what follows is appended to it."""
QUOTED_SHARE, MIN_QUOTED_TOKENS = 0.05, 256
"""Share of the budget for earlier messages quoted before the question, and its minimum."""
MAX_QUOTED_BLOCKS = 8
"""Maximum number of quoted blocks: four questions with their answers."""
MAX_QUOTE_SHARE = 0.4
"""Maximum share of one message in the quotes."""
MAX_KEPT_SELECTIONS = 2
"""Maximum number of selections kept for one history: the latest and the one before, or for two
limits."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PrefixLimits:
    """Limits of a context without its leading system messages."""

    tokens: int
    messages: float
    has_quotes: bool

    @property
    def quoted_tokens(self) -> int:
        """Maximum tokens of the quotes."""
        if not self.has_quotes:
            return 0
        return max(int(self.tokens * QUOTED_SHARE), MIN_QUOTED_TOKENS)

    @property
    def selected_tokens(self) -> int:
        """Maximum tokens of a new selection, with its summary."""
        return int(self.tokens * KEPT_SHARE) - self.quoted_tokens

    @property
    def selected_messages(self) -> float:
        """Maximum number of messages of a new selection, with its summary."""
        return self.messages if self.messages == inf else int((self.messages - 1) * KEPT_SHARE)

    def allow(self, tokens: int, messages: int, *, is_cut: bool) -> bool:
        """Check whether messages of this size may follow a selection, or be all there is."""
        if not is_cut:
            return tokens <= self.tokens and messages <= self.messages
        # inf - inf is no number. A message more is that of the quotes.
        has_room = self.messages == inf or messages < self.messages - self.selected_messages
        return has_room and tokens <= self.tokens - self.quoted_tokens - self.selected_tokens


class PrefixWalk:
    """Walk over a history that finds the turn in which its latest selection was made.

    It holds what follows that selection: at most what the limits allow, and one turn.
    """

    def __init__(self, limits: PrefixLimits, truncator: Truncator, *, start: int) -> None:
        self._limits = limits
        self._truncator = truncator
        self.start = start
        """Index of the first message behind the selection: the question for which it was made."""
        self.is_cut = False
        """False: all messages from `start` on fit, and nothing is selected."""
        self.end = start
        """Index behind the last message that was read."""
        self.shown: list[ContextMessage] = []
        """Messages from `start` to `end`, truncated as those of earlier turns."""
        self.tokens = 0
        self._turn = start

    def read(self, messages: Sequence[ContextMessage]) -> None:
        """Read the messages from `end` on."""
        for index in range(self.end, len(messages)):
            if messages[index]["role"] == "user":
                self._turn = index
            self._append(messages[index])
            if self._turn > self.start and not self._fits():
                self.start, self.is_cut, self.tokens, self.shown = self._turn, True, 0, []
                for one in messages[self._turn : index + 1]:
                    self._append(one)
        self.end = len(messages)

    def is_passed_by(self, turn: Sequence[ContextMessage]) -> bool:
        """Check whether the current turn needs a new selection."""
        shown = [*map(self._shown, turn)]
        counter = self._truncator.counter
        tokens = self.tokens + counter.messages(shown)
        fits = self._limits.allow(tokens, len(self.shown) + len(shown), is_cut=self.is_cut)
        return self.end > self.start and not fits

    def _append(self, message: ContextMessage) -> None:
        shown = self._shown(message)
        self.shown.append(shown)
        self.tokens += self._truncator.counter.message(shown)

    def _shown(self, message: ContextMessage) -> ContextMessage:
        return self._truncator.truncate_old([message])[0] if self.is_cut else message

    def _fits(self) -> bool:
        return self._limits.allow(self.tokens, len(self.shown), is_cut=self.is_cut)


@dataclass(frozen=True, slots=True, kw_only=True)
class StableSelection:
    """Selection from the messages before a question: a summary, and the newest of them."""

    messages: tuple[ContextMessage, ...]
    tokens: int
    kept: int
    """Number of messages of the history in it."""
    oldest: int
    """Index of the oldest of them among the noted messages."""
    starts: frozenset[int]
    """Indexes of the first messages of its blocks, among the noted messages."""
    summarised: tuple[int, frozenset[int]]
    """Number of leading noted blocks that its summary covers, and those of them also shown."""


def quote_blocks(
    notes: HistoryNotes, blocks: Iterable[Block], truncator: Truncator, tokens: int
) -> UserMessage | None:
    """Quote as many of these blocks as fit into `tokens`, the best first, in the order of the
    history; None if none fits."""
    counter, lines = truncator.counter, dict[int, list[str]]()
    left = tokens - counter.message(_quotation([]))
    for block in islice(blocks, MAX_QUOTED_BLOCKS):
        quoted = [
            truncator.truncate_text(_line(message), int(tokens * MAX_QUOTE_SHARE))
            for message in notes.messages[block.indexes.start : block.indexes.stop]
        ]
        # A line end beside each.
        cost = sum(counter.text(line) + 1 for line in quoted)
        if cost <= left:
            left -= cost
            lines[block.indexes.start] = quoted
    while lines:
        quotation = _quotation([line for start in sorted(lines) for line in lines[start]])
        if counter.message(quotation) <= tokens:
            return quotation
        # Together, texts may have some tokens more than alone: the least relevant one goes.
        lines.popitem()
    return None


def _quotation(lines: list[str]) -> UserMessage:
    return UserMessage(role="user", content=quote_earlier(lines), name=CONTEXT_NAME)


def _line(message: ContextMessage) -> str:
    speaker = message.get("name") if message["role"] == "user" else None
    return f"- {speaker or message['role']}: {' '.join(message_text(message).split())}"


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
    quotation = _quotation_for_question(draft, walked, selection, parts)
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


def _quotation_for_question(
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
