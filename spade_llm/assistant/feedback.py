"""Feedback on answers (👍 and 👎 reactions): SQLite log, and importance of the memories used."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Collection, Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol, Self

from spade_llm.core.database import DatabasePlace, StoreTables
from spade_llm.core.errors import RequestError, ServiceError, StorageFailed
from spade_llm.memory.contract import MemoryChange, MemoryEntry
from spade_llm.messaging import bare
from spade_llm.xmpp.stanza_router import on_extension
from spade_llm.xmpp.stanzas.references import NAMESPACE, REACTIONS, read_reactions

if TYPE_CHECKING:
    from xml.etree.ElementTree import Element

    from spade_llm.assistant.chat.service import ChatTurnInput
    from spade_llm.assistant.history.memory_behaviour import MemoryBehaviour
    from spade_llm.xmpp.agent import XmppAgent

logger = logging.getLogger(__name__)

STEP = 0.2
"""Change of a memory's confidence for each reaction. It is small since an answer may be bad for
other reasons than its memories: only the third 👎 in a row marks a memory as low confidence
(turn/recall.py)."""
LOWEST = 0.2
"""Lower bound of a confidence reduced by reactions: they never cause a memory to be forgotten."""
SETTLE_S = 10.0
MAX_REACTING = 100
"""Maximum number of reactions that wait for the database; further ones are dropped."""

_EMOJI_VERDICTS = {"👍": 1, "👎": -1}
_SHADES = {ord(char): None for char in "\U0001f3fb\U0001f3fc\U0001f3fd\U0001f3fe\U0001f3ff\ufe0f"}
"""Colours of skin, and the wish to be shown as a picture."""


def verdict_of(emojis: Collection[str]) -> int:
    """Verdict of reactions: 1 (good), -1 (bad), or 0 (neither, or both)."""
    worth = {_EMOJI_VERDICTS.get(one.translate(_SHADES), 0) for one in emojis}
    # A set: one verdict in two colours counts once, and both cancel out.
    return sum(worth)


class JudgedMemory(Protocol):
    """The part of a MemoryStore that verdicts change."""

    async def peek(self, ids: Sequence[str]) -> Sequence[MemoryEntry]: ...

    async def update(self, change: MemoryChange) -> MemoryEntry: ...


class AnswerFeedback:
    """Feedback on answers: notes what they were made from, and what comes of reactions to them."""

    def __init__(self, log: FeedbackLog, memory: JudgedMemory | None) -> None:
        self._log = log
        self._memory = memory
        self._settling = asyncio.Lock()
        self._reacting = asyncio.Lock()

    async def note(self, said: ChatTurnInput, memories: Sequence[str]) -> None:
        """Store which memories an answer to a person used."""
        message = said.message
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
                logger.exception(
                    "conversation %s: its answer could not be logged for feedback",
                    said.conversation,
                )

    async def react(self, emojis: Collection[str], *, to: str, peer: str) -> bool:
        """Store a reaction; True if `settle` has work to do. `to` is the id of a message; only
        reactions of the recipient of that answer count."""
        try:
            # In their order: the latest of a person's reactions counts.
            async with self._reacting:
                answer = await self._log.find(peer=peer, message_id=to)
                verdict = verdict_of(emojis)
                if answer is None or answer.verdict == verdict:
                    return False
                await self._log.judge(answer, verdict)
        except StorageFailed:
            logger.exception("a reaction of %s could not be stored", peer)
            return False
        return True

    async def settle(self) -> None:
        """Apply verdicts to the memories; those that memory cannot take now are applied later."""
        # A confidence is read and written back: two at once would count a verdict twice.
        async with self._settling:
            try:
                for answer in await self._log.unsettled():
                    async with asyncio.timeout(SETTLE_S):
                        await self._log.settle(answer, await self._shifted(answer))
            except (RequestError, ServiceError, TimeoutError) as error:
                logger.warning("memory is unavailable; feedback is applied later: %s", error)

    async def line(self, turn_input: ChatTurnInput) -> str:
        """Line for /why: the sender's reaction to the last answer here; empty: none."""
        answer = await self._log.last(peer=turn_input.peer, conversation=turn_input.conversation)
        if answer is None or not answer.verdict:
            return ""
        sign, change = ("👍", "more") if answer.verdict > 0 else ("👎", "less")
        count = len(answer.shifts)
        noted = f"; {count} of my memories count {change} since" if count else ""
        return f"Your reaction: {sign}{noted}"

    async def _shifted(self, answer: NotedAnswer) -> dict[str, float]:
        """Update the confidence of the answer's memories and return each one's change against its
        value before any reaction. Memories forgotten meanwhile are skipped."""
        if self._memory is None or not answer.memories:
            return {}
        entries = await self._memory.peek(answer.memories)
        shifts: dict[str, float] = {}
        for entry in entries:
            # The noted shift is taken back first: nothing is left of an earlier verdict.
            before = _within(entry.confidence - answer.shifts.get(entry.id, 0.0), 0.0)
            # min: a memory below the bound is not raised to it.
            after = _within(before + answer.verdict * STEP, min(LOWEST, before))
            if after != entry.confidence:
                await self._memory.update(MemoryChange(id=entry.id, confidence=after))
            if after != before:
                shifts[entry.id] = after - before
        return shifts


