"""MCP (Model Context Protocol): servers used by an agent, and the server of this package."""

from __future__ import annotations

from typing import TYPE_CHECKING

from spade_llm.core.imports import lazy_exports

if TYPE_CHECKING:
    from spade_llm.mcp.mcp_sessions import (
        MCPSession,
        MCPToolAdapter,
        get_all_mcp_tools,
        get_mcp_server_tools,
        get_mcp_tool,
    )
    from spade_llm.mcp.server_configs import (
        MCPServerConfig,
        SseServerConfig,
        StdioServerConfig,
        StreamableHttpServerConfig,
    )
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
