"""Session configuration: layers and their merge, schemas of /config."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from pydantic import AliasChoices, Field

from spade_llm.gateway.schemas import common

ALL_MEMORY_TYPES: list[common.MemoryTypeName] = ["semantic", "episodic", "profile", "procedural"]


class MemoryPart(common.HttpBody):
    enabled: bool | None = Field(
        default=None, validation_alias=AliasChoices("enabled", "enable_memory")
    )
    types: list[common.MemoryTypeName] | None = Field(default=None, max_length=common.MAX_NAMES)
    enable_short_term: bool | None = Field(
        default=None, description="Whether the conversation history is read."
    )


class RagPart(common.HttpBody):
    enabled: bool | None = Field(
        default=None, validation_alias=AliasChoices("enabled", "enable_rag")
    )
    namespaces: list[common.Namespace] | None = Field(default=None, max_length=common.MAX_NAMES)
    """Empty: all."""
    top_k: common.TopK | None = None


class ToolsPart(common.HttpBody):
    enabled: bool | None = Field(
        default=None, validation_alias=AliasChoices("enabled", "enable_tools")
    )
    available_tools: list[common.ToolName] | None = Field(default=None, max_length=common.MAX_NAMES)
    """Empty: all."""


class PreferencesPart(common.HttpBody):
    context_priority: common.ContextPriority | None = None
    max_context_tokens: common.ContextTokens | None = None


class ConfigurationLayer(common.HttpBody):
    """Layer of the session configuration; None means that the layer does not set the field."""

    memory: MemoryPart = MemoryPart()
    rag: RagPart = RagPart()
    mcp: ToolsPart = ToolsPart()
    preferences: PreferencesPart = PreferencesPart()


EMPTY_LAYER = ConfigurationLayer()


@dataclass(frozen=True, slots=True, kw_only=True)
class EffectiveConfiguration:
    """Merged configuration of a session. The defaults are those of the Agent Lab API."""

    use_memory: bool = True
    use_history: bool | None = None
    """Switch for the history; None means that no layer sets it, and the history is read."""
    memory_types: list[common.MemoryTypeName] = field(default_factory=ALL_MEMORY_TYPES.copy)
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
        """True if a layer uses the toggles of Agent Lab's programs, which then read them, too."""
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


class System(common.HttpBody):
    version: str
    environment: str = Field(description="`development` if only this machine reaches the gateway.")


class LlmService(common.HttpBody):
    available: bool
    provider: str
    model: str


class MemoryServiceStatus(common.HttpBody):
    available: bool
    storage: str
    semantic_search: bool


class RagServiceStatus(common.HttpBody):
    available: bool
    vector_db: str
    embedding_model: str


class ToolServices(common.HttpBody):
    available: bool
    registered_tools: int


class ServicesStatus(common.HttpBody):
    """Current status of the agents, as they report it; empty texts mean that an agent is
    unavailable."""

    llm: LlmService
    memory: MemoryServiceStatus
    rag: RagServiceStatus
    mcp: ToolServices


class MemoryDefaults(common.HttpBody):
    enabled: bool
    types: list[common.MemoryTypeName]


class RagDefaults(common.HttpBody):
    enabled: bool
    top_k: int


class ContextDefaults(common.HttpBody):
    max_tokens: int
    priority: common.ContextPriority


class Defaults(common.HttpBody):
    memory: MemoryDefaults
    rag: RagDefaults
    context: ContextDefaults


class ConfigStatus(common.HttpBody):
    system: System
    services: ServicesStatus
    defaults: Defaults


class MemoryConfig(common.HttpBody):
    """Memory settings. The toggles are omitted unless a layer uses them
    (`EffectiveConfiguration.has_toggles`)."""

    enabled: bool
    types: list[common.MemoryTypeName]
    enable_memory: bool | None = None
    enable_short_term: bool | None = None
    enable_semantic: bool | None = None
    enable_episodic: bool | None = None
    enable_profile: bool | None = None
    enable_procedural: bool | None = None

    @classmethod
    def of(cls, effective: EffectiveConfiguration) -> MemoryConfig:
        is_on = effective.use_memory
        toggles = {
            "enable_memory": is_on,
            "enable_short_term": is_on and effective.use_history is not False,
            **{
                f"enable_{name}": is_on and name in effective.memory_types
                for name in ALL_MEMORY_TYPES
            },
        }
        more = toggles if effective.has_toggles else {}
        return cls(enabled=is_on, types=effective.memory_types, **more)


class RagConfig(common.HttpBody):
    enabled: bool
    namespaces: list[str] = Field(description="Empty: all.")
    top_k: int
    enable_rag: bool | None = Field(default=None, description="Toggle, as those of memory.")

    @classmethod
    def of(cls, effective: EffectiveConfiguration) -> RagConfig:
        more = {"enable_rag": effective.use_rag} if effective.has_toggles else {}
        return cls(
            enabled=effective.use_rag,
            namespaces=effective.namespaces,
            top_k=effective.top_k,
            **more,
        )


