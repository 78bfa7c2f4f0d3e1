"""A door for programs written for spade_llm 0.2/0.3: MCP servers of an agent's own.

Each name is loaded from `spade_llm.programs` when it is first used.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from spade_llm.programs.mcp_configs import (
        MCPServerConfig,
        SseServerConfig,
        StdioServerConfig,
        StreamableHttpServerConfig,
    )
    from spade_llm.programs.mcp_session import MCPSession, MCPToolAdapter
    from spade_llm.programs.mcp_tools import get_all_mcp_tools, get_mcp_server_tools, get_mcp_tool

__all__ = [
    "MCPServerConfig",
    "MCPSession",
    "MCPToolAdapter",
    "SseServerConfig",
    "StdioServerConfig",
    "StreamableHttpServerConfig",
    "get_all_mcp_tools",
    "get_mcp_server_tools",
    "get_mcp_tool",
]

_HOME = {
    "MCPSession": "mcp_session",
    "MCPToolAdapter": "mcp_session",
    "get_all_mcp_tools": "mcp_tools",
    "get_mcp_server_tools": "mcp_tools",
    "get_mcp_tool": "mcp_tools",
}


def __getattr__(name: str) -> object:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"spade_llm.programs.{_HOME.get(name, 'mcp_configs')}"), name)
