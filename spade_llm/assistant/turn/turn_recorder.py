"""Turn recorder: calls, sources and durations of one answer; the model instrumented to feed it."""

from __future__ import annotations

import asyncio
import json
import logging
import time
from collections import defaultdict
from collections.abc import AsyncGenerator, AsyncIterator, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, fields, replace
from datetime import UTC, date, datetime
from operator import attrgetter
from typing import TYPE_CHECKING

from spade_llm.core import tracing
from spade_llm.core.arguments import check_private
from spade_llm.core.errors import ModelError, StorageFailed
from spade_llm.core.text import single_line, tokens_from_chars
from spade_llm.providers.fallback import FallbackModel, ModelHealth
from spade_llm.providers.model import (
    OFFLINE,
    Completion,
    ReplaceableModel,
    TextDelta,
    Usage,
    closing_stream,
)
from spade_llm.rag.cited_answers import citation_label
from spade_llm.search.memory_query import Origin

if TYPE_CHECKING:
    from spade_llm.assistant.middleware.usage_ledger import UsageLedger
    from spade_llm.assistant.turn.recall import RecallResult
    from spade_llm.assistant.turn.tool_calls import ExecutedToolCall
    from spade_llm.memory.contract import ScoredMemory
    from spade_llm.providers.model import ChatModel, ContextMessage, Sampling, ToolSpec

logger = logging.getLogger(__name__)

KEPT_DAYS = 90


@dataclass(frozen=True, slots=True, kw_only=True)
class UsageTotals:
    turns: int = 0
    model_calls: int = 0
    tool_calls: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    estimated_tokens: int = 0
    """Tokens not counted by a server, which are estimated as a quarter of the characters; included
    in the others."""
    model_seconds: float = 0.0

    @property
    def tokens(self) -> int:
        return self.prompt_tokens + self.completion_tokens

    def __add__(self, other: UsageTotals) -> UsageTotals:
        row, other_row = usage_row(self), usage_row(other)
        return UsageTotals.from_row([one + more for one, more in zip(row, other_row, strict=True)])

    @classmethod
    def from_row(cls, row: Sequence[object]) -> UsageTotals:
        """Totals of a database row, with the values in the order of the fields."""
        *counts, seconds = map(str, row)
        turns, model_calls, tool_calls, prompt, completion, estimated = map(int, counts)
        return cls(
            turns=turns,
            model_calls=model_calls,
            tool_calls=tool_calls,
            prompt_tokens=prompt,
            completion_tokens=completion,
            estimated_tokens=estimated,
            model_seconds=float(seconds),
        )


