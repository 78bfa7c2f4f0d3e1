"""One MCP server in a program's own hands, and its tools as LLMTools. Knows no agent."""

from __future__ import annotations

import asyncio
from functools import partial
from typing import TYPE_CHECKING, Self

from spade_llm.errors import ToolFailed
from spade_llm.programs.mcp_configs import mcp_server
from spade_llm.tools.llm_tool import LLMTool

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from spade_llm.programs.mcp_configs import MCPServerConfig
    from spade_llm.providers.model import ToolSpec
    from spade_llm.tools.mcp import McpToolbox
    from spade_llm.tools.toolbox import ToolResult


class MCPSession:
    """The server is started at the first use and kept until `aclose`, or the event loop's end."""

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
        """Raises ToolFailed: the server is away."""
        box = await self._opened()
        if not await box.arrive():
            raise ToolFailed(f"the MCP server {self.config.name!r} is {box.state()}")
        return [MCPToolAdapter(self, spec) for spec in await box.list()]

    def invalidate_cache(self) -> None:
        """Nothing to do: each call is preceded by a look at the listing."""

    async def call_tool(self, tool_name: str, arguments: Mapping[str, object]) -> ToolResult:
        """By the server's own name, or the one here. Raises UnknownTool."""
        from spade_llm.tools.mcp.names import offered_name

        is_ours = tool_name.startswith(self._server.prefix)
        name = tool_name if is_ours else offered_name(self._server.name, tool_name)
        return await (await self._opened()).call(name, arguments)

    async def _opened(self) -> McpToolbox:
        from spade_llm.programs.mcp_pins import pins_in
        from spade_llm.tools.mcp import McpToolbox

        async with self._opening:
            if self._box is None:
                pins = await asyncio.to_thread(pins_in, None)
                self._box = await McpToolbox(self._server, pins).__aenter__()
            return self._box


class MCPToolAdapter(LLMTool):
    """One tool of a session."""

    def __init__(self, session: MCPSession, spec: ToolSpec) -> None:
        self.session = session
        super().__init__(spec.name, spec.description, spec.parameters, self._call)

    def bind(self, arguments: Mapping[str, object]) -> Callable[[], object]:
        """The server checks: its schema may have patterns that take for ever."""
        return partial(self._call, **arguments)

    async def _call(self, **arguments: object) -> str:
        result = await self.session.call_tool(self.name, arguments)
        if result.is_error:
            raise ToolFailed(result.text)
        return result.text
