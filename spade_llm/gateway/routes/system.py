"""Routes of the server itself: health, readiness, API documentation, metrics."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from fastapi import APIRouter, Response
from fastapi.responses import HTMLResponse, JSONResponse
from starlette.requests import Request  # FastAPI reads it

from spade_llm.gateway.errors import UNAVAILABLE_RETRY_AFTER_S, HttpError
from spade_llm.gateway.metrics import CONTENT_TYPE
from spade_llm.gateway.middleware.auth import is_local_request
from spade_llm.gateway.openapi import DOCS_CSP, docs_page
from spade_llm.gateway.schemas.common import ErrorDetail
from spade_llm.gateway.schemas.system import ApiInfo, Health, Readiness

if TYPE_CHECKING:
    from spade_llm.gateway.gateway import Gateway

router = APIRouter(tags=["base"])

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
    away = [_name(jid) for jid, status in statuses.items() if status is None]
    failing = [_name(jid) for jid, status in statuses.items() if status and status.storage_failing]
    if gateway.is_storage_failing:
        failing.append("gateway")
    # Without the connection all agents seem to be away: name the cause instead.
    if not gateway.is_connected():
        away = ["xmpp"]
    needed = {"xmpp", "gateway", _name(gateway.addresses.assistants[0])}
    is_ready = needed.isdisjoint([*away, *failing])
    headers = None if is_ready else {"Retry-After": str(UNAVAILABLE_RETRY_AFTER_S)}
    body = Readiness(ready=is_ready, away=away, storage_failing=failing)
    return JSONResponse(body.model_dump(), 200 if is_ready else 503, headers)


@router.get("/docs", include_in_schema=False)
async def docs(request: Request) -> HTMLResponse:
    # The first call builds the schema, 0.2 s in which the loop would serve nobody.
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
        raise HttpError(403, "Metrics are for this machine, and for admin tokens")
    gateway: Gateway = request.app.state.gateway
    return Response(gateway.metrics.text(), media_type=CONTENT_TYPE)


def _name(jid: str) -> str:
    return jid.partition("@")[0]
