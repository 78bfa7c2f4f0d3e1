"""specs/4 §6: what there is, and how sessions are set. Only the first asks other agents."""

from __future__ import annotations

from fastapi import APIRouter

from spade_llm.gateway.asking import Asked  # FastAPI reads it
from spade_llm.gateway.bodies.common import SessionId
from spade_llm.gateway.bodies.config import (
    ConfigStatus,
    MemoryConfig,
    MemoryUpdated,
    Parts,
    Preferences,
    RagConfig,
    RagUpdated,
    SessionConfig,
    SessionConfigDeleted,
    SessionUpdated,
    UpdateMemory,
    UpdateRag,
    UpdateSession,
)
from spade_llm.gateway.configuration import Configuration, Effective, RagPart
from spade_llm.gateway.errors import HttpError
from spade_llm.gateway.facts import config_status
from spade_llm.gateway.failures import FAILURES

router = APIRouter(prefix="/config", tags=["config"], responses=FAILURES)


@router.get("/status")
async def status(asked: Asked) -> ConfigStatus:
    """The agents behind, as they are now, and the defaults."""
    return await config_status(asked)


@router.get("/session/{session_id}", response_model_exclude_unset=True)
async def get_session(session_id: SessionId, asked: Asked) -> SessionConfig:
    """How a session is set; one that was never set has the defaults."""
    state, principal = asked.gateway.state, asked.principal.jid
    kept, holds = state.kept(principal, session_id), state.effective(principal, session_id)
    parts = Parts.of(holds)
    more = {"config": parts} if holds.has_toggles else {}
    return SessionConfig(
        session_id=session_id,
        memory=parts.memory,
        rag=parts.rag,
        **more,
        preferences=Preferences(
            context_priority=holds.priority, max_context_tokens=holds.max_context_tokens
        ),
        created_at=kept.created if kept else None,
        updated_at=kept.updated if kept else None,
    )


@router.post("/session", response_model_exclude_none=True)
async def update_session(body: UpdateSession, asked: Asked) -> SessionUpdated:
    """Set some of a session's fields; the others stay."""
    before = asked.gateway.state.effective(asked.principal.jid, body.session_id)
    holds = await _configured(asked, body.as_layer(before), body.session_id)
    return SessionUpdated(session_id=body.session_id, config=Parts.of(holds))


@router.delete("/session/{session_id}")
async def delete_session(session_id: SessionId, asked: Asked) -> SessionConfigDeleted:
    """Forget how a session was set; its messages and memories stay."""
    if not asked.gateway.state.unset(asked.principal.jid, session_id):
        raise HttpError(404, f"Session {session_id} has no configuration")
    return SessionConfigDeleted(session_id=session_id)


@router.put("/memory", response_model_exclude_none=True)
async def update_memory(body: UpdateMemory, asked: Asked) -> MemoryUpdated:
    """Memory of one session, or (without `session_id`) of all of yours."""
    before = asked.gateway.state.effective(asked.principal.jid, body.session_id or "")
    change = Configuration(memory=body.part(before))
    holds = await _configured(asked, change, body.session_id)
    return MemoryUpdated(config=MemoryConfig.of(holds))


@router.put("/rag", response_model_exclude_none=True)
async def update_rag(body: UpdateRag, asked: Asked) -> RagUpdated:
    """Documents of one session, or (without `session_id`) of all of yours."""
    part = RagPart(enabled=body.enabled, namespaces=body.namespaces, top_k=body.top_k)
    holds = await _configured(asked, Configuration(rag=part), body.session_id)
    return RagUpdated(config=RagConfig.of(holds))


async def _configured(asked: Asked, change: Configuration, session: str | None) -> Effective:
    """What holds after the change; None: the global one."""
    state, principal = asked.gateway.state, asked.principal.jid
    await state.configure(principal, change, session or "")
    return state.effective(principal, session or "")
