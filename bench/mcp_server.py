"""An MCP server of the SDK, over stdio: what the tool agent of the benchmark has beside it."""

from __future__ import annotations

import asyncio

from mcp.server.mcpserver import MCPServer

server = MCPServer("bench", log_level="ERROR")


@server.tool()
def echo(text: str) -> str:
    """Say it again."""
    return text


@server.tool()
async def pause(seconds: float, n: int) -> int:
    """Wait, and give n back."""
    await asyncio.sleep(seconds)
    return n


if __name__ == "__main__":
    server.run("stdio")
