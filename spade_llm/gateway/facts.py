"""What `/config/status` says, put together from what the agents say of themselves."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from spade_llm.errors import RequestError
from spade_llm.gateway.bodies.config import (
    ConfigStatus,
    ContextDefaults,
    Defaults,
    LlmService,
    MemoryDefaults,
    MemoryServiceStatus,
    RagDefaults,
    RagServiceStatus,
    ServicesStatus,
    System,
    ToolServices,
)
from spade_llm.gateway.description import VERSION

if TYPE_CHECKING:
    from collections.abc import Mapping

    from spade_llm.gateway.asking import Asking
    from spade_llm.gateway.configuration import Effective
    from spade_llm.services.status import AgentStatus
    from spade_llm.services.tools import ToolsClient


async def config_status(asked: Asking) -> ConfigStatus:
    """Bounded by the deadlines of a look; who does not answer is not available."""
    gateway = asked.gateway
    seen = await gateway.outlook.look()
    environment = "development" if gateway.options.is_loopback else "production"
    return ConfigStatus(
        system=System(version=VERSION, environment=environment),
        services=ServicesStatus(
            llm=_llm(_at(seen, gateway.addresses.assistants[0])),
            memory=_memory(_at(seen, gateway.addresses.memory)),
            rag=_rag(_at(seen, gateway.addresses.rag)),
            mcp=await _tools(asked, seen),
        ),
        defaults=_defaults(gateway.state.effective(asked.principal.jid)),
    )


def _at(seen: Mapping[str, AgentStatus | None], jid: str | None) -> AgentStatus | None:
    return seen.get(jid) if jid else None


def _fact(status: AgentStatus | None, name: str) -> str:
    return status.facts.get(name, "") if status else ""


def _llm(status: AgentStatus | None) -> LlmService:
    return LlmService(
        available=status is not None,
        provider=_fact(status, "provider"),
        model=_fact(status, "model"),
    )


def _memory(status: AgentStatus | None) -> MemoryServiceStatus:
    return MemoryServiceStatus(
        available=status is not None,
        storage=_fact(status, "storage"),
        semantic_search=bool(_fact(status, "embeddings")),
    )


def _rag(status: AgentStatus | None) -> RagServiceStatus:
    return RagServiceStatus(
        available=status is not None,
        vector_db=_fact(status, "storage"),
        embedding_model=_fact(status, "embeddings"),
    )


async def _tools(asked: Asking, seen: Mapping[str, AgentStatus | None]) -> ToolServices:
    """Those that the asker may see."""
    there = [jid for jid in asked.gateway.addresses.tools if seen.get(jid) is not None]
    if not there:
        return ToolServices(available=False, registered_tools=0)
    clients = [client for client in asked.clients.tools if client.jid in there]
    names = await asyncio.gather(*map(_names, clients))
    return ToolServices(available=True, registered_tools=len(set[str]().union(*names)))


async def _names(client: ToolsClient) -> set[str]:
    try:
        return {spec.name for spec in await client.list()}
    except RequestError:
        return set()


def _defaults(holds: Effective) -> Defaults:
    """What a session without settings of its own has: the global configuration."""
    return Defaults(
        memory=MemoryDefaults(enabled=holds.use_memory, types=holds.memory_types),
        rag=RagDefaults(enabled=holds.use_rag, top_k=holds.top_k),
        context=ContextDefaults(max_tokens=holds.max_context_tokens, priority=holds.priority),
    )
