"""MCP servers of one agent as a toolbox, with their accepted tools (pins)."""

from __future__ import annotations

import asyncio
import shutil
import tempfile
import weakref
from contextlib import AsyncExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Self

from spade_llm.core.errors import UnknownTool
from spade_llm.mcp.client.pins import PINS_FILE, Pins
from spade_llm.mcp.server_configs import mcp_servers
from spade_llm.tools.toolbox import NO_CONTEXT

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from spade_llm.mcp.client import McpToolbox
    from spade_llm.mcp.server_configs import MCPServerConfig
    from spade_llm.providers.model import ToolSpec
    from spade_llm.tools.toolbox import CallContext, ToolResult


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


class McpServers:
    """MCP servers of an agent, kept running for the block, one process or connection each.

    Entering waits for servers that start soon, so that the first turn has their tools. A server
    that is unavailable only lacks its own tools.
    """

    def __init__(self, configs: Sequence[MCPServerConfig], *, data: Path | None) -> None:
        """`data`: where the accepted definitions are kept; None: while the block runs."""
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
        raise UnknownTool(f"{name!r} is no tool of an MCP server here")
