"""Routes of memory: session context and history, retrieval, the user's memories."""

from __future__ import annotations

from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, Path, Query, Response
from starlette.convertors import StringConvertor, register_url_convertor

from spade_llm.gateway.dependencies import CurrentRequest
from spade_llm.gateway.errors import ERROR_RESPONSES, HttpError
from spade_llm.gateway.schemas import memory as schemas
from spade_llm.gateway.schemas.common import MemoryTypeName, SessionId
from spade_llm.memory.retrieval import DEFAULT_LIMIT
from spade_llm.search.memory_query import MemoryType

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


@router.post("/context")
async def memory_context(
    api_request: CurrentRequest, body: schemas.ContextRequest
) -> schemas.ContextResponse:
    """Memory context that a model should have when the session continues."""
    types = None if body.memory_types is None else tuple(map(MemoryType, body.memory_types))
    context = await api_request.clients.sessions.context(
        body.session_id,
        max_tokens=2000 if body.max_tokens is None else body.max_tokens,
        types=tuple(MemoryType) if types is None else types,
        language=body.language or api_request.gateway.options.language,
    )
    return schemas.ContextResponse.of(context)


@router.get("/history/{session_id}")
async def session_history(
    api_request: CurrentRequest,
    session_id: SessionOfPath,
    limit: Annotated[int, Query(ge=1, le=MAX_MESSAGES)] = 50,
) -> schemas.HistoryResponse:
    """List the latest messages, oldest first; an unknown session has none."""
    return schemas.HistoryResponse.of(
        await api_request.clients.sessions.history(session_id, limit=limit)
    )


@router.get("/stats/{session_id}")
async def session_stats(
    api_request: CurrentRequest, session_id: SessionOfPath
) -> schemas.StatsResponse:
    """Number of stored messages and memories of a session."""
    return schemas.StatsResponse.of_counts(await api_request.clients.sessions.stats(session_id))


@router.post("/search")
async def search_memory(
    api_request: CurrentRequest, body: schemas.SearchRequest
) -> schemas.SearchResponse:
    """Search memories, in one session or in all."""
    found = await api_request.clients.sessions.search(
        body.query, top_k=body.top_k or 5, session=body.session_id
    )
    return schemas.SearchResponse(
        query=body.query,
        results=[schemas.MemoryHit.of(one) for one in found.results],
        total_results=len(found.results),
    )


@router.delete("/{session_id:other}", name="clear_session_by_id")
@router.delete("/history/{session_id}", name="clear_history")
@router.delete("/session/{session_id}")
async def clear_session(
    api_request: CurrentRequest, session_id: SessionOfPath
) -> schemas.SessionCleared:
    """Delete a session's messages and memories; its configuration stays. The operation has three
    paths: Agent Lab's programs use the other two."""
    return schemas.SessionCleared.of(await api_request.clients.sessions.clear(session_id))


class MarkdownResponse(Response):
    media_type = MARKDOWN


@retrieval_router.post(
    "/retrieve_memory",
    response_class=MarkdownResponse,
    responses={200: {"content": {MARKDOWN: {"schema": {"type": "string"}, "example": _EXAMPLE}}}},
)
async def retrieve_memory(
    api_request: CurrentRequest, body: schemas.RetrieveMemory
) -> MarkdownResponse:
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
) -> schemas.MemoryLines:
    """List memories, newest first; with `text`, those that match it, best first."""
    page = await api_request.clients.sessions.memories(
        types=tuple(map(MemoryType, types or ())),
        text=text,
        session=session,
        limit=limit,
        offset=offset,
    )
    return schemas.MemoryLines(
        memories=[schemas.MemoryLine.of(one) for one in page.entries],
        total_count=page.total,
        limit=limit,
        offset=offset,
        has_more=bool(page.entries) and offset + len(page.entries) < page.total,
    )


@console_router.patch("/{id}")
async def correct_memory(
    api_request: CurrentRequest, id: IdOfPath, body: schemas.Correction
) -> schemas.MemoryLine:
    """Change the content of a memory."""
    return schemas.MemoryLine.of(await api_request.clients.sessions.correct(str(id), body.content))


@console_router.delete("/{id}")
async def forget_memory(api_request: CurrentRequest, id: IdOfPath) -> schemas.Forgotten:
    """Delete a memory."""
    deleted = await api_request.clients.sessions.forget([str(id)])
    if not deleted:
        raise HttpError(404, f"Memory {id} does not exist")
    return schemas.Forgotten(deleted=deleted)
