"""TurnLimits: what one turn may cost. Data only."""

from __future__ import annotations

from dataclasses import dataclass

from spade_llm.conversation.chosen import DEFAULT_TOKENS
from spade_llm.conversation.tool_calls import EXPIRY_S


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnLimits:
    """A turn that reaches one of them ends with what there is, and says which it was."""

    tool_rounds: int = 5
    """Of calling tools; then the model is asked once more, without tools, for the answer."""
    tool_calls: int = 24
    model_calls: int = 24
    """Every one: of the rounds, for the answer, and what is asked twice."""
    tokens: int | None = None
    """Prompts and answers of all calls of the model together, as its server counts them. It is
    asked no more once they are used up: the last call may go beyond."""
    seconds: float = 120.0
    """Without the time that a person is waited for."""
    approval_seconds: float = EXPIRY_S
    """How long a person's yes to a call is waited for."""
    recall_tokens: int = DEFAULT_TOKENS
    """Of quoted memories, estimated; 0: none."""
