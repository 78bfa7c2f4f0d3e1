"""What one peer may spend on a day, and how many of its turns may run at the same time. Data."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from spade_llm.conversation.usage_ledger import Spent


@dataclass(frozen=True, slots=True, kw_only=True)
class PeerLimits:
    """None: no limit."""

    turns: int | None = None
    model_calls: int | None = None
    tool_calls: int | None = None
    tokens: int | None = None
    """Of prompts and answers together."""
    seconds: float | None = None
    """Of the model's time."""
    concurrent_turns: int | None = None

    @property
    def are_none(self) -> bool:
        return all(getattr(self, field.name) is None for field in fields(self))

    @property
    def in_words(self) -> str:
        """Empty if there are none."""
        texts = {
            "turns": "answers a day",
            "model_calls": "model calls a day",
            "tool_calls": "tool calls a day",
            "tokens": "tokens a day",
            "seconds": "seconds of the model a day",
            "concurrent_turns": "at the same time",
        }
        limits = ((getattr(self, name), text) for name, text in texts.items())
        return ", ".join(f"{limit:g} {text}" for limit, text in limits if limit is not None)

    def reached_by(self, spent: Spent) -> str | None:
        """The name of a limit of the day that nothing is left of."""
        amounts = {
            "turns": spent.turns,
            "model_calls": spent.model_calls,
            "tool_calls": spent.tool_calls,
            "tokens": spent.tokens,
            "seconds": spent.model_seconds,
        }
        limits = {name: getattr(self, name) for name in amounts}
        return next(
            (
                name
                for name, limit in limits.items()
                if limit is not None and amounts[name] >= limit
            ),
            None,
        )


NO_LIMITS = PeerLimits()


@dataclass(frozen=True, slots=True, kw_only=True)
class CrowdLimits:
    """Beside what each peer may spend: against many accounts of one who has no share left."""

    guest: PeerLimits = NO_LIMITS
    """Each guest."""
    domain: PeerLimits = NO_LIMITS
    """All of one other domain together."""
    all_guests: PeerLimits = NO_LIMITS
    """All guests together."""

    @property
    def are_none(self) -> bool:
        return self.guest.are_none and self.domain.are_none and self.all_guests.are_none


NO_CROWD_LIMITS = CrowdLimits()
