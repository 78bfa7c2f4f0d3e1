"""History, statistics, search and clearing of a session (specs/4 §5.2–5.5), over any memory.

Knows no wire and no HTTP.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from spade_llm.memory.limits import check_name, check_number
from spade_llm.memory.session_records import (
    SessionCounts,
    SessionHistory,
    SessionHit,
    SessionSearch,
)
from spade_llm.memory.store import MemoryFilter, MemoryQuery, MemoryType, SearchMode

if TYPE_CHECKING:
    from collections.abc import Mapping

    from spade_llm.memory.backend import OwnedMemory
    from spade_llm.memory.store import ObservedMessage, ScoredMemory

DEFAULT_MESSAGES = 50
MAX_MESSAGES = 1000
DEFAULT_TOP_K = 5
MAX_TOP_K = 20


async def session_history(
    memory: OwnedMemory, session: str, *, limit: int = DEFAULT_MESSAGES, before: str | None = None
) -> SessionHistory:
    """The latest messages, or the latest of those before the message `before`.

    Raises InvalidArguments, naming the field.
    """
    check_name("session_id", session)
    check_number("limit", limit, 1, MAX_MESSAGES)
    messages, stats = await asyncio.gather(
        _latest(memory, session, limit, before), memory.stats(session)
    )
    return SessionHistory(session_id=session, messages=tuple(messages), total_count=stats.messages)


async def _latest(
    memory: OwnedMemory, session: str, limit: int, before: str | None
) -> list[ObservedMessage]:
    """In as many pages as it takes: from afar, one has what fits into a message."""
    kept: list[ObservedMessage] = []
    while len(kept) < limit:
        first = kept[0].id if kept else before
        page = await memory.history(session, limit=limit - len(kept), before=first)
        if not page:
            break
        kept[:0] = page
    return kept


async def session_statistics(memory: OwnedMemory, session: str) -> SessionCounts:
    """Raises InvalidArguments, naming the field."""
    check_name("session_id", session)
    stats = await memory.stats(session)
    return counts_of(session, stats.messages, stats.by_type, tokens=stats.message_tokens)


async def search_sessions(
    memory: OwnedMemory,
    query: str,
    *,
    top_k: int = DEFAULT_TOP_K,
    session: str | None = None,
    subject: str | None = None,
    with_messages: bool = False,
) -> SessionSearch:
    """In one session, or (None) in all; about one subject, or (None) about anybody.

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
    return SessionSearch(query=query, results=tuple(map(_hit, found.hits)), left_out=found.left_out)


async def clear_session(memory: OwnedMemory, session: str) -> SessionCounts:
    """Remove the session's messages and memories; says how many there were.

    Raises InvalidArguments, naming the field.
    """
    check_name("session_id", session)
    cleared = await memory.forget_session(session)
    return counts_of(session, cleared.messages, cleared.by_type)


def counts_of(
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


def _hit(hit: ScoredMemory) -> SessionHit:
    entry = hit.entry
    return SessionHit(
        content=entry.content,
        score=hit.score,
        session_id=entry.session,
        timestamp=entry.valid_at or entry.created_at,
        metadata=entry.metadata,
    )
