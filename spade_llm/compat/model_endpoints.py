"""Model endpoints: server address and API key of a `provider/model` name.

What is left out is read from the environment, under the names that those programs set.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from urllib.parse import urlsplit

from spade_llm.core.errors import ConfigurationError
from spade_llm.core.settings import get_variable
from spade_llm.providers.openai.model import NO_KEY, OPENAI_URL, server_name

_ALIASES = {
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
    """Raises ConfigurationError, naming what is missing and how to say it."""
    named_in = f"LLMProvider(model={model!r})"
    maker, name = _read(model, has_url=base_url is not None, named_in=named_in)
    url = (_first_found(maker.urls_in) or maker.url) if base_url is None else base_url
    if not url and base_url is None:
        raise ConfigurationError(f"{named_in}: give base_url, the address of your server")
    server_name(url)
    return ModelEndpoint(
        model=name,
        base_url=_with_path(url) if maker.is_local else url.rstrip("/"),
        api_key=_checked(_key(maker, api_key, named_in), named_in),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Vendor:
    url: str = ""
    """Empty: there is none, it must be given."""
    urls_in: tuple[str, ...] = ()
    """Variables that may hold another."""
    key_in: str = ""
    """The variable of its key; empty: it wants none."""

    @property
    def is_local(self) -> bool:
        return not self.key_in


_VENDORS = {
    "openai": _Vendor(
        url=OPENAI_URL, urls_in=("OPENAI_BASE_URL", "OPENAI_API_BASE"), key_in="OPENAI_API_KEY"
    ),
    "ollama": _Vendor(
        url="http://localhost:11434/v1", urls_in=("OLLAMA_API_BASE", "OLLAMA_BASE_URL")
    ),
    "lm_studio": _Vendor(
        url="http://localhost:1234/v1", urls_in=("LM_STUDIO_API_BASE", "LM_STUDIO_BASE_URL")
    ),
    "hosted_vllm": _Vendor(url="http://localhost:8000/v1", urls_in=("HOSTED_VLLM_API_BASE",)),
    "llamafile": _Vendor(url="http://localhost:8080/v1", urls_in=("LLAMAFILE_API_BASE",)),
    "litellm_proxy": _Vendor(urls_in=("LITELLM_PROXY_API_BASE",)),
    "anthropic": _Vendor(url="https://api.anthropic.com/v1", key_in="ANTHROPIC_API_KEY"),
    "cerebras": _Vendor(url="https://api.cerebras.ai/v1", key_in="CEREBRAS_API_KEY"),
    "deepseek": _Vendor(url="https://api.deepseek.com/v1", key_in="DEEPSEEK_API_KEY"),
    "gemini": _Vendor(
        url="https://generativelanguage.googleapis.com/v1beta/openai", key_in="GEMINI_API_KEY"
    ),
    "groq": _Vendor(url="https://api.groq.com/openai/v1", key_in="GROQ_API_KEY"),
    "mistral": _Vendor(url="https://api.mistral.ai/v1", key_in="MISTRAL_API_KEY"),
    "openrouter": _Vendor(url="https://openrouter.ai/api/v1", key_in="OPENROUTER_API_KEY"),
    "together_ai": _Vendor(url="https://api.together.xyz/v1", key_in="TOGETHERAI_API_KEY"),
    "xai": _Vendor(url="https://api.x.ai/v1", key_in="XAI_API_KEY"),
}


def _read(model: str, *, has_url: bool, named_in: str) -> tuple[_Vendor, str]:
    prefix, slash, name = model.partition("/")
    if not slash and (has_url or model.startswith(_OPENAI_MODELS)):
        return _VENDORS["openai"], model
    maker = _VENDORS.get(_ALIASES.get(prefix, prefix)) if slash else None
    if maker is None:
        raise ConfigurationError(
            f"{named_in}: write model='PROVIDER/{model}' with one of {', '.join(_VENDORS)}. Any"
            f" other server that speaks OpenAI's protocol is model='openai/{model}' with base_url"
        )
    return maker, name


def _first_found(names: tuple[str, ...]) -> str | None:
    return next(filter(None, map(get_variable, names)), None)


def _key(maker: _Vendor, given: str | None, named_in: str) -> str:
    if given is not None:
        return given.strip()
    if maker.is_local:
        return NO_KEY
    if key := get_variable(maker.key_in):
        return key.strip()
    raise ConfigurationError(f"{named_in}: give api_key, or set the variable {maker.key_in}")


def _checked(key: str, named_in: str) -> str:
    """It becomes a header."""
    if not key or not key.isascii() or not key.isprintable():
        raise ConfigurationError(
            f"{named_in}: api_key needs visible characters; local servers need none"
        )
    return key


def _with_path(url: str) -> str:
    """Local servers' addresses are often given without the path of their protocol."""
    return f"{url.rstrip('/')}/v1" if urlsplit(url).path in {"", "/"} else url.rstrip("/")
