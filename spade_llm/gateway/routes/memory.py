"""specs/4 §5: what the assistant keeps of sessions."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Path, Query
from starlette.convertors import StringConvertor, register_url_convertor

from spade_llm.gateway.asking import Asked
from spade_llm.gateway.bodies.common import SessionId
from spade_llm.gateway.bodies.memory import (
    ContextRequest,
    ContextResponse,
    HistoryResponse,
    MemoryHit,
    SearchRequest,
    SearchResponse,
    SessionCleared,
    StatsResponse,
)
from spade_llm.gateway.failures import FAILURES
from spade_llm.memory.store import MemoryType

router = APIRouter(prefix="/llm/memory", tags=["memory"], responses=FAILURES)

SessionOfPath = Annotated[SessionId, Path()]
MAX_MESSAGES = 1000


class _OtherThanOperations(StringConvertor):
    """A segment that is no operation of this router: deleting `/context` stays 405."""

    regex = "(?!(?:context|search)$)[^/]+"


register_url_convertor("other", _OtherThanOperations())


@router.post("/context")
async def memory_context(asked: Asked, body: ContextRequest) -> ContextResponse:
    """What a model should know when the session goes on."""
    types = None if body.memory_types is None else tuple(map(MemoryType, body.memory_types))
    context = await asked.clients.sessions.context(
        body.session_id,
        max_tokens=2000 if body.max_tokens is None else body.max_tokens,
        types=tuple(MemoryType) if types is None else types,
        language=body.language or asked.gateway.options.language,
    )
    return ContextResponse.of(context)


@router.get("/history/{session_id}")
async def session_history(
    asked: Asked,
    session_id: SessionOfPath,
    limit: Annotated[int, Query(ge=1, le=MAX_MESSAGES)] = 50,
) -> HistoryResponse:
    """The latest messages, oldest first; of a session that there is not, none."""
    return HistoryResponse.of(await asked.clients.sessions.history(session_id, limit=limit))


@router.get("/stats/{session_id}")
async def session_stats(asked: Asked, session_id: SessionOfPath) -> StatsResponse:
    """How much is kept of it."""
    return StatsResponse.of(await asked.clients.sessions.stats(session_id))


@router.post("/search")
async def search_memory(asked: Asked, body: SearchRequest) -> SearchResponse:
    """In one session, or in all."""
    found = await asked.clients.sessions.search(
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
async def clear_session(asked: Asked, session_id: SessionOfPath) -> SessionCleared:
    """Its messages and what is remembered of them; its configuration stays. One operation at
    three addresses: Agent Lab's programs use the other two."""
    return SessionCleared.of(await asked.clients.sessions.clear(session_id))
