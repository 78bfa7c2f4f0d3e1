"""The agents: each composes services, behaviours and stores. Little code.

Names are loaded at first use: a client of one agent does not pay for the others.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from spade_llm.agent.chat import ChatAgent
    from spade_llm.agent.coordinator import CoordinatorAgent
    from spade_llm.agent.gateway import GatewayAgent
    from spade_llm.agent.llm import LLMAgent, Services
    from spade_llm.agent.memory import MemoryAgent
    from spade_llm.agent.rag import RAGAgent, RagOptions
    from spade_llm.agent.tools import ToolAgent
    from spade_llm.behaviour.conduct import Conduct
    from spade_llm.conversation.turn import TurnLimits
    from spade_llm.programs.interactive import run_interactive_chat
    from spade_llm.programs.retrieval_agent import RetrievalAgent
    from spade_llm.services.expert_tool import Expert
    from spade_llm.xmpp.agent import AgentOptions, XmppAgent
    from spade_llm.xmpp.connection import Connection

__all__ = [
    "AgentOptions",
    "ChatAgent",
    "Conduct",
    "Connection",
    "CoordinatorAgent",
    "Expert",
    "GatewayAgent",
    "LLMAgent",
    "MemoryAgent",
    "RAGAgent",
    "RagOptions",
    "RetrievalAgent",
    "Services",
    "ToolAgent",
    "TurnLimits",
    "XmppAgent",
    "run_interactive_chat",
]

_HOME = {
    "AgentOptions": "xmpp.agent",
    "ChatAgent": "agent.chat",
    "Conduct": "behaviour.conduct",
    "Connection": "xmpp.connection",
    "CoordinatorAgent": "agent.coordinator",
    "Expert": "services.expert_tool",
    "GatewayAgent": "agent.gateway",
    "LLMAgent": "agent.llm",
    "MemoryAgent": "agent.memory",
    "RAGAgent": "agent.rag",
    "RagOptions": "agent.rag",
    "RetrievalAgent": "programs.retrieval_agent",
    "Services": "agent.llm",
    "ToolAgent": "agent.tools",
    "TurnLimits": "conversation.turn",
    "XmppAgent": "xmpp.agent",
    "run_interactive_chat": "programs.interactive",
}


def __getattr__(name: str) -> object:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"spade_llm.{_HOME[name]}"), name)
