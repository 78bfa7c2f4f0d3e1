"""Tools of agents: function tools, built-in tools, and toolboxes.

Names are loaded at first use, so that importing this package costs nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from spade_llm.core.imports import lazy_exports

if TYPE_CHECKING:
    from spade_llm.compat.retrieval_agent import RetrievalTool
    from spade_llm.compat.tools import HumanInTheLoopTool, LangChainToolAdapter
    from spade_llm.providers.model import ToolExample, ToolSpec
    from spade_llm.tools.builtin import builtin_tools
    from spade_llm.tools.function_tool import FunctionTool, tool
    from spade_llm.tools.llm_tool import LLMTool, Tool
    from spade_llm.tools.local import LocalToolbox
    from spade_llm.tools.toolbox import (
        CallContext,
        CombinedToolbox,
        Terms,
        Toolbox,
        ToolGroup,
        ToolResult,
        ToolRules,
        current_context,
    )
else:
    __getattr__, __dir__ = lazy_exports(__name__, __file__)

__all__ = [
    "CallContext",
    "CombinedToolbox",
    "FunctionTool",
    "HumanInTheLoopTool",
    "LLMTool",
    "LangChainToolAdapter",
    "LocalToolbox",
    "RetrievalTool",
    "Terms",
    "Tool",
    "ToolExample",
    "ToolGroup",
    "ToolResult",
    "ToolRules",
    "ToolSpec",
    "Toolbox",
    "builtin_tools",
    "current_context",
    "tool",
]
