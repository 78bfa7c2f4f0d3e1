"""Session context: recent messages and known facts as Markdown within a token budget."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Literal

from spade_llm.core.text import CHARS_PER_TOKEN, estimate_tokens, exceeds_line, single_line
from spade_llm.memory.sessions import SessionContext
from spade_llm.memory.validation import check_name, check_number
from spade_llm.search.memory_query import MemoryFilter, MemoryType

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from spade_llm.memory.contract import MemoryEntry, ObservedMessage, OwnedMemory

Language = Literal["en", "es"]

DEFAULT_TOKENS = 2000
MIN_TOKENS = 100
MAX_TOKENS = 8000
MAX_MESSAGES = 200
MAX_ENTRIES = 100
"""Looked at, of each type."""

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
    history = memory.history(session, limit=MAX_MESSAGES)
    messages, known = await asyncio.gather(history, _load_known(memory, session, types, subject))
    context = build_context(
        session, messages, known.texts(), max_tokens=max_tokens, language=language
    )
    has_more = known.has_more or len(messages) >= MAX_MESSAGES
    return replace(context, truncated=True) if has_more else context


def build_context(
    session: str,
    messages: Sequence[ObservedMessage],
    known: Mapping[MemoryType, Sequence[str]],
    *,
    max_tokens: int,
    language: Language,
) -> SessionContext:
    """`messages`: oldest first; `known`: of each type the most useful first. Pure."""
    budget = max_tokens * CHARS_PER_TOKEN
    sections = [
        _ContextSection(
            type=type,
            heading=headings[language],
            share=share,
            texts=_message_lines(messages) if type is None else known.get(type, ()),
            max_chars=_max_line_chars(budget, share, headings[language]),
        )
        for type, share, headings in SECTIONS
    ]
    _fill_sections(sections, budget)
    return _render_sections(session, sections)


def _max_line_chars(budget: int, share: float, heading: str) -> int:
    """Characters of one text: at least one fits into its section's share, and none fills it all."""
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
    person = subject or _subject_of(known)
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


def _subject_of(known: _KnownEntries) -> str | None:
    entries = (entry for entries in known.entries.values() for entry in entries)
    return next((entry.subject for entry in entries if entry.subject), None)


def _message_lines(messages: Sequence[ObservedMessage]) -> list[str]:
    """Newest first: what is cut is the oldest."""
    return [f"{one.speaker or one.role}: {one.content}" for one in reversed(messages)]


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
        """Characters that one line more takes, with what stands around it."""
        heading = 0 if self.kept else len(self.heading) + HEADING_OVERHEAD
        return heading + len(self._line(self.kept)) + len("\n")

    def take(self, room: int) -> int:
        """Keep lines while there is room; returns what they take."""
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


def _fill_sections(sections: Sequence[_ContextSection], room: int) -> None:
    """Give each section its share of the budget, then the rest to the sections in order."""
    budget = room
    for section in sections:
        room -= section.take(min(room, int(budget * section.share)))
    for section in sections:
        room -= section.take(room)


def _render_sections(session: str, sections: Sequence[_ContextSection]) -> SessionContext:
    shown = [section for section in sections if section.kept]
    text = "\n\n".join(section.text() for section in shown)
    return SessionContext(
        session_id=session,
        context_text=text,
        token_count=estimate_tokens(text),
        memory_types_included=tuple(section.type for section in shown if section.type),
        truncated=any(section.is_cut() for section in sections),
    )
