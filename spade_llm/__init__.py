"""A network of LLM agents on XMPP.

Public names are loaded when they are first used: importing a part costs only that part.
"""

from __future__ import annotations

import sys
from importlib import import_module
from typing import TYPE_CHECKING

from spade_llm.old_modules import OldModules

if TYPE_CHECKING:
    from spade_llm.agent import (
        AgentOptions,
        ChatAgent,
        Connection,
        CoordinatorAgent,
        LLMAgent,
        MemoryAgent,
        RAGAgent,
        RetrievalAgent,
        Services,
        ToolAgent,
        TurnLimits,
        XmppAgent,
    )
    from spade_llm.behaviour import LLMBehaviour, RetrievalBehaviour
    from spade_llm.context import ContextManager
    from spade_llm.guardrails import Guardrail, GuardrailAction, GuardrailResult
    from spade_llm.providers import LLMProvider, OfflineProvider, ScriptedProvider
    from spade_llm.routing import RoutingFunction, RoutingResponse
    from spade_llm.tools import HumanInTheLoopTool, LLMTool, RetrievalTool
    from spade_llm.utils import load_env_vars
    from spade_llm.xmpp.local_network import LocalNetwork

    __version__: str

__all__ = [
    "AgentOptions",
    "ChatAgent",
    "Connection",
    "ContextManager",
    "CoordinatorAgent",
    "Guardrail",
    "GuardrailAction",
    "GuardrailResult",
    "HumanInTheLoopTool",
    "LLMAgent",
    "LLMBehaviour",
    "LLMProvider",
    "LLMTool",
    "LocalNetwork",
    "MemoryAgent",
    "OfflineProvider",
    "RAGAgent",
    "RetrievalAgent",
    "RetrievalBehaviour",
    "RetrievalTool",
    "RoutingFunction",
    "RoutingResponse",
    "ScriptedProvider",
    "Services",
    "ToolAgent",
    "TurnLimits",
    "XmppAgent",
    "load_env_vars",
]

_NAMES_OF = {
    "agent": [
        "AgentOptions",
        "ChatAgent",
        "Connection",
        "CoordinatorAgent",
        "LLMAgent",
        "MemoryAgent",
        "RAGAgent",
        "RetrievalAgent",
        "Services",
        "ToolAgent",
        "TurnLimits",
        "XmppAgent",
    ],
    "behaviour": ["LLMBehaviour", "RetrievalBehaviour"],
    "context": ["ContextManager"],
    "guardrails": ["Guardrail", "GuardrailAction", "GuardrailResult"],
    "providers": ["LLMProvider", "OfflineProvider", "ScriptedProvider"],
    "routing": ["RoutingFunction", "RoutingResponse"],
    "tools": ["HumanInTheLoopTool", "LLMTool", "RetrievalTool"],
    "utils": ["load_env_vars"],
    "xmpp.local_network": ["LocalNetwork"],
}
_HOME = {name: home for home, names in _NAMES_OF.items() for name in names}

sys.meta_path.append(OldModules(__name__))


def __getattr__(name: str) -> object:
    if name == "__version__":
        from importlib.metadata import version

        return version("spade-llm-agents")
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOME[name]}"), name)
