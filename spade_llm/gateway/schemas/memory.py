"""Schemas of memory: context, history, search hits, the user's memories."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Self

from pydantic import ConfigDict, Field

from spade_llm.gateway.schemas import common
from spade_llm.memory.retrieval import DEFAULT_LIMIT, MAX_LIMIT
from spade_llm.memory.validation import MAX_CONTENT_CHARS, MAX_QUERY_CHARS

if TYPE_CHECKING:
    from spade_llm.memory.sessions import SessionCounts, SessionHit

MemoryQueryText = Annotated[str, Field(min_length=1, max_length=MAX_QUERY_CHARS, pattern=r"\S")]
MAX_DETAILS = 10**6


class ContextRequest(common.HttpBody):
    session_id: common.SessionId
    max_tokens: common.ContextTokens | None = 2000
    memory_types: list[common.MemoryTypeName] | None = Field(
        default=None, max_length=4, description="null: all."
    )
    language: common.ContextLanguage = None


class ContextResponse(common.HttpAnswer):
    session_id: str
    context_text: str
    token_count: int
    memory_types_included: list[common.MemoryTypeName]
    truncated: bool


class HistoryMessage(common.HttpAnswer):
    role: str
    content: str
    timestamp: common.Timestamp = Field(validation_alias="at")


class HistoryResponse(common.HttpAnswer):
    session_id: str
    messages: list[HistoryMessage] = Field(description="The latest messages, oldest first.")
    total_count: int = Field(description="Number of messages of the whole session.")


class ShortTermFigures(common.HttpAnswer):
    message_count: int = Field(validation_alias="messages")
    token_count: int = Field(validation_alias="tokens")


class LongTermFigures(common.HttpAnswer):
    semantic_facts: int
    episodic_summaries: int
    profile_entries: int
    procedural_patterns: int


class StatsResponse(ShortTermFigures, LongTermFigures):
    """Counts of a session, also without their groups, for Agent Lab's programs."""

    session_id: str
    short_term: ShortTermFigures
    long_term: LongTermFigures
    buffer_tokens: int = Field(validation_alias="tokens")
    semantic_facts_count: int = Field(validation_alias="semantic_facts")
    profile_attributes_count: int = Field(validation_alias="profile_entries")

    @classmethod
    def of_counts(cls, counts: SessionCounts) -> Self:
        return cls.model_validate({**asdict(counts), "short_term": counts, "long_term": counts})


class SearchRequest(common.HttpBody):
    query: MemoryQueryText
    top_k: common.TopK | None = 5
    session_id: common.SessionId | None = Field(default=None, description="null: all sessions.")


class HitMetadata(common.HttpBody):
    """Metadata of a hit; further keys come from the memory."""

    model_config = ConfigDict(extra="allow")

    session_id: str | None
    timestamp: str = Field(description="UTC", examples=["2025-12-20T14:30:00.000000"])


class MemoryHit(common.HttpBody):
    content: str
    metadata: HitMetadata
    score: float = Field(description="0…1, best first.")

    @classmethod
    def of(cls, hit: SessionHit) -> MemoryHit:
        metadata = HitMetadata.model_validate(
            {
                **hit.metadata,
                "session_id": hit.session_id,
                "timestamp": common.format_timestamp(hit.timestamp),
            }
        )
        return cls(content=hit.content, metadata=metadata, score=hit.score)


class SearchResponse(common.HttpBody):
    query: str
    results: list[MemoryHit]
    total_results: int


class DeletedFigures(LongTermFigures):
    messages: int


class SessionCleared(common.HttpBody):
    success: bool
    session_id: str
    message: str
    deleted: DeletedFigures

    @classmethod
    def of(cls, counts: SessionCounts) -> SessionCleared:
        return cls(
            success=True,
            session_id=counts.session_id,
            message=f"Memory of session '{counts.session_id}' deleted successfully",
            deleted=DeletedFigures.of(counts),
        )


class RetrieveMemory(common.HttpBody):
    query: MemoryQueryText
    limit: Annotated[int, Field(ge=1, le=MAX_LIMIT), common.WHOLE_NUMBER] | None = DEFAULT_LIMIT
    detail_limit: Annotated[int, Field(ge=0, le=MAX_DETAILS), common.WHOLE_NUMBER] | None = Field(
        default=None,
        description="null: ranks 1 and 2, if they are key moments; a number below `limit`: so many"
        " key moments; else all.",
    )


class MemoryLine(common.HttpAnswer):
    id: str
    content: str
    type: common.MemoryTypeName
    category: str | None
    context: str | None
    confidence: float
    session_id: str | None = Field(validation_alias="session")
    tags: list[str]
    importance: float
    surprise: float | None
    origin: str
    access_count: int
    created_at: common.Timestamp
    updated_at: common.Timestamp
    valid_at: common.Timestamp | None
    invalid_at: common.Timestamp | None
    expires_at: common.Timestamp | None


class MemoryLines(common.HttpBody):
    memories: list[MemoryLine]
    total_count: int
    limit: int
    offset: int
    has_more: bool


class Correction(common.HttpBody):
    content: Annotated[str, Field(min_length=1, max_length=MAX_CONTENT_CHARS, pattern=r"\S")]


class Forgotten(common.HttpBody):
    success: bool = True
    deleted: int