class ToolsConfig(common.HttpBody):
    enabled: bool
    available_tools: list[str] = Field(description="Empty: all.")
    enable_tools: bool

    @classmethod
    def of(cls, effective: EffectiveConfiguration) -> ToolsConfig:
        is_on = bool(effective.use_tools)
        return cls(enabled=is_on, available_tools=effective.tools, enable_tools=is_on)


class ConfiguredParts(common.HttpBody):
    """Session configuration without preferences."""

    memory: MemoryConfig
    rag: RagConfig
    mcp: ToolsConfig | None = Field(default=None, description="Present with toggles only.")

    @classmethod
    def of(cls, effective: EffectiveConfiguration) -> ConfiguredParts:
        more = {"mcp": ToolsConfig.of(effective)} if effective.has_toggles else {}
        return cls(memory=MemoryConfig.of(effective), rag=RagConfig.of(effective), **more)


class Preferences(common.HttpBody):
    context_priority: common.ContextPriority
    max_context_tokens: int


class SessionConfig(common.HttpBody):
    """Merged configuration of a session: its own settings, then the global ones, then the
    defaults."""

    session_id: str
    memory: MemoryConfig
    rag: RagConfig
    preferences: Preferences
    created_at: common.Timestamp | None = Field(description="null: never configured.")
    updated_at: common.Timestamp | None
    config: ConfiguredParts | None = Field(
        default=None, description="memory, rag and mcp again, for programs that use the toggles."
    )


class MemoryUpdate(MemoryPart):
    """Change of the memory settings. Types can also be given as toggles; omitted ones stay."""

    enable_semantic: bool | None = None
    enable_episodic: bool | None = None
    enable_profile: bool | None = None
    enable_procedural: bool | None = None

    def part(self, current: EffectiveConfiguration) -> MemoryPart:
        """Layer of this change. `current`: effective configuration without it."""
        toggles = {name: getattr(self, f"enable_{name}") for name in ALL_MEMORY_TYPES}
        given = [self.enable_short_term, *toggles.values()]
        if all(one is None for one in given):
            return MemoryPart(enabled=self.enabled, types=self.types)
        before = current.memory_types if self.types is None else self.types
        types = [name for name in ALL_MEMORY_TYPES if _first_given(toggles[name], name in before)]
        has_history = _first_given(self.enable_short_term, current.use_history is not False)
        return MemoryPart(
            enabled=_first_given(self.enabled, has_history or bool(types)),
            types=types,
            enable_short_term=has_history,
        )


class UpdateSession(common.HttpBody):
    """Change of a session's configuration; omitted fields stay."""

    session_id: common.SessionId
    memory: MemoryUpdate | None = None
    rag: RagPart | None = None
    mcp: ToolsPart | None = Field(default=None, description="Without `available_tools`, all.")
    preferences: PreferencesPart | None = None

    def as_layer(self, current: EffectiveConfiguration) -> ConfigurationLayer:
        """Layer of this change. `current`: effective configuration without it."""
        mcp = self.mcp and ToolsPart(
            enabled=self.mcp.enabled, available_tools=self.mcp.available_tools or []
        )
        return ConfigurationLayer(
            memory=self.memory.part(current) if self.memory else MemoryPart(),
            rag=self.rag or RagPart(),
            mcp=mcp or ToolsPart(),
            preferences=self.preferences or PreferencesPart(),
        )


class SessionUpdated(common.HttpBody):
    success: bool = True
    session_id: str
    message: str = "Session configuration updated successfully"
    config: ConfiguredParts


class SessionConfigDeleted(common.HttpBody):
    success: bool = True
    session_id: str
    message: str = "Session configuration deleted. Session will use default configuration."


class UpdateMemory(MemoryUpdate):
    session_id: common.SessionId | None = Field(default=None, description="null: all own sessions.")
    enabled: bool = Field(validation_alias=AliasChoices("enabled", "enable_memory"))


class MemoryUpdated(common.HttpBody):
    success: bool = True
    message: str = "Memory configuration updated"
    config: MemoryConfig


class UpdateRag(common.HttpBody):
    session_id: common.SessionId | None = Field(default=None, description="null: all own sessions.")
    enabled: bool = Field(validation_alias=AliasChoices("enabled", "enable_rag"))
    namespaces: list[common.Namespace] | None = Field(default=None, max_length=common.MAX_NAMES)
    top_k: common.TopK | None = None


class RagUpdated(common.HttpBody):
    success: bool = True
    message: str = "RAG configuration updated"
    config: RagConfig


def _first_given(value: bool | None, default: bool) -> bool:
    return default if value is None else value
