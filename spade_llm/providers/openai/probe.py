"""Test call of an OpenAI-compatible server: latency, streaming, tools, context window."""

from __future__ import annotations

import asyncio
import difflib
import time
from collections.abc import Callable, Sequence
from contextlib import aclosing
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import TYPE_CHECKING

from spade_llm.core.errors import ModelDenied, ModelError, ModelFailure, ModelUnavailable
from spade_llm.providers.model import Completion, ContextMessage, ToolSpec, Usage
from spade_llm.providers.openai.answer import AnswerAssembler
from spade_llm.providers.openai.errors import is_bad_request
from spade_llm.providers.openai.request_body import RequestBody, with_stream

if TYPE_CHECKING:
    from spade_llm.providers.openai.endpoint import ListedModel, OpenAIEndpoint
    from spade_llm.providers.openai.model import OptionalFields

MAX_ANSWER_BYTES = 1_000_000
MAX_SUGGESTIONS = 5

CHECK_MESSAGES: list[ContextMessage] = [{"role": "user", "content": "Reply with the word: ready"}]
_PROBE_MESSAGES: list[ContextMessage] = [
    {"role": "user", "content": "Call the tool report_ready with the status: ready"}
]
_PROBE_TOOL = ToolSpec(
    name="report_ready",
    description="Report a status.",
    parameters={
        "type": "object",
        "properties": {"status": {"type": "string"}},
        "required": ["status"],
    },
)


class ToolSupport(StrEnum):
    """Reaction of a model to an offered tool that it is asked to call."""

    CALLED = "called"
    IGNORED = "ignored"
    """It answered with text."""
    REFUSED = "refused"
    """The server refuses requests with tools."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelProbe:
    """Measurements of one call."""

    first_s: float
    """Seconds until the answer began."""
    total_s: float
    """Seconds until it was complete."""
    streams: bool
    """The answer arrived in parts."""
    tools: ToolSupport
    usage: Usage = Usage()
    context_tokens: int | None = None
    """Length of the context window; None: the server does not say."""


class ModelTestCall:
    """Test call of a model's server, without retries."""

    def __init__(
        self,
        endpoint: OpenAIEndpoint,
        *,
        server: str,
        model: str,
        optional_fields: OptionalFields,
        build: Callable[[Sequence[ContextMessage], Sequence[ToolSpec]], RequestBody],
    ) -> None:
        """`build` builds the request; `server` and `model` are their names in errors."""
        self._endpoint = endpoint
        self._server = server
        self._model = model
        self._optional_fields = optional_fields
        self._build = build

    async def check(self, *, within_s: float) -> None:
        """Call the model until its answer begins. Raises ModelError."""
        await self._call(CHECK_MESSAGES, (), within_s=within_s, is_whole=False)

    async def probe(self, *, within_s: float) -> ModelProbe:
        """Measure a call in which the model is offered a tool. Raises ModelError."""
        try:
            found = await self._call(_PROBE_MESSAGES, (_PROBE_TOOL,), within_s=within_s)
        except ModelError as error:
            # Ollama and vLLM refuse requests with tools if a model has no template for them.
            if not (is_bad_request(error.__cause__) and "tool" in str(error.__cause__).lower()):
                raise
            found = await self._call(CHECK_MESSAGES, (), within_s=within_s)
            found = replace(found, tools=ToolSupport.REFUSED)
        listed = await self._list(within_s=within_s)
        window = next((one.context_tokens for one in listed if one.id == self._model), None)
        return replace(found, context_tokens=window if isinstance(window, int) else None)

    async def _call(
        self,
        messages: Sequence[ContextMessage],
        tools: Sequence[ToolSpec],
        *,
        within_s: float,
        is_whole: bool = True,
    ) -> ModelProbe:
        body = with_stream(self._build(messages, tools))
        try:
            async with asyncio.timeout(within_s):
                while True:
                    try:
                        request = self._optional_fields.accepted(body)
                        return await self._measure(request, is_whole=is_whole)
                    except ModelError as error:
                        if not self._optional_fields.note(error, body):
                            raise
        except TimeoutError:
            raise ModelUnavailable(
                f"{self._server} did not answer in {within_s:g} s.", cause=ModelFailure.TIMEOUT
            ) from None
        except ModelDenied as error:
            if error.cause is ModelFailure.UNKNOWN_MODEL:
                raise await self._with_suggestions(error, within_s=within_s) from error
            raise

    async def _measure(self, body: RequestBody, *, is_whole: bool) -> ModelProbe:
        assembly, events, first_s = AnswerAssembler(max_bytes=MAX_ANSWER_BYTES), 0, 0.0
        began = time.monotonic()
        answer = self._endpoint.events(body, max_bytes=MAX_ANSWER_BYTES)
        async with aclosing(answer):
            async for raw in answer:
                first_s = first_s or time.monotonic() - began
                assembly.add(raw)  # Raises the error that a stream may carry.
                events += 1
                if not is_whole:
                    break
        completion = assembly.completion() if is_whole else Completion()
        return ModelProbe(
            first_s=first_s,
            total_s=time.monotonic() - began,
            # A server that cannot stream sends one event; the endpoint adds the end.
            streams=events > 2,
            tools=ToolSupport.CALLED if completion.tool_calls else ToolSupport.IGNORED,
            usage=completion.usage,
        )

    async def _list(self, *, within_s: float) -> Sequence[ListedModel]:
        """The server's list of models; empty if there is none."""
        try:
            async with asyncio.timeout(within_s):
                return await self._endpoint.models(model=self._model)
        except (ModelError, TimeoutError):
            return ()

    async def _with_suggestions(self, error: ModelDenied, *, within_s: float) -> ModelDenied:
        """The error, with the names of models that the server does have."""
        names = [one.id for one in await self._list(within_s=within_s)]
        if not names:
            return error
        near = difflib.get_close_matches(self._model, names, n=MAX_SUGGESTIONS, cutoff=0.3)
        shown = ", ".join((near or names)[:MAX_SUGGESTIONS])
        return ModelDenied(
            f"{self._server} has no model {self._model!r}; it has, for instance: {shown}.",
            cause=error.cause,
        )