usage_row = attrgetter(*(one.name for one in fields(UsageTotals)))
"""Values in the order of the fields. `astuple` would copy each number, and takes ten times as long.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class DailyUsage:
    day: date
    peer: str
    spent: UsageTotals


MAX_CALLS = 64
"""Model calls and tool calls of one turn that its record names; beyond, they are only counted."""
MAX_NOTES = 16
MAX_NAME_CHARS = 64
MAX_WHY_CHARS = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelCallRecord:
    model: str
    """The one that answered: a fallback's name, where it was one."""
    seconds: float
    prompt_tokens: int
    completion_tokens: int
    is_estimated: bool
    """No server has counted the tokens."""
    error: str = ""
    """Its kind, if there was no answer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolCallRecord:
    name: str
    is_success: bool
    seconds: float
    why: str = ""
    """Reason of the failure."""


@dataclass(frozen=True, slots=True, kw_only=True)
class QuotedMemoryRecord:
    id: str
    kind: str
    """Its category or type; `message`: something that was said."""
    origin: str
    """Origin of the memory (`Origin` in memory/contract)."""
    since: date
    score: float


@dataclass(frozen=True, slots=True, kw_only=True)
class QuotedPassageRecord:
    place: str
    """Source, number of the passage, and page."""
    score: float


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnRecord:
    at: datetime
    seconds: float
    phases: tuple[tuple[str, float], ...] = ()
    """Seconds of each part of the work, by name; parts may run side by side."""
    models: tuple[ModelCallRecord, ...] = ()
    tools: tuple[ToolCallRecord, ...] = ()
    memories: tuple[QuotedMemoryRecord, ...] = ()
    passages: tuple[QuotedPassageRecord, ...] = ()
    history_messages: int = 0
    """Number of messages in the conversation at the last model call."""
    read_messages: int = 0
    """Number of those messages that the context strategy gave the model."""
    changes: tuple[str, ...] = ()
    """Components that changed the question or the answer, or answered instead of the model."""
    degraded: tuple[str, ...] = ()
    """Services that answered with reduced quality."""
    missing: tuple[str, ...] = ()
    """Services that were unavailable."""


class TurnRecorder:
    """Recorder of one turn's usage, calls and sources."""

    def __init__(
        self, ledger: UsageLedger, *, peer: str, groups: Sequence[str] = (), is_turn: bool = True
    ) -> None:
        """`groups`: quota groups that are charged besides the peer. `is_turn=False`: records work
        for this peer between its turns."""
        self._ledger = ledger
        self._peer = peer
        self._groups = groups
        self._at = datetime.now(UTC)
        self._began = time.perf_counter()
        self._phases: defaultdict[str, float] = defaultdict(float)
        self._models: list[ModelCallRecord] = []
        self._tools: list[ToolCallRecord] = []
        self._changes: list[str] = []
        self._degraded: list[str] = []
        self._messages = (0, 0)
        self._is_counted = not is_turn

    async def spend(self, spent: UsageTotals) -> None:
        """Add the usage to the ledger. A storage failure is only logged: the answer goes on."""
        if not self._is_counted:
            self._is_counted, spent = True, spent + UsageTotals(turns=1)
        try:
            await self._ledger.add(self._peer, spent, groups=self._groups)
        except StorageFailed:
            logger.exception("the usage of %s could not be written", self._peer)

    async def count_turn(self) -> None:
        """Count the turn, even if it had no cost."""
        if not self._is_counted:
            await self.spend(UsageTotals())

    def model_called(self, call: ModelCallRecord) -> None:
        if len(self._models) < MAX_CALLS:
            self._models.append(call)

    def tools_called(self, called: Sequence[ExecutedToolCall]) -> None:
        room = MAX_CALLS - len(self._tools)
        self._tools.extend(map(_tool, called[:room]))

    def leave_reasons_out(self) -> None:
        """Remove the tools' error texts: they may contain what guardrails block."""
        self._tools = [replace(one, why="") for one in self._tools]

    def read(self, *, history: int, read: int) -> None:
        """Set the number of messages in the history, and of those given to the model."""
        self._messages = (history, read)

    def changed(self, what: str) -> None:
        """Note a component that changed the question or the answer, or answered instead of the
        model."""
        note = single_line(what, MAX_WHY_CHARS)
        if note not in self._changes and len(self._changes) < MAX_NOTES:
            self._changes.append(note)

    def degraded(self, what: str) -> None:
        """Note a service that answered with reduced quality."""
        if what not in self._degraded and len(self._degraded) < MAX_NOTES:
            self._degraded.append(what)

    def took(self, phase: str, seconds: float) -> None:
        if phase in self._phases or len(self._phases) < MAX_NOTES:
            self._phases[phase] += seconds

    def record(self, recalled: RecallResult, missing: tuple[str, ...]) -> TurnRecord:
        return TurnRecord(
            at=self._at,
            seconds=time.perf_counter() - self._began,
            phases=tuple(self._phases.items()),
            models=tuple(self._models),
            tools=tuple(self._tools),
            memories=tuple(map(_memory, recalled.memories)),
            passages=tuple(
                QuotedPassageRecord(place=citation_label(found.chunk), score=round(found.score, 3))
                for found in recalled.passages
            ),
            history_messages=self._messages[0],
            read_messages=self._messages[1],
            changes=tuple(self._changes),
            degraded=tuple(self._degraded),
            missing=missing,
        )


def _memory(found: ScoredMemory) -> QuotedMemoryRecord:
    entry = found.entry
    return QuotedMemoryRecord(
        id=entry.id,
        kind="message" if entry.origin is Origin.MESSAGE else entry.category or entry.type,
        origin=entry.origin,
        since=entry.created_at.date(),
        score=round(found.score, 3),
    )


