"""Schemas of the network: agents, recent requests, token usage."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pydantic import Field

from spade_llm.gateway.schemas.common import HttpBody, Timestamp

if TYPE_CHECKING:
    from spade_llm.assistant.turn.usage_ledger import DailyUsage
    from spade_llm.messaging.agent_status import AgentStatus


class AgentLine(HttpBody):
    jid: str
    kind: str
    online: bool
    summary: str = Field(default="", description="To admins, as all that follows.")
    running: int = 0
    queued: int = 0
    answered: int = 0
    per_minute: float = 0.0
    notes: list[str] = []

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
        )


class AgentList(HttpBody):
    agents: list[AgentLine]


class RequestLine(HttpBody):
    at: Timestamp = Field(description="When it came.")
    agent: str = Field(description="Bare JID of who was asked.")
    op: str
    asker: str = Field(description="Bare JID of whose it was.")
    seconds: float
    outcome: str = Field(description="`inform`, or the error's code.")
    trace: str = Field(description="Those of one request of a person share it.")


class RequestList(HttpBody):
    requests: list[RequestLine] = Field(description="Newest first.")
    degraded: list[str] = Field(default=[], description="Agents that could not be asked.")


class UsageDay(HttpBody):
    day: str = Field(examples=["2025-12-21"])
    turns: int
    model_calls: int
    tool_calls: int
    prompt_tokens: int
    completion_tokens: int
    seconds: float = Field(description="Of the model's time.")

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


class UsageLimits(HttpBody):
    """Usage limits per day (UTC); null means no limit."""

    turns: int | None
    model_calls: int | None
    tool_calls: int | None
    tokens: int | None
    seconds: float | None
    concurrent_turns: int | None


class UsageOverview(HttpBody):
    days: list[UsageDay] = Field(description="Newest first; those without spending are left out.")
    limits: UsageLimits
