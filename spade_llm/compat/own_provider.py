"""Providers written by programs (`get_llm_response`), adapted to ChatModel."""

from __future__ import annotations

import contextlib
import json
import logging
import traceback
from abc import ABC, abstractmethod
from collections.abc import AsyncGenerator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol, TypedDict, Unpack

from spade_llm.core.errors import InvalidModelOutput, ModelError, ModelUnavailable
from spade_llm.core.redaction import redact_text
from spade_llm.providers.model import Completion, TextDelta, ToolCall, valid_call_id
from spade_llm.tools.llm_tool import LLMTool

if TYPE_CHECKING:
    from pydantic import BaseModel

    from spade_llm.providers.model import CallOptions, ContextMessage, ToolSpec

logger = logging.getLogger(__name__)

MAX_LOGGED_CHARS = 10_000


class PromptSource(Protocol):
    """Part of a ContextManager that is needed to call a model."""

    def get_prompt(self, conversation_id: str | None = None) -> Sequence[ContextMessage]: ...


class RequestedCall(TypedDict):
    id: str
    name: str
    arguments: Mapping[str, object]


class LLMResponse(TypedDict, total=False):
    text: str | None
    """Answer text; None for tool calls, or a structured answer."""
    tool_calls: list[RequestedCall]
    structured: BaseModel | None
    """Structured answer, an instance of the requested schema."""


def response_of(completion: Completion, schema: type[BaseModel] | None) -> LLMResponse:
    """Convert a completion; an answer that does not match the schema is returned as text."""
    if completion.tool_calls:
        calls = [
            RequestedCall(id=call.id, name=call.name, arguments=arguments_of(call.arguments))
            for call in completion.tool_calls
        ]
        return LLMResponse(text=None, tool_calls=calls, structured=None)
    found: BaseModel | None = None
    if schema is not None:
        from pydantic import ValidationError

        with contextlib.suppress(ValidationError):
            found = schema.model_validate_json(completion.text)
    return LLMResponse(
        text=completion.text if found is None else None, tool_calls=[], structured=found
    )


def arguments_of(text: str) -> dict[str, object]:
    """Parse the arguments of a tool call; empty if the model wrote no JSON object."""
    try:
        arguments = json.loads(text or "{}")
    except (ValueError, RecursionError):
        return {}
    return arguments if isinstance(arguments, dict) else {}


class AnsweringProvider(Protocol):
    @property
    def name(self) -> str: ...

    async def get_llm_response(
        self,
        context: PromptSource,
        tools: list[LLMTool] | None = None,
        conversation_id: str | None = None,
        output_schema: type[BaseModel] | None = None,
    ) -> LLMResponse: ...


@dataclass(frozen=True, slots=True)
class SingleCallContext:
    """Read-only part of a ContextManager, for one call of a provider."""

    messages: tuple[ContextMessage, ...]

    def get_prompt(self, conversation_id: str | None = None) -> list[ContextMessage]:
        return list(self.messages)

    def get_conversation_history(self, conversation_id: str | None = None) -> list[ContextMessage]:
        return [message for message in self.messages if message["role"] != "system"]

    def get_tracing_metadata(self, conversation_id: str | None = None) -> dict[str, str]:
        return {}


async def complete_with(
    provider: AnsweringProvider,
    messages: Sequence[ContextMessage],
    tools: Sequence[ToolSpec],
    tool_choice: str,
) -> Completion:
    """Call a program's own provider. Tools are only described to it; the caller runs them.

    Raises ModelError: also for any exception of the provider itself.
    """

    def not_run_here(**_: object) -> str:
        raise NotImplementedError("A provider asks for calls; the agent runs the tools.")

    shown = [
        LLMTool(spec.name, spec.description, spec.parameters, not_run_here, spec.is_strict)
        for spec in tools
        if tool_choice in {"auto", "required", spec.name}
    ]
    try:
        answer = await provider.get_llm_response(SingleCallContext(tuple(messages)), shown or None)
        return _completion(answer)
    except ModelError:
        raise
    except Exception as error:  # noqa: BLE001 - somebody's own provider failed
        where = redact_text(traceback.format_exc(), max_chars=MAX_LOGGED_CHARS)
        logger.error("the provider %s failed\n%s", provider.name, where)
        raise ModelUnavailable(f"{provider.name} failed ({type(error).__name__}).") from None


class ProviderAnswers(ABC):
    """Methods common to both kinds of provider, derived from `get_llm_response`."""

    @abstractmethod
    async def get_llm_response(
        self,
        context: PromptSource,
        tools: list[LLMTool] | None = None,
        conversation_id: str | None = None,
        output_schema: type[BaseModel] | None = None,
    ) -> LLMResponse:
        """`{"text": …, "tool_calls": [{"id", "name", "arguments"}]}`; may raise anything."""

    async def get_response(
        self, context: PromptSource, tools: list[LLMTool] | None = None
    ) -> str | None:
        return (await self.get_llm_response(context, tools)).get("text")

    async def get_tool_calls(
        self, context: PromptSource, tools: list[LLMTool] | None = None
    ) -> list[RequestedCall]:
        return (await self.get_llm_response(context, tools)).get("tool_calls", [])


class BaseLLMProvider(ProviderAnswers):
    """Chat model that a program implements by `get_llm_response`. A subclass need not call
    `super().__init__()`."""

    name: str = "provider"
    """Name shown in /status; by default that of the subclass."""

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        if "name" not in cls.__dict__:
            cls.name = cls.__name__

    async def complete(
        self,
        messages: Sequence[ContextMessage],
        tools: Sequence[ToolSpec] = (),
        **options: Unpack[CallOptions],
    ) -> Completion:
        """Ignore `response_schema` and `sampling`, which such a provider does not support; the
        prompt describes the form."""
        return await complete_with(self, messages, tools, options.get("tool_choice", "auto"))

    async def stream(
        self,
        messages: Sequence[ContextMessage],
        tools: Sequence[ToolSpec] = (),
        **options: Unpack[CallOptions],
    ) -> AsyncGenerator[TextDelta | Completion]:
        """Yield the whole text at once: such a provider does not stream."""
        completion = await self.complete(messages, tools, **options)
        if completion.text:
            yield TextDelta(completion.text)
        yield completion


def _completion(answer: LLMResponse) -> Completion:
    found = answer.get("structured")
    text = found.model_dump_json() if found is not None else answer.get("text") or ""
    taken: set[str] = set()
    calls = tuple(_tool_call(call, taken) for call in answer.get("tool_calls") or ())
    if not text and not calls:
        raise InvalidModelOutput("The provider gave neither text nor tool calls.")
    return Completion(text=text, tool_calls=calls)


def _tool_call(call: RequestedCall, taken: set[str]) -> ToolCall:
    """Convert a tool call, whose arguments may be an object or JSON text."""
    given: object = call.get("arguments") or {}
    text = given if isinstance(given, str) else json.dumps(given, ensure_ascii=False, default=str)
    call_id = valid_call_id(str(call.get("id") or ""), taken)
    return ToolCall(id=call_id, name=call["name"], arguments=text)
