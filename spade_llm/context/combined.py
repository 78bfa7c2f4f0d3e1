"""CombinedContext: several strategies make one context. Knows none of them by name."""

from __future__ import annotations

from typing import TYPE_CHECKING

from spade_llm.context.composable import Composable
from spade_llm.context.no_management import NoContextManagement

if TYPE_CHECKING:
    from collections.abc import Sequence

    from spade_llm.context.strategy import ContextManagement


class CombinedContext(Composable):
    """Within the strictest of all limits; what a strategy claims, the next ones cannot.

    Strategies of your own are asked first: what they leave out, the others do not see.
    """

    name = "combined"

    def __init__(self, strategies: Sequence[ContextManagement]) -> None:
        """Raises ValueError if there is none."""
        if not strategies:
            raise ValueError("strategies must hold at least one strategy")
        ours = [one for one in strategies if isinstance(one, Composable)]
        self._parts = tuple(part for one in ours for part in one.parts) or (NoContextManagement(),)
        self._filters = tuple(
            own
            for one in strategies
            for own in (one.filters if isinstance(one, Composable) else (one,))
        )

    @property
    def parts(self) -> tuple[Composable, ...]:
        return self._parts

    @property
    def filters(self) -> tuple[ContextManagement, ...]:
        return self._filters
