"""Memory contract: records, filters and queries, and the Protocols of memory stores."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Protocol

from spade_llm.search.memory_query import (
    ANY_MEMORY,
    TYPE_OF_CATEGORY,
    Category,
    ContentType,
    MemoryFilter,
    MemoryQuery,
    MemoryType,
    Origin,
    ScoreExplanation,
    Tier,
)

MAX_LEARNED_CHANGES = 50


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryDraft:
    """A memory to be added; the store gives it an id, an owner and dates."""

    content: str
    category: Category | None = None
    type: MemoryType | None = None
    """Type of the memory. None: derived from the category; semantic without a category."""
    context: str | None = None
    confidence: float = 1.0
    subject: str | None = None
    """Bare JID of the person that the memory is about. None: no particular person."""
    session: str | None = None
    """The conversation that it belongs to."""
    tier: Tier = Tier.LONG_TERM
    content_type: ContentType = ContentType.TEXT
    tags: tuple[str, ...] = ()
    metadata: Mapping[str, object] = field(default_factory=dict)
    ttl_s: float | None = None
    """Seconds until it expires; 0: at once. None: never; `short_term`: the store's default."""
    importance: float | None = None
    """0…1, set by hand. None: computed from its use."""
    surprise: float | None = None
    """0…1, from 0.7 on a key moment. None: the store computes it, as the rank of its novelty and
    importance within the person's own history (memory/learning/novelty.py)."""
    valid_at: datetime | None = None
    """Time (UTC) from which the memory is true in the world. None: the time of storage."""
    origin: Origin = Origin.TOLD
    sources: tuple[str, ...] = ()
    """Ids of the entries it was made from."""

    @property
    def effective_type(self) -> MemoryType:
        """Type, by default that of the category, else `semantic`."""
        if self.type is not None:
            return self.type
        return TYPE_OF_CATEGORY[self.category] if self.category else MemoryType.SEMANTIC


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryEntry:
    """A memory as it is stored."""

    id: str
    """UUID."""
    owner: str
    """Bare JID of the agent that stored it."""
    content: str
    category: Category | None = None
    type: MemoryType = MemoryType.SEMANTIC
    context: str | None = None
    confidence: float = 1.0
    subject: str | None = None
    session: str | None = None
    tier: Tier = Tier.LONG_TERM
    content_type: ContentType = ContentType.TEXT
    tags: tuple[str, ...] = ()
    metadata: Mapping[str, object] = field(default_factory=dict)
    """Metadata; for a message: `message_id`, `role`, `speaker`."""
    importance: float = 0.5
    """0…1: as it was set, else computed from its use at the time of reading."""
    is_importance_set: bool = False
    importance_reason: str | None = None
    surprise: float | None = None
    """0…1, from 0.7 on a key moment; None until it is computed."""
    origin: Origin = Origin.TOLD
    sources: tuple[str, ...] = ()
    created_at: datetime
    """UTC, as all times."""
    updated_at: datetime
    access_count: int = 0
    last_accessed_at: datetime | None = None
    expires_at: datetime | None = None
    valid_at: datetime | None = None
    """Time from which the memory is true. None: the time of storage."""
    invalid_at: datetime | None = None
    """Time from which the memory is no longer true."""

    @property
    def agent_id(self) -> str:
        """The owner, as both sets of memory tools call it."""
        return self.owner

    @property
    def holds_since(self) -> datetime:
        """Time from which it is true, or else was stored."""
        return self.valid_at or self.created_at

    @property
    def last_accessed(self) -> datetime:
        """Time of the last access; the creation time if there was none."""
        return self.last_accessed_at or self.created_at


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryChange:
    """Change of an entry; None leaves a field as it is."""

    id: str
    content: str | None = None
    """A new vector is computed for it."""
    context: str | None = None
    tags: tuple[str, ...] | None = None
    """Replace those that are there."""
    metadata: Mapping[str, object] | None = None
    """Merged into what is there, key by key."""
    tier: Tier | None = None
    """`short_term` gives it the default time to live, another tier takes the expiry away."""
    confidence: float | None = None
    invalid_at: datetime | None = None
    """End of validity. None: unchanged; if the content changes, the entry is valid again."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ScoredMemory:
    """Memory that a search found."""

    entry: MemoryEntry
    score: float
    """0…1, best first; comparable between searches of one mode."""
    why: ScoreExplanation | None = None


class SearchOutcome(StrEnum):
    OK = "ok"
    EMPTY = "empty"
    DEGRADED = "degraded"
    """Memories without a vector were searched by keywords: the embedder is unavailable or has not
    yet processed all of them (in RECALL: only if the backlog is old)."""
    DENIED = "denied"
    """Another owner's memory that was not granted."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchResult:
    """Result of a search."""

    outcome: SearchOutcome
    hits: tuple[ScoredMemory, ...] = ()
    left_out: int = 0
    """Number of further hits that did not fit into one remote response."""
    former: tuple[MemoryEntry, ...] = ()
    """Facts about the subject that no longer hold and share words with messages or episodes among
    the hits, which may still say them (`memory/validity.py`). Only of a RECALL."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryPage:
    """Part of a list of memories."""

    entries: tuple[MemoryEntry, ...]
    total: int
    """Number of all matching entries, beyond this page."""


class OnError(StrEnum):
    """Behaviour of a batch if an item is wrong."""

    ROLLBACK = "rollback"
    """Nothing is done."""
    CONTINUE = "continue"
    """The good ones are done."""
    STOP = "stop"
    """Those before it are done."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchError:
    index: int
    """Index of the item, from 0."""
    code: str
    """A ServiceError's wire code: `invalid-arguments`, `not-found`."""
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchResult:
    ids: tuple[str, ...]
    """Ids of the processed items, in order."""
    errors: tuple[BatchError, ...] = ()


