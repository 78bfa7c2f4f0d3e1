"""What a turn costs and what its answer is built from, noted around it. Knows no limit."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from spade_llm.conversation.recorder import Recorder, recording
from spade_llm.core.limits import LruDict
from spade_llm.errors import StorageFailed
from spade_llm.services.chat_place import thread_in

if TYPE_CHECKING:
    from spade_llm.behaviour.layers import Outcome, Proceed
    from spade_llm.conversation.history import Conversation
    from spade_llm.conversation.turn_record import TurnRecord
    from spade_llm.conversation.usage_ledger import UsageLedger
    from spade_llm.services.chat import Utterance

logger = logging.getLogger(__name__)

MAX_RECORDS = 1000
"""Conversations whose last answer can be explained; in RAM, the one idle longest leaves first."""


class Watching:
    """A Layer, and the records that it has made."""

    def __init__(self, ledger: UsageLedger, *, max_records: int = MAX_RECORDS) -> None:
        self._ledger = ledger
        self._last: LruDict[str, TurnRecord] = LruDict(max_records)

    async def __call__(
        self, utterance: Utterance, conversation: Conversation, proceed: Proceed
    ) -> Outcome:
        recorder = Recorder(self._ledger, peer=utterance.peer, groups=utterance.quota_groups)
        with recording(recorder):
            outcome = await proceed(utterance)
        recorder.count_turn()
        self._keep(conversation.key, recorder.record(outcome.recalled, outcome.missing))
        await self._tidy()
        return outcome

    def last(self, conversation: str) -> TurnRecord | None:
        """Of its last answer; None: not since this process began, or it is too long ago."""
        return self._last.get(conversation)

    async def forget(self, conversation: str) -> None:
        self._last.pop(conversation, None)

    async def forget_peer(self, peer: str) -> None:
        """Of all conversations with this bare JID alone."""
        for key in [key for key in self._last if thread_in(key, of=peer) or key == peer]:
            del self._last[key]

    def _keep(self, conversation: str, record: TurnRecord) -> None:
        self._last[conversation] = record

    async def _tidy(self) -> None:
        try:
            await self._ledger.tidy()
        except StorageFailed:
            logger.exception("the record of usage was not tidied")
