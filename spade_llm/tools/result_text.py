"""What a tool returned, as text that a model reads. Pure."""

from __future__ import annotations

from dataclasses import replace

from pydantic_core import to_json

from spade_llm.tools.toolbox import ToolResult


def result_of(value: object) -> ToolResult:
    """Text stays as it is, but for halves of surrogate pairs; anything else becomes JSON.

    Raises:
        ValueError: it has no form in JSON.
    """
    if isinstance(value, ToolResult):
        return replace(value, text=_valid(value.text))
    return ToolResult(text=_valid(value) if isinstance(value, str) else to_json(value).decode())


def _valid(text: str) -> str:
    return text if text.isascii() else text.encode(errors="replace").decode()


def bounded(result: ToolResult, max_chars: int) -> ToolResult:
    """The same, or its beginning and a note on how much was cut; never more than `max_chars`,
    unless that is less than the note itself."""
    length = len(result.text)
    if length <= max_chars:
        return result
    room = max_chars - len(_note(length, length))
    kept = max(room, 0)
    return replace(result, text=result.text[:kept] + _note(kept, length))


def _note(kept: int, length: int) -> str:
    return f"\n[cut: the first {kept} of {length} characters]"
