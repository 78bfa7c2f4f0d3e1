"""/api/v0: what is remembered of whoever asks; to be seen, corrected and forgotten."""

from __future__ import annotations

from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, Path, Query

from spade_llm.gateway.asking import Asked
from spade_llm.gateway.bodies.common import MemoryTypeName, SessionId
from spade_llm.gateway.bodies.own_memories import (
    Correction,
    Forgotten,
    MemoryLine,
    MemoryLines,
)
from spade_llm.gateway.errors import HttpError
from spade_llm.gateway.failures import FAILURES
from spade_llm.memory.store import MemoryType

router = APIRouter(prefix="/api/v0/memories", tags=["console"], responses=FAILURES)

MAX_PAGE = 200
MAX_OFFSET = 1_000_000
MAX_TEXT_CHARS = 1000
"""It is a part of the address."""
IdOfPath = Annotated[UUID, Path()]


@router.get("")
async def list_memories(
    asked: Asked,
    types: Annotated[list[MemoryTypeName] | None, Query(max_length=4)] = None,
    text: Annotated[str, Query(max_length=MAX_TEXT_CHARS)] = "",
    session: Annotated[SessionId | None, Query()] = None,
    limit: Annotated[int, Query(ge=1, le=MAX_PAGE)] = 50,
    offset: Annotated[int, Query(ge=0, le=MAX_OFFSET)] = 0,
) -> MemoryLines:
    """Newest first; with `text`, those that speak of it, best first."""
    page = await asked.clients.sessions.memories(
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


@router.patch("/{id}")
async def correct_memory(asked: Asked, id: IdOfPath, body: Correction) -> MemoryLine:
    """It says something else from now on."""
    return MemoryLine.of(await asked.clients.sessions.correct(str(id), body.content))


@router.delete("/{id}")
async def forget_memory(asked: Asked, id: IdOfPath) -> Forgotten:
    """It is remembered no more."""
    deleted = await asked.clients.sessions.forget([str(id)])
    if not deleted:
        raise HttpError(404, f"There is no memory {id}")
    return Forgotten(deleted=deleted)
