"""Tool calls over a connection: errors and results as text for the model."""

from __future__ import annotations

import base64
import binascii
import json
from contextlib import suppress
from typing import TYPE_CHECKING

import mcp_types
from mcp.shared.exceptions import MCPError
from pydantic import ValidationError

from spade_llm.core.redaction import sanitize_line, sanitize_text
from spade_llm.tools.toolbox import ToolResult, error_result

if TYPE_CHECKING:
    from collections.abc import Mapping

    from mcp_types import ContentBlock

    from spade_llm.mcp.client.server_connection import McpConnection

MAX_RESULT_CHARS = 400_000
"""Maximum length of a result in characters; the tool agent pages long before."""
MAX_NAME_CHARS = 300

MAX_ERROR_CHARS = 2000


def tool_result(answer: mcp_types.CallToolResult) -> ToolResult:
    """Convert the answer of a server to text for the model, at most MAX_RESULT_CHARS long."""
    blocks = [_text(block) for block in answer.content]
    if _adds_to_text(answer.structured_content, blocks):
        blocks.append(json.dumps(answer.structured_content, ensure_ascii=False))
    text = "\n".join(blocks)
    if not text:
        text = "The tool failed without an error message." if answer.is_error else "(no output)"
    if len(text) > MAX_RESULT_CHARS:
        note = f"[truncated: the first {MAX_RESULT_CHARS} of {len(text)} characters]"
        text = f"{text[:MAX_RESULT_CHARS]}\n{note}"
    return ToolResult(text=text, is_error=answer.is_error)


async def call_tool(
    connection: McpConnection, tool: str, arguments: Mapping[str, object], *, server: str
) -> ToolResult:
    """Call a tool; errors of the server are results for the model. Raises ConnectionLost: nothing
    was sent."""
    try:
        answer = await connection.call(tool, arguments)
    except MCPError as error:
        return error_result(_error_text(error, server))
    except ValidationError:
        return error_result(f"The MCP server {server!r} sent an invalid response.")
    if not isinstance(answer, mcp_types.CallToolResult):
        return error_result(
            f"The MCP server {server!r} asks for input first, which is not supported."
        )
    return tool_result(answer)


def _adds_to_text(value: object, blocks: list[str]) -> bool:
    """False if a structured result repeats the text, which it is sent with for older clients."""
    # The SDK's servers wrap a plain value as {"result": …} and send it as text too.
    if value is None or (isinstance(value, dict) and list(value) == ["result"] and blocks):
        return False
    for text in blocks:
        with suppress(ValueError, RecursionError):
            if json.loads(text) == value:
                return False
    return True


def _text(block: ContentBlock) -> str:
    match block:
        case mcp_types.TextContent():
            return block.text
        case mcp_types.ImageContent():
            return f"[{_type(block.mime_type)} image, {_size(block.data)}, not shown]"
        case mcp_types.AudioContent():
            return f"[{_type(block.mime_type)} audio, {_size(block.data)}, not played]"
        case mcp_types.ResourceLink():
            return f"[link to the resource {_name(block.name)}: {_name(str(block.uri))}]"
        case mcp_types.EmbeddedResource():
            return _resource(block)


def _resource(block: mcp_types.EmbeddedResource) -> str:
    resource = block.resource
    name = _name(str(resource.uri))
    match resource:
        case mcp_types.TextResourceContents():
            return f"[resource {name}]\n{resource.text}"
        case mcp_types.BlobResourceContents():
            kind = _type(resource.mime_type or "binary")
            return f"[resource {name}: {kind}, {_size(resource.blob)}, not shown]"


def _name(text: str) -> str:
    return sanitize_line(text, MAX_NAME_CHARS)


def _type(text: str) -> str:
    return sanitize_line(text, 80)


def _size(data: str) -> str:
    try:
        size = len(base64.b64decode(data))
    except (binascii.Error, ValueError):
        return "unreadable"
    return f"{size} bytes"


def _error_text(error: MCPError, server: str) -> str:
    if error.error.code == mcp_types.CONNECTION_CLOSED:
        return (
            f"The connection to the MCP server {server!r} was lost during the call, which may or"
            " may not have taken effect."
        )
    message = sanitize_text(error.error.message, MAX_ERROR_CHARS)
    return f"The MCP server {server!r} refused: {message}"
