"""A well-behaved server of the SDK: `python plain.py [stdio | http PORT | sse PORT]`."""

from __future__ import annotations

import asyncio
import base64
import sys
from pathlib import Path

from mcp.server.mcpserver import Context, Image, MCPServer
from mcp_types import EmbeddedResource, ResourceLink, TextContent, TextResourceContents

TOGETHER = 20

server = MCPServer("plain", log_level="ERROR")
together = asyncio.Barrier(TOGETHER)


@server.tool()
def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


@server.tool()
def echo(text: str) -> str:
    """Say it again."""
    return text


@server.tool()
def fail(why: str) -> str:
    """Fail."""
    raise ValueError(why)


@server.tool()
async def wait(seconds: float, note: str, context: Context) -> str:
    """Wait, with progress; a line in the file `note` says how it ended."""
    await context.report_progress(0, 1)
    try:
        await asyncio.sleep(seconds)
    except asyncio.CancelledError:
        leave(note)
        raise
    return "done"


@server.tool()
async def meet() -> str:
    """Wait until so many calls are here at once."""
    await together.wait()
    return "met"


def leave(note: str) -> None:
    Path(note).write_text("cancelled", encoding="utf-8")


@server.tool()
def picture() -> Image:
    """A picture."""
    return Image(data=base64.b64decode("iVBORw0KGgo="), format="png")


@server.tool()
def mixed() -> list[TextContent | ResourceLink | EmbeddedResource]:
    """Text, a link and a resource."""
    return [
        TextContent(text="first"),
        ResourceLink(name="log", uri="file:///tmp/log"),
        EmbeddedResource(
            resource=TextResourceContents(uri="note://1", text="inside", mime_type="text/plain")
        ),
    ]


@server.tool()
def large(characters: int) -> str:
    """Many characters."""
    return "x" * characters


def main() -> None:
    match sys.argv[1:]:
        case ["http", port]:
            server.run("streamable-http", port=int(port))
        case ["sse", port]:
            server.run("sse", port=int(port))
        case _:
            server.run("stdio")


if __name__ == "__main__":
    main()
