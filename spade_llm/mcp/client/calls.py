"""Tool calls over a connection: errors and results as text for the model."""

from __future__ import annotations

import base64
import binascii
import json
from typing import TYPE_CHECKING

from mcp.shared.exceptions import MCPError
from mcp_types import (
    CONNECTION_CLOSED,
    AudioContent,
    BlobResourceContents,
    CallToolResult,
    EmbeddedResource,
    ImageContent,
    ResourceLink,
    TextContent,
    TextResourceContents,
)
from pydantic import ValidationError

from spade_llm.mcp.client.sanitize import sanitize_line, sanitize_text
from spade_llm.tools.toolbox import ToolResult

if TYPE_CHECKING:
    from collections.abc import Mapping

    from mcp_types import ContentBlock

    from spade_llm.mcp.client.connection import McpConnection

MAX_RESULT_CHARS = 400_000
"""Maximum length of a result in characters; the tool agent pages long before."""
MAX_NAME_CHARS = 300

MAX_ERROR_CHARS = 2000


def tool_result(answer: CallToolResult) -> ToolResult:
    blocks = [_text(block) for block in answer.content]
    text = "\n".join([*blocks, *_structured(answer.structured_content, blocks)])
    if not text:
        text = "The tool failed without a word." if answer.is_error else "(no output)"
    return ToolResult(text=_truncate(text), is_error=answer.is_error)


async def call_tool(
    connection: McpConnection, tool: str, arguments: Mapping[str, object], *, server: str
) -> ToolResult:
    """Raises ConnectionLost: nothing was sent."""
    try:
        answer = await connection.call(tool, arguments)
    except MCPError as error:
        return _error_result(_error_text(error, server))
    except ValidationError:
        return _error_result(f"The MCP server {server!r} gave an answer that cannot be read.")
    if not isinstance(answer, CallToolResult):
        return _error_result(
            f"The MCP server {server!r} asks for something first that is not offered here."
        )
    return tool_result(answer)


def _structured(value: object, blocks: list[str]) -> list[str]:
    """Servers repeat it as text for clients that know only that: then once is enough."""
    # The SDK's servers wrap a plain value as {"result": …} and give it as text too.
    is_wrapped_text = isinstance(value, dict) and list(value) == ["result"] and blocks
    if value is None or is_wrapped_text or any(_is_json_of(text, value) for text in blocks):
        return []
    return [json.dumps(value, ensure_ascii=False)]


def _is_json_of(text: str, value: object) -> bool:
    try:
        return bool(json.loads(text) == value)
    except (ValueError, RecursionError):
        return False


def _text(block: ContentBlock) -> str:
    match block:
        case TextContent():
            return block.text
        case ImageContent():
            return f"[{_type(block.mime_type)} image, {_size(block.data)}, not shown]"
        case AudioContent():
            return f"[{_type(block.mime_type)} audio, {_size(block.data)}, not played]"
        case ResourceLink():
            return f"[link to the resource {_name(block.name)}: {_name(str(block.uri))}]"
        case EmbeddedResource():
            return _resource(block)


def _resource(block: EmbeddedResource) -> str:
    resource = block.resource
    name = _name(str(resource.uri))
    match resource:
        case TextResourceContents():
            return f"[resource {name}]\n{resource.text}"
        case BlobResourceContents():
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


def _truncate(text: str) -> str:
    if len(text) <= MAX_RESULT_CHARS:
        return text
    return f"{text[:MAX_RESULT_CHARS]}\n[cut: the first {MAX_RESULT_CHARS} of {len(text)}]"


def _error_text(error: MCPError, server: str) -> str:
    if error.error.code == CONNECTION_CLOSED:
        return (
            f"The MCP server {server!r} went away during the call:"
            " it may have done what was asked, or not."
        )
    said = sanitize_text(error.error.message, MAX_ERROR_CHARS)
    return f"The MCP server {server!r} declined: {said}"


def _error_result(text: str) -> ToolResult:
    return ToolResult(text=text, is_error=True)
