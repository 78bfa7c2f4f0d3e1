"""LLMProvider: chat model by the name of its vendor (`openai/…`, `ollama/…`).

`create_…` is the interface of spade_llm 0.2, `LLMProvider("provider/model")` with its methods that
of spade_llm 0.3. An omitted address or API key is read from the environment, from the
variables that programs for those versions set.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, TypedDict, Unpack
from urllib.parse import urlsplit

from spade_llm.compat.own_provider import (
    BaseLLMProvider,
    ProviderAnswers,
    complete_with,
    response_of,
)
from spade_llm.core.arguments import check_keywords
from spade_llm.core.errors import ConfigurationError
from spade_llm.core.text import suggestion
from spade_llm.providers.openai.model import (
    DEFAULT_TIMEOUT_S,
    NO_KEY,
    OPENAI_URL,
    OpenAIModel,
    server_name,
)
from spade_llm.providers.retry import ModelLimits

if TYPE_CHECKING:
    from pydantic import BaseModel

    from spade_llm.compat.own_provider import LLMResponse, PromptSource
    from spade_llm.providers.model import (
        CallOptions,
        Completion,
        ContextMessage,
        TextDelta,
        ToolSpec,
    )
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
    """Timeout in seconds of one attempt; in a stream, of the wait until the next piece."""
    num_retries: int | None
    """Attempts after the first; None: the default of ModelLimits."""
    limits: ModelLimits | None


class LLMProvider(OpenAIModel, ProviderAnswers):
    """Chat model of a vendor or a local server. Close it with `aclose()`. If a subclass overrides
    `get_llm_response`, agents call that."""

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

        Without `api_key` and `base_url`, the environment is read.
        """
        check_keywords(fields, RequestFields, of=LLMProvider)
        place = endpoint_of(model, api_key=api_key, base_url=base_url)
        self.model, self.base_url = model, place.base_url
        self.temperature, self.max_tokens, self.timeout = temperature, max_tokens, timeout
        self._model_endpoint = place
        chosen = {"temperature": temperature, place.bound: max_tokens, **fields}
        given = {name: value for name, value in chosen.items() if value is not None}
        if limits is None:
            usual = ModelLimits()
            attempts = usual.attempts if num_retries is None else num_retries + 1
            # The deadline of a call must not be below the timeout of a single attempt.
            deadline_s = max(usual.deadline_s, timeout)
            limits = replace(usual, attempts=attempts, deadline_s=deadline_s)
        super().__init__(
            base_url=place.base_url,
            api_key=place.api_key,
            settings={"model": place.model, **given},
            timeout=timeout,
            limits=limits,
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
        """OpenAI, or another server of its protocol that requires a key: at `base_url`, else at
        OPENAI_BASE_URL."""
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
        """Model of an Ollama server."""
        return cls(f"ollama/{model}", None, base_url, **options)

    @classmethod
    def create_lm_studio(
        cls, model: str, base_url: str = "http://localhost:1234/v1", **options: Unpack[ModelOptions]
    ) -> LLMProvider:
        """Model of an LM Studio server."""
        return cls(f"lm_studio/{model}", None, base_url, **options)

    @classmethod
    def create_vllm(
        cls, model: str, base_url: str = "http://localhost:8000/v1", **options: Unpack[ModelOptions]
    ) -> LLMProvider:
        """Model of a vLLM server."""
        return cls(f"hosted_vllm/{model}", None, base_url, **options)

    async def complete(
        self,
        messages: Sequence[ContextMessage],
        tools: Sequence[ToolSpec] = (),
        **options: Unpack[CallOptions],
    ) -> Completion:
        """Call the model, or the override of a subclass of spade_llm 0.3 (`ChatModel.complete`)."""
        if self._is_overridden:
            return await complete_with(self, messages, tools, options.get("tool_choice", "auto"))
        return await super().complete(messages, tools, **options)

    async def stream(
        self,
        messages: Sequence[ContextMessage],
        tools: Sequence[ToolSpec] = (),
        **options: Unpack[CallOptions],
    ) -> AsyncGenerator[TextDelta | Completion]:
        if self._is_overridden:
            yield await complete_with(self, messages, tools, options.get("tool_choice", "auto"))
            return
        async with aclosing(super().stream(messages, tools, **options)) as parts:
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
        prompt = context.get_prompt(conversation_id)
        specs = [tool.spec for tool in tools or ()]
        schema = output_schema if output_schema and not specs else None
        form = schema.model_json_schema() if schema else None
        # `self.complete` would call this method again if a subclass overrides it.
        return response_of(await super().complete(prompt, specs, response_schema=form), schema)

    async def get_embeddings(self, texts: list[str]) -> list[list[float]]:
        """Embed each text as a vector of length 1 with this provider's model. Raises
        ModelUnavailable."""
        from spade_llm.providers.openai.embedder import OpenAIEmbedder

        place = self._model_endpoint
        async with OpenAIEmbedder(
            base_url=place.base_url, model=place.model, api_key=place.api_key
        ) as embedder:
            vectors: list[list[float]] = (await embedder.embed(texts)).tolist()
        return vectors

    @property
    def _is_overridden(self) -> bool:
        return type(self).get_llm_response is not LLMProvider.get_llm_response


# For `isinstance` only: as a base class it would bring its own `complete` and `stream`.
BaseLLMProvider.register(LLMProvider)


_ALIASES = {
    # The names that `spade-llm model set` takes.
    "lmstudio": "lm_studio",
    "llamacpp": "llamafile",
    "ollama_chat": "ollama",
    "vllm": "hosted_vllm",
    "custom_openai": "litellm_proxy",
    "openai_like": "litellm_proxy",
}
_OPENAI_MODELS = ("gpt-", "chatgpt-", "o1", "o3", "o4")
"""Prefixes of model names that may be given without a provider."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelEndpoint:
    model: str
    base_url: str
    api_key: str = field(repr=False)

    @property
    def bound(self) -> str:
        """Name of the request field that limits tokens: OpenAI's newer models reject `max_tokens`,
        and other servers accept only that."""
        return "max_completion_tokens" if self.base_url == OPENAI_URL else "max_tokens"


def endpoint_of(model: str, *, api_key: str | None, base_url: str | None) -> ModelEndpoint:
    """Raises ConfigurationError, naming what is missing and how to give it."""
    from spade_llm.core.settings import get_variable  # Late, as it imports pydantic.

    named_in = f"LLMProvider(model={model!r})"
    vendor, name = _split_model_name(model, has_url=base_url is not None, named_in=named_in)
    if base_url is None:
        base_url = next(filter(None, map(get_variable, vendor.url_variables)), vendor.url)
        if not base_url:
            raise ConfigurationError(f"{named_in}: give base_url, the address of your server")
    server_name(base_url)  # Raises for an invalid URL.
    url = base_url.rstrip("/")
    if vendor.is_local and urlsplit(base_url).path in {"", "/"}:
        # Addresses of local servers are often given without the path of the protocol.
        url = f"{url}/v1"
    if api_key is None:
        api_key = NO_KEY if vendor.is_local else get_variable(vendor.key_variable)
        if not api_key:
            raise ConfigurationError(
                f"{named_in}: give api_key, or set the variable {vendor.key_variable}"
            )
    key = api_key.strip()
    # The key is sent in a header.
    if not key or not key.isascii() or not key.isprintable():
        raise ConfigurationError(
            f"{named_in}: api_key needs visible characters; local servers need none"
        )
    return ModelEndpoint(model=name, base_url=url, api_key=key)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Vendor:
    url: str = ""
    """Default URL; empty: it must be given."""
    url_variables: tuple[str, ...] = ()
    """Environment variables that may hold another URL."""
    key_variable: str = ""
    """Environment variable of its key; empty: it requires none."""

    @property
    def is_local(self) -> bool:
        return not self.key_variable


_VENDORS = {
    "openai": _Vendor(
        url=OPENAI_URL,
        url_variables=("OPENAI_BASE_URL", "OPENAI_API_BASE"),
        key_variable="OPENAI_API_KEY",
    ),
    "ollama": _Vendor(
        url="http://localhost:11434/v1", url_variables=("OLLAMA_API_BASE", "OLLAMA_BASE_URL")
    ),
    "lm_studio": _Vendor(
        url="http://localhost:1234/v1", url_variables=("LM_STUDIO_API_BASE", "LM_STUDIO_BASE_URL")
    ),
    "hosted_vllm": _Vendor(url="http://localhost:8000/v1", url_variables=("HOSTED_VLLM_API_BASE",)),
    "llamafile": _Vendor(url="http://localhost:8080/v1", url_variables=("LLAMAFILE_API_BASE",)),
    "litellm_proxy": _Vendor(url_variables=("LITELLM_PROXY_API_BASE",)),
    "anthropic": _Vendor(url="https://api.anthropic.com/v1", key_variable="ANTHROPIC_API_KEY"),
    "cerebras": _Vendor(url="https://api.cerebras.ai/v1", key_variable="CEREBRAS_API_KEY"),
    "deepseek": _Vendor(url="https://api.deepseek.com/v1", key_variable="DEEPSEEK_API_KEY"),
    "gemini": _Vendor(
        url="https://generativelanguage.googleapis.com/v1beta/openai", key_variable="GEMINI_API_KEY"
    ),
    "groq": _Vendor(url="https://api.groq.com/openai/v1", key_variable="GROQ_API_KEY"),
    "mistral": _Vendor(url="https://api.mistral.ai/v1", key_variable="MISTRAL_API_KEY"),
    "openrouter": _Vendor(url="https://openrouter.ai/api/v1", key_variable="OPENROUTER_API_KEY"),
    "together_ai": _Vendor(url="https://api.together.xyz/v1", key_variable="TOGETHERAI_API_KEY"),
    "xai": _Vendor(url="https://api.x.ai/v1", key_variable="XAI_API_KEY"),
}


def _split_model_name(model: str, *, has_url: bool, named_in: str) -> tuple[_Vendor, str]:
    """Vendor and model of `vendor/model`."""
    prefix, slash, name = model.partition("/")
    if not slash and (has_url or model.startswith(_OPENAI_MODELS)):
        return _VENDORS["openai"], model
    vendor = _VENDORS.get(_ALIASES.get(prefix, prefix)) if slash else None
    if vendor is None:
        known = [*_VENDORS, *_ALIASES]
        near = suggestion(prefix, known) if slash else ""
        raise ConfigurationError(
            f"{named_in}{near or ':'} write model='PROVIDER/{model}' with one of"
            f" {', '.join(known)}. Any other server that speaks OpenAI's protocol is"
            f" model='openai/{model}' with base_url"
        )
    return vendor, name
