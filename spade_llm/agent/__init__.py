"""The agents: each composes services, behaviours and stores. Little code."""

from spade_llm.agent.chat import ChatAgent
from spade_llm.agent.llm import LLMAgent, Services
from spade_llm.agent.memory import MemoryAgent
from spade_llm.agent.rag import RAGAgent
from spade_llm.agent.tools import ToolAgent
from spade_llm.conversation.turn import TurnLimits
from spade_llm.xmpp.agent import AgentOptions, XmppAgent
from spade_llm.xmpp.connection import Connection

__all__ = [
    "AgentOptions",
    "ChatAgent",
    "Connection",
    "LLMAgent",
    "MemoryAgent",
    "RAGAgent",
    "Services",
    "ToolAgent",
    "TurnLimits",
    "XmppAgent",
]
