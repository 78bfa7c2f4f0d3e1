"""Routes /api/v0 of the network, with their schemas: agents, recent requests, token usage.

An admin sees the requests of all callers; other callers see the agents and their own requests.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from datetime import timedelta
from typing import TYPE_CHECKING, Annotated

from fastapi import APIRouter, Query
from pydantic import Field

from spade_llm.assistant.turn.turn_recorder import KEPT_DAYS, DailyUsage
from spade_llm.core.errors import RequestError
from spade_llm.gateway.dependencies import CurrentRequest
from spade_llm.gateway.errors import ERROR_RESPONSES, NetworkUnavailable
from spade_llm.gateway.schemas.common import HttpAnswer, HttpBody, Timestamp
from spade_llm.messaging import HandledRequest, PrincipalRequester, RequestSender
from spade_llm.messaging.agent_status import MAX_RECENT, AgentStatus, ask_recent

if TYPE_CHECKING:
    from spade_llm.gateway.agent_clients import AgentAddresses


router = APIRouter(prefix="/api/v0", tags=["console"], responses=ERROR_RESPONSES)

MAX_REQUESTS = 200
TIMEOUT_S = 2.0


class ReplicaLine(HttpBody):
    name: str
    conversations: int = Field(
        description="Number of conversations that it holds; if it is no assistant, of requests that"
        " it answered in the last minute."
    )
    share: float = Field(description="Share (0…1) of the agent's conversations or requests.")
    takeovers: int = Field(description="Requests taken over from other replicas since its start.")
    leaving: bool


class AgentLine(HttpBody):
    jid: str
    kind: str
    online: bool
    summary: str = Field(default="", description="For admins only, as the fields below.")
    running: int = 0
    queued: int = 0
    answered: int = 0
    per_minute: float = 0.0
    notes: list[str] = []
    replicas: list[ReplicaLine] = Field(
        default=[], description="Empty for an agent that is one process."
    )

    @classmethod
    def of(cls, jid: str, kind: str, status: AgentStatus | None, *, whole: bool) -> AgentLine:
        if status is None or not whole:
            return cls(jid=jid, kind=kind, online=status is not None)
        return cls(
            jid=jid,
            kind=status.kind,
            online=True,
            summary=status.summary,
            running=status.running,
            queued=status.queued,
            answered=status.answered,
            per_minute=float(status.per_minute),
            notes=list(status.notes),
            replicas=[
                ReplicaLine(
                    name=one.name,
                    conversations=one.conversations,
                    share=round(status.share_of(one), 3),
                    takeovers=one.takeovers,
                    leaving=one.is_leaving,
                )
                for one in status.replicas
            ],
        )


class AgentList(HttpBody):
    agents: list[AgentLine]


class RequestLine(HttpBody):
    at: Timestamp = Field(description="Time of arrival.")
    agent: str = Field(description="Bare JID of the agent.")
    op: str
    asker: str = Field(description="Bare JID of the requester.")
    seconds: float
    outcome: str = Field(description="`inform`, or the error code.")
    trace: str = Field(description="Trace id, shared by all requests that one user request caused.")


class RequestList(HttpBody):
    requests: list[RequestLine] = Field(description="Newest first.")
    degraded: list[str] = Field(default=[], description="Agents that did not answer.")


class UsageDay(HttpBody):
    day: str = Field(examples=["2025-12-21"])
    turns: int
    model_calls: int
    tool_calls: int
    prompt_tokens: int
    completion_tokens: int
    seconds: float = Field(description="Time spent in models.")

    @classmethod
    def of(cls, day: DailyUsage) -> UsageDay:
        spent = day.spent
        return cls(
            day=day.day.isoformat(),
            turns=spent.turns,
            model_calls=spent.model_calls,
            tool_calls=spent.tool_calls,
            prompt_tokens=spent.prompt_tokens,
            completion_tokens=spent.completion_tokens,
            seconds=spent.model_seconds,
        )


class UsageLimits(HttpAnswer):
    """Usage limits per day (UTC); null means no limit."""

    turns: int | None
    model_calls: int | None
    tool_calls: int | None
    tokens: int | None
    seconds: float | None
    concurrent_turns: int | None


class UsageOverview(HttpBody):
    days: list[UsageDay] = Field(description="Newest first; days without usage are omitted.")
    limits: UsageLimits


@router.get("/agents")
async def list_agents(api_request: CurrentRequest) -> AgentList:
    """List the gateway's agents, including unavailable ones."""
    kinds = _configured_kinds(api_request.gateway.addresses)
    statuses = await api_request.gateway.availability.statuses()
    whole = api_request.principal.is_admin
    return AgentList(
        agents=[
            AgentLine.of(jid, kinds.get(jid, "other"), status, whole=whole)
            for jid, status in statuses.items()
        ]
    )


@router.get("/requests")
async def list_requests(
    api_request: CurrentRequest, limit: Annotated[int, Query(ge=1, le=MAX_REQUESTS)] = 50
) -> RequestList:
    """List the latest requests of all agents, without their content."""
    gateway = api_request.gateway
    if not gateway.is_connected():
        raise NetworkUnavailable
    requester: RequestSender = gateway.requester
    if not api_request.principal.is_admin:
        requester = PrincipalRequester(requester, api_request.principal.jid)

    async def recent_requests(jid: str) -> Sequence[HandledRequest] | None:
        try:
            return await ask_recent(
                requester, jid, limit=min(limit, MAX_RECENT), timeout_s=TIMEOUT_S
            )
        except RequestError:
            return None

    jids = tuple(dict.fromkeys(gateway.addresses.all))
    recent_of = dict(zip(jids, await asyncio.gather(*map(recent_requests, jids)), strict=True))
    lines = [_line(jid, one) for jid, recent in recent_of.items() for one in recent or ()]
    lines.sort(key=lambda line: line.at, reverse=True)
    unavailable = [jid.partition("@")[0] for jid, recent in recent_of.items() if recent is None]
    return RequestList(requests=lines[:limit], degraded=unavailable)


@router.get("/usage")
async def usage(
    api_request: CurrentRequest, days: Annotated[int, Query(ge=1, le=KEPT_DAYS)] = 30
) -> UsageOverview:
    """Usage of the caller at the first assistant, and its limits."""
    report = await api_request.clients.chat.usage(days=days)
    used = [UsageDay.of(one) for one in report.days]
    return UsageOverview(days=used, limits=UsageLimits.of(report.limits))


def _configured_kinds(addresses: AgentAddresses) -> dict[str, str]:
    """Kinds of the configured agents, for those that are unavailable and cannot report it."""
    some = {addresses.memory: "memory", addresses.rag: "rag"}
    return {
        **dict.fromkeys(addresses.assistants, "assistant"),
        **dict.fromkeys(addresses.tools, "tools"),
        **{jid: kind for jid, kind in some.items() if jid},
    }


def _line(jid: str, one: HandledRequest) -> RequestLine:
    return RequestLine(
        # `one.at` is the time of the answer; the line says when the request came.
        at=one.at - timedelta(seconds=one.seconds),
        agent=jid,
        op=one.op or one.ontology,
        asker=one.asker,
        seconds=one.seconds,
        outcome=one.outcome,
        trace=one.trace,
    )
