"""/api/v0: who is asking, their sessions, why an answer is as it is, and yes or no to a tool."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Path

from spade_llm.conversation.why_text import why_text
from spade_llm.gateway.asking import Asked
from spade_llm.gateway.bodies.common import SessionId
from spade_llm.gateway.bodies.memory import SessionCleared
from spade_llm.gateway.bodies.own_sessions import (
    Approval,
    Done,
    Me,
    SessionLine,
    SessionList,
    WhyAnswer,
)
from spade_llm.gateway.failures import FAILURES
from spade_llm.gateway.models import models_of

router = APIRouter(prefix="/api/v0", tags=["console"], responses=FAILURES)

SessionOfPath = Annotated[SessionId, Path()]


@router.get("/me")
async def me(asked: Asked) -> Me:
    """Who is asking, and what there is for them."""
    principal, addresses = asked.principal, asked.gateway.addresses
    return Me(
        principal=principal.jid,
        is_admin=principal.is_admin,
        token=principal.token,
        models=list(models_of(addresses)),
        language=asked.gateway.options.language,
        has_documents=addresses.rag is not None,
        has_tools=bool(addresses.tools),
    )


@router.get("/sessions")
async def list_sessions(asked: Asked) -> SessionList:
    """Those that were begun over HTTP, by the same principal."""
    found = asked.gateway.state.sessions(asked.principal.jid)
    return SessionList(sessions=[SessionLine.of(one) for one in found], total_count=len(found))


@router.delete("/sessions/{session_id}")
async def drop_session(asked: Asked, session_id: SessionOfPath) -> SessionCleared:
    """Its messages, what is remembered of them, its configuration and its place in the list."""
    cleared = await asked.clients.sessions.clear(session_id)
    state, principal = asked.gateway.state, asked.principal.jid
    state.unset(principal, session_id)
    state.drop_session(principal, session_id)
    return SessionCleared.of(cleared)


@router.get("/why/{session_id}")
async def why(asked: Asked, session_id: SessionOfPath) -> WhyAnswer:
    """What the last answer was built from; 404 if there is none since the assistant began."""
    told = await asked.clients.chat.why(conversation_id=session_id)
    return WhyAnswer(session_id=session_id, text=why_text(told.record, told.texts))


@router.post("/approve")
async def approve(asked: Asked, body: Approval) -> Done:
    """The answer to an event `asked`; 404 if that is not asked now."""
    await asked.clients.chat.approve(body.id, is_approved=body.is_approved)
    return Done()
