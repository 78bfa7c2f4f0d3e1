"""Agents: each composes services, behaviours and stores. Imported on first use."""

from __future__ import annotations

from typing import TYPE_CHECKING

from spade_llm.core.imports import lazy_exports

if TYPE_CHECKING:
    from spade_llm.agents.chat import ChatAgent, run_interactive_chat
    from spade_llm.agents.coordinator import CoordinatorAgent
    from spade_llm.agents.gateway import GatewayAgent
    from spade_llm.agents.llm import LLMAgent, Services
    from spade_llm.agents.memory import MemoryAgent
    from spade_llm.agents.rag import RAGAgent, RagOptions
    from spade_llm.agents.tools import ToolAgent
    from spade_llm.assistant.config import AssistantConfig, TurnLimits
    from spade_llm.assistant.delegation.expert_questions import Expert
    from spade_llm.assistant.middleware.quota import PeerQuota
    from spade_llm.compat.retrieval_agent import RetrievalAgent
    from spade_llm.xmpp.agent import AgentOptions, XmppAgent
    from spade_llm.xmpp.connection.settings import ConnectionSettings
else:
    __getattr__, __dir__ = lazy_exports(__name__, __file__)

__all__ = [
    "AgentOptions",
    "AssistantConfig",
    "ChatAgent",
    "ConnectionSettings",
    "CoordinatorAgent",
    "Expert",
    "GatewayAgent",
    "LLMAgent",
    "MemoryAgent",
    "PeerQuota",
    "RAGAgent",
    "RagOptions",
    "RetrievalAgent",
    "Services",
    "ToolAgent",
    "TurnLimits",
    "XmppAgent",
    "run_interactive_chat",
]
