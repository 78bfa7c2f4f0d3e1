"""Schemas of memory: context, history, search hits, the user's memories."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from pydantic import ConfigDict, Field

from spade_llm.gateway.schemas.common import (
    WHOLE_NUMBER,
    ContextLanguage,
    ContextTokens,
    HttpBody,
    MemoryTypeName,
    SessionId,
    Timestamp,
    TopK,
    format_timestamp,
)
from spade_llm.memory.retrieval import DEFAULT_LIMIT, MAX_LIMIT
from spade_llm.memory.validation import MAX_CONTENT_CHARS, MAX_QUERY_CHARS

if TYPE_CHECKING:
    from spade_llm.memory.contract import MemoryEntry, ObservedMessage
    from spade_llm.memory.sessions import SessionContext, SessionCounts, SessionHistory, SessionHit

MemoryQueryText = Annotated[str, Field(min_length=1, max_length=MAX_QUERY_CHARS, pattern=r"\S")]
MAX_DETAILS = 10**6


class ContextRequest(HttpBody):
    session_id: SessionId
    max_tokens: ContextTokens | None = 2000
    memory_types: list[MemoryTypeName] | None = Field(
        default=None, max_length=4, description="null: all."
    )
    language: ContextLanguage = None


class ContextResponse(HttpBody):
    session_id: str
    context_text: str
    token_count: int
    memory_types_included: list[MemoryTypeName]
    truncated: bool

    @classmethod
    def of(cls, context: SessionContext) -> ContextResponse:
        return cls(
            session_id=context.session_id,
            context_text=context.context_text,
            token_count=context.token_count,
            memory_types_included=[one.value for one in context.memory_types_included],
            truncated=context.truncated,
        )


class HistoryMessage(HttpBody):
    role: str
    content: str
    timestamp: Timestamp

    @classmethod
    def of(cls, message: ObservedMessage) -> HistoryMessage:
        return cls(role=message.role, content=message.content, timestamp=message.at)


class HistoryResponse(HttpBody):
    session_id: str
    messages: list[HistoryMessage] = Field(description="The latest messages, oldest first.")
    total_count: int = Field(description="Number of messages of the whole session.")

    @classmethod
    def of(cls, history: SessionHistory) -> HistoryResponse:
        return cls(
            session_id=history.session_id,
            messages=[HistoryMessage.of(one) for one in history.messages],
            total_count=history.total_count,
        )


class ShortTermFigures(HttpBody):
    message_count: int
    token_count: int


class LongTermFigures(HttpBody):
    semantic_facts: int
    episodic_summaries: int
    profile_entries: int
    procedural_patterns: int


class StatsResponse(LongTermFigures):
    """Counts of a session, also without their groups, for Agent Lab's programs."""

    session_id: str
    short_term: ShortTermFigures
    long_term: LongTermFigures
    message_count: int
    token_count: int
    buffer_tokens: int
    semantic_facts_count: int
    profile_attributes_count: int

    @classmethod
    def of(cls, counts: SessionCounts) -> StatsResponse:
        return cls(
            session_id=counts.session_id,
            message_count=counts.messages,
            token_count=counts.tokens,
            buffer_tokens=counts.tokens,
            semantic_facts=counts.semantic_facts,
            semantic_facts_count=counts.semantic_facts,
            episodic_summaries=counts.episodic_summaries,
            profile_entries=counts.profile_entries,
            profile_attributes_count=counts.profile_entries,
            procedural_patterns=counts.procedural_patterns,
            short_term=ShortTermFigures(message_count=counts.messages, token_count=counts.tokens),
            long_term=LongTermFigures(
                semantic_facts=counts.semantic_facts,
                episodic_summaries=counts.episodic_summaries,
                profile_entries=counts.profile_entries,
                procedural_patterns=counts.procedural_patterns,
            ),
        )


class SearchRequest(HttpBody):
    query: MemoryQueryText
    top_k: TopK | None = 5
    session_id: SessionId | None = Field(default=None, description="null: all sessions.")


class HitMetadata(HttpBody):
    """Metadata of a hit; further keys come from the memory."""

    model_config = ConfigDict(extra="allow")

    session_id: str | None
    timestamp: str = Field(description="UTC", examples=["2025-12-20T14:30:00.000000"])


class MemoryHit(HttpBody):
    content: str
    metadata: HitMetadata
    score: float = Field(description="0…1, best first.")

    @classmethod
    def of(cls, hit: SessionHit) -> MemoryHit:
        metadata = HitMetadata.model_validate(
            {
                **hit.metadata,
                "session_id": hit.session_id,
                "timestamp": format_timestamp(hit.timestamp),
            }
        )
        return cls(content=hit.content, metadata=metadata, score=hit.score)


class SearchResponse(HttpBody):
    query: str
    results: list[MemoryHit]
    total_results: int


class DeletedFigures(HttpBody):
    messages: int
    semantic_facts: int
    episodic_summaries: int
    profile_entries: int
    procedural_patterns: int


class SessionCleared(HttpBody):
    success: bool
    session_id: str
    message: str
    deleted: DeletedFigures

    @classmethod
    def of(cls, counts: SessionCounts) -> SessionCleared:
        deleted = DeletedFigures(
            messages=counts.messages,
            semantic_facts=counts.semantic_facts,
            episodic_summaries=counts.episodic_summaries,
            profile_entries=counts.profile_entries,
            procedural_patterns=counts.procedural_patterns,
        )
        return cls(
            success=True,
            session_id=counts.session_id,
            message=f"Memory of session '{counts.session_id}' deleted successfully",
            deleted=deleted,
        )


class RetrieveMemory(HttpBody):
    query: MemoryQueryText
    limit: Annotated[int, Field(ge=1, le=MAX_LIMIT), WHOLE_NUMBER] | None = DEFAULT_LIMIT
    detail_limit: Annotated[int, Field(ge=0, le=MAX_DETAILS), WHOLE_NUMBER] | None = Field(
        default=None,
        description="null: ranks 1 and 2, if they are key moments; a number below `limit`: so many"
        " key moments; else all.",
    )


class MemoryLine(HttpBody):
    id: str
    content: str
    type: MemoryTypeName
    category: str | None
    context: str | None
    confidence: float
    session_id: str | None
    tags: list[str]
    importance: float
    surprise: float | None
    origin: str
    access_count: int
    created_at: Timestamp
    updated_at: Timestamp
    valid_at: Timestamp | None
    invalid_at: Timestamp | None
    expires_at: Timestamp | None

    @classmethod
    def of(cls, entry: MemoryEntry) -> MemoryLine:
        return cls(
            id=entry.id,
            content=entry.content,
            type=entry.type.value,
            category=entry.category.value if entry.category else None,
            context=entry.context,
            confidence=entry.confidence,
            session_id=entry.session,
            tags=list(entry.tags),
            importance=entry.importance,
            surprise=entry.surprise,
            origin=entry.origin.value,
            access_count=entry.access_count,
            created_at=entry.created_at,
            updated_at=entry.updated_at,
            valid_at=entry.valid_at,
            invalid_at=entry.invalid_at,
            expires_at=entry.expires_at,
        )


class MemoryLines(HttpBody):
    memories: list[MemoryLine]
    total_count: int
    limit: int
    offset: int
    has_more: bool


class Correction(HttpBody):
    content: Annotated[str, Field(min_length=1, max_length=MAX_CONTENT_CHARS, pattern=r"\S")]


class Forgotten(HttpBody):
    success: bool = True
    deleted: int
