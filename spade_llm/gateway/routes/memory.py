"""Routes and schemas of memory: session context and history, retrieval, the user's memories."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Self
from uuid import UUID

from fastapi import APIRouter, Path, Query, Response
from pydantic import ConfigDict, Field
from starlette.convertors import StringConvertor, register_url_convertor

from spade_llm.gateway.dependencies import CurrentRequest
from spade_llm.gateway.errors import ERROR_RESPONSES, HttpError
from spade_llm.gateway.schemas import common
from spade_llm.gateway.schemas.common import MemoryTypeName, SessionId
from spade_llm.memory.retrieval import DEFAULT_LIMIT, MAX_LIMIT
from spade_llm.memory.validation import MAX_CONTENT_CHARS, MAX_QUERY_CHARS
from spade_llm.search.memory_query import MemoryType

if TYPE_CHECKING:
    from spade_llm.memory.sessions import SessionCounts, SessionHit


router = APIRouter(prefix="/llm/memory", tags=["memory"], responses=ERROR_RESPONSES)

SessionOfPath = Annotated[SessionId, Path()]
MAX_MESSAGES = 1000

retrieval_router = APIRouter(prefix="/api/v0", tags=["memory"], responses=ERROR_RESPONSES)

MARKDOWN = "text/markdown"
_EXAMPLE = """## Memory 1 [rank: 1, score: 0.85]
**When:** yesterday
**Summary:** User prefers dark mode interfaces and finds light mode straining.
"""

console_router = APIRouter(prefix="/api/v0/memories", tags=["console"], responses=ERROR_RESPONSES)

MAX_PAGE = 200
MAX_OFFSET = 1_000_000
MAX_TEXT_CHARS = 1000
"""Maximum length of a search text, which is a part of the URL."""
IdOfPath = Annotated[UUID, Path()]


class _OtherThanOperations(StringConvertor):
    """Path segment that is not an operation of this router, so that DELETE of `/context` stays
    405."""

    regex = "(?!(?:context|search)$)[^/]+"


register_url_convertor("other", _OtherThanOperations())


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


@router.post("/context")
async def memory_context(api_request: CurrentRequest, body: ContextRequest) -> ContextResponse:
    """Memory context that a model should have when the session continues."""
    types = None if body.memory_types is None else tuple(map(MemoryType, body.memory_types))
    context = await api_request.clients.sessions.context(
        body.session_id,
        max_tokens=2000 if body.max_tokens is None else body.max_tokens,
        types=tuple(MemoryType) if types is None else types,
        language=body.language or api_request.gateway.options.language,
    )
    return ContextResponse.of(context)


@router.get("/history/{session_id}")
async def session_history(
    api_request: CurrentRequest,
    session_id: SessionOfPath,
    limit: Annotated[int, Query(ge=1, le=MAX_MESSAGES)] = 50,
) -> HistoryResponse:
    """List the latest messages, oldest first; an unknown session has none."""
    return HistoryResponse.of(await api_request.clients.sessions.history(session_id, limit=limit))


@router.get("/stats/{session_id}")
async def session_stats(api_request: CurrentRequest, session_id: SessionOfPath) -> StatsResponse:
    """Number of stored messages and memories of a session."""
    return StatsResponse.of_counts(await api_request.clients.sessions.stats(session_id))


@router.post("/search")
async def search_memory(api_request: CurrentRequest, body: SearchRequest) -> SearchResponse:
    """Search memories, in one session or in all."""
    found = await api_request.clients.sessions.search(
        body.query, top_k=body.top_k or 5, session=body.session_id
    )
    return SearchResponse(
        query=body.query,
        results=[MemoryHit.of(one) for one in found.results],
        total_results=len(found.results),
    )


@router.delete("/{session_id:other}", name="clear_session_by_id")
@router.delete("/history/{session_id}", name="clear_history")
@router.delete("/session/{session_id}")
async def clear_session(api_request: CurrentRequest, session_id: SessionOfPath) -> SessionCleared:
    """Delete a session's messages and memories; its configuration stays. The operation has three
    paths: Agent Lab's programs use the other two."""
    return SessionCleared.of(await api_request.clients.sessions.clear(session_id))


class MarkdownResponse(Response):
    media_type = MARKDOWN


@retrieval_router.post(
    "/retrieve_memory",
    response_class=MarkdownResponse,
    responses={200: {"content": {MARKDOWN: {"schema": {"type": "string"}, "example": _EXAMPLE}}}},
)
async def retrieve_memory(api_request: CurrentRequest, body: RetrieveMemory) -> MarkdownResponse:
    """Retrieve the memories relevant to a query, best first."""
    return MarkdownResponse(
        await api_request.clients.sessions.retrieve(
            body.query, limit=body.limit or DEFAULT_LIMIT, detail_limit=body.detail_limit
        )
    )


@console_router.get("")
async def list_memories(
    api_request: CurrentRequest,
    types: Annotated[list[MemoryTypeName] | None, Query(max_length=4)] = None,
    text: Annotated[str, Query(max_length=MAX_TEXT_CHARS)] = "",
    session: Annotated[SessionId | None, Query()] = None,
    limit: Annotated[int, Query(ge=1, le=MAX_PAGE)] = 50,
    offset: Annotated[int, Query(ge=0, le=MAX_OFFSET)] = 0,
) -> MemoryLines:
    """List memories, newest first; with `text`, those that match it, best first."""
    page = await api_request.clients.sessions.memories(
        types=tuple(map(MemoryType, types or ())),
        text=text,
        session=session,
        limit=limit,
        offset=offset,
    )
    return MemoryLines(
        memories=[MemoryLine.of(one) for one in page.entries],
        total_count=page.total,
        limit=limit,
        offset=offset,
        has_more=bool(page.entries) and offset + len(page.entries) < page.total,
    )


@console_router.patch("/{id}")
async def correct_memory(api_request: CurrentRequest, id: IdOfPath, body: Correction) -> MemoryLine:
    """Change the content of a memory."""
    return MemoryLine.of(await api_request.clients.sessions.correct(str(id), body.content))


@console_router.delete("/{id}")
async def forget_memory(api_request: CurrentRequest, id: IdOfPath) -> Forgotten:
    """Delete a memory."""
    deleted = await api_request.clients.sessions.forget([str(id)])
    if not deleted:
        raise HttpError(404, f"Memory {id} does not exist")
    return Forgotten(deleted=deleted)
