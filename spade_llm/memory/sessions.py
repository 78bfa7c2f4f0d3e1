"""Sessions: history, statistics, search, clearing, and the context within a token budget."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Literal

from spade_llm.core.text import CHARS_PER_TOKEN, estimate_tokens, exceeds_line, single_line
from spade_llm.memory.contract import MemoryEntry, ObservedMessage, OwnedMemory
from spade_llm.memory.validation import check_name, check_number
from spade_llm.search.memory_query import MemoryFilter, MemoryQuery, MemoryType, SearchMode

DEFAULT_MESSAGES = 50
MAX_MESSAGES = 1000
DEFAULT_TOP_K = 5
MAX_TOP_K = 20


Language = Literal["en", "es"]

DEFAULT_TOKENS = 2000
MIN_TOKENS = 100
MAX_TOKENS = 8000
CONTEXT_MESSAGES = 200
MAX_ENTRIES = 100
"""Maximum number of entries read of each type."""

SECTIONS: tuple[tuple[MemoryType | None, float, Mapping[Language, str]], ...] = (
    # None is the conversation itself; the share is of the budget, what one leaves the others get.
    (None, 0.4, {"en": "## Recent History", "es": "## Historial Reciente"}),
    (MemoryType.SEMANTIC, 0.2, {"en": "## Key Facts", "es": "## Hechos Clave"}),
    (MemoryType.PROFILE, 0.2, {"en": "## User Profile", "es": "## Perfil del Usuario"}),
    (MemoryType.EPISODIC, 0.1, {"en": "## Episodes", "es": "## Resumen de Episodios"}),
    (MemoryType.PROCEDURAL, 0.1, {"en": "## Patterns", "es": "## Patrones"}),
)
MAX_LINE_SHARE = 0.2
"""Maximum share of the budget for one line, so that one long message cannot use it all."""
HEADING_OVERHEAD = len("\n\n\n\n")
LINE_OVERHEAD = len("- \n")
ALL_TYPES = tuple(MemoryType)
PERSON_TYPES = (MemoryType.PROFILE, MemoryType.PROCEDURAL)


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
    """Return the latest messages, or the latest of those before the message `before`.

    Raises InvalidArguments, naming the field.
    """
    check_name("session_id", session)
    check_number("limit", limit, 1, MAX_MESSAGES)
    messages, stats = await asyncio.gather(
        _latest_messages(memory, session, limit, before), memory.stats(session)
    )
    return SessionHistory(session_id=session, messages=tuple(messages), total_count=stats.messages)


async def session_statistics(memory: OwnedMemory, session: str) -> SessionCounts:
    """Count the data of a session. Raises InvalidArguments, naming the field."""
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
    hits = (
        SessionHit(
            content=hit.entry.content,
            score=hit.score,
            session_id=hit.entry.session,
            timestamp=hit.entry.valid_at or hit.entry.created_at,
            metadata=hit.entry.metadata,
        )
        for hit in found.hits
    )
    return SessionSearch(query=query, results=tuple(hits), left_out=found.left_out)


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


async def session_context(
    memory: OwnedMemory,
    session: str,
    *,
    max_tokens: int = DEFAULT_TOKENS,
    types: Sequence[MemoryType] = ALL_TYPES,
    subject: str | None = None,
    language: Language = "es",
) -> SessionContext:
    """Format the latest messages and the known memories as Markdown of at most `max_tokens`.

    `subject`: person in the session; None: the subject of the session's memories.

    Raises InvalidArguments, naming the field.
    """
    check_name("session_id", session)
    check_number("max_tokens", max_tokens, MIN_TOKENS, MAX_TOKENS)
    history = memory.history(session, limit=CONTEXT_MESSAGES)
    messages, known = await asyncio.gather(history, _load_known(memory, session, types, subject))
    context = build_context(
        session, messages, known.texts(), max_tokens=max_tokens, language=language
    )
    has_more = known.has_more or len(messages) >= CONTEXT_MESSAGES
    return replace(context, truncated=True) if has_more else context


def build_context(
    session: str,
    messages: Sequence[ObservedMessage],
    known: Mapping[MemoryType, Sequence[str]],
    *,
    max_tokens: int,
    language: Language,
) -> SessionContext:
    """Context from messages (oldest first) and known texts by type (most useful first). Pure."""
    budget = room = max_tokens * CHARS_PER_TOKEN
    # Newest first: what is cut is the oldest.
    said = [f"{one.speaker or one.role}: {one.content}" for one in reversed(messages)]
    sections = [
        _ContextSection(
            type=type,
            heading=headings[language],
            share=share,
            texts=said if type is None else known.get(type, ()),
            max_chars=_max_line_chars(budget, share, headings[language]),
        )
        for type, share, headings in SECTIONS
    ]
    # Each section gets its share of the budget, then the rest goes to the sections in order.
    for section in sections:
        room -= section.take(min(room, int(budget * section.share)))
    for section in sections:
        room -= section.take(room)
    shown = [section for section in sections if section.kept]
    text = "\n\n".join(section.text() for section in shown)
    return SessionContext(
        session_id=session,
        context_text=text,
        token_count=estimate_tokens(text),
        memory_types_included=tuple(section.type for section in shown if section.type),
        truncated=any(section.is_cut() for section in sections),
    )


def _max_line_chars(budget: int, share: float, heading: str) -> int:
    """Maximum length of a text: at least one fits its section's share, none fills it."""
    return int(
        min(
            budget * share - len(heading) - HEADING_OVERHEAD - LINE_OVERHEAD,
            budget * MAX_LINE_SHARE,
        )
    )


