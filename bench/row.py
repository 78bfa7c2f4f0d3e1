"""One line of the table: a figure of ours beside its baseline and its goal. Knows no benchmark."""

from __future__ import annotations

from dataclasses import dataclass


class WrongAnswer(Exception):
    """What was measured did not do what it should: fast and wrong is not fast."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Scale:
    """How much is measured: all of it, or just enough to see that it works (seconds)."""

    is_quick: bool

    def of(self, full: int, *, quick: int) -> int:
        return quick if self.is_quick else full


@dataclass(frozen=True, slots=True, kw_only=True)
class Goal:
    """What ours may be at most, or must be at least."""

    limit: float
    is_ratio: bool = False
    """The limit is for ours divided by the baseline."""
    is_least: bool = False

    def __str__(self) -> str:
        return f"{'≥' if self.is_least else '≤'} {self.limit:g}{' x' if self.is_ratio else ''}"

    def is_met_by(self, value: float) -> bool:
        return value >= self.limit if self.is_least else value <= self.limit


@dataclass(frozen=True, slots=True, kw_only=True)
class Spread:
    """How far single figures lie from their median, in the row's unit."""

    fastest: float
    p95: float
    count: int

    def __str__(self) -> str:
        return f"{figure(self.fastest)} – {figure(self.p95)}, n {self.count}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    name: str
    """Without the figures of a run: two runs are compared by it."""
    unit: str
    ours: float
    """The median, where there are several."""
    spread: Spread | None = None
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
        return None if self.goal is None or value is None else self.goal.is_met_by(value)


def figure(value: float) -> str:
    """Three digits, and no exponents."""
    return f"{value:.0f}" if abs(value) >= 100 else f"{value:.3g}"


def check(is_right: bool, complaint: str) -> None:
    """Raises WrongAnswer."""
    if not is_right:
        raise WrongAnswer(complaint)
