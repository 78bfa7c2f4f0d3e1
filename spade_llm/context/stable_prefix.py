"""Stable prefix: a selection that only grows until its budget is passed (hysteresis), so that model
servers can reuse the beginning of a prompt (prompt caching).

Where a selection is cut depends on the messages of the history alone: a walk over it adds up their
tokens, and begins a new selection in the turn that passes the budget. So a history that was
followed turn by turn and one that is read at once give the same context.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import islice
from math import inf
from typing import TYPE_CHECKING

from spade_llm.context.salience import message_text
from spade_llm.providers.model import UserMessage
from spade_llm.providers.quoted_context import CONTEXT_NAME, quote_earlier

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from spade_llm.context.notes import Block, HistoryNotes
    from spade_llm.context.token_counter import Truncator
    from spade_llm.providers.model import ContextMessage

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
