"""What specs/4 §5 answers about a session, as records; a gateway turns them into JSON."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

from spade_llm.memory.store import MemoryType, ObservedMessage


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionContext:
    """What a model should know when a session goes on."""

    session_id: str
    context_text: str
    token_count: int
    """Estimated; never more than was asked for."""
    memory_types_included: tuple[MemoryType, ...]
    """Those that `context_text` has something of."""
    truncated: bool
    """There is more than fitted in."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionHistory:
    session_id: str
    messages: tuple[ObservedMessage, ...]
    """The latest, oldest first."""
    total_count: int
    """How many the session has in all."""
    left: int = 0
    """How many older ones were asked for that one answer from afar does not carry."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionCounts:
    """How much there is of a session, or how much of it was deleted."""

    session_id: str
    messages: int = 0
    tokens: int = 0
    """Estimated, of the messages; 0 where they were deleted."""
    semantic_facts: int = 0
    episodic_summaries: int = 0
    profile_entries: int = 0
    procedural_patterns: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionHit:
    content: str
    score: float
    """0…1."""
    session_id: str | None = None
    timestamp: datetime
    """When it was true or said; else when it was stored. UTC."""
    metadata: Mapping[str, object] = field(default_factory=dict)
    """The entry's own."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionSearch:
    query: str
    results: tuple[SessionHit, ...]
    left_out: int = 0
    """How many more were found that one answer from afar does not carry."""
