"""Contract of learning: the store's queue of what is to be learned, and the Extractor role."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from spade_llm.memory.contract import MemoryDraft, MemoryEntry, ObservedMessage, SearchResult
    from spade_llm.search.memory_query import MemoryQuery


TOPIC_METADATA_KEY = "topic"
"""The kind (in the metadata) of a pattern that says what is talked about, not how."""
MAX_EPISODES = 100
"""Maximum number of a person's episodes that are compared together."""
MAX_REFLECTED_FACTS = 100
MAX_REFLECTED_EPISODES = 20
"""Maximum number of a person's facts and episodes that one reflection reads."""
MIN_REFLECTED_FACTS = 3
"""Minimum number of facts that are reflected on."""


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
    """Facts of an episode, and the entries that they end or confirm."""

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


@dataclass(frozen=True, slots=True, kw_only=True)
class MessageRange:
    """Messages of one conversation that no episode holds yet, oldest first."""

    owner: str
    conversation: str
    subject: str | None
    messages: tuple[ObservedMessage, ...]
    is_closed: bool = False
    """Nothing will follow: its messages were cleared, and are there for the learner only."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EpisodeDraft:
    """Draft of an episode memory, and the first and last message that it covers."""

    draft: MemoryDraft
    first_message: str
    """Id."""
    last_message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class EpisodeWithMessages:
    """An episode and the messages that it was cut from, oldest first."""

    episode: MemoryEntry
    messages: tuple[ObservedMessage, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsentingPerson:
    """Episodes of one owner with a person that consents to learning from all of them together."""

    owner: str
    subject: str
    episodes: tuple[EpisodeWithMessages, ...]
    """Oldest first; of episodes that have been read, the newest MAX_EPISODES."""
    changed: int
    """Counts what was new about them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReflectionMaterial:
    """A person's memories with one owner, as a reflection reads them."""

    owner: str
    subject: str
    facts: tuple[MemoryEntry, ...]
    """Facts that hold, oldest first; the newest MAX_REFLECTED_FACTS."""
    episodes: tuple[MemoryEntry, ...]
    """Oldest first; the newest MAX_REFLECTED_EPISODES."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FactPair:
    """Two facts about one person."""

    changed: MemoryEntry
    """The fact that is closed or hidden."""
    kept: MemoryEntry
    """The fact that contradicts it, or says the same."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReflectionChanges:
    """Changes that a reflection proposes; the store checks them again."""

    closed: tuple[FactPair, ...] = ()
    merged: tuple[FactPair, ...] = ()
    summaries: Mapping[str, MemoryDraft] = field(default_factory=dict)
    """Summaries by theme, each with its sources."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LearningWork:
    """Work of the learner, as of one moment."""

    ranges: Sequence[MessageRange]
    """Conversations with messages that no episode holds, least recently used first; at most the
    oldest 400 messages of each."""
    episodes: Sequence[MemoryEntry]
    """Episodes from which no facts were extracted yet, oldest first."""
    people: Sequence[ConsentingPerson]
    """People with consent and new episodes."""


class LearningStore(Protocol):
    """Learning queue: conversations of all owners from which memories are still to be learned.
    Raises StorageFailed, Busy.

    Progress is committed together with the learned memories: after a crash nothing is learned twice
    and nothing is left out.
    """

    async def due(self, *, ranges: int = 16, episodes: int = 16, people: int = 4) -> LearningWork:
        """Return what is to be learned from now, at most so many of each."""

    async def save_episodes(
        self, message_range: MessageRange, episodes: Sequence[EpisodeDraft]
    ) -> Sequence[str]:
        """Add episodes and return the ids of their entries; their messages, up to the last one,
        leave the queue."""

    async def messages_of(self, episode: MemoryEntry) -> Sequence[ObservedMessage]:
        """Return the messages of an episode, oldest first, including messages that the person has
        cleared since; empty if the episode is gone."""

    async def recently_returned_messages(self, owner: str, ids: Sequence[str]) -> Mapping[str, str]:
        """Return the content of messages that searches of this owner returned recently, by the ids
        in those results. Older or deleted messages are missing."""

    async def save_facts(
        self,
        episode: MemoryEntry,
        drafts: Sequence[MemoryDraft],
        *,
        invalid: Mapping[str, datetime] | None = None,
        confirmed: Sequence[str] = (),
    ) -> Sequence[str]:
        """Add the facts of an episode (an equal entry is reinforced), end the validity of the
        entries `invalid` at the time at which what ends it was said, add the episode to the sources
        of the entries `confirmed`, and mark the episode as read; return the ids of the added
        entries. An entry that was said later than that stays valid.

        Nothing is stored if the episode is gone, or some of its messages were excluded from
        learning since it was listed; in that case it stays unread."""

    async def next_reflection(self, *, runs_per_day: int) -> ReflectionMaterial | None:
        """Return the memories of a consenting person with MIN_REFLECTED_FACTS facts about whom
        something is new, and count the run; None if there is none. Each person at most once a day
        (UTC), and all together `runs_per_day`, whatever comes of the runs."""

    async def save_reflection(
        self, material: ReflectionMaterial, changes: ReflectionChanges
    ) -> int:
        """Apply the changes whose memories are still as they were read, and return their number.

        Only memories of this owner about this person are changed, and nothing that was undone once
        is done again. Without consent nothing is changed.
        """

    async def save_patterns(
        self, person: ConsentingPerson, drafts: Mapping[str, MemoryDraft]
    ) -> Sequence[str]:
        """Replace all patterns of this person by these, by a stable name, and return their ids.

        Patterns from episodes that are gone, and patterns that the person removed, are left out.
        Patterns that the person corrected stay as they are. Without consent nothing is stored.
        """
