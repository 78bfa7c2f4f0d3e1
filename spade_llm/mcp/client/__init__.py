"""MCP client: toolboxes over MCP servers, with pinned tool definitions."""

from __future__ import annotations

from typing import TYPE_CHECKING

from spade_llm.core.imports import lazy_exports

if TYPE_CHECKING:
    from spade_llm.mcp.client.mcp_toolbox import McpToolbox
    from spade_llm.mcp.client.pins import Pins
    from spade_llm.mcp.server_configs import HttpEndpoint, McpServerSettings, StdioEndpoint
else:
    __getattr__, __dir__ = lazy_exports(__name__, __file__)

__all__ = ["HttpEndpoint", "McpServerSettings", "McpToolbox", "Pins", "StdioEndpoint"]
