"""`/why`: what the last answer of a conversation was built from. Only who is in it can ask.

What was remembered is looked up when it is asked for: what memory has forgotten since is not said.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from typing import TYPE_CHECKING

from spade_llm.conversation.memory_numbers import NUMBER_CHARS
from spade_llm.errors import RequestError, ServiceError
from spade_llm.memory.one_line import one_line

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from spade_llm.behaviour.commands import Commands
    from spade_llm.behaviour.memory import MemoryBehaviour
    from spade_llm.behaviour.watching import Watching
    from spade_llm.conversation.turn_record import ModelCall, ToolOutcome, TurnRecord
    from spade_llm.services.chat import Utterance

logger = logging.getLogger(__name__)

PEEK_DEADLINE_S = 2.0
MAX_TEXT_CHARS = 120
"""Of one memory."""
MESSAGE = "message"

ReactionLine = Callable[["Utterance"], str]
"""What the asker has said of the answer; empty: nothing."""

NOTHING = "I have answered nothing in this conversation since I was started."


class WhyCommand:
    def __init__(
        self, watching: Watching, memory: MemoryBehaviour, *, reaction: ReactionLine | None = None
    ) -> None:
        self._watching = watching
        self._memory = memory
        self._reaction = reaction or _no_reaction

    def add_to(self, commands: Commands) -> None:
        commands.add("why", self._why, "/why – what my last answer was built from")

    async def texts(self, record: TurnRecord) -> Mapping[str, str]:
        """Of the memories that are still there, by id; empty if memory cannot be asked."""
        ids = [one.id for one in record.memories if one.kind != MESSAGE]
        if not ids or self._memory.memory is None:
            return {}
        try:
            async with asyncio.timeout(PEEK_DEADLINE_S):
                entries = await self._memory.memory.peek(ids)
        except (RequestError, ServiceError, TimeoutError) as error:
            logger.info("memories of an answer cannot be shown: %s", error)
            return {}
        return {entry.id: one_line(entry.content, MAX_TEXT_CHARS) for entry in entries}

    async def _why(self, _argument: str, utterance: Utterance) -> str:
        record = self._watching.last(utterance.conversation)
        if record is None:
            return NOTHING
        text = why_text(record, await self.texts(record))
        return "\n".join(filter(None, [text, self._reaction(utterance)]))


def _no_reaction(_utterance: Utterance) -> str:
    return ""


def why_text(record: TurnRecord, texts: Mapping[str, str]) -> str:
    """A line for each thing. `texts`: of memories, by id."""
    return "\n".join(_lines(record, texts))


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
        about = f"[{one.kind}] {one.origin}, {one.since.isoformat()}"
        if one.kind == MESSAGE:
            yield f"Memory: {about}"
        else:
            text = texts.get(one.id, "(not there any more, or memory is away)")
            yield f"Memory: {one.id[:NUMBER_CHARS]} {about}: {text}"


def _tool_line(tool: ToolOutcome) -> str:
    outcome = "ok" if tool.is_success else _failed(tool)
    return f"Tool: {tool.name}, {tool.seconds:.2f} s, {outcome}"


def _failed(tool: ToolOutcome) -> str:
    return f"failed: {tool.why}" if tool.why else "failed"
