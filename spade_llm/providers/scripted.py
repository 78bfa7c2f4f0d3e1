"""Scripted provider: a model with prepared answers, for tests, benchmarks and examples."""

from __future__ import annotations

import asyncio
import itertools
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Unpack

from spade_llm.core.arguments import wrong_type
from spade_llm.core.errors import ModelError
from spade_llm.providers.model import (
    CallOptions,
    Completion,
    ContextMessage,
    NonStreamingModel,
    Sampling,
    ToolSpec,
)

KEPT_REQUESTS = 10_000

Rule = Callable[[Sequence[ContextMessage], Sequence[ToolSpec]], Completion]
ScriptedAnswer = str | Completion | ModelError | Rule


@dataclass(frozen=True, slots=True, kw_only=True)
class ScriptedRequest:
    """Request that the model received."""

    messages: tuple[ContextMessage, ...]
    tools: tuple[ToolSpec, ...]
    tool_choice: str = "auto"
    response_schema: Mapping[str, object] | None = None
    sampling: Sampling | None = None


class ScriptedProvider(NonStreamingModel):
    """A ChatModel that gives each answer once, in order.

    A `str` is said, a `Completion` returned, a `ModelError` raised, and a callable is asked with
    `(messages, tools)`. When the script is over, every request raises ModelError.
    """

    def __init__(self, answers: Iterable[ScriptedAnswer] = (), *, delay: float = 0.0) -> None:
        """`delay`: seconds before every answer, without blocking the event loop."""
        if isinstance(answers, str):  # It would be said letter by letter.
            raise wrong_type(answers, of="ScriptedProvider: answers", fix="give a list of answers")
        self._answers = iter(answers)
        self._delay_s = delay
        self._requests: deque[ScriptedRequest] = deque(maxlen=KEPT_REQUESTS)

    @classmethod
    def echo(cls, *, delay: float = 0.0) -> ScriptedProvider:
        """Says, without end, what the user said last."""
        return cls(itertools.repeat(_echo), delay=delay)

    @property
    def name(self) -> str:
        return "scripted"

    @property
    def requests(self) -> Sequence[ScriptedRequest]:
        """The latest requests (at most 10 000), oldest first."""
        return list(self._requests)

    async def aclose(self) -> None:
        """Nothing to close: here so that every provider can be closed alike."""

    async def complete(
        self,
        messages: Sequence[ContextMessage],
        tools: Sequence[ToolSpec] = (),
        **options: Unpack[CallOptions],
    ) -> Completion:
        request = ScriptedRequest(messages=tuple(messages), tools=tuple(tools), **options)
        self._requests.append(request)
        if self._delay_s:
            await asyncio.sleep(self._delay_s)
        return _resolve(self._next(), request)

    def _next(self) -> ScriptedAnswer:
        for answer in self._answers:
            return answer
        raise ModelError(
            f"The script is over: it has no answer to request {len(self._requests)}; "
            "give ScriptedProvider more answers."
        )


def _resolve(answer: ScriptedAnswer, request: ScriptedRequest) -> Completion:
    if isinstance(answer, ModelError):
        raise answer
    if isinstance(answer, str):
        return Completion(text=answer)
    if isinstance(answer, Completion):
        return answer
    return answer(request.messages, request.tools)


def _echo(messages: Sequence[ContextMessage], _: Sequence[ToolSpec]) -> Completion:
    said = [message["content"] for message in messages if message["role"] == "user"]
    return Completion(text=said[-1] if said else "")