@dataclass(slots=True, kw_only=True)
class _KnownEntries:
    """Entries by type, the most useful first."""

    entries: dict[MemoryType, list[MemoryEntry]] = field(default_factory=dict)
    has_more: bool = False

    def texts(self) -> dict[MemoryType, list[str]]:
        return {type: [one.content for one in entries] for type, entries in self.entries.items()}

    def add(self, entries: Iterable[MemoryEntry]) -> None:
        for entry in entries:
            same_type = self.entries.setdefault(entry.type, [])
            if all(entry.id != other.id for other in same_type):
                same_type.append(entry)


async def _load_known(
    memory: OwnedMemory, session: str, types: Sequence[MemoryType], subject: str | None
) -> _KnownEntries:
    known = _KnownEntries()
    await _load_entries(memory, known, MemoryFilter(session=session), types)
    loaded = (entry for entries in known.entries.values() for entry in entries)
    person = subject or next((entry.subject for entry in loaded if entry.subject), None)
    if person is not None:
        wanted = [type for type in types if type in PERSON_TYPES]
        await _load_entries(memory, known, MemoryFilter(subject=person), wanted)
    return known


async def _load_entries(
    memory: OwnedMemory, known: _KnownEntries, where: MemoryFilter, types: Sequence[MemoryType]
) -> None:
    filters = [
        MemoryFilter(subject=where.subject, session=where.session, types=(type,)) for type in types
    ]
    pages = await asyncio.gather(*(memory.list(which, limit=MAX_ENTRIES) for which in filters))
    for page in pages:
        known.add(sorted(page.entries, key=lambda entry: -entry.importance))
        known.has_more |= page.total > len(page.entries)


@dataclass(slots=True, kw_only=True)
class _ContextSection:
    type: MemoryType | None
    heading: str
    share: float
    texts: Sequence[str]
    """The most useful first."""
    max_chars: int
    """Maximum length of one text in characters."""
    kept: int = 0
    used_chars: int = 0

    def next_cost(self) -> int:
        """Number of characters that one more line takes, with its separators."""
        heading = 0 if self.kept else len(self.heading) + HEADING_OVERHEAD
        return heading + len(self._line(self.kept)) + len("\n")

    def take(self, room: int) -> int:
        """Keep lines while there is room; return the number of characters that they take."""
        before = self.used_chars
        while self.kept < len(self.texts) and (cost := self.next_cost()) <= room:
            self.kept += 1
            self.used_chars += cost
            room -= cost
        return self.used_chars - before

    def text(self) -> str:
        lines = [self._line(number) for number in range(self.kept)]
        newest_last = lines[::-1] if self.type is None else lines
        return "\n".join([self.heading, "", *newest_last])

    def is_cut(self) -> bool:
        kept = self.texts[: self.kept]
        return len(kept) < len(self.texts) or any(exceeds_line(one, self.max_chars) for one in kept)

    def _line(self, number: int) -> str:
        return f"- {single_line(self.texts[number], self.max_chars)}"
