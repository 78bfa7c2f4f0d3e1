"""MCP servers as toolboxes: what a server offers is pinned, watched, and called over one session.

Names are loaded at first use; the SDK `mcp` only when a server is started.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from spade_llm.lazy import lazy_exports

if TYPE_CHECKING:
    from spade_llm.tools.mcp.pins import Pins
    from spade_llm.tools.mcp.server import HttpServer, McpServer, StdioServer
    from spade_llm.tools.mcp.toolbox import McpToolbox
else:
    __getattr__, __dir__ = lazy_exports(__name__, __file__)

__all__ = ["HttpServer", "McpServer", "McpToolbox", "Pins", "StdioServer"]
