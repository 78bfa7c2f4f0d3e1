"""What an episode is read for: facts, and what they close. The Extractor role and its records."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Sequence

    from spade_llm.memory.store import Found, MemoryDraft, MemoryEntry, MemoryQuery, ObservedMessage


class KnownMemories(Protocol):
    """What the owner knows already."""

    async def search(self, query: MemoryQuery) -> Found: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """An episode, as it is read."""

    episode: MemoryEntry
    messages: tuple[ObservedMessage, ...]
    """Oldest first; their content is what was new in them, and may be empty."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Learned:
    drafts: tuple[MemoryDraft, ...] = ()
    invalid: tuple[str, ...] = ()
    """Ids of entries that are true no longer."""


class Extractor(Protocol):
    """Takes facts, preferences and patterns from an episode; changes nothing.

    Raises ModelError (a model's server), and what the known memories raise.
    """

    async def extract(self, reading: Reading, known: KnownMemories) -> Learned: ...


def about(reading: Reading, entries: Sequence[MemoryEntry]) -> list[MemoryEntry]:
    """Those about the same person that are still held to be true: an episode may close no other."""
    subject = reading.episode.subject
    return [one for one in entries if one.subject == subject and one.invalid_at is None]
