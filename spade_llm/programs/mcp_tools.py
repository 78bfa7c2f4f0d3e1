"""`get_mcp_server_tools` and its like: tools of MCP servers, to be given to an agent as its own.

A server is started once per event loop, however often its tools are asked for or called, and ends
with the loop.
"""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

from spade_llm.errors import ToolFailed
from spade_llm.programs.mcp_session import MCPSession

if TYPE_CHECKING:
    from collections.abc import Sequence

    from spade_llm.programs.mcp_configs import MCPServerConfig
    from spade_llm.tools.llm_tool import LLMTool

logger = logging.getLogger(__name__)

_sessions: WeakKeyDictionary[asyncio.AbstractEventLoop, list[MCPSession]] = WeakKeyDictionary()
"""As many as there are different descriptions of servers."""


async def get_mcp_server_tools(server_config: MCPServerConfig) -> list[LLMTool]:
    """Raises ToolFailed: the server is away."""
    return await _session(server_config).get_tools()


async def get_mcp_tool(server_config: MCPServerConfig, tool_name: str) -> LLMTool | None:
    """By the server's own name, or the one here; None: there is no such tool."""
    names = {tool_name, f"{server_config.name}_{tool_name}"}
    tools = await get_mcp_server_tools(server_config)
    return next((tool for tool in tools if tool.name in names), None)


async def get_all_mcp_tools(server_configs: Sequence[MCPServerConfig]) -> list[LLMTool]:
    """Of all of them; the log names those that are away."""
    found = await asyncio.gather(*map(_tools_or_none, server_configs))
    return [tool for tools in found for tool in tools]


async def _tools_or_none(config: MCPServerConfig) -> list[LLMTool]:
    try:
        return await get_mcp_server_tools(config)
    except ToolFailed as error:
        logger.warning("going on without tools: %s", error)
        return []


def _session(config: MCPServerConfig) -> MCPSession:
    known = _sessions.setdefault(asyncio.get_running_loop(), [])
    for session in known:
        if session.config == config:
            return session
    known.append(MCPSession(config))
    return known[-1]