def _within(confidence: float, lowest: float) -> float:
    return round(min(max(confidence, lowest), 1.0), 3)


MAX_ANSWERS = 20_000
"""Maximum number of answers logged, of all people; older answers can no longer be reacted to."""
MAX_SUFFIXES = 4
"""An answer's id is its question's and a few parts behind dots: pieces, corrections."""

_SCHEMA = """
CREATE TABLE IF NOT EXISTS answers (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    peer TEXT NOT NULL,
    question TEXT NOT NULL,
    conversation TEXT NOT NULL,
    memories TEXT NOT NULL,
    verdict INTEGER NOT NULL DEFAULT 0,
    settled INTEGER NOT NULL DEFAULT 0,
    shifts TEXT NOT NULL DEFAULT '{}',
    UNIQUE (peer, question)
);
CREATE INDEX IF NOT EXISTS answers_unsettled ON answers(number) WHERE verdict <> settled;
"""
FEEDBACK_TABLES = StoreTables(name="feedback", what="the log of feedback", schema=_SCHEMA)
_COLUMNS = "number, memories, verdict, settled, shifts"
# An answer that was reacted to keeps what it was made from: a shift must be taken back there.
_NOTE = """
INSERT INTO answers(peer, question, conversation, memories) VALUES (?1, ?2, ?3, ?4)
ON CONFLICT (peer, question) DO UPDATE SET memories = ?4
WHERE answers.verdict = 0 AND answers.settled = 0
"""
_FIND = f"""
SELECT {_COLUMNS} FROM answers WHERE peer = ? AND question IN (SELECT value FROM json_each(?))
ORDER BY length(question) DESC LIMIT 1
"""
_LAST = f"""
SELECT {_COLUMNS} FROM answers WHERE peer = ? AND conversation = ? ORDER BY number DESC LIMIT 1
"""
_JUDGE = "UPDATE answers SET verdict = ? WHERE number = ?"
_UNSETTLED = f"SELECT {_COLUMNS} FROM answers WHERE verdict <> settled ORDER BY number LIMIT ?"
_SETTLE = "UPDATE answers SET settled = ?, shifts = ? WHERE number = ?"
_BOUND = "DELETE FROM answers WHERE number <= (SELECT max(number) FROM answers) - ?"
_FORGET_CONVERSATION = "DELETE FROM answers WHERE conversation = ?"
_FORGET = "DELETE FROM answers WHERE peer = ?"


@dataclass(frozen=True, slots=True, kw_only=True)
class NotedAnswer:
    number: int
    memories: Sequence[str]
    """Ids of those that it used."""
    verdict: int = 0
    settled: int = 0
    """The verdict that these memories bear already."""
    shifts: Mapping[str, float] = field(default_factory=dict)
    """Confidence changes by memory id."""


