"""MCP servers in use: toolbox of an agent over all its servers, sessions for programs.

The server of a session is started once per event loop, at its first use, and ends with the loop.
"""

from __future__ import annotations

import asyncio
import logging
import shutil
import tempfile
import weakref
from collections.abc import Callable, Mapping, Sequence
from contextlib import AsyncExitStack
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Self
from weakref import WeakKeyDictionary

from spade_llm.core.errors import ToolFailed, UnknownTool
from spade_llm.mcp.client.pins import PINS_FILE, Pins
from spade_llm.mcp.server_configs import MCPServerConfig, mcp_server, mcp_servers
from spade_llm.tools.llm_tool import LLMTool
from spade_llm.tools.toolbox import NO_CONTEXT, CallContext, ToolResult

if TYPE_CHECKING:
    from spade_llm.mcp.client import McpToolbox
    from spade_llm.providers.model import ToolSpec


logger = logging.getLogger(__name__)


def open_pins(data: Path | None) -> Pins:
    """Open the pinned definitions; without a data folder they are temporary and are deleted with
    the object."""
    if data is not None:
        data.mkdir(parents=True, exist_ok=True)
        return Pins(data / PINS_FILE)
    folder = tempfile.mkdtemp(prefix="spade-llm-mcp-")
    pins = Pins(Path(folder) / PINS_FILE)
    weakref.finalize(pins, shutil.rmtree, folder, ignore_errors=True)
    return pins


class AgentMcpToolbox:
    """Tools of all MCP servers of an agent, which are kept running for the block.

    Entering waits for servers that start soon, so that the first turn has their tools. An
    unavailable server lacks only its own tools.
    """

    def __init__(self, configs: Sequence[MCPServerConfig], *, data: Path | None) -> None:
        """`data`: folder of the accepted definitions; None keeps them for the block only."""
        self._servers = mcp_servers(configs)
        self._data = data
        self._toolboxes: list[tuple[str, McpToolbox]] = []
        self._stack = AsyncExitStack()

    async def __aenter__(self) -> Self:
        from spade_llm.mcp.client import McpToolbox

        pins = await asyncio.to_thread(open_pins, self._data)
        for server in self._servers:
            box = await self._stack.enter_async_context(McpToolbox(server, pins))
            self._toolboxes.append((server.prefix, box))
        await asyncio.gather(*(box.wait_connected() for _, box in self._toolboxes))
        return self

    async def __aexit__(self, *_: object) -> None:
        self._toolboxes.clear()
        await self._stack.aclose()

    async def list(self) -> Sequence[ToolSpec]:
        return [spec for _, box in self._toolboxes for spec in await box.list()]

    async def call(
        self, name: str, arguments: Mapping[str, object], *, context: CallContext = NO_CONTEXT
    ) -> ToolResult:
        for prefix, box in self._toolboxes:
            if name.startswith(prefix):
                return await box.call(name, arguments, context=context)
        raise UnknownTool(f"no MCP server of this agent has a tool {name!r}")


class MCPSession:
    """Session with one server, from its first use until `aclose` or the end of the event loop."""

    def __init__(self, config: MCPServerConfig) -> None:
        self.config = config
        self._server = mcp_server(config)
        self._box: McpToolbox | None = None
        self._opening = asyncio.Lock()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        """Stop the server; the next use starts it again."""
        async with self._opening:
            box, self._box = self._box, None
            if box is not None:
                await box.__aexit__(None, None, None)

    async def get_tools(self) -> list[LLMTool]:
        """Tools of the server. Raises ToolFailed if it is unavailable."""
        box = await self._opened()
        if not await box.wait_connected():
            raise ToolFailed(f"the MCP server {self.config.name!r} is {box.state()}")
        return [MCPToolAdapter(self, spec) for spec in await box.list()]

    def invalidate_cache(self) -> None:
        """Do nothing: the server is asked for its tools before each call."""

    async def call_tool(self, tool_name: str, arguments: Mapping[str, object]) -> ToolResult:
        """Call a tool by the server's own name or the offered name. Raises UnknownTool."""
        from spade_llm.mcp.client.pins import offered_name

        is_ours = tool_name.startswith(self._server.prefix)
        name = tool_name if is_ours else offered_name(self._server.name, tool_name)
        return await (await self._opened()).call(name, arguments)

    async def _opened(self) -> McpToolbox:
        from spade_llm.mcp.client import McpToolbox

        async with self._opening:
            if self._box is None:
                pins = await asyncio.to_thread(open_pins, None)
                self._box = await McpToolbox(self._server, pins).__aenter__()
            return self._box


_sessions: WeakKeyDictionary[asyncio.AbstractEventLoop, list[MCPSession]] = WeakKeyDictionary()
"""Sessions of each event loop, one for each distinct server configuration."""


class MCPToolAdapter(LLMTool):
    """Adapter that makes a tool of an MCP session an LLMTool."""

    def __init__(self, session: MCPSession, spec: ToolSpec) -> None:
        self.session = session
        super().__init__(spec.name, spec.description, spec.parameters, self._call)

    def bind(self, arguments: Mapping[str, object]) -> Callable[[], object]:
        # The server validates: patterns of its schema may take unbounded time to match.
        return partial(self._call, **arguments)

    async def _call(self, **arguments: object) -> str:
        result = await self.session.call_tool(self.name, arguments)
        if result.is_error:
            raise ToolFailed(result.text)
        return result.text


async def get_mcp_server_tools(server_config: MCPServerConfig) -> list[LLMTool]:
    """Tools of a server. Raises ToolFailed if it is unavailable."""
    return await _session(server_config).get_tools()


async def get_mcp_tool(server_config: MCPServerConfig, tool_name: str) -> LLMTool | None:
    """Tool by the server's own name or the offered name; None if there is none."""
    names = {tool_name, f"{server_config.name}_{tool_name}"}
    tools = await get_mcp_server_tools(server_config)
    return next((tool for tool in tools if tool.name in names), None)


async def get_all_mcp_tools(server_configs: Sequence[MCPServerConfig]) -> list[LLMTool]:
    """Tools of all servers; unavailable servers are logged."""

    async def tools_or_none(config: MCPServerConfig) -> list[LLMTool]:
        try:
            return await get_mcp_server_tools(config)
        except ToolFailed as error:
            logger.warning("continuing without the tools of a server: %s", error)
            return []

    found = await asyncio.gather(*map(tools_or_none, server_configs))
    return [tool for tools in found for tool in tools]


def _session(config: MCPServerConfig) -> MCPSession:
    known = _sessions.setdefault(asyncio.get_running_loop(), [])
    # Compared one by one: a configuration with a dictionary in it cannot be hashed.
    for session in known:
        if session.config == config:
            return session
    known.append(MCPSession(config))
    return known[-1]
