"""What an MCP tool answered, as text that a model reads. Pure."""

from __future__ import annotations

import base64
import binascii
import json
from typing import TYPE_CHECKING

from mcp_types import (
    AudioContent,
    BlobResourceContents,
    EmbeddedResource,
    ImageContent,
    ResourceLink,
    TextContent,
    TextResourceContents,
)

from spade_llm.tools.mcp.cleaning import one_line
from spade_llm.tools.toolbox import ToolResult

if TYPE_CHECKING:
    from mcp_types import CallToolResult, ContentBlock

MAX_RESULT_CHARS = 400_000
"""What leaves here; the tool agent pages long before."""
MAX_NAME_CHARS = 300


def result_of(answer: CallToolResult) -> ToolResult:
    blocks = [_text(block) for block in answer.content]
    text = "\n".join([*blocks, *_structured(answer.structured_content, blocks)])
    if not text:
        text = "The tool failed without a word." if answer.is_error else "(no output)"
    return ToolResult(text=_bounded(text), is_error=answer.is_error)


def _structured(value: object, blocks: list[str]) -> list[str]:
    """Servers repeat it as text for clients that know only that: then once is enough."""
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
    return one_line(text, MAX_NAME_CHARS)


def _type(text: str) -> str:
    return one_line(text, 80)


def _size(data: str) -> str:
    try:
        size = len(base64.b64decode(data))
    except (binascii.Error, ValueError):
        return "unreadable"
    return f"{size} bytes"


def _bounded(text: str) -> str:
    if len(text) <= MAX_RESULT_CHARS:
        return text
    return f"{text[:MAX_RESULT_CHARS]}\n[cut: the first {MAX_RESULT_CHARS} of {len(text)}]"