def _tool(called: ExecutedToolCall) -> ToolCallRecord:
    return ToolCallRecord(
        name=single_line(called.name or "-", MAX_NAME_CHARS),
        is_success=called.is_success,
        seconds=called.seconds,
        why="" if called.is_success else single_line(called.result or "-", MAX_WHY_CHARS),
    )


_current: ContextVar[TurnRecorder | None] = ContextVar("recorder", default=None)


def current_recorder() -> TurnRecorder | None:
    """Recorder of the turn that this code runs for; None outside turns."""
    return _current.get()


@contextmanager
def recording(recorder: TurnRecorder) -> Iterator[None]:
    before = _current.set(recorder)
    try:
        yield
    finally:
        _current.reset(before)


@contextmanager
def record_phase(name: str) -> Iterator[tracing.Span]:
    """Context manager that records the duration of a phase of the turn, and traces it as a span."""
    began = time.perf_counter()
    try:
        with tracing.span(name) as span:
            yield span
    finally:
        if recorder := _current.get():
            recorder.took(name, time.perf_counter() - began)


_COMPLETION_FIX = "return a Completion (spade_llm.providers)"
_PART_FIX = "yield TextDelta(text), at the end a Completion (spade_llm.providers)"


class InstrumentedModel:
    def __init__(self, model: ChatModel) -> None:
        self._model = model
        self.health = ModelHealth()

    @property
    def name(self) -> str:
        return self._model.name

    async def complete(
        self,
        messages: Sequence[ContextMessage],
        tools: Sequence[ToolSpec] = (),
        *,
        tool_choice: str = "auto",
        response_schema: Mapping[str, object] | None = None,
        sampling: Sampling | None = None,
    ) -> Completion:
        async with self._watched(messages, tools) as call:
            completion = await self._model.complete(
                messages,
                tools,
                tool_choice=tool_choice,
                response_schema=response_schema,
                sampling=sampling,
            )
            check_private(completion, Completion, of=f"answer of {self.name}", fix=_COMPLETION_FIX)
            call.completion = completion
            return completion

    async def stream(
        self,
        messages: Sequence[ContextMessage],
        tools: Sequence[ToolSpec] = (),
        *,
        tool_choice: str = "auto",
        response_schema: Mapping[str, object] | None = None,
        sampling: Sampling | None = None,
    ) -> AsyncGenerator[TextDelta | Completion]:
        async with self._watched(messages, tools) as call:
            pieces = self._model.stream(
                messages,
                tools,
                tool_choice=tool_choice,
                response_schema=response_schema,
                sampling=sampling,
            )
            async with closing_stream(pieces):
                async for piece in pieces:
                    call.take(piece)
                    yield piece

    @asynccontextmanager
    async def _watched(
        self, messages: Sequence[ContextMessage], tools: Sequence[ToolSpec]
    ) -> AsyncIterator[_MeasuredCall]:
        call = _MeasuredCall(self.name, messages, tools)
        # Rules are no model, and have no tokens.
        if call.recorder is not None and self.name != OFFLINE:
            # Before the call: a kill loses its tokens, and never the call.
            await call.recorder.spend(UsageTotals(model_calls=1))
        # Detached: stream() yields inside, where a span must not become current.
        with tracing.detached_span(f"chat {self.name}", tracing.SpanKind.CLIENT) as span:
            try:
                yield call
                model = self._model
                current = model.current if isinstance(model, ReplaceableModel) else model
                # Of the preferred model, if a fallback has answered in its place.
                self._update_health(current.error if isinstance(current, FallbackModel) else None)
            # Also stopped (CancelledError) or not read to its end (GeneratorExit), it costs tokens.
            except BaseException as error:
                if isinstance(error, ModelError):
                    self._update_health(error)
                call.error = _ENDED_EARLY.get(type(error)) or type(error).__name__
                raise
            finally:
                await call.end(span)

    def _update_health(self, error: ModelError | None) -> None:
        if isinstance(self._model, ReplaceableModel) and self._model.is_outdated:
            return  # The health is that of the model that has replaced this one.
        if error is not None:
            self.health.fail(error)
        elif self.health.fault is not None:
            self.health.succeed()


