"""MCP servers as toolboxes: what a server offers is pinned, watched, and called over one session.

Names are loaded at first use; the SDK `mcp` only when a server is started.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from spade_llm.tools.mcp.pins import Pins
    from spade_llm.tools.mcp.server import HttpServer, McpServer, StdioServer
    from spade_llm.tools.mcp.toolbox import McpToolbox

__all__ = ["HttpServer", "McpServer", "McpToolbox", "Pins", "StdioServer"]

_HOME = {"McpToolbox": "toolbox", "Pins": "pins"}


def __getattr__(name: str) -> object:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOME.get(name, 'server')}"), name)
