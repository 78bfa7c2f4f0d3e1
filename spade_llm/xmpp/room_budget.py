"""Limits of how often an agent answers in one room, so that exchanges of programs end.

A chain of answers ends by their count (hops), by how many went to programs since a person last
said something, and at the latest by what one minute allows.
"""

from __future__ import annotations

from enum import Enum, auto
from typing import TYPE_CHECKING

from spade_llm.core.limits import SlidingWindow

if TYPE_CHECKING:
    from collections.abc import Callable

MAX_HOPS = 4
"""Of a chain of programs' answers: what has come so far is not answered."""
MAX_TO_PROGRAMS = 4
"""Answers to programs since a person said something in the room."""
PER_MINUTE = 20
"""Answers in one room."""
PER_ASKER = 8
"""Of those, to one occupant."""
MINUTE_S = 60.0


class Verdict(Enum):
    ANSWER = auto()
    REFUSE = auto()
    """Say so in a sentence: once a minute for each occupant."""
    SILENCE = auto()


class RoomBudget:
    """Limits the answers in one room: per minute (sliding window), per chain of programs."""

    def __init__(self, *, per_minute: int = PER_MINUTE, clock: Callable[[], float]) -> None:
        self._per_minute = per_minute
        self._answered: SlidingWindow[str] = SlidingWindow(MINUTE_S, clock)
        self._refused: SlidingWindow[str] = SlidingWindow(MINUTE_S, clock)
        self._to_programs = 0

    def person_spoke(self) -> None:
        """A chain of programs is none any more."""
        self._to_programs = 0

    def verdict(self, asker: str, *, hops: int, is_program: bool) -> Verdict:
        """Counts what it allows."""
        if is_program:
            return self._for_program(asker, hops)
        self.person_spoke()
        if not self._is_free_for(asker):
            return self._refusal(asker)
        self._answered.add(asker)
        return Verdict.ANSWER

    def _for_program(self, asker: str, hops: int) -> Verdict:
        """A refusal would be one more thing to answer."""
        is_over = hops >= MAX_HOPS or self._to_programs >= MAX_TO_PROGRAMS
        if is_over or not self._is_free_for(asker):
            return Verdict.SILENCE
        self._to_programs += 1
        self._answered.add(asker)
        return Verdict.ANSWER

    def _is_free_for(self, asker: str) -> bool:
        is_free = self._answered.count() < self._per_minute
        return is_free and self._answered.count(asker) < PER_ASKER

    def _refusal(self, asker: str) -> Verdict:
        if self._refused.count(asker) or self._refused.count() >= self._per_minute:
            return Verdict.SILENCE
        self._refused.add(asker)
        return Verdict.REFUSE
