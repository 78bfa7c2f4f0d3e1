"""`/usage`: what whoever asks has used, today and before. Knows no limit's enforcement."""

from __future__ import annotations

import logging
from datetime import timedelta
from functools import reduce
from operator import add
from typing import TYPE_CHECKING

from spade_llm.conversation.usage_ledger import Spent
from spade_llm.errors import StorageFailed

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from spade_llm.behaviour.commands import Commands
    from spade_llm.conversation.peer_limits import PeerLimits
    from spade_llm.conversation.usage_ledger import DayOfPeer, UsageLedger
    from spade_llm.services.chat import Utterance

logger = logging.getLogger(__name__)

SPANS = (("Today", 1), ("Last 7 days", 7), ("Last 30 days", 30))


class UsageCommand:
    def __init__(self, ledger: UsageLedger, limits: PeerLimits) -> None:
        self._ledger = ledger
        self._limits = limits

    def add_to(self, commands: Commands) -> None:
        commands.add("usage", self._usage, "/usage – what you have used of me, today and before")

    async def _usage(self, _argument: str, utterance: Utterance) -> str:
        try:
            days = self._ledger.of_peer(utterance.peer, days=SPANS[-1][1])
        except StorageFailed:
            logger.exception("/usage of %s", utterance.peer)
            return "The record of usage cannot be read right now."
        lines = [self._line(name, days, count) for name, count in SPANS]
        return "\n".join(["What you have used of me (days of UTC):", *lines, *self._limit_lines()])

    def _line(self, name: str, days: Sequence[DayOfPeer], count: int) -> str:
        first = self._ledger.today - timedelta(days=count - 1)
        return f"{name} – {in_words(total(day.spent for day in days if day.day >= first))}"

    def _limit_lines(self) -> list[str]:
        allowed = self._limits.in_words
        if not allowed:
            return []
        return [f"Allowed: {allowed}. A new day begins at 00:00 UTC."]


def total(spent: Iterable[Spent]) -> Spent:
    return reduce(add, spent, Spent())


def in_words(spent: Spent) -> str:
    tokens = f"{spent.prompt_tokens} + {spent.completion_tokens}"
    if spent.estimated_tokens:
        tokens += f" ({spent.estimated_tokens} of them estimated)"
    return (
        f"answers: {spent.turns}, model calls: {spent.model_calls} ({spent.model_seconds:.1f} s),"
        f" tool calls: {spent.tool_calls}, tokens: {tokens}"
    )
