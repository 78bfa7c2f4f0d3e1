"""Filling: one context while it is made; what all parts of a strategy see of it. Knows no part."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from spade_llm.context.room import Cost

if TYPE_CHECKING:
    from collections.abc import Iterator

    from spade_llm.context.noted_histories import Noted, NotedHistories
    from spade_llm.context.retention import Retention
    from spade_llm.context.room import Room


class Filling:
    def __init__(self, retention: Retention, histories: NotedHistories) -> None:
        self.retention = retention
        self._histories = histories
        self.reserved = Cost(0, 0)
        """For a summary: there is one, by the first part that writes one."""
        self.summariser: object = None
        self.is_whole = False
        """Everything fits."""
        self.summarised: tuple[int, frozenset[int]] = (0, frozenset())
        """A summary stands for so many of the first noted blocks, but for these."""

    @cached_property
    def question_at(self) -> int:
        """Where the newest user message stands; behind the end if there is none."""
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
    def noted(self) -> Noted:
        """Of the turns before the current one."""
        retention = self.retention
        return self._histories.of(retention.messages, retention.first, self.question_at)

    def in_steps(self, size: int) -> Iterator[Noted]:
        """Note what has not been noted yet, by so many messages at a time."""
        retention = self.retention
        return self._histories.in_steps(retention.messages, retention.first, self.question_at, size)

    def share(self, part: float) -> Room:
        return self.retention.room.part(part)
