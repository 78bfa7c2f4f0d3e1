"""Bodies of specs/4 §6."""

from __future__ import annotations

from pydantic import Field

from spade_llm.gateway.bodies.common import (
    MAX_NAMES,
    ContextPriority,
    HttpBody,
    MemoryTypeName,
    Namespace,
    SessionId,
    Timestamp,
    TopK,
)
from spade_llm.gateway.configuration import (
    Configuration,
    MemoryPart,
    PreferencesPart,
    RagPart,
)


class System(HttpBody):
    version: str
    environment: str = Field(description="`development`: only this machine reaches the gateway.")


class LlmService(HttpBody):
    available: bool
    provider: str
    model: str


class MemoryServiceStatus(HttpBody):
    available: bool
    storage: str
    semantic_search: bool


class RagServiceStatus(HttpBody):
    available: bool
    vector_db: str
    embedding_model: str


class ToolServices(HttpBody):
    available: bool
    registered_tools: int


class ServicesStatus(HttpBody):
    """As the agents themselves said it a moment ago; empty texts: they are away."""

    llm: LlmService
    memory: MemoryServiceStatus
    rag: RagServiceStatus
    mcp: ToolServices


class MemoryDefaults(HttpBody):
    enabled: bool
    types: list[MemoryTypeName]


class RagDefaults(HttpBody):
    enabled: bool
    top_k: int


class ContextDefaults(HttpBody):
    max_tokens: int
    priority: ContextPriority


class Defaults(HttpBody):
    memory: MemoryDefaults
    rag: RagDefaults
    context: ContextDefaults


class ConfigStatus(HttpBody):
    system: System
    services: ServicesStatus
    defaults: Defaults


class MemoryConfig(HttpBody):
    enabled: bool
    types: list[MemoryTypeName]


class RagConfig(HttpBody):
    enabled: bool
    namespaces: list[str] = Field(description="Empty: all.")
    top_k: int


class Preferences(HttpBody):
    context_priority: ContextPriority
    max_context_tokens: int


class SessionConfig(HttpBody):
    """What holds for a session: what was said for it, for all sessions, and else the defaults."""

    session_id: str
    memory: MemoryConfig
    rag: RagConfig
    preferences: Preferences
    created_at: Timestamp | None = Field(description="null: nothing was said for this session.")
    updated_at: Timestamp | None


class UpdateSession(HttpBody):
    """What is left out stays as it is."""

    session_id: SessionId
    memory: MemoryPart | None = None
    rag: RagPart | None = None
    preferences: PreferencesPart | None = None

    def as_layer(self) -> Configuration:
        return Configuration.model_validate(
            self.model_dump(exclude_none=True, exclude={"session_id"})
        )


class MemoryAndRag(HttpBody):
    memory: MemoryConfig
    rag: RagConfig


class SessionUpdated(HttpBody):
    success: bool = True
    session_id: str
    message: str = "Session configuration updated successfully"
    config: MemoryAndRag


class SessionConfigDeleted(HttpBody):
    success: bool = True
    session_id: str
    message: str = "Session configuration deleted. Session will use default configuration."


class UpdateMemory(HttpBody):
    session_id: SessionId | None = Field(default=None, description="null: all sessions of yours.")
    enabled: bool
    types: list[MemoryTypeName] | None = Field(default=None, max_length=MAX_NAMES)


class MemoryUpdated(HttpBody):
    success: bool = True
    message: str = "Memory configuration updated"
    config: MemoryConfig


class UpdateRag(HttpBody):
    session_id: SessionId | None = Field(default=None, description="null: all sessions of yours.")
    enabled: bool
    namespaces: list[Namespace] | None = Field(default=None, max_length=MAX_NAMES)
    top_k: TopK | None = None


class RagUpdated(HttpBody):
    success: bool = True
    message: str = "RAG configuration updated"
    config: RagConfig
