"""Which tools `spade-llm mcp` offers: families, by name, over the running agents. No transport."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from spade_llm.cli.mcp_choices import EVERYTHING, FAMILIES
from spade_llm.errors import ConfigurationError
from spade_llm.settings import read_environment

if TYPE_CHECKING:
    from collections.abc import Callable

    from spade_llm.mcp_server.offer import Offer
    from spade_llm.mcp_server.offered import OfferedTool
    from spade_llm.runtime import Requester


@dataclass(frozen=True, slots=True, kw_only=True)
class Peers:
    """Bare JIDs of the agents behind."""

    memory: str
    rag: str
    tools: str
    assistants: tuple[str, ...]


def chosen(names: str) -> tuple[str, ...]:
    """Raises ConfigurationError."""
    wanted = {name.strip() for name in names.split(",")} - {""}
    if unknown := wanted - {*FAMILIES, EVERYTHING}:
        known = ", ".join([*FAMILIES, EVERYTHING])
        raise ConfigurationError(f"--tools: {sorted(unknown)[0]!r} is none of {known}")
    if not wanted:
        raise ConfigurationError(f"--tools: name at least one of {', '.join(FAMILIES)}")
    return tuple(name for name in FAMILIES if name in wanted or EVERYTHING in wanted)


def offer_of(families: tuple[str, ...], requester: Requester, owner: str, peers: Peers) -> Offer:
    from spade_llm.mcp_server.offer import Offer
    from spade_llm.mcp_server.passed_tools import PassedTools
    from spade_llm.services.tools import ToolsClient

    build = _builders(requester, owner, peers)
    own = [tool for name in families if name in build for tool in build[name]()]
    passed = PassedTools(ToolsClient(requester, peers.tools)) if "tools" in families else None
    return Offer(own, passed)


def _builders(
    requester: Requester, owner: str, peers: Peers
) -> dict[str, Callable[[], list[OfferedTool]]]:
    from spade_llm.mcp_server.agent_tools import AgentTools
    from spade_llm.mcp_server.document_tools import DocumentTools
    from spade_llm.mcp_server.memory_tools import MemoryTools
    from spade_llm.services.memory import MemoryClient
    from spade_llm.services.rag import RagClient

    memory = MemoryTools(
        MemoryClient(requester, peers.memory),
        owner,
        max_batch=read_environment().memory_batch_max_size,
    )
    services = (peers.memory, peers.rag, peers.tools)
    return {
        "memory": memory.of_the_specification,
        "further": memory.further,
        "owner": memory.of_the_owner,
        "documents": DocumentTools(RagClient(requester, peers.rag)).all,
        "ask": AgentTools(requester, peers.assistants, services).all,
    }
