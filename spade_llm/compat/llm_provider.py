"""LLMProvider: a model by the name of its maker (`openai/…`, `ollama/…`).

`create_…` as specs/5 and spade_llm 0.2 have it; `LLMProvider("provider/model")` and its methods as
spade_llm 0.3 has them.
"""

from __future__ import annotations

from contextlib import aclosing
from dataclasses import replace
from typing import TYPE_CHECKING, TypedDict, Unpack

from spade_llm.agents.keyword_checks import check_keywords
from spade_llm.compat.own_provider import BaseLLMProvider, ProviderAnswers
from spade_llm.core.errors import ConfigurationError
from spade_llm.providers.openai.model import DEFAULT_TIMEOUT_S, OpenAIModel
from spade_llm.providers.retry import ModelLimits

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Mapping, Sequence

    from pydantic import BaseModel

    from spade_llm.compat.own_provider import LLMResponse, PromptSource
    from spade_llm.providers.model import Completion, ContextMessage, Sampling, TextDelta, ToolSpec
    from spade_llm.providers.openai.request import RequestBody
    from spade_llm.tools.llm_tool import LLMTool


class RequestFields(TypedDict, total=False):
    """Fields of the protocol that go into every request as they are."""

    top_p: float
    frequency_penalty: float
    presence_penalty: float
    seed: int
    stop: str | Sequence[str]
    user: str
    reasoning_effort: str
    parallel_tool_calls: bool


class ModelOptions(RequestFields, total=False):
    """Options common to all `create_…` methods, in addition to model and address."""

    temperature: float | None
    max_tokens: int | None
    timeout: float
    """Seconds for one attempt; in a stream, for the wait until the next piece."""
    num_retries: int | None
    """Attempts after the first; None: ModelLimits says."""
    limits: ModelLimits | None


