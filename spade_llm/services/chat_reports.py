"""What programs may ask of an assistant about itself and them: `usage` and `why`.

Ops of spade-llm.chat/1. Each gets its own: what it has used, and its own conversations.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from pydantic import Field

from spade_llm.acl import Body
from spade_llm.conversation.peer_limits import PeerLimits
from spade_llm.conversation.turn_record import TurnRecord
from spade_llm.conversation.usage_ledger import KEPT_DAYS, DayOfPeer
from spade_llm.services.chat_place import place_of

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

    from spade_llm.runtime import Request
    from spade_llm.services.service import Service


class AskUsage(Body):
    op: ClassVar[str] = "usage"
    days: int = Field(default=30, ge=1, le=KEPT_DAYS)
    """Today and those before it."""


class UsageReport(Body):
    days: tuple[DayOfPeer, ...]
    """Newest first, of the asker only; those without spending are left out."""
    limits: PeerLimits
    """Of a day; days are UTC's."""


class AskWhy(Body):
    """The conversation is the request's own."""

    op: ClassVar[str] = "why"


class Why(Body):
    record: TurnRecord
    texts: dict[str, str] = {}
    """Of its memories, by id, as far as they are there still."""


class ReportService:
    """Adds both ops to the service that talks."""

    def __init__(
        self,
        *,
        usage: Callable[[str, int], Sequence[DayOfPeer]],
        limits: PeerLimits,
        why: Callable[[str], Awaitable[Why]],
    ) -> None:
        """`usage` takes a bare JID and days; `why` a conversation, and raises NotFound."""
        self._usage = usage
        self._limits = limits
        self._why = why

    def add_to(self, service: Service) -> None:
        service.on(AskUsage, self._report)
        service.on(AskWhy, self._explain)

    async def _report(self, request: Request, body: AskUsage) -> UsageReport:
        days = self._usage(request.message.owner, body.days)
        return UsageReport(days=tuple(days), limits=self._limits)

    async def _explain(self, request: Request, _body: AskWhy) -> Why:
        return await self._why(place_of(request.message))
