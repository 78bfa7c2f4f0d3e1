"""A network of LLM agents on XMPP.

Public names are loaded when they are first used: importing a part costs only that part.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from spade_llm.agent import (
        AgentOptions,
        ChatAgent,
        Connection,
        LLMAgent,
        MemoryAgent,
        RAGAgent,
        Services,
        ToolAgent,
        TurnLimits,
        XmppAgent,
    )
    from spade_llm.providers import LLMProvider, OfflineProvider, ScriptedProvider
    from spade_llm.xmpp.local_network import LocalNetwork

__all__ = [
    "AgentOptions",
    "ChatAgent",
    "Connection",
    "LLMAgent",
    "LLMProvider",
    "LocalNetwork",
    "MemoryAgent",
    "OfflineProvider",
    "RAGAgent",
    "ScriptedProvider",
    "Services",
    "ToolAgent",
    "TurnLimits",
    "XmppAgent",
]

_HOME = {
    "LLMProvider": "providers",
    "LocalNetwork": "xmpp.local_network",
    "OfflineProvider": "providers",
    "ScriptedProvider": "providers",
}


def __getattr__(name: str) -> object:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOME.get(name, 'agent')}"), name)