class LLMProvider(OpenAIModel, ProviderAnswers):
    """A ChatModel. Close it with `aclose()`. A subclass may override `get_llm_response`: then that
    is what agents ask."""

    def __init__(
        self,
        model: str,
        api_key: str | None = None,
        base_url: str | None = None,
        temperature: float | None = None,
        timeout: float = DEFAULT_TIMEOUT_S,
        max_tokens: int | None = None,
        num_retries: int | None = None,
        *,
        limits: ModelLimits | None = None,
        **fields: Unpack[RequestFields],
    ) -> None:
        """`model`: `provider/model`, for instance `openai/gpt-5-mini` or `ollama/llama3`.

        Without `api_key` and `base_url` the environment is asked (compat/model_endpoints.py).
        """
        from spade_llm.compat.model_endpoints import endpoint_of  # It brings pydantic.

        check_keywords(fields, RequestFields, of="LLMProvider")
        place = endpoint_of(model, api_key=api_key, base_url=base_url)
        self.model, self.base_url = model, place.base_url
        self.temperature, self.max_tokens, self.timeout = temperature, max_tokens, timeout
        self._model_endpoint = place
        chosen = {"temperature": temperature, place.bound: max_tokens, **fields}
        super().__init__(
            base_url=place.base_url,
            api_key=place.api_key,
            settings={"model": place.model, **_given_fields(chosen)},
            timeout=timeout,
            limits=_limits(limits, timeout, num_retries),
            token_limit_field=place.bound,
        )

    @classmethod
    def create_openai(
        cls,
        api_key: str | None,
        model: str = "gpt-5-mini",
        *,
        base_url: str | None = None,
        **options: Unpack[ModelOptions],
    ) -> LLMProvider:
        """OpenAI itself, or any server that speaks its protocol and wants a key: at `base_url`,
        else where OPENAI_BASE_URL says."""
        if not api_key:
            raise ConfigurationError("create_openai needs an api_key; local servers need none.")
        return cls(f"openai/{model}", api_key, base_url, **options)

    @classmethod
    def create_ollama(
        cls,
        model: str,
        base_url: str = "http://localhost:11434/v1",
        **options: Unpack[ModelOptions],
    ) -> LLMProvider:
        return cls(f"ollama/{model}", None, base_url, **options)

    @classmethod
    def create_lm_studio(
        cls,
        model: str,
        base_url: str = "http://localhost:1234/v1",
        **options: Unpack[ModelOptions],
    ) -> LLMProvider:
        return cls(f"lm_studio/{model}", None, base_url, **options)

    @classmethod
    def create_vllm(
        cls,
        model: str,
        base_url: str = "http://localhost:8000/v1",
        **options: Unpack[ModelOptions],
    ) -> LLMProvider:
        return cls(f"hosted_vllm/{model}", None, base_url, **options)

    async def complete(
        self,
        messages: Sequence[ContextMessage],
        tools: Sequence[ToolSpec] = (),
        *,
        tool_choice: str = "auto",
        response_schema: Mapping[str, object] | None = None,
        sampling: Sampling | None = None,
    ) -> Completion:
        if self._is_overridden:
            return await self._complete_with_override(messages, tools, tool_choice)
        return await super().complete(
            messages,
            tools,
            tool_choice=tool_choice,
            response_schema=response_schema,
            sampling=sampling,
        )

    async def stream(
        self,
        messages: Sequence[ContextMessage],
        tools: Sequence[ToolSpec] = (),
        *,
        tool_choice: str = "auto",
        response_schema: Mapping[str, object] | None = None,
        sampling: Sampling | None = None,
    ) -> AsyncGenerator[TextDelta | Completion]:
        if self._is_overridden:
            yield await self._complete_with_override(messages, tools, tool_choice)
            return
        async with aclosing(
            super().stream(
                messages,
                tools,
                tool_choice=tool_choice,
                response_schema=response_schema,
                sampling=sampling,
            )
        ) as parts:
            async for part in parts:
                yield part

    async def get_llm_response(
        self,
        context: PromptSource,
        tools: list[LLMTool] | None = None,
        conversation_id: str | None = None,
        output_schema: type[BaseModel] | None = None,
    ) -> LLMResponse:
        """Raises ModelError."""
        from spade_llm.compat.own_provider import response_of

        prompt = context.get_prompt(conversation_id)
        specs = [tool.spec for tool in tools or ()]
        schema = output_schema if output_schema and not specs else None
        form = schema.model_json_schema() if schema else None
        # Our own `complete` would come back here where a subclass overrides this method.
        return response_of(await super().complete(prompt, specs, response_schema=form), schema)

    async def get_embeddings(self, texts: list[str]) -> list[list[float]]:
        """Embed each text as a vector of length 1, by the model that this provider names. Raises
        ModelUnavailable."""
        from spade_llm.providers.openai.embedder import OpenAIEmbedder

        place = self._model_endpoint
        async with OpenAIEmbedder(
            base_url=place.base_url, model=place.model, api_key=place.api_key
        ) as embedder:
            vectors: list[list[float]] = (await embedder.embed(texts)).tolist()
        return vectors

    async def _complete_with_override(
        self, messages: Sequence[ContextMessage], tools: Sequence[ToolSpec], tool_choice: str
    ) -> Completion:
        from spade_llm.compat.own_provider import complete_with

        return await complete_with(self, messages, tools, tool_choice=tool_choice)

    @property
    def _is_overridden(self) -> bool:
        return type(self).get_llm_response is not LLMProvider.get_llm_response


def _given_fields(chosen: Mapping[str, object]) -> RequestBody:
    return {field: value for field, value in chosen.items() if value is not None}


def _limits(
    limits: ModelLimits | None, timeout_s: float, num_retries: int | None
) -> ModelLimits | None:
    """A single attempt that may take longer than a whole call does otherwise gets its time."""
    if limits is not None:
        return limits
    usual = ModelLimits()
    attempts = usual.attempts if num_retries is None else num_retries + 1
    return replace(usual, attempts=attempts, deadline_s=max(usual.deadline_s, timeout_s))


# For `isinstance` only: as a base class it would bring its own `complete` and `stream`.
BaseLLMProvider.register(LLMProvider)
