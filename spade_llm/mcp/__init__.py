"""A door for programs written for spade_llm 0.2/0.3: MCP servers of an agent's own.

Each name is loaded from `spade_llm.programs` when it is first used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from spade_llm.lazy import lazy_exports

if TYPE_CHECKING:
    from spade_llm.programs.mcp_configs import (
        MCPServerConfig,
        SseServerConfig,
        StdioServerConfig,
        StreamableHttpServerConfig,
    )
    from spade_llm.programs.mcp_session import MCPSession, MCPToolAdapter
    from spade_llm.programs.mcp_tools import get_all_mcp_tools, get_mcp_server_tools, get_mcp_tool
else:
    __getattr__, __dir__ = lazy_exports(__name__, __file__)

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
