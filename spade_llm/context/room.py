"""How much still fits into a context: messages, tokens, both. Knows no strategy."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from spade_llm.context.counted import Counted
    from spade_llm.providers.messages import ContextMessage


@dataclass(frozen=True, slots=True)
class Cost:
    messages: int
    tokens: int


class Room:
    """Tokens are counted only where they have a limit."""

    def __init__(
        self, *, messages: float = inf, tokens: float = inf, counted: Counted | None = None
    ) -> None:
        """`counted`: needed for a limit of tokens."""
        self.messages = messages
        self.tokens = tokens
        self.counted = counted if tokens < inf else None

    @property
    def is_used_up(self) -> bool:
        return self.messages <= 0 or self.tokens <= 0

    def cost(self, messages: Sequence[ContextMessage]) -> Cost:
        tokens = self.counted.messages(messages) if self.counted else 0
        return Cost(len(messages), tokens)

    def has_for(self, cost: Cost) -> bool:
        return cost.messages <= self.messages and cost.tokens <= self.tokens

    def take(self, cost: Cost) -> None:
        """May leave less than nothing: the current turn is never left out."""
        self.messages -= cost.messages
        self.tokens -= cost.tokens

    def give_back(self, cost: Cost) -> None:
        self.messages += cost.messages
        self.tokens += cost.tokens

    def part(self, share: float) -> Room:
        """A room of its own, as large as this share of what is left."""
        return Room(
            messages=self.messages if self.messages == inf else int(self.messages * share),
            tokens=self.tokens if self.tokens == inf else int(self.tokens * share),
            counted=self.counted,
        )
