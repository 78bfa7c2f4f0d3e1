"""ContextManagement role (the strategies' contract) and context statistics."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, NotRequired, TypedDict

from spade_llm.context.retention import ContextCost, Retention, leading_system_messages
from spade_llm.providers.quoted_context import CONTEXT_NAME

if TYPE_CHECKING:
    from spade_llm.context.notes import HistoryNotes, HistoryNotesCache, NotedHistory
    from spade_llm.context.retention import ContextBudget
    from spade_llm.context.stable_prefix import StableSelection
    from spade_llm.context.token_counter import Truncator
    from spade_llm.providers.model import ContextMessage


class ContextStats(TypedDict):
    """Statistics of a strategy for a history of `total_messages`, without the system prompt."""

    strategy: str
    """Name of the strategy; a composition joins the names of its parts with `+`."""
    total_messages: int
    messages_in_context: int
    """Number of messages kept. If only a number was given it is an estimate: whole exchanges change
    it a little, and messages of unusual length much."""
    messages_dropped: int
    conversations: NotRequired[int]
    """Number of conversations of an agent in RAM."""
    tokens_in_context: NotRequired[int]
    """System prompt, summary and messages; this key and the next four only of a real history."""
    is_over_limit: NotRequired[bool]
    """The system prompt and the current turn alone are more than the limit."""
    messages_cut: NotRequired[int]
    """Shown in part, with a note."""
    summarised_messages: NotRequired[int]
    degraded: NotRequired[str]
    """Missing resources: `vectors` (similarity by words), `model` (summary by words); empty if
    none."""

    max_messages: NotRequired[int]
    preserve_initial: NotRequired[int]
    prioritize_tools: NotRequired[bool]
    token_limit: NotRequired[int]
    token_counter: NotRequired[str]
    """Name of the tokenizer, or `estimate`."""
    tokens_are_exact: NotRequired[bool]
    similarity_threshold: NotRequired[float]
    similarity_by: NotRequired[str]
    """`vectors`, or `words` where there is no embedder."""
    summary_tokens: NotRequired[int]
    summary_by: NotRequired[str]
    """`model`, or `words` where there is none."""
    min_messages: NotRequired[int]


class ContextManagement(ABC):
    """Chooses messages; never reorders or merges them.

    The same messages give the same context, given what was prepared.
    """

    @abstractmethod
    def apply_context_strategy(
        self, messages: list[ContextMessage], system_prompt: str | None = None
    ) -> list[ContextMessage]:
        """The messages for the model, as a new list in the order of the history.

        `system_prompt`, if given, comes first, once.
        """

    @abstractmethod
    def get_stats(self, total_messages: int) -> ContextStats:
        """Estimate how many of `total_messages` messages would be kept and dropped. Raises
        ValueError: `total_messages` is negative."""

    @property
    def has_preparations(self) -> bool:
        """False: `prepare` and `work_ahead` do nothing, so that the caller need not await them."""
        kind, nothing = type(self), ContextManagement
        return kind.prepare is not nothing.prepare or kind.work_ahead is not nothing.work_ahead

    async def prepare(self, messages: Sequence[ContextMessage]) -> None:
        """Prepare the selection before a turn with optional data, such as vectors.

        It has a short deadline, and may be cancelled at any point; the next call continues. A
        strategy also works without it, and reports in its statistics that it is degraded.
        """
        return

    async def work_ahead(self, messages: Sequence[ContextMessage]) -> None:
        """Work between turns that takes a model's time, such as a summary.

        Raises ModelError if a model fails; nothing is lost.
        """
        return

    def discard(self, messages: Sequence[ContextMessage]) -> None:
        """Drop what is kept of the history with these messages: it has ended, or something in it
        must be forgotten."""
        return

    def stats_of(
        self, messages: list[ContextMessage], system_prompt: str | None = None
    ) -> ContextStats:
        """Compute the statistics of this history."""
        kept = self.apply_context_strategy(messages, system_prompt)
        total = len(messages) - leading_system_messages(messages)
        stats = self.get_stats(total)
        stats["messages_in_context"] = len(kept) - leading_system_messages(kept)
        stats["messages_dropped"] = max(0, total - stats["messages_in_context"])
        return stats


class ContextDraft:
    """Context under construction, shared by the parts of a strategy."""

    def __init__(
        self, retention: Retention, histories: HistoryNotesCache, truncator: Truncator | None
    ) -> None:
        self.retention = retention
        self._histories = histories
        self._truncator = truncator
        self.reserved = ContextCost(0, 0)
        """Budget reserved for the summary by the first part that writes one."""
        self.summariser: object = None
        self.fits = False
        """True if the whole history fits."""
        self.summarised: tuple[int, frozenset[int]] = (0, frozenset())
        """Number of leading noted blocks that the summary covers, and those of them also shown."""
        self.stable: StableSelection | None = None
        """Selection that stays the same in later turns; the context is `shown` then."""
        self.shown: list[ContextMessage] = []
        self.appended = 0
        """Number of messages of the history behind the stable selection."""

    @property
    def truncator(self) -> Truncator:
        """Truncator for the token limit, which there must be."""
        if self._truncator is None:
            raise ValueError("this context has no token limit")
        return self._truncator

    @cached_property
    def question_index(self) -> int:
        """Index of the newest user message; the length of the history if there is none."""
        return self.retention.question

    @cached_property
    def question(self) -> str:
        messages = self.retention.messages
        at = self.question_index
        return messages[at]["content"] or "" if at < len(messages) else ""

    @property
    def summarised_messages(self) -> int:
        stop, shown = self.summarised
        blocks = self.noted_history.notes.blocks[:stop] if stop else []
        return sum(len(block.indexes) for i, block in enumerate(blocks) if i not in shown)

    @cached_property
    def noted_history(self) -> NotedHistory:
        """Notes of the turns before the current one."""
        noted = self.followed
        self.note(noted, self.question_index)
        return noted

    @cached_property
    def followed(self) -> NotedHistory:
        """Notes of the history, with nothing more noted."""
        retention = self.retention
        return self._histories.extend(
            self._found, retention.messages, retention.first, self.question_index
        )

    @property
    def is_followed(self) -> bool:
        """True if there are notes of the history."""
        return bool(self._found[0].messages)

    @cached_property
    def _found(self) -> tuple[HistoryNotes, int]:
        retention = self.retention
        return self._histories.find(retention.messages, retention.first, self.question_index)

    def note_in_steps(self, noted: NotedHistory, stop: int, size: int) -> Iterator[None]:
        """Note the messages before index `stop` of the history, about `size` at a time."""
        return self._histories.note_in_steps(noted, stop, size)

    def note(self, noted: NotedHistory, stop: int) -> None:
        for _ in self.note_in_steps(noted, stop, stop):
            pass

    def of(self, retention: Retention, noted: NotedHistory) -> ContextDraft:
        """Draft of a part of the same history, with notes that belong to it."""
        draft = ContextDraft(retention, self._histories, self._truncator)
        draft.noted_history = noted
        return draft

    def result(self) -> list[ContextMessage]:
        return self.retention.result() if self.stable is None else self.shown

    @property
    def kept_messages(self) -> int:
        if self.stable is None:
            return self.retention.kept_messages()
        return self.stable.kept + self.appended

    @property
    def truncated_messages(self) -> int:
        if self.stable is None:
            return self.retention.truncated_messages
        said = {id(one) for one in self.retention.messages}
        return sum(id(one) not in said and one.get("name") != CONTEXT_NAME for one in self.shown)

    def keep_everything(self) -> None:
        self.retention.keep_everything()
        self.fits = True

    def share(self, part: float) -> ContextBudget:
        return self.retention.budget.part(part)
