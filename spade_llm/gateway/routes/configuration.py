"""Routes /config: status of the services, configuration of sessions."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import TYPE_CHECKING

from fastapi import APIRouter

from spade_llm.core.errors import RequestError
from spade_llm.gateway.app import API_VERSION
from spade_llm.gateway.dependencies import ApiRequest, CurrentRequest
from spade_llm.gateway.errors import ERROR_RESPONSES, HttpError
from spade_llm.gateway.schemas import configuration as schemas
from spade_llm.gateway.schemas.common import SessionId

if TYPE_CHECKING:
    from spade_llm.messaging.agent_status import AgentStatus
    from spade_llm.tools.remote import ToolsClient

router = APIRouter(prefix="/config", tags=["config"], responses=ERROR_RESPONSES)


async def config_status(api_request: ApiRequest) -> schemas.ConfigStatus:
    """Collect the status of the agents, within the deadlines of a liveness check. An agent that
    does not respond is unavailable."""
    gateway = api_request.gateway
    statuses = await gateway.availability.statuses()
    addresses = gateway.addresses
    llm = statuses.get(addresses.assistants[0])
    memory = statuses.get(addresses.memory) if addresses.memory else None
    rag = statuses.get(addresses.rag) if addresses.rag else None
    effective = await gateway.sessions.effective(api_request.principal.jid)
    environment = "development" if gateway.options.is_loopback else "production"
    return schemas.ConfigStatus(
        system=schemas.System(version=API_VERSION, environment=environment),
        services=schemas.ServicesStatus(
            llm=schemas.LlmService(
                available=llm is not None,
                provider=_status_value(llm, "provider"),
                model=_status_value(llm, "model"),
            ),
            memory=schemas.MemoryServiceStatus(
                available=memory is not None,
                storage=_status_value(memory, "storage"),
                semantic_search=bool(_status_value(memory, "embeddings")),
            ),
            rag=schemas.RagServiceStatus(
                available=rag is not None,
                vector_db=_status_value(rag, "storage"),
                embedding_model=_status_value(rag, "embeddings"),
            ),
            mcp=await _tool_services(api_request, statuses),
        ),
        defaults=schemas.Defaults(
            memory=schemas.MemoryDefaults(
                enabled=effective.use_memory, types=effective.memory_types
            ),
            rag=schemas.RagDefaults(enabled=effective.use_rag, top_k=effective.top_k),
            context=schemas.ContextDefaults(
                max_tokens=effective.max_context_tokens, priority=effective.priority
            ),
        ),
    )


@router.get("/status")
async def status(api_request: CurrentRequest) -> schemas.ConfigStatus:
    """Current status of the agents, and the defaults."""
    return await config_status(api_request)


@router.get("/session/{session_id}", response_model_exclude_unset=True)
async def get_session(session_id: SessionId, api_request: CurrentRequest) -> schemas.SessionConfig:
    """Configuration of a session; the defaults if it was never configured."""
    state, principal = api_request.gateway.sessions, api_request.principal.jid
    kept, effective = (
        await state.stored_configuration(principal, session_id),
        await state.effective(principal, session_id),
    )
    parts = schemas.ConfiguredParts.of(effective)
    more = {"config": parts} if effective.has_toggles else {}
    return schemas.SessionConfig(
        session_id=session_id,
        memory=parts.memory,
        rag=parts.rag,
        **more,
        preferences=schemas.Preferences(
            context_priority=effective.priority, max_context_tokens=effective.max_context_tokens
        ),
        created_at=kept.created if kept else None,
        updated_at=kept.updated if kept else None,
    )


@router.post("/session", response_model_exclude_none=True)
async def update_session(
    body: schemas.UpdateSession, api_request: CurrentRequest
) -> schemas.SessionUpdated:
    """Change the given fields of a session's configuration."""
    before = await api_request.gateway.sessions.effective(
        api_request.principal.jid, body.session_id
    )
    effective = await _configured(api_request, body.as_layer(before), body.session_id)
    return schemas.SessionUpdated(
        session_id=body.session_id, config=schemas.ConfiguredParts.of(effective)
    )


@router.delete("/session/{session_id}")
async def delete_session(
    session_id: SessionId, api_request: CurrentRequest
) -> schemas.SessionConfigDeleted:
    """Delete a session's configuration; its messages and memories stay."""
    state = api_request.gateway.sessions
    if not await state.delete_configuration(api_request.principal.jid, session_id):
        raise HttpError(404, f"Session {session_id} has no configuration")
    return schemas.SessionConfigDeleted(session_id=session_id)


@router.put("/memory", response_model_exclude_none=True)
async def update_memory(
    body: schemas.UpdateMemory, api_request: CurrentRequest
) -> schemas.MemoryUpdated:
    """Change the memory settings of one session, or (without `session_id`) of all own ones."""
    before = await api_request.gateway.sessions.effective(
        api_request.principal.jid, body.session_id or ""
    )
    change = schemas.ConfigurationLayer(memory=body.part(before))
    effective = await _configured(api_request, change, body.session_id)
    return schemas.MemoryUpdated(config=schemas.MemoryConfig.of(effective))


@router.put("/rag", response_model_exclude_none=True)
async def update_rag(body: schemas.UpdateRag, api_request: CurrentRequest) -> schemas.RagUpdated:
    """Change the document settings of one session, or (without `session_id`) of all own ones."""
    part = schemas.RagPart(enabled=body.enabled, namespaces=body.namespaces, top_k=body.top_k)
    effective = await _configured(
        api_request, schemas.ConfigurationLayer(rag=part), body.session_id
    )
    return schemas.RagUpdated(config=schemas.RagConfig.of(effective))


def _status_value(status: AgentStatus | None, name: str) -> str:
    return status.facts.get(name, "") if status else ""


async def _tool_services(
    api_request: ApiRequest, statuses: Mapping[str, AgentStatus | None]
) -> schemas.ToolServices:
    """Number of tools that the principal may see."""
    available = {
        jid for jid in api_request.gateway.addresses.tools if statuses.get(jid) is not None
    }
    if not available:
        return schemas.ToolServices(available=False, registered_tools=0)

    async def tool_names(client: ToolsClient) -> set[str]:
        try:
            return {spec.name for spec in await client.list()}
        except RequestError:
            return set()

    clients = [client for client in api_request.clients.tools if client.jid in available]
    names = await asyncio.gather(*map(tool_names, clients))
    return schemas.ToolServices(available=True, registered_tools=len(set[str]().union(*names)))


async def _configured(
    api_request: CurrentRequest, change: schemas.ConfigurationLayer, session: str | None
) -> schemas.EffectiveConfiguration:
    """Apply the change and return the merged configuration; `session` None means the global one."""
    state, principal = api_request.gateway.sessions, api_request.principal.jid
    await state.configure(principal, change, session or "")
    return await state.effective(principal, session or "")
