"""TokenBudget: the newest messages that fit into so many tokens, the system prompt counted."""

from __future__ import annotations

from typing import TYPE_CHECKING

from spade_llm.context.arguments import checked_count
from spade_llm.context.composable import Composable, Limits
from spade_llm.context.counted import Counted
from spade_llm.context.token_tables import counter_for

if TYPE_CHECKING:
    from spade_llm.context.strategy import ContextStats
    from spade_llm.context.token_counter import TokenCounter

MIN_TOKENS = 64


class TokenBudget(Composable):
    """Never more than `token_limit`, but for one case: the system messages, the newest question and
    the calls of the exchange behind it are more by themselves. Then they are all there is, results
    cut to a note, and the statistics say `is_over_limit`.

    A message of an earlier turn that takes more than an eighth is shown in part, with a note.
    """

    name = "token_budget"
    reads_notes = False

    def __init__(
        self,
        token_limit: int = 4000,
        *,
        model: str | None = None,
        counter: TokenCounter | None = None,
    ) -> None:
        """`model`: counts by its table if it is at hand (token_tables.py); `counter` wins."""
        self.token_limit = checked_count("token_limit", token_limit, minimum=MIN_TOKENS)
        self._counted = Counted(counter or counter_for(model))

    def limits(self) -> Limits:
        return Limits(token_limit=self.token_limit, counted=self._counted)

    def describe(self, stats: ContextStats) -> None:
        stats["token_limit"] = self.token_limit
        stats["token_counter"] = self._counted.counter.name
        stats["tokens_are_exact"] = self._counted.counter.is_exact
