"""Conversations, and questions whose answers are in known turns. Knows no file and no memory."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from datetime import datetime

ADVERSARIAL = "5"
"""About the wrong person: its evidence is what it was made from (category 5 of LoCoMo)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    id: str
    """With the conversation's name, so that no other's is the same."""
    session: str
    """The conversation that a memory is told."""
    speaker: str | None
    text: str
    """With the caption of the picture that was shared."""
    at: datetime
    role: str = "user"


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    text: str
    category: str
    evidence: frozenset[str]
    """Ids of turns of its conversation."""
    sessions: frozenset[str] = frozenset()
    """Those that its answer is in, where they are known by themselves."""
    at: datetime | None = None
    """When it is asked; None: now."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Conversation:
    """What one owner has heard."""

    name: str
    turns: tuple[Turn, ...]
    questions: tuple[Question, ...]
    """Those with evidence."""
