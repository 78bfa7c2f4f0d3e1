"""What an agent asks of a memory: records and the MemoryStore and HistoryStore roles.

Both are bound to one owner. Locally `SQLiteMemoryBackend.for_owner(jid)` gives one; remotely the
client is one, and the owner is the JID that the server stamps on its requests.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Sequence


class Category(StrEnum):
    """What the model calls a memory (specs/1)."""

    FACT = "fact"
    PATTERN = "pattern"
    PREFERENCE = "preference"
    CAPABILITY = "capability"


class MemoryType(StrEnum):
    SEMANTIC = "semantic"
    EPISODIC = "episodic"
    PROFILE = "profile"
    PROCEDURAL = "procedural"


class Tier(StrEnum):
    SHORT_TERM = "short_term"
    LONG_TERM = "long_term"
    WORKING = "working"


TYPE_OF_CATEGORY = {
    Category.FACT: MemoryType.SEMANTIC,
    Category.PREFERENCE: MemoryType.PROFILE,
    Category.PATTERN: MemoryType.PROCEDURAL,
    Category.CAPABILITY: MemoryType.PROCEDURAL,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryDraft:
    """A memory to be added; the store gives it an id, an owner and dates."""

    content: str
    category: Category = Category.FACT
    context: str | None = None
    confidence: float = 1.0
    subject: str | None = None
    """Whom it is about: a person's bare JID. None: about nobody in particular."""
    session: str | None = None
    tier: Tier = Tier.LONG_TERM
    tags: tuple[str, ...] = ()
    metadata: Mapping[str, object] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryEntry:
    """The one memory record; every face of the service shows some of its fields."""

    id: str
    """UUID."""
    owner: str
    """Bare JID of the agent that stored it."""
    content: str
    category: Category
    context: str | None = None
    confidence: float = 1.0
    subject: str | None = None
    session: str | None = None
    tier: Tier = Tier.LONG_TERM
    tags: tuple[str, ...] = ()
    metadata: Mapping[str, object] = field(default_factory=dict)
    created_at: datetime
    """UTC."""
    updated_at: datetime
    access_count: int = 0
    last_accessed_at: datetime | None = None

    @property
    def type(self) -> MemoryType:
        return TYPE_OF_CATEGORY[self.category]


@dataclass(frozen=True, slots=True, kw_only=True)
class ScoredMemory:
    entry: MemoryEntry
    score: float
    """0…1, best first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryPage:
    entries: tuple[MemoryEntry, ...]
    total: int
    """How many match in all, beyond this page."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ObservedMessage:
    """One message of a conversation, kept verbatim."""

    id: str
    """Stable: observing the same id again changes nothing."""
    role: str
    """`user` or `assistant`."""
    content: str
    at: datetime
    """UTC."""


class MemoryStore(Protocol):
    """Raises StorageFailed (local) or RequestError (remote). `subject=None` means: any subject."""

    async def add(self, draft: MemoryDraft, *, key: str | None = None) -> MemoryEntry:
        """Store it durably and return the entry. The same `key` again returns the same entry;
        the same content again (owner, subject, category) strengthens the one that is there."""
        ...

    async def search(
        self, query: str, *, subject: str | None = None, limit: int = 10
    ) -> Sequence[ScoredMemory]:
        """The entries that speak of the query, best first; empty when none does."""
        ...

    async def list(
        self,
        *,
        category: Category | None = None,
        subject: str | None = None,
        limit: int = 20,
        offset: int = 0,
    ) -> MemoryPage:
        """Newest first."""
        ...

    async def forget(self, ids: Sequence[str], *, subject: str | None = None) -> int:
        """Delete these; returns how many there were."""
        ...

    async def forget_subject(self, subject: str) -> int:
        """Delete everything about this subject, memories and history; returns how many memories."""
        ...


class HistoryStore(Protocol):
    """Conversations, verbatim."""

    async def observe(
        self, conversation: str, messages: Sequence[ObservedMessage], *, subject: str | None = None
    ) -> int:
        """Append those whose id is new; returns how many were."""
        ...

    async def history(self, conversation: str, *, limit: int = 50) -> Sequence[ObservedMessage]:
        """The latest `limit` messages, oldest first."""
        ...

    async def close_conversation(self, conversation: str) -> None:
        """The next `history` starts empty; the messages stay."""
        ...
