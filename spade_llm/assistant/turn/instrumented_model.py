"""Instrumented model: counts tokens, measures and traces each model call."""

from __future__ import annotations

import asyncio
import json
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING

from spade_llm.assistant.turn import turn_recorder
from spade_llm.assistant.turn.turn_recorder import ModelCallRecord
from spade_llm.assistant.turn.usage_ledger import UsageTotals
from spade_llm.core import tracing
from spade_llm.core.errors import ModelError
from spade_llm.core.text import tokens_from_chars
from spade_llm.providers.fallback import FallbackModel
from spade_llm.providers.health import ModelHealth
from spade_llm.providers.model import Completion, TextDelta, Usage, closing_stream

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Iterator, Mapping, Sequence

    from spade_llm.providers.messages import ContextMessage
    from spade_llm.providers.model import ChatModel, Sampling, ToolSpec


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
        with self._watched(messages, tools) as call:
            call.completion = await self._model.complete(
                messages,
                tools,
                tool_choice=tool_choice,
                response_schema=response_schema,
                sampling=sampling,
            )
            return call.completion

    async def stream(
        self,
        messages: Sequence[ContextMessage],
        tools: Sequence[ToolSpec] = (),
        *,
        tool_choice: str = "auto",
        response_schema: Mapping[str, object] | None = None,
        sampling: Sampling | None = None,
    ) -> AsyncGenerator[TextDelta | Completion]:
        with self._watched(messages, tools) as call:
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

    def _note_success(self) -> None:
        """Its own, or only that of what stands in for it."""
        away = self._model.error if isinstance(self._model, FallbackModel) else None
        if away is None:
            self.health.succeed()
        else:
            self.health.fail(away)

    @contextmanager
    def _watched(
        self, messages: Sequence[ContextMessage], tools: Sequence[ToolSpec]
    ) -> Iterator[_MeasuredCall]:
        call = _MeasuredCall(self.name, messages, tools)
        call.begin()
        with tracing.detached_span(f"chat {self.name}", tracing.SpanKind.CLIENT) as span:
            try:
                yield call
                self._note_success()
            except BaseException as error:
                if isinstance(error, ModelError):
                    self.health.fail(error)
                call.error = _ENDED_EARLY.get(type(error)) or type(error).__name__
                raise
            finally:
                call.end(span)


class _MeasuredCall:
    def __init__(
        self, model: str, messages: Sequence[ContextMessage], tools: Sequence[ToolSpec]
    ) -> None:
        self._model = model
        self._messages = messages
        self._tools = tools
        self._recorder = turn_recorder.current_recorder()
        self._began = time.perf_counter()
        self._text_chars = 0
        self.completion: Completion | None = None
        self.error = ""

    def take(self, piece: TextDelta | Completion) -> None:
        if isinstance(piece, TextDelta):
            self._text_chars += len(piece.text)
        else:
            self.completion = piece

    def begin(self) -> None:
        if self._recorder is not None:
            self._recorder.spend(UsageTotals(model_calls=1))

    def end(self, span: tracing.Span) -> None:
        seconds = time.perf_counter() - self._began
        usage, is_estimated = self._usage()
        answered_by = (self.completion and self.completion.model) or self._model
        call = ModelCallRecord(
            model=answered_by,
            seconds=seconds,
            prompt_tokens=usage.prompt_tokens,
            completion_tokens=usage.completion_tokens,
            is_estimated=is_estimated,
            error=self.error,
        )
        if self._recorder is not None:
            self._recorder.model_called(call)
            self._recorder.took("model", seconds)
            self._recorder.spend(_spent(call))
        if span.is_recorded:
            span.note(_trace_attributes(self._model, call))
            self._quote(span)

    def _usage(self) -> tuple[Usage, bool]:
        counted = self.completion.usage if self.completion else Usage()
        if counted != Usage():
            return counted, False
        if (
            self.completion is None
            and not self._text_chars
            and self.error not in _ENDED_EARLY.values()
        ):
            return counted, False
        prompt = sum(map(_chars, self._messages)) + sum(map(_chars_of_tool, self._tools))
        estimated = Usage(
            prompt_tokens=tokens_from_chars(prompt),
            completion_tokens=tokens_from_chars(self._answer_chars()),
        )
        return estimated, True

    def _answer_chars(self) -> int:
        if self.completion is None:
            return self._text_chars
        calls = sum(len(one.name) + len(one.arguments) for one in self.completion.tool_calls)
        return len(self.completion.text) + calls

    def _quote(self, span: tracing.Span) -> None:
        answer = self.completion.text if self.completion else ""
        question = str(self._messages[-1].get("content") or "") if self._messages else ""
        span.quote({"spade_llm.last_message": question, "spade_llm.answer": answer})


_ENDED_EARLY: dict[type[BaseException], str] = {
    asyncio.CancelledError: "stopped",
    GeneratorExit: "not read to its end",
}
"""Error texts of calls that the caller ended early. Their tokens are estimated and charged, even
though no answer was used; calls that the model did not start are not charged."""


def _chars(message: ContextMessage) -> int:
    calls = message.get("tool_calls") or () if message["role"] == "assistant" else ()
    named = (call["function"] for call in calls)
    called = sum(len(one["name"]) + len(one["arguments"]) for one in named)
    return len(message.get("content") or "") + called


def _chars_of_tool(tool: ToolSpec) -> int:
    return len(tool.name) + len(tool.description) + len(json.dumps(tool.parameters))


def _spent(call: ModelCallRecord) -> UsageTotals:
    tokens = call.prompt_tokens + call.completion_tokens
    return UsageTotals(
        prompt_tokens=call.prompt_tokens,
        completion_tokens=call.completion_tokens,
        estimated_tokens=tokens if call.is_estimated else 0,
        model_seconds=call.seconds,
    )


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
