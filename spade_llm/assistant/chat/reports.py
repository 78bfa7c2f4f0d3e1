"""Usage report and answer explanation (why) for programs: operations of the chat ontology."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from pydantic import Field

from spade_llm.assistant.history.conversations import conversation_key
from spade_llm.assistant.middleware.quota import PeerQuota
from spade_llm.assistant.turn.turn_recorder import TurnRecord
from spade_llm.assistant.turn.usage_ledger import KEPT_DAYS, DailyUsage
from spade_llm.messaging import Body

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

    from spade_llm.messaging import Request
    from spade_llm.messaging.rpc import RpcService


class UsageRequest(Body):
    op: ClassVar[str] = "usage"
    days: int = Field(default=30, ge=1, le=KEPT_DAYS)
    """Today and those before it."""


class UsageReport(Body):
    days: tuple[DailyUsage, ...]
    """Newest first, of the asker only; those without spending are left out."""
    limits: PeerQuota
    """Quota for a day (UTC)."""


class ExplanationRequest(Body):
    """The conversation is the request's own."""

    op: ClassVar[str] = "why"


class ExplanationReport(Body):
    record: TurnRecord
    texts: dict[str, str] = {}
    """Texts of the record's memories, by id, if they still exist."""


class ReportService:
    """Adds both ops to the service that talks."""

    def __init__(
        self,
        *,
        usage: Callable[[str, int], Sequence[DailyUsage]],
        limits: PeerQuota,
        why: Callable[[str], Awaitable[ExplanationReport]],
    ) -> None:
        """`usage` takes a bare JID and days; `why` a conversation, and raises NotFound."""
        self._usage = usage
        self._limits = limits
        self._why = why

    def add_to(self, service: RpcService) -> None:
        service.on(UsageRequest, self._report)
        service.on(ExplanationRequest, self._explain)

    async def _report(self, request: Request, body: UsageRequest) -> UsageReport:
        # By the stamped JID: no field of the request can name another peer.
        days = self._usage(request.message.owner, body.days)
        return UsageReport(days=tuple(days), limits=self._limits)

    async def _explain(self, request: Request, _body: ExplanationRequest) -> ExplanationReport:
        return await self._why(conversation_key(request.message))
