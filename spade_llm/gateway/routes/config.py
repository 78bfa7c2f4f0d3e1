"""specs/4 §6: what there is, and how sessions are set. Only the first asks other agents."""

from __future__ import annotations

from fastapi import APIRouter

from spade_llm.gateway.asking import Asked  # FastAPI reads it
from spade_llm.gateway.bodies.common import SessionId
from spade_llm.gateway.bodies.config import (
    ConfigStatus,
    MemoryAndRag,
    MemoryConfig,
    MemoryUpdated,
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
from spade_llm.gateway.configuration import Configuration, Effective, MemoryPart, RagPart
from spade_llm.gateway.errors import HttpError
from spade_llm.gateway.facts import config_status
from spade_llm.gateway.failures import FAILURES

router = APIRouter(prefix="/config", tags=["config"], responses=FAILURES)


@router.get("/status")
async def status(asked: Asked) -> ConfigStatus:
    """The agents behind, as they are now, and the defaults."""
    return await config_status(asked)


@router.get("/session/{session_id}")
async def get_session(session_id: SessionId, asked: Asked) -> SessionConfig:
    """How a session is set; one that was never set has the defaults."""
    state, principal = asked.gateway.state, asked.principal.jid
    kept, holds = state.kept(principal, session_id), state.effective(principal, session_id)
    return SessionConfig(
        session_id=session_id,
        memory=_memory(holds),
        rag=_rag(holds),
        preferences=Preferences(
            context_priority=holds.priority, max_context_tokens=holds.max_context_tokens
        ),
        created_at=kept.created if kept else None,
        updated_at=kept.updated if kept else None,
    )


@router.post("/session")
async def update_session(body: UpdateSession, asked: Asked) -> SessionUpdated:
    """Set some of a session's fields; the others stay."""
    holds = await _configured(asked, body.as_layer(), body.session_id)
    return SessionUpdated(
        session_id=body.session_id, config=MemoryAndRag(memory=_memory(holds), rag=_rag(holds))
    )


@router.delete("/session/{session_id}")
async def delete_session(session_id: SessionId, asked: Asked) -> SessionConfigDeleted:
    """Forget how a session was set; its messages and memories stay."""
    if not asked.gateway.state.unset(asked.principal.jid, session_id):
        raise HttpError(404, f"Session {session_id} has no configuration")
    return SessionConfigDeleted(session_id=session_id)


@router.put("/memory")
async def update_memory(body: UpdateMemory, asked: Asked) -> MemoryUpdated:
    """Memory of one session, or (without `session_id`) of all of yours."""
    part = MemoryPart(enabled=body.enabled, types=body.types)
    holds = await _configured(asked, Configuration(memory=part), body.session_id)
    return MemoryUpdated(config=_memory(holds))


@router.put("/rag")
async def update_rag(body: UpdateRag, asked: Asked) -> RagUpdated:
    """Documents of one session, or (without `session_id`) of all of yours."""
    part = RagPart(enabled=body.enabled, namespaces=body.namespaces, top_k=body.top_k)
    holds = await _configured(asked, Configuration(rag=part), body.session_id)
    return RagUpdated(config=_rag(holds))


async def _configured(asked: Asked, change: Configuration, session: str | None) -> Effective:
    """What holds after the change; None: the global one."""
    state, principal = asked.gateway.state, asked.principal.jid
    await state.configure(principal, change, session or "")
    return state.effective(principal, session or "")


def _memory(holds: Effective) -> MemoryConfig:
    return MemoryConfig(enabled=holds.use_memory, types=holds.memory_types)


def _rag(holds: Effective) -> RagConfig:
    return RagConfig(enabled=holds.use_rag, namespaces=holds.namespaces, top_k=holds.top_k)
