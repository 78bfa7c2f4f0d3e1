"""A network of LLM agents on XMPP.

Public names are loaded when they are first used: importing a part costs only that part.
"""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

from spade_llm.core.imports import lazy_exports
from spade_llm.old_names import OldPaths

if TYPE_CHECKING:
    from spade_llm.agents import (
        AgentOptions,
        ChatAgent,
        ConnectionSettings,
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
    from spade_llm.assistant.middleware.routing import RoutingFunction, RoutingResponse
    from spade_llm.assistant.turn.llm_behaviour import LLMBehaviour
    from spade_llm.compat.retrieval_agent import RetrievalBehaviour
    from spade_llm.compat.tools import HumanInteractionBehaviour, ReadyForStructuredOutputTool
    from spade_llm.context import (
        ContextManager,
    )
    from spade_llm.core.settings import (
        load_env_vars,
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
    from spade_llm.tools import (
        HumanInTheLoopTool,
        LangChainToolAdapter,
        LLMTool,
        RetrievalTool,
    )
    from spade_llm.version import __version__
    from spade_llm.xmpp.servers.managed_server import LocalNetwork
else:
    __getattr__, __dir__ = lazy_exports(__name__, __file__)

__all__ = [
    "AgentInteractionMemory",
    "AgentMemoryTool",
    "AgentOptions",
    "ChatAgent",
    "CompositeGuardrail",
    "ConnectionSettings",
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
    "__version__",
    "load_env_vars",
]

# onnxruntime (1.32; chromadb imports it too) contacts its maker's telemetry and writes a device id
# below the home directory while it is imported, unless this is set before.
os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")

# First: a folder that holds nothing but an old __pycache__ would be found as a namespace package.
sys.meta_path.insert(0, OldPaths())
