"""Environment variables with secrets, by the agent that reads them. Reads no environment."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from spade_llm.settings.model_tables import ProviderTable
    from spade_llm.settings.tables import AgentSettings

OF_MODELS = frozenset({"OPENAI_API_KEY", "OPENAI_BASE_URL", "OPENAI_MODEL"})


def secrets_of(settings: AgentSettings) -> frozenset[str]:
    """Names of the variables that this agent's settings name, and OPENAI_* if it may call a model
    by them."""
    names = {settings.password_env, settings.embeddings.api_key_env}
    for server in settings.mcp.values():
        names |= {*server.env, *server.headers_env.values()}
    for provider in _providers(settings):
        names.add(provider.api_key_env)
        if provider.kind in ("auto", "openai", "openai_compatible"):
            names |= OF_MODELS
    return frozenset(name for name in names if name)


def _providers(settings: AgentSettings) -> Iterator[ProviderTable]:
    if settings.kind in ("assistant", "rag"):
        yield settings.provider
    others = (settings.fallback, settings.learning.provider)
    yield from (one for one in others if one is not None)
    yield from (one.provider for one in settings.guardrails if one.provider is not None)
