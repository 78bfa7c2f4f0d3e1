"""BaseLLMProvider: what programs written for spade_llm 0.2/0.3 make providers of their own from."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING

from spade_llm.providers.model import TextDelta

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Mapping, Sequence

    from pydantic import BaseModel

    from spade_llm.programs.llm_response import LLMResponse, PromptSource, RequestedCall
    from spade_llm.providers.messages import ContextMessage
    from spade_llm.providers.model import Completion, Sampling, ToolSpec
    from spade_llm.tools.llm_tool import LLMTool


class AnswersInParts(ABC):
    """What both kinds of provider give of an answer, by `get_llm_response`."""

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


class BaseLLMProvider(AnswersInParts):
    """A ChatModel, as soon as `get_llm_response` is written. Needs no `super().__init__()`."""

    name: str = "provider"
    """Shown in /status; a subclass is called by its class, unless it says otherwise."""

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        if "name" not in cls.__dict__:
            cls.name = cls.__name__

    async def complete(
        self,
        messages: Sequence[ContextMessage],
        tools: Sequence[ToolSpec] = (),
        *,
        tool_choice: str = "auto",
        response_schema: Mapping[str, object] | None = None,
        sampling: Sampling | None = None,
    ) -> Completion:
        """A wish for a form stands in the prompt; such a provider knows no JSON Schema, and samples
        as it does."""
        from spade_llm.programs.own_model import completion_by

        return await completion_by(self, messages, tools, tool_choice=tool_choice)

    async def stream(
        self,
        messages: Sequence[ContextMessage],
        tools: Sequence[ToolSpec] = (),
        *,
        tool_choice: str = "auto",
        response_schema: Mapping[str, object] | None = None,
        sampling: Sampling | None = None,
    ) -> AsyncGenerator[TextDelta | Completion]:
        """All at once: such a provider knows no parts."""
        completion = await self.complete(messages, tools, tool_choice=tool_choice)
        if completion.text:
            yield TextDelta(completion.text)
        yield completion