class FeedbackLog:
    """Log of answers and the reactions to them. Every method raises StorageFailed."""

    def __init__(self, place: DatabasePlace) -> None:
        self._db = FEEDBACK_TABLES.at(place)

    async def __aenter__(self) -> Self:
        """Raises ConfigurationError: the file cannot be used."""
        await self._db.open()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._db.close()

    async def note(
        self, *, peer: str, question: str, conversation: str, memories: Sequence[str]
    ) -> None:
        """`question`: the id of the message that was answered."""
        await self._db.execute(_NOTE, peer, question, conversation, json.dumps(list(memories)))
        await self._db.prune_periodically(_BOUND, MAX_ANSWERS)

    async def find(self, *, peer: str, message_id: str) -> NotedAnswer | None:
        """Find an answer sent to this bare JID, by the message id of it or of a part of it."""
        return await self._one(_FIND, peer, _questions(message_id))

    async def last(self, *, peer: str, conversation: str) -> NotedAnswer | None:
        return await self._one(_LAST, peer, conversation)

    async def judge(self, answer: NotedAnswer, verdict: int) -> None:
        await self._db.execute(_JUDGE, verdict, answer.number)

    async def unsettled(self, limit: int = 100) -> list[NotedAnswer]:
        """Answers with verdicts that are not applied to their memories yet, oldest first."""
        return list(map(_answer, await self._db.execute(_UNSETTLED, limit)))

    async def settle(self, answer: NotedAnswer, shifts: Mapping[str, float]) -> None:
        """Store that the verdict has been applied to the answer's memories."""
        await self._db.execute(_SETTLE, answer.verdict, json.dumps(dict(shifts)), answer.number)

    async def forget_conversation(self, conversation: str) -> None:
        await self._db.execute(_FORGET_CONVERSATION, conversation)

    async def forget(self, peer: str) -> None:
        await self._db.execute(_FORGET, peer)

    async def _one(self, sql: str, *values: object) -> NotedAnswer | None:
        return next(map(_answer, await self._db.execute(sql, *values)), None)


def _questions(message_id: str) -> list[str]:
    """Candidate ids of the question, derived from the id of the answer or of a part of it."""
    found = [message_id]
    for _ in range(MAX_SUFFIXES):
        found.append(found[-1].rpartition(".")[0])
    return [one for one in found if one]


def _answer(row: Sequence[object]) -> NotedAnswer:
    number, memories, verdict, settled, shifts = row
    return NotedAnswer(
        number=int(str(number)),
        memories=tuple(json.loads(str(memories))),
        verdict=int(str(verdict)),
        settled=int(str(settled)),
        shifts=json.loads(str(shifts)),
    )


class ReactionHandler:
    """Handler of reactions (XEP-0444) to the answers of an assistant."""

    def __init__(self, agent: XmppAgent, memory: MemoryBehaviour) -> None:
        self._agent = agent
        self._log = FeedbackLog(agent.database_place(FEEDBACK_TABLES))
        self._waiting = 0
        """Reactions that are not stored yet."""
        self.feedback = AnswerFeedback(self._log, memory.memory)
        memory.on_forget.append(self._log.forget)
        memory.on_clear.append(self._log.forget_conversation)
        memory.on_use.append(self.feedback.note)
        agent.features.add(NAMESPACE)
        agent.message_filters.append(on_extension((REACTIONS,), self._take))
        agent.on_session.append(self._settle)

    async def open(self, stack: AsyncExitStack) -> None:
        await stack.enter_async_context(self._log)

    def _take(self, xml: Element) -> bool:
        found = read_reactions(xml)
        if found is None:
            return False
        sender = bare(xml.get("from", ""))
        if self._waiting < MAX_REACTING:
            self._waiting += 1
            self._agent.spawn(self._react(found.emojis, to=found.message_id, peer=sender))
        else:
            logger.warning("a reaction of %s is dropped: too many wait", sender)
        return found.is_alone

    async def _react(self, emojis: Collection[str], *, to: str, peer: str) -> None:
        try:
            must_settle = await self.feedback.react(emojis, to=to, peer=peer)
        finally:
            self._waiting -= 1
        if must_settle:
            await self.feedback.settle()

    def _settle(self) -> None:
        """Apply verdicts in the background; called also after each connection, to retry those that
        memory did not receive."""
        self._agent.spawn(self.feedback.settle())
