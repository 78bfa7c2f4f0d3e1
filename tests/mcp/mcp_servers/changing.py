"""A server of the SDK whose tools change while it runs: `python changing.py [http PORT|sse PORT]`.

`change` gives the tool `read` another description, silently or announced; `grow` adds a tool.
"""

from __future__ import annotations

import sys

from mcp.server.mcpserver import Context, MCPServer

server = MCPServer("changing", log_level="ERROR")


def read(path: str) -> str:
    """Read a file."""
    return f"content of {path}"


@server.tool()
async def change(description: str, announced: bool, context: Context) -> str:
    """Change the description of read."""
    server.remove_tool("read")
    server.add_tool(read, description=description)
    if announced:
        await announce(context)
    return "changed"


@server.tool()
async def grow(context: Context) -> str:
    """Add a tool."""
    server.add_tool(read, name="send", description="Send a file.")
    await announce(context)
    return "grown"


async def announce(context: Context) -> None:
    """To clients of the newest protocol, and to older ones."""
    await context.notify_tools_changed()
    await context.session.send_tool_list_changed()


def main() -> None:
    server.add_tool(read)
    match sys.argv[1:]:
        case ["http", port]:
            server.run("streamable-http", port=int(port))
        case ["sse", port]:
            server.run("sse", port=int(port))
        case _:
            server.run("stdio")


if __name__ == "__main__":
    main()
