"""Usage middleware: records what a turn costs and what its answer was built from."""

from __future__ import annotations

import logging
from functools import partial
from typing import TYPE_CHECKING

from spade_llm.assistant.chat.reports import ExplanationReport, ReportService
from spade_llm.assistant.commands.usage_and_why import NO_ANSWER_YET, UsageCommand, WhyCommand
from spade_llm.assistant.history.conversations import thread_of_key
from spade_llm.assistant.middleware.quota import NO_GROUP_QUOTAS, QuotaMiddleware
from spade_llm.assistant.turn.turn_recorder import TurnRecorder, recording
from spade_llm.assistant.turn.usage_ledger import LEDGER_FILES, UsageLedger, no_quota_groups
from spade_llm.core.errors import NotFound, StorageFailed
from spade_llm.core.limits import LruDict

if TYPE_CHECKING:
    from contextlib import AbstractContextManager
    from pathlib import Path

    from spade_llm.assistant.chat.service import ChatTurnInput
    from spade_llm.assistant.commands.registry import CommandRegistry
    from spade_llm.assistant.commands.usage_and_why import ReactionLine
    from spade_llm.assistant.history.conversations import Conversation
    from spade_llm.assistant.history.memory_behaviour import MemoryBehaviour
    from spade_llm.assistant.middleware.quota import GroupQuotas, PeerQuota
    from spade_llm.assistant.turn.turn_recorder import TurnRecord
    from spade_llm.assistant.turn.turn_result import CallNext, TurnMiddleware, TurnOutcome
    from spade_llm.assistant.turn.usage_ledger import QuotaGroupsOf
    from spade_llm.messaging.rpc import RpcService

logger = logging.getLogger(__name__)

MAX_RECORDS = 1000
"""Maximum number of conversations with an explainable last answer, in RAM (LRU)."""


class UsageMiddleware:
    """Turn middleware that keeps a usage record of each turn."""

    def __init__(self, ledger: UsageLedger, *, max_records: int = MAX_RECORDS) -> None:
        self._ledger = ledger
        self._last: LruDict[str, TurnRecord] = LruDict(max_records)

    async def __call__(
        self, utterance: ChatTurnInput, conversation: Conversation, proceed: CallNext
    ) -> TurnOutcome:
        recorder = TurnRecorder(self._ledger, peer=utterance.peer, groups=utterance.quota_groups)
        with recording(recorder):
            outcome = await proceed(utterance)
        recorder.count_turn()
        self._keep(conversation.key, recorder.record(outcome.recalled, outcome.missing))
        await self._tidy()
        return outcome

    def last(self, conversation: str) -> TurnRecord | None:
        """Record of the last answer; None: none since the process start, or evicted."""
        return self._last.get(conversation)

    async def forget(self, conversation: str) -> None:
        self._last.pop(conversation, None)

    async def forget_peer(self, peer: str) -> None:
        """Delete the records of all of this bare JID's own conversations."""
        for key in [key for key in self._last if thread_of_key(key, of=peer) or key == peer]:
            del self._last[key]

    def _keep(self, conversation: str, record: TurnRecord) -> None:
        self._last[conversation] = record

    async def _tidy(self) -> None:
        try:
            await self._ledger.tidy()
        except StorageFailed:
            logger.exception("the record of usage was not tidied")


class UsageTracking:
    def __init__(
        self,
        data: Path | None,
        name: str,
        *,
        limits: PeerQuota,
        crowd: GroupQuotas = NO_GROUP_QUOTAS,
        groups_of: QuotaGroupsOf = no_quota_groups,
    ) -> None:
        file = LEDGER_FILES.replace("*", name)
        self.ledger = UsageLedger(data / file if data else None)
        self._limits = limits
        self._crowd = crowd
        self._groups_of = groups_of
        self._watching = UsageMiddleware(self.ledger)

    @property
    def layers(self) -> list[TurnMiddleware]:
        """Around everything else: what is refused is not watched."""
        if self._limits.are_none and self._crowd.are_none:
            return [self._watching]
        quota = QuotaMiddleware(self.ledger, self._limits, crowd=self._crowd)
        return [quota, self._watching]

    def billing(self, peer: str) -> AbstractContextManager[None]:
        """Around what is done for this peer between its turns."""
        groups = self._groups_of(peer)
        return recording(TurnRecorder(self.ledger, peer=peer, groups=groups, is_turn=False))

    def attach(
        self,
        commands: CommandRegistry,
        service: RpcService,
        memory: MemoryBehaviour,
        *,
        reaction: ReactionLine | None = None,
    ) -> None:
        memory.on_clear.append(self._watching.forget)
        memory.on_forget.append(self._watching.forget_peer)
        why = WhyCommand(self._watching, memory, reaction=reaction)
        why.add_to(commands)
        UsageCommand(self.ledger, self._limits).add_to(commands)
        reports = ReportService(
            usage=lambda peer, days: self.ledger.of_peer(peer, days=days),
            limits=self._limits,
            why=partial(self._explained, why),
        )
        reports.add_to(service)

    async def _explained(self, why: WhyCommand, conversation: str) -> ExplanationReport:
        record = self._watching.last(conversation)
        if record is None:
            raise NotFound(NO_ANSWER_YET)
        return ExplanationReport(record=record, texts=dict(await why.texts(record)))
