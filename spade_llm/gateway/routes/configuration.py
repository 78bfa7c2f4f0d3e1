"""Routes /config: status of the services, configuration of sessions."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from fastapi import APIRouter

from spade_llm.core.errors import RequestError
from spade_llm.gateway.dependencies import CurrentRequest
from spade_llm.gateway.errors import ERROR_RESPONSES, HttpError
from spade_llm.gateway.openapi import API_VERSION
from spade_llm.gateway.schemas.common import SessionId
from spade_llm.gateway.schemas.configuration import (
    ConfigStatus,
    ConfigurationLayer,
    ConfiguredParts,
    ContextDefaults,
    Defaults,
    EffectiveConfiguration,
    LlmService,
    MemoryConfig,
    MemoryDefaults,
    MemoryServiceStatus,
    MemoryUpdated,
    Preferences,
    RagConfig,
    RagDefaults,
    RagPart,
    RagServiceStatus,
    RagUpdated,
    ServicesStatus,
    SessionConfig,
    SessionConfigDeleted,
    SessionUpdated,
    System,
    ToolServices,
    UpdateMemory,
    UpdateRag,
    UpdateSession,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from spade_llm.gateway.dependencies import ApiRequest
    from spade_llm.messaging.agent_status import AgentStatus
    from spade_llm.tools.remote import ToolsClient

router = APIRouter(prefix="/config", tags=["config"], responses=ERROR_RESPONSES)


async def config_status(api_request: ApiRequest) -> ConfigStatus:
    """Collect the status of the agents, within the deadlines of a liveness check. An agent that
    does not respond is unavailable."""
    gateway = api_request.gateway
    seen = await gateway.availability.statuses()
    environment = "development" if gateway.options.is_loopback else "production"
    return ConfigStatus(
        system=System(version=API_VERSION, environment=environment),
        services=ServicesStatus(
            llm=_llm_service(_status_of(seen, gateway.addresses.assistants[0])),
            memory=_memory_service(_status_of(seen, gateway.addresses.memory)),
            rag=_rag_service(_status_of(seen, gateway.addresses.rag)),
            mcp=await _tool_services(api_request, seen),
        ),
        defaults=_configured_defaults(gateway.sessions.effective(api_request.principal.jid)),
    )


@router.get("/status")
async def status(api_request: CurrentRequest) -> ConfigStatus:
    """The agents behind, as they are now, and the defaults."""
    return await config_status(api_request)


@router.get("/session/{session_id}", response_model_exclude_unset=True)
async def get_session(session_id: SessionId, api_request: CurrentRequest) -> SessionConfig:
    """Configuration of a session; the defaults if it was never configured."""
    state, principal = api_request.gateway.sessions, api_request.principal.jid
    kept, effective = (
        state.stored_configuration(principal, session_id),
        state.effective(principal, session_id),
    )
    parts = ConfiguredParts.of(effective)
    more = {"config": parts} if effective.has_toggles else {}
    return SessionConfig(
        session_id=session_id,
        memory=parts.memory,
        rag=parts.rag,
        **more,
        preferences=Preferences(
            context_priority=effective.priority, max_context_tokens=effective.max_context_tokens
        ),
        created_at=kept.created if kept else None,
        updated_at=kept.updated if kept else None,
    )


@router.post("/session", response_model_exclude_none=True)
async def update_session(body: UpdateSession, api_request: CurrentRequest) -> SessionUpdated:
    """Set some of a session's fields; the others stay."""
    before = api_request.gateway.sessions.effective(api_request.principal.jid, body.session_id)
    effective = await _configured(api_request, body.as_layer(before), body.session_id)
    return SessionUpdated(session_id=body.session_id, config=ConfiguredParts.of(effective))


@router.delete("/session/{session_id}")
async def delete_session(
    session_id: SessionId, api_request: CurrentRequest
) -> SessionConfigDeleted:
    """Forget how a session was set; its messages and memories stay."""
    if not api_request.gateway.sessions.delete_configuration(api_request.principal.jid, session_id):
        raise HttpError(404, f"Session {session_id} has no configuration")
    return SessionConfigDeleted(session_id=session_id)


@router.put("/memory", response_model_exclude_none=True)
async def update_memory(body: UpdateMemory, api_request: CurrentRequest) -> MemoryUpdated:
    """Memory of one session, or (without `session_id`) of all of yours."""
    before = api_request.gateway.sessions.effective(
        api_request.principal.jid, body.session_id or ""
    )
    change = ConfigurationLayer(memory=body.part(before))
    effective = await _configured(api_request, change, body.session_id)
    return MemoryUpdated(config=MemoryConfig.of(effective))


@router.put("/rag", response_model_exclude_none=True)
async def update_rag(body: UpdateRag, api_request: CurrentRequest) -> RagUpdated:
    """Documents of one session, or (without `session_id`) of all of yours."""
    part = RagPart(enabled=body.enabled, namespaces=body.namespaces, top_k=body.top_k)
    effective = await _configured(api_request, ConfigurationLayer(rag=part), body.session_id)
    return RagUpdated(config=RagConfig.of(effective))


def _status_of(seen: Mapping[str, AgentStatus | None], jid: str | None) -> AgentStatus | None:
    return seen.get(jid) if jid else None


def _status_value(status: AgentStatus | None, name: str) -> str:
    return status.facts.get(name, "") if status else ""


def _llm_service(status: AgentStatus | None) -> LlmService:
    return LlmService(
        available=status is not None,
        provider=_status_value(status, "provider"),
        model=_status_value(status, "model"),
    )


def _memory_service(status: AgentStatus | None) -> MemoryServiceStatus:
    return MemoryServiceStatus(
        available=status is not None,
        storage=_status_value(status, "storage"),
        semantic_search=bool(_status_value(status, "embeddings")),
    )


def _rag_service(status: AgentStatus | None) -> RagServiceStatus:
    return RagServiceStatus(
        available=status is not None,
        vector_db=_status_value(status, "storage"),
        embedding_model=_status_value(status, "embeddings"),
    )


async def _tool_services(
    api_request: ApiRequest, seen: Mapping[str, AgentStatus | None]
) -> ToolServices:
    """Those that the asker may see."""
    there = [jid for jid in api_request.gateway.addresses.tools if seen.get(jid) is not None]
    if not there:
        return ToolServices(available=False, registered_tools=0)
    clients = [client for client in api_request.clients.tools if client.jid in there]
    names = await asyncio.gather(*map(_tool_names, clients))
    return ToolServices(available=True, registered_tools=len(set[str]().union(*names)))


async def _tool_names(client: ToolsClient) -> set[str]:
    try:
        return {spec.name for spec in await client.list()}
    except RequestError:
        return set()


def _configured_defaults(effective: EffectiveConfiguration) -> Defaults:
    """Defaults of a session without settings of its own: the global configuration."""
    return Defaults(
        memory=MemoryDefaults(enabled=effective.use_memory, types=effective.memory_types),
        rag=RagDefaults(enabled=effective.use_rag, top_k=effective.top_k),
        context=ContextDefaults(
            max_tokens=effective.max_context_tokens, priority=effective.priority
        ),
    )


async def _configured(
    api_request: CurrentRequest, change: ConfigurationLayer, session: str | None
) -> EffectiveConfiguration:
    """Apply the change and return the merged configuration; `session` None means the global one."""
    state, principal = api_request.gateway.sessions, api_request.principal.jid
    await state.configure(principal, change, session or "")
    return state.effective(principal, session or "")
