"""Memory query: kinds and categories of memories, filter, search mode, order, hits, grant scope."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum

from spade_llm.search.query_vector import QueryVector


class Category(StrEnum):
    """Category that the model gives to a memory."""

    FACT = "fact"
    PATTERN = "pattern"
    PREFERENCE = "preference"
    CAPABILITY = "capability"


class MemoryType(StrEnum):
    """Kind of knowledge: facts, episodes, properties of a person, or skills."""

    SEMANTIC = "semantic"
    EPISODIC = "episodic"
    PROFILE = "profile"
    PROCEDURAL = "procedural"


class Tier(StrEnum):
    """Lifetime of a memory; `working`: messages of conversations."""

    SHORT_TERM = "short_term"
    LONG_TERM = "long_term"
    WORKING = "working"


class ContentType(StrEnum):
    TEXT = "text"
    IMAGE = "image"
    CODE = "code"
    JSON = "json"
    YAML = "yaml"


class Origin(StrEnum):
    """Origin of a memory."""

    TOLD = "told"
    """Stored explicitly by a person or a program."""
    EXTRACTED = "extracted"
    """A model or a rule found it in an episode."""
    EPISODE = "episode"
    """Cut from a conversation."""
    CONSOLIDATED = "consolidated"
    """A summary of others."""
    PATTERN = "pattern"
    """Pattern common to several conversations of a person; its sources are their episodes."""
    REFLECTION = "reflection"
    """Summary by theme of a person's memories; its sources are those memories."""
    MESSAGE = "message"
    """Message of a conversation in a search result; not an entry."""


TYPE_OF_CATEGORY = {
    Category.FACT: MemoryType.SEMANTIC,
    Category.PREFERENCE: MemoryType.PROFILE,
    Category.PATTERN: MemoryType.PROCEDURAL,
    Category.CAPABILITY: MemoryType.PROCEDURAL,
}


FACT_TYPES = (MemoryType.SEMANTIC, MemoryType.PROFILE, MemoryType.PROCEDURAL)
"""Types of single facts, which another fact may replace; episodes are about many things."""


class SearchMode(StrEnum):
    SEMANTIC = "semantic"
    """Vector search."""
    KEYWORD = "keyword"
    HYBRID = "hybrid"
    """Both, weighted by `keyword_weight`."""
    RECALL = "recall"
    """Vectors and keywords, with the neighbouring messages, the speaker and the retrievability;
    used by an assistant before a turn."""


class SortBy(StrEnum):
    RELEVANCE = "relevance"
    IMPORTANCE = "importance"
    CREATED_AT = "created_at"
    """Newest first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryFilter:
    """Filter of memories; all given conditions must hold. It is applied before any limit."""

    of: str | None = None
    """Another owner's bare JID: what it has granted to us. None: our own."""
    subject: str | None = None
    session: str | None = None
    types: tuple[MemoryType, ...] = ()
    """Any of these; empty: any."""
    category: Category | None = None
    tier: Tier | None = None
    content_type: ContentType | None = None
    tags: tuple[str, ...] = ()
    """All of these."""
    created_after: datetime | None = None
    created_before: datetime | None = None
    """Both moments belong to what is meant."""
    as_of: datetime | None = None
    """Time for which the filter selects the memories then held to be true. None: now."""
    with_invalid: bool = False
    """Include memories that are no longer (or not yet) true, regardless of `as_of`."""


ANY_MEMORY = MemoryFilter()


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryQuery:
    """Memory search request."""

    text: str
    mode: SearchMode = SearchMode.RECALL
    limit: int = 10
    """1…1000."""
    which: MemoryFilter = ANY_MEMORY
    with_messages: bool = False
    """Include messages of conversations, verbatim."""
    with_patterns: bool = False
    """Append the subject's patterns of behaviour (not the topics), beyond the limit and regardless
    of the text."""
    min_score: float = 0.0
    keyword_weight: float = 0.3
    """0…1, in HYBRID; the rest is the vectors'."""
    importance_weight: float = 0.0
    """0…1 of the score; the rest is relevance."""
    recency_weight: float = 0.0
    """0…1 of the score."""
    sort_by: SortBy = SortBy.RELEVANCE
    """Order of the hits; which they are is decided by the score, except for IMPORTANCE and
    CREATED_AT with `min_score` 0, which order all that matches."""
    explain: bool = False
    vector: QueryVector | None = None
    """Vector of `text`; None: the store computes it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ScoreExplanation:
    """Explanation of a score. Ranks begin at 1; None: that ranking did not find the memory."""

    keyword_score: float = 0.0
    keyword_rank: int | None = None
    vector_score: float = 0.0
    vector_rank: int | None = None
    bonuses: Mapping[str, float] = field(default_factory=dict)
    """Bonuses by name: length, speaker, when, answer, date, neighbourhood, importance, recency;
    retrievability and occasion (discount for better hits of the same one) are factors."""
    age_s: float = 0.0
    grant: str | None = None
    """Id of the grant that lets us see it; None: it is ours."""


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexHit:
    key: int
    score: float
    """0…1."""
    why: ScoreExplanation | None = None
    """Explanation of the score, if the query asked for it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GrantScope:
    """A row is in it if it has the tag and is of the session; neither given: all rows are."""

    grant: str
    """Id of the grant, for `ScoreExplanation`."""
    tag: str | None = None
    session: str | None = None
