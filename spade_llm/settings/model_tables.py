"""`[provider]` and `[fallback]` of an agent.toml: which language model. Reads no environment."""

from __future__ import annotations

from typing import Literal

from pydantic import Field, model_validator

from spade_llm.settings.table import Count, Name, Seconds, Table


class ProviderTable(Table):
    """`[provider]`: the language model."""

    kind: Literal[
        "auto", "openai", "ollama", "lm_studio", "vllm", "openai_compatible", "offline"
    ] = "auto"
    model: Name | None = None
    base_url: Name | None = None
    api_key_env: Name | None = None
    """Name of the environment variable that holds the key."""
    temperature: float | None = Field(default=None, ge=0, le=2)
    max_tokens: Count | None = None
    timeout_s: Seconds = Field(default=60.0)
    max_concurrent: Count = 64
    """Calls at once; the others wait in order."""

    @model_validator(mode="after")
    def _is_complete(self) -> ProviderTable:
        if self.kind == "auto" and (self.model or self.base_url or self.api_key_env):
            raise ValueError('with kind = "auto" leave model, base_url and api_key_env out')
        if self.kind in {"ollama", "lm_studio", "vllm", "openai_compatible"} and not self.model:
            raise ValueError(f'kind = "{self.kind}" needs the key model')
        if self.api_key_env and self.kind not in {"openai", "openai_compatible"}:
            raise ValueError(f'kind = "{self.kind}" takes no api_key_env; "openai_compatible" does')
        if self.kind == "openai_compatible" and not self.base_url:
            raise ValueError('kind = "openai_compatible" needs the key base_url')
        return self


class FallbackTable(ProviderTable):
    """`[fallback]`: the model that answers while that of `[provider]` is away."""

    after_s: Seconds = Field(default=30.0)
    """How long the first is waited for; in a stream: for its beginning."""

    @model_validator(mode="after")
    def _is_named(self) -> FallbackTable:
        if self.kind == "auto":
            raise ValueError('[fallback] needs the key kind, for instance kind = "offline"')
        return self
