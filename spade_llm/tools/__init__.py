"""What agents can do: tools, and the boxes that hold them.

Names are loaded at first use, so that importing this package costs nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from spade_llm.programs.human_tool import HumanInTheLoopTool
    from spade_llm.programs.langchain_tool import LangChainToolAdapter
    from spade_llm.programs.retrieval_tool import RetrievalTool
    from spade_llm.tools.builtin import builtin_tools
    from spade_llm.tools.combined import CombinedToolbox
    from spade_llm.tools.function_tool import FunctionTool, tool
    from spade_llm.tools.group import ToolGroup, ToolRules
    from spade_llm.tools.llm_tool import LLMTool, Tool
    from spade_llm.tools.local import LocalToolbox
    from spade_llm.tools.terms import Terms
    from spade_llm.tools.toolbox import CallContext, Toolbox, ToolExample, ToolResult, ToolSpec

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
    "tool",
]

_HOME = {
    "CombinedToolbox": "combined",
    "FunctionTool": "function_tool",
    "LLMTool": "llm_tool",
    "LocalToolbox": "local",
    "Terms": "terms",
    "Tool": "llm_tool",
    "ToolGroup": "group",
    "ToolRules": "group",
    "builtin_tools": "builtin",
    "tool": "function_tool",
}

_PROGRAMS = {
    "HumanInTheLoopTool": "human_tool",
    "LangChainToolAdapter": "langchain_tool",
    "RetrievalTool": "retrieval_tool",
}


def __getattr__(name: str) -> object:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    if name in _PROGRAMS:
        return getattr(import_module(f"spade_llm.programs.{_PROGRAMS[name]}"), name)
    return getattr(import_module(f"{__name__}.{_HOME.get(name, 'toolbox')}"), name)
