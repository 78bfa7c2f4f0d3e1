"""/api/v0: what is remembered of whoever asks, memory by memory."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from pydantic import Field

from spade_llm.gateway.bodies.common import HttpBody, MemoryTypeName, Timestamp
from spade_llm.memory.limits import MAX_CONTENT_CHARS

if TYPE_CHECKING:
    from spade_llm.memory.store import MemoryEntry


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
