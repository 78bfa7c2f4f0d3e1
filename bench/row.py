"""One line of the table: a figure of ours beside its baseline and its goal. Knows no benchmark."""

from __future__ import annotations

from dataclasses import dataclass


class WrongAnswer(Exception):
    """What was measured did not do what it should: fast and wrong is not fast."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Scale:
    """How much is measured: all of it, or just enough to see that it works (under 60 s)."""

    is_quick: bool

    def of(self, full: int, *, quick: int) -> int:
        return quick if self.is_quick else full


@dataclass(frozen=True, slots=True, kw_only=True)
class Goal:
    limit: float
    is_ratio: bool = False
    """The limit is for ours divided by the baseline."""

    def __str__(self) -> str:
        return f"≤ {self.limit:g}{' x' if self.is_ratio else ''}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    name: str
    unit: str
    ours: float
    baseline: float | None = None
    baseline_name: str = ""
    goal: Goal | None = None
    note: str = ""

    @property
    def ratio(self) -> float | None:
        return self.ours / self.baseline if self.baseline else None

    @property
    def is_met(self) -> bool | None:
        """None: there is no goal, or nothing to compare with."""
        value = self.ratio if self.goal and self.goal.is_ratio else self.ours
        return None if self.goal is None or value is None else value <= self.goal.limit


def check(is_right: bool, complaint: str) -> None:
    """Raises WrongAnswer."""
    if not is_right:
        raise WrongAnswer(complaint)
