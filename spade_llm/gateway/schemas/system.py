"""Schemas of health, readiness and the list of endpoints."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from spade_llm.gateway.schemas.common import HttpBody


class Health(HttpBody):
    status: Literal["healthy"] = "healthy"


class LlmEndpoints(HttpBody):
    generate: str = "/llm/generate"
    chat: str = "/llm/chat"


class RagEndpoints(HttpBody):
    query: str = "/llm/rag/query"
    add_documents: str = "/llm/rag/documents"
    add_directory: str = "/llm/rag/directory"
    list_namespaces: str = "/llm/rag/namespaces"
    list_documents: str = "/llm/rag/documents"
    delete_namespace: str = "/llm/rag/namespace/{namespace}"
    namespace_stats: str = "/llm/rag/namespace/{namespace}/stats"


class MemoryEndpoints(HttpBody):
    context: str = "/llm/memory/context"
    history: str = "/llm/memory/history/{session_id}"
    stats: str = "/llm/memory/stats/{session_id}"
    search: str = "/llm/memory/search"
    clear: str = "/llm/memory/session/{session_id}"


class ConfigEndpoints(HttpBody):
    status: str = "/config/status"
    get_session: str = "/config/session/{session_id}"
    update_session: str = "/config/session"
    delete_session: str = "/config/session/{session_id}"
    update_memory: str = "/config/memory"
    update_rag: str = "/config/rag"


class SessionEndpoints(HttpBody):
    reset: str = "/session/reset"
    reset_all: str = "/session/reset-all"


class ToolEndpoints(HttpBody):
    list_tools: str = "/mpc/tools"
    tool_names: str = "/mpc/tools/names"
    get_tool: str = "/mpc/tools/{tool_name}"


class ApiEndpoints(HttpBody):
    health: str = "/health"
    docs: str = "/docs"
    llm: LlmEndpoints = LlmEndpoints()
    rag: RagEndpoints = RagEndpoints()
    memory: MemoryEndpoints = MemoryEndpoints()
    config: ConfigEndpoints = ConfigEndpoints()
    session: SessionEndpoints = SessionEndpoints()
    mpc: ToolEndpoints = ToolEndpoints()


class ApiInfo(HttpBody):
    message: str = "Agent Lab API"
    version: str = "0.1.0"
    endpoints: ApiEndpoints = ApiEndpoints()


class Readiness(HttpBody):
    ready: bool
    away: list[str] = Field(
        default_factory=list,
        description="What does not answer now: `xmpp`, or names of agents.",
        examples=[["rag"]],
    )
    storage_failing: list[str] = Field(
        default_factory=list,
        description="Whose disk or database refused within the last minute: names of agents.",
        examples=[["memory"]],
    )
