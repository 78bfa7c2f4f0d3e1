"""Options of one tool: bounds of its calls, and examples. Knows no tool."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypedDict

if TYPE_CHECKING:
    from collections.abc import Sequence

    from spade_llm.providers.model import ToolExample


class Options(TypedDict, total=False):
    """The keywords that a tool takes; each as in ToolOptions."""

    timeout_s: float | None
    max_concurrent: int | None
    max_result_chars: int | None
    needs_approval: bool
    asks_others: bool
    examples: Sequence[ToolExample]


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
    examples: Sequence[ToolExample] = ()
