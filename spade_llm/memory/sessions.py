"""Sessions: history, statistics, search and clearing, and their records."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING

from spade_llm.memory.contract import ObservedMessage
from spade_llm.memory.validation import check_name, check_number
from spade_llm.search.memory_query import MemoryFilter, MemoryQuery, MemoryType, SearchMode

if TYPE_CHECKING:
    from spade_llm.memory.contract import OwnedMemory, ScoredMemory

DEFAULT_MESSAGES = 50
MAX_MESSAGES = 1000
DEFAULT_TOP_K = 5
MAX_TOP_K = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionContext:
    """Context for a model when a session continues."""

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
    """Number of all messages of the session."""
    left: int = 0
    """Number of requested older messages that did not fit into one remote response."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionCounts:
    """Counts of a session's data, or of what was deleted."""

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
    """Time at which it was true or said; else the time of storage. UTC."""
    metadata: Mapping[str, object] = field(default_factory=dict)
    """The entry's own."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionSearch:
    query: str
    results: tuple[SessionHit, ...]
    left_out: int = 0
    """Number of further hits that did not fit into one remote response."""


async def session_history(
    memory: OwnedMemory, session: str, *, limit: int = DEFAULT_MESSAGES, before: str | None = None
) -> SessionHistory:
    """The latest messages, or the latest of those before the message `before`.

    Raises InvalidArguments, naming the field.
    """
    check_name("session_id", session)
    check_number("limit", limit, 1, MAX_MESSAGES)
    messages, stats = await asyncio.gather(
        _latest_messages(memory, session, limit, before), memory.stats(session)
    )
    return SessionHistory(session_id=session, messages=tuple(messages), total_count=stats.messages)


async def session_statistics(memory: OwnedMemory, session: str) -> SessionCounts:
    """Raises InvalidArguments, naming the field."""
    check_name("session_id", session)
    stats = await memory.stats(session)
    return session_counts(session, stats.messages, stats.by_type, tokens=stats.message_tokens)


async def search_sessions(
    memory: OwnedMemory,
    query: str,
    *,
    top_k: int = DEFAULT_TOP_K,
    session: str | None = None,
    subject: str | None = None,
    with_messages: bool = False,
) -> SessionSearch:
    """Search sessions. `session` None: all sessions. `subject` None: any subject.

    Raises InvalidArguments, naming the field.
    """
    check_number("top_k", top_k, 1, MAX_TOP_K)
    if session is not None:
        check_name("session_id", session)
    wanted = MemoryQuery(
        text=query,
        mode=SearchMode.RECALL,
        limit=top_k,
        which=MemoryFilter(session=session, subject=subject),
        with_messages=with_messages,
    )
    found = await memory.search(wanted)
    return SessionSearch(
        query=query, results=tuple(map(_session_hit, found.hits)), left_out=found.left_out
    )


async def clear_session(memory: OwnedMemory, session: str) -> SessionCounts:
    """Remove the session's messages and memories; says how many there were.

    Raises InvalidArguments, naming the field.
    """
    check_name("session_id", session)
    cleared = await memory.forget_session(session)
    return session_counts(session, cleared.messages, cleared.by_type)


def session_counts(
    session: str, messages: int, by_type: Mapping[MemoryType, int], *, tokens: int = 0
) -> SessionCounts:
    return SessionCounts(
        session_id=session,
        messages=messages,
        tokens=tokens,
        semantic_facts=by_type.get(MemoryType.SEMANTIC, 0),
        episodic_summaries=by_type.get(MemoryType.EPISODIC, 0),
        profile_entries=by_type.get(MemoryType.PROFILE, 0),
        procedural_patterns=by_type.get(MemoryType.PROCEDURAL, 0),
    )


async def _latest_messages(
    memory: OwnedMemory, session: str, limit: int, before: str | None
) -> list[ObservedMessage]:
    """Latest messages, in as many pages as necessary: a remote page is limited to one message."""
    kept: list[ObservedMessage] = []
    while len(kept) < limit:
        first = kept[0].id if kept else before
        page = await memory.history(session, limit=limit - len(kept), before=first)
        if not page:
            break
        kept[:0] = page
    return kept


def _session_hit(hit: ScoredMemory) -> SessionHit:
    entry = hit.entry
    return SessionHit(
        content=entry.content,
        score=hit.score,
        session_id=entry.session,
        timestamp=entry.valid_at or entry.created_at,
        metadata=entry.metadata,
    )
