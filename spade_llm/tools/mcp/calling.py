"""One call over a session, and what becomes of each way that it can go wrong. Pins nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mcp.shared.exceptions import MCPError
from mcp_types import CONNECTION_CLOSED, CallToolResult
from pydantic import ValidationError

from spade_llm.tools.mcp.cleaning import cleaned
from spade_llm.tools.mcp.result import result_of
from spade_llm.tools.toolbox import ToolResult

if TYPE_CHECKING:
    from collections.abc import Mapping

    from spade_llm.tools.mcp.connection import Connection

MAX_ERROR_CHARS = 2000


async def called(
    connection: Connection, tool: str, arguments: Mapping[str, object], *, server: str
) -> ToolResult:
    """Raises Lost: nothing was sent."""
    try:
        answer = await connection.call(tool, arguments)
    except MCPError as error:
        return _failed(_words(error, server))
    except ValidationError:
        return _failed(f"The MCP server {server!r} gave an answer that cannot be read.")
    if not isinstance(answer, CallToolResult):
        return _failed(
            f"The MCP server {server!r} asks for something first that is not offered here."
        )
    return result_of(answer)


def _words(error: MCPError, server: str) -> str:
    if error.error.code == CONNECTION_CLOSED:
        return (
            f"The MCP server {server!r} went away during the call:"
            " it may have done what was asked, or not."
        )
    said = cleaned(error.error.message, MAX_ERROR_CHARS)
    return f"The MCP server {server!r} declined: {said}"


def _failed(text: str) -> ToolResult:
    return ToolResult(text=text, is_error=True)