class _MeasuredCall:
    def __init__(
        self, model: str, messages: Sequence[ContextMessage], tools: Sequence[ToolSpec]
    ) -> None:
        self._model = model
        self._messages = messages
        self._tools = tools
        self.recorder = current_recorder()
        self._began = time.perf_counter()
        self._text_chars = 0
        self.completion: Completion | None = None
        self.error = ""

    def take(self, piece: TextDelta | Completion) -> None:
        if isinstance(piece, TextDelta):
            self._text_chars += len(piece.text)
        else:
            check_private(piece, Completion, of=f"part of {self._model}", fix=_PART_FIX)
            self.completion = piece

    async def end(self, span: tracing.Span) -> None:
        seconds = time.perf_counter() - self._began
        answered_by = (self.completion and self.completion.model) or self._model
        usage, is_estimated = (Usage(), False) if answered_by == OFFLINE else self._usage()
        call = ModelCallRecord(
            model=answered_by,
            seconds=seconds,
            prompt_tokens=usage.prompt_tokens,
            completion_tokens=usage.completion_tokens,
            is_estimated=is_estimated,
            error=self.error,
        )
        if self.recorder is not None:
            self.recorder.model_called(call)
            self.recorder.took("model", seconds)
            tokens = call.prompt_tokens + call.completion_tokens
            await self.recorder.spend(
                UsageTotals(
                    prompt_tokens=call.prompt_tokens,
                    completion_tokens=call.completion_tokens,
                    estimated_tokens=tokens if call.is_estimated else 0,
                    model_seconds=call.seconds if self._model != OFFLINE else 0.0,
                )
            )
        if span.is_recorded:
            span.note(_trace_attributes(self._model, call))
            answer = self.completion.text if self.completion else ""
            question = str(self._messages[-1].get("content") or "") if self._messages else ""
            span.quote({"spade_llm.last_message": question, "spade_llm.answer": answer})

    def _usage(self) -> tuple[Usage, bool]:
        counted = self.completion.usage if self.completion else Usage()
        if counted != Usage():
            return counted, False
        if (
            # Failed before its first character: a call without tokens.
            self.completion is None
            and not self._text_chars
            and self.error not in _ENDED_EARLY.values()
        ):
            return counted, False
        prompt = sum(map(_chars, self._messages)) + sum(
            len(tool.name) + len(tool.description) + len(json.dumps(tool.parameters))
            for tool in self._tools
        )
        answer = self._text_chars
        if self.completion is not None:
            calls = self.completion.tool_calls
            answer = len(self.completion.text)
            answer += sum(len(one.name) + len(one.arguments) for one in calls)
        estimated = Usage(
            prompt_tokens=tokens_from_chars(prompt), completion_tokens=tokens_from_chars(answer)
        )
        return estimated, True


_ENDED_EARLY: dict[type[BaseException], str] = {
    asyncio.CancelledError: "stopped",
    GeneratorExit: "not read to its end",
}
"""Error texts of calls that the caller ended early. Their tokens are estimated and charged, even
though no answer was used; calls that the model did not start are not charged."""


def _chars(message: ContextMessage) -> int:
    calls = message.get("tool_calls") or () if message["role"] == "assistant" else ()
    called = sum(
        len(call["function"]["name"]) + len(call["function"]["arguments"]) for call in calls
    )
    return len(message.get("content") or "") + called


def _trace_attributes(asked: str, call: ModelCallRecord) -> Mapping[str, tracing.AttributeValue]:
    """Names of OpenTelemetry's conventions for generative AI."""
    return {
        "gen_ai.operation.name": "chat",
        "gen_ai.request.model": asked,
        "gen_ai.response.model": call.model,
        "gen_ai.usage.input_tokens": call.prompt_tokens,
        "gen_ai.usage.output_tokens": call.completion_tokens,
        "spade_llm.tokens_are_estimated": call.is_estimated,
    }
