"""How the calls of one tool are bounded. Knows no tool."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypedDict


class Options(TypedDict, total=False):
    """The keywords that bound a tool's calls; each as in ToolOptions."""

    timeout_s: float | None
    max_concurrent: int | None
    max_result_chars: int | None
    needs_approval: bool
    asks_others: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolOptions:
    """None: as those of its toolbox."""

    timeout_s: float | None = None
    max_concurrent: int | None = None
    """Calls that run at the same time."""
    max_result_chars: int | None = None
    """A longer result is cut, or given in pages of this size."""
    needs_approval: bool = False
    """A person must say yes to each call first."""
    asks_others: bool = False
    """It waits for a person or another agent: a turn's own time stands still meanwhile."""
