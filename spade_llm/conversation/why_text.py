"""What an answer was built from, in words. Pure."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from spade_llm.conversation.memory_numbers import NUMBER_CHARS

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from spade_llm.conversation.turn_record import ModelCall, ToolOutcome, TurnRecord

MESSAGE = "message"
"""The kind of a quoted memory that is something said."""


def why_text(record: TurnRecord, texts: Mapping[str, str]) -> str:
    """A line for each thing, and one for things of which there is the same to say. `texts`: of
    memories, by id."""
    lines = Counter(_lines(record, texts))
    return "\n".join(line if count == 1 else f"{line} (×{count})" for line, count in lines.items())


def _lines(record: TurnRecord, texts: Mapping[str, str]) -> Iterator[str]:
    yield f"My last answer here, {record.at:%H:%M:%S} UTC, took {record.seconds:.2f} s."
    yield from map(_model_line, record.models)
    yield from _memory_lines(record, texts)
    yield from (f"Document: {one.place} (score {one.score:.2f})" for one in record.passages)
    yield from map(_tool_line, record.tools)
    if record.history_messages:
        yield f"Conversation: read {record.read_messages} of {record.history_messages} messages."
    yield from (f"Changed by: {change}" for change in record.changes)
    yield from (f"With less than usual: {what}" for what in sorted(record.degraded))
    if record.missing:
        yield f"Without, for it was not reachable: {', '.join(record.missing)}"
    if record.phases:
        phases = (f"{name} {seconds:.2f} s" for name, seconds in sorted(record.phases))
        yield f"Time: {', '.join(phases)}"


def _model_line(call: ModelCall) -> str:
    if call.error:
        return f"Model: {call.model}, no whole answer ({call.error}), {call.seconds:.2f} s"
    note = ", estimated" if call.is_estimated else ""
    tokens = f"{call.prompt_tokens} + {call.completion_tokens} tokens{note}"
    return f"Model: {call.model}, {tokens}, {call.seconds:.2f} s"


def _memory_lines(record: TurnRecord, texts: Mapping[str, str]) -> Iterator[str]:
    for one in record.memories:
        if one.kind != MESSAGE:
            about = f"[{one.kind}] {one.origin}, {one.since.isoformat()}"
            text = texts.get(one.id, "(not there any more, or memory is away)")
            yield f"Memory: {one.id[:NUMBER_CHARS]} {about}: {text}"
    said = Counter(one.since for one in record.memories if one.kind == MESSAGE)
    for since, count in said.items():
        messages = "1 message" if count == 1 else f"{count} messages"
        yield f"Memory: {messages} of {since.isoformat()}"


def _tool_line(tool: ToolOutcome) -> str:
    outcome = "ok" if tool.is_success else _failed(tool)
    return f"Tool: {tool.name}, {tool.seconds:.2f} s, {outcome}"


def _failed(tool: ToolOutcome) -> str:
    return f"failed: {tool.why}" if tool.why else "failed"
