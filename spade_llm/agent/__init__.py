"""The agents: each composes services, behaviours and stores. Little code.

Names are loaded at first use: a client of one agent does not pay for the others.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from spade_llm.lazy import lazy_exports

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
else:
    __getattr__, __dir__ = lazy_exports(__name__, __file__)

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
