"""How often an agent answers in one room, so that programs there come to an end. Pure.

A chain of answers ends by their count (hops), by how many went to programs since a person last
said something, and at the latest by what one minute allows.
"""

from __future__ import annotations

from collections import Counter, deque
from enum import Enum, auto
from typing import TYPE_CHECKING

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
    """Bounded by what a minute allows."""

    def __init__(self, *, per_minute: int = PER_MINUTE, clock: Callable[[], float]) -> None:
        self._per_minute = per_minute
        self._clock = clock
        self._answered: deque[tuple[float, str]] = deque()
        self._refused: dict[str, float] = {}
        self._to_programs = 0

    def person_spoke(self) -> None:
        """A chain of programs is none any more."""
        self._to_programs = 0

    def verdict(self, asker: str, *, hops: int, is_program: bool) -> Verdict:
        """Counts what it allows."""
        self._forget_old()
        if is_program:
            return self._for_program(asker, hops)
        self.person_spoke()
        if not self._is_free_for(asker):
            return self._refusal(asker)
        self._note(asker)
        return Verdict.ANSWER

    def _for_program(self, asker: str, hops: int) -> Verdict:
        """A refusal would be one more thing to answer."""
        is_over = hops >= MAX_HOPS or self._to_programs >= MAX_TO_PROGRAMS
        if is_over or not self._is_free_for(asker):
            return Verdict.SILENCE
        self._to_programs += 1
        self._note(asker)
        return Verdict.ANSWER

    def _is_free_for(self, asker: str) -> bool:
        of_asker = Counter(who for _, who in self._answered)[asker]
        return len(self._answered) < self._per_minute and of_asker < PER_ASKER

    def _refusal(self, asker: str) -> Verdict:
        if asker in self._refused or len(self._refused) >= self._per_minute:
            return Verdict.SILENCE
        self._refused[asker] = self._clock()
        return Verdict.REFUSE

    def _note(self, asker: str) -> None:
        self._answered.append((self._clock(), asker))

    def _forget_old(self) -> None:
        before = self._clock() - MINUTE_S
        while self._answered and self._answered[0][0] <= before:
            self._answered.popleft()
        self._refused = {who: at for who, at in self._refused.items() if at > before}
