"""A network of LLM agents on XMPP.

Public names are loaded when they are first used: importing a part costs only that part.
"""

from __future__ import annotations

import os
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
    from spade_llm.behaviour import (
        HumanInteractionBehaviour,
        LLMBehaviour,
        RetrievalBehaviour,
    )
    from spade_llm.context import (
        ContextManager,
    )
    from spade_llm.guardrails import (
        CompositeGuardrail,
        CustomFunctionGuardrail,
        Guardrail,
        GuardrailAction,
        GuardrailResult,
        InputGuardrail,
        KeywordGuardrail,
        LLMGuardrail,
        OutputGuardrail,
        RegexGuardrail,
    )
    from spade_llm.memory import (
        AgentInteractionMemory,
        AgentMemoryTool,
    )
    from spade_llm.providers import (
        LLMProvider,
        OfflineProvider,
        ScriptedProvider,
    )
    from spade_llm.routing import (
        RoutingFunction,
        RoutingResponse,
    )
    from spade_llm.structured_output import (
        ReadyForStructuredOutputTool,
    )
    from spade_llm.tools import (
        HumanInTheLoopTool,
        LangChainToolAdapter,
        LLMTool,
        RetrievalTool,
    )
    from spade_llm.utils import (
        load_env_vars,
    )
    from spade_llm.xmpp.local_network import (
        LocalNetwork,
    )

    __version__: str

__all__ = [
    "AgentInteractionMemory",
    "AgentMemoryTool",
    "AgentOptions",
    "ChatAgent",
    "CompositeGuardrail",
    "Connection",
    "ContextManager",
    "CoordinatorAgent",
    "CustomFunctionGuardrail",
    "Guardrail",
    "GuardrailAction",
    "GuardrailResult",
    "HumanInTheLoopTool",
    "HumanInteractionBehaviour",
    "InputGuardrail",
    "KeywordGuardrail",
    "LLMAgent",
    "LLMBehaviour",
    "LLMGuardrail",
    "LLMProvider",
    "LLMTool",
    "LangChainToolAdapter",
    "LocalNetwork",
    "MemoryAgent",
    "OfflineProvider",
    "OutputGuardrail",
    "RAGAgent",
    "ReadyForStructuredOutputTool",
    "RegexGuardrail",
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
    "behaviour": [
        "HumanInteractionBehaviour",
        "LLMBehaviour",
        "RetrievalBehaviour",
    ],
    "context": [
        "ContextManager",
    ],
    "guardrails": [
        "CompositeGuardrail",
        "CustomFunctionGuardrail",
        "Guardrail",
        "GuardrailAction",
        "GuardrailResult",
        "InputGuardrail",
        "KeywordGuardrail",
        "LLMGuardrail",
        "OutputGuardrail",
        "RegexGuardrail",
    ],
    "memory": [
        "AgentInteractionMemory",
        "AgentMemoryTool",
    ],
    "providers": [
        "LLMProvider",
        "OfflineProvider",
        "ScriptedProvider",
    ],
    "routing": [
        "RoutingFunction",
        "RoutingResponse",
    ],
    "structured_output": [
        "ReadyForStructuredOutputTool",
    ],
    "tools": [
        "HumanInTheLoopTool",
        "LLMTool",
        "LangChainToolAdapter",
        "RetrievalTool",
    ],
    "utils": [
        "load_env_vars",
    ],
    "xmpp.local_network": [
        "LocalNetwork",
    ],
}
_HOME = {name: home for home, names in _NAMES_OF.items() for name in names}

# onnxruntime (1.32; chromadb imports it too) contacts its maker's telemetry and writes a device id
# below the home directory while it is imported, unless this is set before.
os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")

sys.meta_path.append(OldModules(__name__))


def __getattr__(name: str) -> object:
    if name == "__version__":
        from importlib.metadata import version

        return version("spade-llm-agents")
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOME[name]}"), name)
