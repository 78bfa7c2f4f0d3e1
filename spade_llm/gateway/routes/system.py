"""Routes of the server itself, with their schemas: health, readiness, metrics, API docs."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Literal

from fastapi import APIRouter, Response
from fastapi.responses import HTMLResponse, JSONResponse
from pydantic import Field
from starlette.requests import Request  # FastAPI reads it

from spade_llm.gateway.app import DOCS_CSP, docs_page
from spade_llm.gateway.errors import UNAVAILABLE_RETRY_AFTER_S, HttpError
from spade_llm.gateway.metrics import CONTENT_TYPE
from spade_llm.gateway.middleware.auth import is_local_request
from spade_llm.gateway.schemas.common import ErrorDetail, HttpBody

if TYPE_CHECKING:
    from spade_llm.gateway.gateway import Gateway


router = APIRouter(tags=["base"])


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
        description="Unavailable parts: `xmpp`, or names of agents.",
        examples=[["rag"]],
    )
    storage_failing: list[str] = Field(
        default_factory=list,
        description="Agents with a disk or database error within the last minute.",
        examples=[["memory"]],
    )


_HEALTHY = Health()
_INFO = ApiInfo()


@router.get("/health")
async def health() -> Health:
    """Liveness probe: the gateway runs. It sends no request to agents."""
    return _HEALTHY


@router.get("/")
async def info() -> ApiInfo:
    """Describe the API."""
    return _INFO


@router.get("/ready", response_model=Readiness, responses={503: {"model": Readiness}})
async def ready(request: Request) -> Response:
    """Readiness probe: 200 if chats can be answered. That needs a connection to the XMPP server, an
    available assistant, and working storage of both the assistant and the gateway. Other agents
    that are unavailable are named."""
    gateway: Gateway = request.app.state.gateway
    statuses = await gateway.availability.statuses()
    unavailable = [_name(jid) for jid, status in statuses.items() if status is None]
    failing = [_name(jid) for jid, status in statuses.items() if status and status.storage_failing]
    if gateway.is_storage_failing:
        failing.append("gateway")
    # Without the connection all agents seem unavailable: name the cause instead.
    if not gateway.is_connected():
        unavailable = ["xmpp"]
    needed = {"xmpp", "gateway", _name(gateway.addresses.assistants[0])}
    is_ready = needed.isdisjoint([*unavailable, *failing])
    headers = None if is_ready else {"Retry-After": str(UNAVAILABLE_RETRY_AFTER_S)}
    body = Readiness(ready=is_ready, away=unavailable, storage_failing=failing)
    return JSONResponse(body.model_dump(), 200 if is_ready else 503, headers)


@router.get("/docs", include_in_schema=False)
async def docs(request: Request) -> HTMLResponse:
    # The first call builds the schema, which would block the event loop for 0.2 s.
    page = docs_page(await asyncio.to_thread(request.app.openapi))
    return HTMLResponse(page, headers={"Content-Security-Policy": DOCS_CSP})


@router.get(
    "/metrics",
    response_class=Response,
    responses={
        200: {"content": {"text/plain": {"schema": {"type": "string"}}}},
        403: {"model": ErrorDetail},
    },
)
async def metrics(request: Request) -> Response:
    """Metrics in Prometheus format, for programs on this machine and for admin tokens."""
    principal = request.scope["state"]["principal"]
    if not (principal.is_admin if principal else is_local_request(request.scope, request.headers)):
        raise HttpError(403, "Metrics need a request from this machine, or an admin token")
    gateway: Gateway = request.app.state.gateway
    statuses = await gateway.availability.statuses()
    return Response(gateway.metrics.text(statuses), media_type=CONTENT_TYPE)


def _name(jid: str) -> str:
    return jid.partition("@")[0]
