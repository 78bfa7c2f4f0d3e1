"""Session configuration in layers: request, session, global, defaults."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from pydantic import AliasChoices, Field

from spade_llm.gateway.schemas.common import (
    MAX_NAMES,
    ContextPriority,
    ContextTokens,
    HttpBody,
    MemoryTypeName,
    Namespace,
    ToolName,
    TopK,
)

ALL_MEMORY_TYPES: list[MemoryTypeName] = ["semantic", "episodic", "profile", "procedural"]


class MemoryPart(HttpBody):
    enabled: bool | None = Field(
        default=None, validation_alias=AliasChoices("enabled", "enable_memory")
    )
    types: list[MemoryTypeName] | None = Field(default=None, max_length=MAX_NAMES)
    enable_short_term: bool | None = Field(
        default=None, description="Whether the conversation so far is read."
    )


class RagPart(HttpBody):
    enabled: bool | None = Field(
        default=None, validation_alias=AliasChoices("enabled", "enable_rag")
    )
    namespaces: list[Namespace] | None = Field(default=None, max_length=MAX_NAMES)
    """Empty: all."""
    top_k: TopK | None = None


class ToolsPart(HttpBody):
    enabled: bool | None = Field(
        default=None, validation_alias=AliasChoices("enabled", "enable_tools")
    )
    available_tools: list[ToolName] | None = Field(default=None, max_length=MAX_NAMES)
    """Empty: all."""


class PreferencesPart(HttpBody):
    context_priority: ContextPriority | None = None
    max_context_tokens: ContextTokens | None = None


class ConfigurationLayer(HttpBody):
    """Layer of the session configuration; None means that the layer does not set the field."""

    memory: MemoryPart = MemoryPart()
    rag: RagPart = RagPart()
    mcp: ToolsPart = ToolsPart()
    preferences: PreferencesPart = PreferencesPart()


EMPTY_LAYER = ConfigurationLayer()


@dataclass(frozen=True, slots=True, kw_only=True)
class EffectiveConfiguration:
    """Merged configuration of a session. The defaults are those of specs/4."""

    use_memory: bool = True
    use_history: bool | None = None
    """Switch for the history; None means that no layer sets it, and the history is read."""
    memory_types: list[MemoryTypeName] = field(default_factory=ALL_MEMORY_TYPES.copy)
    use_rag: bool = False
    namespaces: list[str] = field(default_factory=list)
    """Empty: all."""
    top_k: int = 5
    use_tools: bool | None = None
    """Switch for tools; None means that no layer sets it, and no tools are offered."""
    tools: list[str] = field(default_factory=list)
    """Empty: all."""
    priority: Literal["memory", "rag", "balanced"] = "balanced"
    max_context_tokens: int = 4000

    @property
    def has_toggles(self) -> bool:
        """It was set by the names of Agent Lab's programs, which read them, too."""
        return self.use_history is not None or self.use_tools is not None


def merge_layers(lower: ConfigurationLayer, upper: ConfigurationLayer) -> ConfigurationLayer:
    """Merge two layers field by field; `upper` has precedence."""
    low, high = lower.model_dump(exclude_none=True), upper.model_dump(exclude_none=True)
    return ConfigurationLayer.model_validate(
        {part: low.get(part, {}) | high.get(part, {}) for part in ConfigurationLayer.model_fields}
    )


def effective_configuration(*layers: ConfigurationLayer) -> EffectiveConfiguration:
    """Merge the layers, highest precedence first: request fields, session, global; then the
    defaults."""
    merged = EMPTY_LAYER
    # merge_layers lets its second argument win: the highest layer has to come last.
    for layer in reversed(layers):
        merged = merge_layers(merged, layer)
    values = {
        "use_memory": merged.memory.enabled,
        "use_history": merged.memory.enable_short_term,
        "memory_types": merged.memory.types,
        "use_rag": merged.rag.enabled,
        "namespaces": merged.rag.namespaces,
        "top_k": merged.rag.top_k,
        "use_tools": merged.mcp.enabled,
        "tools": merged.mcp.available_tools,
        "priority": merged.preferences.context_priority,
        "max_context_tokens": merged.preferences.max_context_tokens,
    }
    given = {name: value for name, value in values.items() if value is not None}
    return EffectiveConfiguration(**given)  # type: ignore[arg-type]  # each has its field's type
