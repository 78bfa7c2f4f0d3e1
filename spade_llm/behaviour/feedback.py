"""👍 and 👎 on an answer: noted for the answer, and borne by the memories that it used.

No model is asked. Knows no stanza.
"""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING, Protocol

from spade_llm.acl import Encoding
from spade_llm.errors import RequestError, ServiceError, StorageFailed
from spade_llm.memory.store import MemoryChange

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from spade_llm.conversation.feedback_log import FeedbackLog, NotedAnswer
    from spade_llm.memory.store import MemoryEntry
    from spade_llm.services.chat import Utterance

logger = logging.getLogger(__name__)

STEP = 0.2
"""Of a memory's confidence: an answer may be bad for other reasons than what it rests on, so that
only the third 👎 in a row says more than that (conversation/chosen.py)."""
LOWEST = 0.2
"""What people think of answers moves confidence no further down: it forgets nothing."""
SETTLE_S = 10.0

_WORTH = {"👍": 1, "👎": -1}
_SHADES = {ord(char): None for char in "\U0001f3fb\U0001f3fc\U0001f3fd\U0001f3fe\U0001f3ff\ufe0f"}
"""Colours of skin, and the wish to be shown as a picture."""


def verdict_of(emojis: Collection[str]) -> int:
    """1, -1, or 0: neither, or both."""
    worth = {_WORTH.get(one.translate(_SHADES), 0) for one in emojis}
    return sum(worth)


class JudgedMemory(Protocol):
    """The part of a MemoryStore that verdicts change."""

    async def peek(self, ids: Sequence[str]) -> Sequence[MemoryEntry]: ...

    async def update(self, change: MemoryChange) -> MemoryEntry: ...


class Feedback:
    """Notes what answers were made from, and what comes of reactions to them."""

    def __init__(self, log: FeedbackLog, memory: JudgedMemory | None) -> None:
        self._log = log
        self._memory = memory
        self._settling = asyncio.Lock()

    async def note(self, said: Utterance, memories: Sequence[str]) -> None:
        """The answer to it used these. Of programs nothing is noted: they react to nothing."""
        message = said.message
        if message.encoding is not Encoding.PLAIN:
            return
        # Of a corrected question (XEP-0308), clients name the answer that they were shown first.
        for question in filter(None, (message.said.corrects, message.reply_with)):
            try:
                await self._log.note(
                    peer=said.peer,
                    question=question,
                    conversation=said.conversation,
                    memories=memories,
                )
            except StorageFailed:
                logger.exception("conversation %s: no feedback on its answer", said.conversation)

    def react(self, emojis: Collection[str], *, to: str, peer: str) -> bool:
        """True: `settle` has something to do. `to`: the id of a message; only one who got that
        answer has a say in it."""
        try:
            answer = self._log.find(peer=peer, message_id=to)
            verdict = verdict_of(emojis)
            if answer is None or answer.verdict == verdict:
                return False
            self._log.judge(answer, verdict)
        except StorageFailed:
            logger.exception("a reaction of %s was not noted", peer)
            return False
        return True

    async def settle(self) -> None:
        """Memories bear what their readers think. What cannot be told now is told with the next."""
        async with self._settling:
            try:
                for answer in self._log.unsettled():
                    async with asyncio.timeout(SETTLE_S):
                        self._log.settle(answer, await self._shifted(answer))
            except (RequestError, ServiceError, TimeoutError) as error:
                logger.warning("feedback waits for memory: %s", error)

    def line(self, utterance: Utterance) -> str:
        """What the asker said of the last answer here, for /why; empty: nothing."""
        answer = self._log.last(peer=utterance.peer, conversation=utterance.conversation)
        if answer is None or not answer.verdict:
            return ""
        sign, change = ("👍", "more") if answer.verdict > 0 else ("👎", "less")
        count = len(answer.shifts)
        noted = f"; {count} of my memories count {change} since" if count else ""
        return f"Your reaction: {sign}{noted}"

    async def _shifted(self, answer: NotedAnswer) -> dict[str, float]:
        """By how much each of its memories counts more or less now than before any reaction to it.
        Those that were forgotten meanwhile are left alone."""
        if self._memory is None or not answer.memories:
            return {}
        entries = await self._memory.peek(answer.memories)
        shifts: dict[str, float] = {}
        for entry in entries:
            before = _within(entry.confidence - answer.shifts.get(entry.id, 0.0), 0.0)
            after = _within(before + answer.verdict * STEP, min(LOWEST, before))
            if after != entry.confidence:
                await self._memory.update(MemoryChange(id=entry.id, confidence=after))
            if after != before:
                shifts[entry.id] = after - before
        return shifts


def _within(confidence: float, lowest: float) -> float:
    return round(min(max(confidence, lowest), 1.0), 3)
