"""What one answer was built from: the record of a turn. Holds no text of memories or documents."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, datetime

MAX_CALLS = 64
"""Model calls and tool calls of one turn that its record names; beyond, they are only counted."""
MAX_NOTES = 16
MAX_NAME_CHARS = 64
MAX_WHY_CHARS = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelCall:
    model: str
    """The one that answered: a fallback's name, where it was one."""
    seconds: float
    prompt_tokens: int
    completion_tokens: int
    is_estimated: bool
    """No server has counted the tokens."""
    error: str = ""
    """Its kind, if there was no answer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolOutcome:
    name: str
    is_success: bool
    seconds: float
    why: str = ""
    """Of a failure."""


@dataclass(frozen=True, slots=True, kw_only=True)
class QuotedMemoryOfTurn:
    id: str
    kind: str
    """Its category or type; `message`: something that was said."""
    origin: str
    """How it came to be remembered (memory/store.py)."""
    since: date
    score: float


@dataclass(frozen=True, slots=True, kw_only=True)
class QuotedPassageOfTurn:
    place: str
    """Source, number of the passage, and page."""
    score: float


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnRecord:
    at: datetime
    seconds: float
    phases: tuple[tuple[str, float], ...] = ()
    """Seconds of each part of the work, by name; parts may run side by side."""
    models: tuple[ModelCall, ...] = ()
    tools: tuple[ToolOutcome, ...] = ()
    memories: tuple[QuotedMemoryOfTurn, ...] = ()
    passages: tuple[QuotedPassageOfTurn, ...] = ()
    history_messages: int = 0
    """Of this conversation, when the model was asked last."""
    read_messages: int = 0
    """Of those, what the context strategy gave it to read."""
    changes: tuple[str, ...] = ()
    """What changed the question or the answer, or answered instead of the model."""
    degraded: tuple[str, ...] = ()
    """What answered with less than it has."""
    missing: tuple[str, ...] = ()
    """What could not be asked."""
