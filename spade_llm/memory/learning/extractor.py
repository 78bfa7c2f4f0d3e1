"""Extractor role: takes facts from an episode and names those that they supersede."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import datetime

    from spade_llm.memory.contract import MemoryDraft, MemoryEntry, ObservedMessage, SearchResult
    from spade_llm.search.memory_query import MemoryQuery


class KnownMemories(Protocol):
    """Search over the owner's existing memories."""

    async def search(self, query: MemoryQuery) -> SearchResult: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class EpisodeReading:
    """An episode, as it is read."""

    episode: MemoryEntry
    messages: tuple[ObservedMessage, ...]
    """Oldest first; their content is what was new in them, and may be empty."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ExtractedFacts:
    drafts: tuple[MemoryDraft, ...] = ()
    invalid: Mapping[str, datetime] = field(default_factory=dict)
    """Ids of entries that are true no longer, and when what ended them was said."""
    confirmed: tuple[str, ...] = ()
    """Ids of entries that say, in other words, what the episode says, too."""


class Extractor(Protocol):
    """Takes facts, preferences and patterns from an episode; changes nothing.

    Raises ModelError (a model's server), and what the known memories raise.
    """

    async def extract(self, reading: EpisodeReading, known: KnownMemories) -> ExtractedFacts: ...


def current_about_subject(
    reading: EpisodeReading, entries: Sequence[MemoryEntry]
) -> list[MemoryEntry]:
    """Those about the same person that are still held to be true: an episode may close no other."""
    subject = reading.episode.subject
    return [one for one in entries if one.subject == subject and one.invalid_at is None]
