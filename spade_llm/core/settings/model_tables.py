"""Tables `[provider]`, `[fallback]` and `[[guardrails]]`: language models and guardrails."""

from __future__ import annotations

from typing import Literal

from pydantic import Field, model_validator

from spade_llm.core.settings.table import Count, Name, Seconds, Table

_ACTION_OF_KEY = {"message": "block", "early_parts": "block", "replacement": "modify"}
_KEYS_OF_GUARDRAIL = {
    "keyword": {"keywords", "case_sensitive", "action", "replacement", "early_parts"},
    "regex": {"patterns", "action", "replacement", "early_parts"},
    "model": {"rules", "provider", "timeout_s"},
}


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
    """Maximum wait for the primary model; for a stream, until it begins."""

    @model_validator(mode="after")
    def _is_named(self) -> FallbackTable:
        if self.kind == "auto":
            raise ValueError('[fallback] needs the key kind, for instance kind = "offline"')
        return self


class GuardrailTable(Table):
    """`[[guardrails]]`: what may not be said to an assistant, or by it. In the file's order."""

    kind: Literal["keyword", "regex", "model"]
    on: Literal["input", "output", "both"] = "both"
    name: Name | None = None
    """Name in the log. Default: its number in the file, from 0."""
    action: Literal["block", "modify", "warning"] = "block"
    message: Name | None = None
    """Message sent instead of a blocked text. Default: a sentence in English or Spanish."""
    keywords: list[Name] = []
    case_sensitive: bool = False
    patterns: list[Name] = []
    """Regular expressions in the syntax of Python's `re`."""
    replacement: str = "[REDACTED]"
    early_parts: bool = False
    """Allow the parts of an answer before a blocking match to be sent early."""
    rules: Name | None = None
    """Description of safe and unsafe texts, for the model."""
    provider: ProviderTable | None = None
    """The model that judges. Without it: the assistant's own."""
    timeout_s: Seconds = Field(default=20.0)
    """Time limit for one verdict; after it, the text is blocked."""

    @model_validator(mode="after")
    def _check_kind_keys(self) -> GuardrailTable:
        own = _KEYS_OF_GUARDRAIL[self.kind]
        if idle := sorted(self.model_fields_set - own - {"kind", "on", "name", "message"}):
            raise ValueError(f'kind = "{self.kind}" takes no {", ".join(idle)}')
        needed = {"keyword": "keywords", "regex": "patterns"}.get(self.kind)
        if needed and not getattr(self, needed):
            raise ValueError(f'kind = "{self.kind}" needs the key {needed}')
        return self

    @model_validator(mode="after")
    def _check_action_keys(self) -> GuardrailTable:
        for key, action in _ACTION_OF_KEY.items():
            if key in self.model_fields_set and self.action != action:
                raise ValueError(f'{key} goes with action = "{action}" only')
        if self.early_parts and self.on == "input":
            raise ValueError('early_parts is of answers: it does not go with on = "input"')
        return self