class MemoryAccess(StrEnum):
    READ = "read"
    WRITE = "write"
    """Access to read, correct and delete; includes READ."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryGrant:
    """An owner lets others into a part of its memory."""

    id: str
    to: str
    """A bare JID, or a domain."""
    access: MemoryAccess = MemoryAccess.READ
    tag: str | None = None
    """Tag that the entries must have."""
    session: str | None = None
    """Session that the entries must belong to. Neither tag nor session: all entries."""
    created_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryLink:
    """Two entries of one owner belong together."""

    source: str
    target: str
    relation: str
    created_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryStatistics:
    """Counts of one session, or of all data of an owner."""

    messages: int
    message_tokens: int
    """Estimated: a quarter of the characters."""
    by_type: Mapping[MemoryType, int]
    by_tier: Mapping[Tier, int]
    without_vector: int
    """Entries and messages that wait for theirs."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RemovedCounts:
    """Counts of removed messages and memories."""

    messages: int
    by_type: Mapping[MemoryType, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class DecayPolicy:
    """Policy for deleting an owner's old, unimportant memories automatically; disabled by
    default."""

    is_enabled: bool = False
    older_than_s: float = 90 * 86_400.0
    """Neither made nor used for so long …"""
    below_importance: float = 0.2
    """… and less important than this …"""
    tiers: tuple[Tier, ...] = (Tier.SHORT_TERM, Tier.WORKING)
    """… in one of these tiers is deleted (softly: until the purge it can be restored)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DecayStatus:
    policy: DecayPolicy
    last_run_at: datetime | None = None
    last_deleted: int = 0
    due: int = 0
    """Number of entries that a run would delete now."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Consent:
    """Consent of a person that one owner may learn from several of their conversations together."""

    since: datetime | None = None
    """Time of the consent. None: no consent, which is the default."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ObservedMessage:
    """Message of a conversation, kept verbatim."""

    id: str
    """Stable: observing the same id again changes nothing."""
    role: str
    """`user` or `assistant`."""
    content: str
    at: datetime
    """UTC."""
    speaker: str | None = None
    """The name that others call them by; None: only the role is known."""
    recalled: tuple[str, ...] = ()
    """Ids of the memories that it was written with: text of theirs in it is not new."""


class MemoryStore(Protocol):
    """An owner's memories.

    Raises InvalidArguments (a field out of range, named), NotFound (an id), Busy, StorageFailed;
    remotely RequestError with the same wire codes. An id that is no UUID is InvalidArguments.
    """

    async def add(
        self, draft: MemoryDraft, *, key: str | None = None, merge: bool = True
    ) -> MemoryEntry:
        """Store a memory durably and return its entry; the same `key` again returns the same entry.

        With `merge`, an entry of the same owner, subject, category and content is reinforced
        instead.
        """

    async def add_many(
        self,
        drafts: Sequence[MemoryDraft],
        *,
        key: str | None = None,
        on_error: OnError = OnError.ROLLBACK,
    ) -> BatchResult:
        """Add several memories in one transaction, without merging."""

    async def get(self, id: str) -> MemoryEntry:
        """Return an entry; counts as an access. Raises NotFound."""

    async def peek(self, ids: Sequence[str]) -> Sequence[MemoryEntry]:
        """Return own entries by id (at most 1000) in this order, each once; missing ids are
        skipped. Counts as no access."""

    async def update(self, change: MemoryChange) -> MemoryEntry:
        """Change an entry and return it. Raises NotFound."""

    async def update_many(
        self, changes: Sequence[MemoryChange], *, on_error: OnError = OnError.ROLLBACK
    ) -> BatchResult:
        """Change up to 1000 entries in one transaction, or each on its own (`on_error`)."""

    async def set_importance(self, id: str, score: float, *, reason: str) -> float:
        """Set the importance for good and return the previous one. Raises NotFound."""

    async def replace(
        self, ids: Sequence[str], draft: MemoryDraft, *, keep: bool, key: str | None = None
    ) -> MemoryEntry:
        """Add a memory in place of these entries and, unless `keep`, delete them; atomic.

        Raises NotFound if an entry is missing.
        """

    async def merge(self, into: str, others: Sequence[str]) -> MemoryEntry:
        """Merge the others into the entry `into` and delete them; atomic.

        Tags are joined, and metadata by key (the value of `into` wins). Accesses are summed, the
        latest access is kept, and the highest confidence. Of importance set by hand, the highest is
        kept. Raises NotFound if an entry is missing, InvalidArguments if the subjects differ.
        """

    async def search(self, query: MemoryQuery) -> SearchResult:
        """Search memories by relevance to the query. RECALL returns each content once; the other
        modes deduplicate only messages. Counts as an access."""

    async def similar(
        self, id: str, *, limit: int = 10, min_score: float = 0.0, which: MemoryFilter = ANY_MEMORY
    ) -> SearchResult:
        """Return entries that say nearly the same as this one, without it; equal texts are each
        returned. Counts as no access. Raises NotFound."""

    async def list(
        self, which: MemoryFilter = ANY_MEMORY, *, limit: int = 20, offset: int = 0
    ) -> MemoryPage:
        """Return a page of entries, newest first."""

    async def delete(
        self,
        which: MemoryFilter,
        *,
        ids: Sequence[str] | None = None,
        limit: int | None = None,
    ) -> Sequence[str]:
        """Delete matching entries softly, also invalid ones: they are hidden until the purge.
        Returns the ids of the deleted entries.

        `ids`: only these entries. `limit`: maximum number of entries if no ids are given.
        """

    async def forget(self, ids: Sequence[str], *, subject: str | None = None) -> int:
        """Erase all traces of these entries, also of hidden ones; return the number of existing
        entries."""

    async def forget_subject(self, subject: str) -> int:
        """Erase all memories and messages about a subject; return the number of memories."""

    async def forget_session(self, session: str) -> RemovedCounts:
        """Erase the messages and memories of a session."""

    async def reviewed(self, ids: Sequence[str]) -> None:
        """Record that these entries were useful in an answer (an FSRS review): they are retained
        longer. Unknown ids are ignored."""

    async def stats(self, session: str | None = None) -> MemoryStatistics:
        """Return counts of own entries; `session`: only of this one."""


class HistoryStore(Protocol):
    """Conversations, verbatim. Raises the same errors as MemoryStore."""

    async def observe(
        self, conversation: str, messages: Sequence[ObservedMessage], *, subject: str | None = None
    ) -> int:
        """Append the messages with new ids; return how many were appended."""

    async def history(
        self, conversation: str, *, limit: int = 50, before: str | None = None
    ) -> Sequence[ObservedMessage]:
        """Return the latest `limit` messages, oldest first; with `before`, the latest ones before
        that message. A remote store returns fewer if they do not fit into one message."""

    async def retract(self, conversation: str, ids: Sequence[str]) -> int:
        """Erase all traces of messages that were corrected or withdrawn; return the number of
        existing messages."""

    async def close_conversation(self, conversation: str) -> None:
        """The next `history` starts empty; the messages stay."""

    async def episode_messages(self, id: str) -> Sequence[ObservedMessage]:
        """Return the messages of an episode, oldest first, without messages that were cleared
        since; empty for another entry. Raises NotFound."""


class ClearingStore(Protocol):
    """Deletion of data by people, with counts. Raises the same errors as MemoryStore."""

    async def clear_messages(self, conversations: Sequence[str]) -> int:
        """Clear the messages of these conversations (at most 1000); return their number.

        They are no longer shown, searched, counted or exported. They are removed once facts have
        been learned from them: at once without a learner, after a week in any case. Memories stay.
        """

    async def clear_subject(self, subject: str) -> RemovedCounts:
        """Remove all data about this subject, like `forget_subject`, and return the counts."""


class LinkStore(Protocol):
    """Links between entries. Raises the same errors as MemoryStore."""

    async def link(self, source: str, target: str, *, relation: str = "related") -> MemoryLink:
        """Link two entries; a link that exists is returned. Raises NotFound."""

    async def unlink(self, source: str, target: str, *, relation: str | None = None) -> int:
        """Remove links in either direction; return their number."""

    async def links(self, id: str) -> Sequence[MemoryLink]:
        """Return the links from and to this entry, oldest first. Raises NotFound."""


class GrantStore(Protocol):
    """Access grants of an owner to other agents. Raises the same errors as MemoryStore."""

    async def grant(
        self,
        to: str,
        *,
        access: MemoryAccess = MemoryAccess.READ,
        tag: str | None = None,
        session: str | None = None,
    ) -> MemoryGrant:
        """Grant access and return the grant; an equal existing grant is returned."""

    async def revoke(self, id: str) -> bool:
        """Revoke a grant; False: there is none with this id."""

    async def grants(self) -> Sequence[MemoryGrant]:
        """Return the grants that this owner has given, oldest first."""


class DecayStore(Protocol):
    """Automatic deletion of an owner's old memories. Raises the same errors as MemoryStore."""

    async def configure_decay(self, policy: DecayPolicy) -> DecayStatus:
        """Set the rules of deletion, from the next run on; returns the status."""

    async def run_decay(self, *, dry_run: bool = True) -> Sequence[str]:
        """Delete what is due (with `dry_run`: only look) and return the ids."""

    async def decay_status(self) -> DecayStatus:
        """Return the rules, the last run, and what a run would delete now."""


class ConsentStore(Protocol):
    """Consents that people give an owner. Raises the same errors as MemoryStore."""

    async def consent(self, subject: str) -> Consent:
        """Return the consent of this person."""

    async def set_consent(self, subject: str, *, is_given: bool) -> Consent:
        """Give or withdraw consent; withdrawal also removes the patterns learned under it, and
        undoes what reflections changed."""

    async def learned(self, subject: str) -> Sequence[LearnedChange]:
        """Return what reflections have changed about a subject, newest first (at most
        MAX_LEARNED_CHANGES)."""

    async def undo_learned(self, subject: str, ids: Sequence[str]) -> int:
        """Undo these changes for good, and return their number; unknown ids are ignored. What was
        closed or hidden is as it was before, summaries are gone, and none of it is done again."""


class SubjectStore(Protocol):
    """Memories of all owners about one subject. The subject may see, correct and remove them."""

    async def list(self, *, limit: int = 20, offset: int = 0) -> MemoryPage:
        """List memories of all owners, newest first; each entry names its owner."""

    async def correct(self, id: str, content: str) -> MemoryEntry:
        """Change the content of an entry. Raises NotFound if it is not about this subject."""

    async def forget(self, ids: Sequence[str]) -> int:
        """Erase all traces of the entries that are about this subject."""

    async def forget_all(self) -> int:
        """Erase memories, history and consents with every owner; return the number of memories."""

    async def consented_owners(self) -> Sequence[str]:
        """Owners that have this subject's consent to compare its conversations."""

    async def withdraw_all(self) -> Sequence[str]:
        """Withdraw the consents given to all owners, remove the patterns learned under them, and
        return the owners."""


class ReflectionKind(StrEnum):
    """Kind of change by a reflection."""

    CLOSED = "closed"
    """A fact that a later one contradicts is closed."""
    MERGED = "merged"
    """A fact that repeats another one is hidden."""
    SUMMARY = "summary"
    """A summary of several memories by theme is added."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LearnedChange:
    """A change by a reflection that can be undone."""

    id: str
    """UUID."""
    kind: ReflectionKind
    content: str
    """The fact that was closed or hidden, or the summary."""
    because: str = ""
    """The fact that contradicts it or says the same; empty if it was forgotten since."""
    sources: int = 0
    """Number of memories that a summary is made of."""
    at: datetime
    """UTC."""


class OwnedMemory(
    MemoryStore,
    HistoryStore,
    ClearingStore,
    LinkStore,
    GrantStore,
    DecayStore,
    ConsentStore,
    Protocol,
):
    """All Protocols of the memory of one owner."""


class MemoryBackend(Protocol):
    """Memories of several owners, isolated from each other."""

    def for_owner(self, owner: str) -> OwnedMemory:
        """Return the memory of one owner (a bare JID). Cheap; no I/O."""
