"""Fact revision: ends the validity of memories that a message says are no longer true, and stores
what it states.

Validity ends before the turn, so that the answer, with or without a model, already follows the
change. Statements are stored after it, except those that the model has stored by a tool. Learning
would do both only after the conversation.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Protocol

from spade_llm.assistant.turn.recall import find_related
from spade_llm.core.errors import InvalidArguments, RequestError, ServiceError
from spade_llm.core.limits import LruDict
from spade_llm.memory.contract import (
    BatchResult,
    MemoryChange,
    MemoryDraft,
    MemoryEntry,
    OnError,
    SearchResult,
)
from spade_llm.memory.learning.novelty import topic_stems
from spade_llm.memory.learning.repeated_facts import says_same
from spade_llm.search.memory_query import FACT_TYPES, Category, MemoryFilter, MemoryQuery
from spade_llm.understanding.features import Statement, is_changed, is_taste
from spade_llm.understanding.replacement import in_first_person, replaces
from spade_llm.understanding.statements import read_history, read_message

logger = logging.getLogger(__name__)

DEADLINE_S = 2.0
"""Deadline for the searches, and for the update, in seconds; the same as for recall."""
MAX_CANDIDATES = 30
"""Memories that are compared with what a message says."""
MAX_CHARS = 1500
"""Maximum length of a message in characters: a longer one is more likely pasted than said."""
MAX_EARLIER_MESSAGES = 12
"""The person's messages before it that a correction may refer to."""
MAX_PENDING = 20
"""Messages of one person that wait for memory; beyond, the oldest are left to the learner."""
MAX_PEOPLE = 1000
"""People with messages that wait."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SaidMessage:
    """A message of a person, and when it was said."""

    text: str
    conversation: str | None = None
    """Session of the memories that it states."""
    said_before: tuple[str, ...] = ()
    """That person's messages before it in the conversation, oldest first; the last
    MAX_EARLIER_MESSAGES are read."""
    at: datetime


class RevisableMemory(Protocol):
    """Memory operations that a revision needs."""

    async def search(self, query: MemoryQuery) -> SearchResult: ...

    async def update_many(
        self, changes: Sequence[MemoryChange], *, on_error: OnError = OnError.ROLLBACK
    ) -> BatchResult: ...

    async def add_many(self, drafts: Sequence[MemoryDraft]) -> object: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """Result of a comparison before a turn; nothing has changed yet."""

    subject: str
    closed: tuple[MemoryEntry, ...] = ()
    """Memories that no longer hold, with the time since when (`invalid_at`)."""
    told: tuple[MemoryDraft, ...] = ()
    """Facts that the messages state, and that are not known yet."""
    compared: tuple[SaidMessage, ...] = ()
    waiting: tuple[SaidMessage, ...] = ()
    """Messages for which memory did not answer in time."""


class FactRevision:
    """Revision of facts: closes what messages replace and stores what they state, each message
    once.

    Messages that could not be compared, since memory was away or too slow, are compared before the
    next one of the same person. They are in RAM: after a restart, the learner finds what its rules
    know.
    """

    def __init__(self, memory: RevisableMemory, *, deadline_s: float = DEADLINE_S) -> None:
        self._memory = memory
        self._deadline_s = deadline_s
        self._waiting: LruDict[str, deque[SaidMessage]] = LruDict(MAX_PEOPLE)

    async def compare(
        self, message: SaidMessage, *, subject: str, is_away: bool = False
    ) -> Comparison:
        """Find the memories about a person that a message of theirs, or one that waits, replaces
        or takes back: those that were said before it.

        `subject`: the person's bare JID. Only memories about them are searched, so that nothing
        that is said changes what is known of another person. `is_away`: memory has just not
        answered; the message waits at once.

        Never raises for a memory that is away or does not answer in time: the turn goes on.
        """
        waiting = deque(self._waiting.get(subject, ()))
        if len(message.text) <= MAX_CHARS and read_message(message.text).may_change:
            waiting.append(message)
        closed: dict[str, MemoryEntry] = {}
        told: list[MemoryDraft] = []
        compared: list[SaidMessage] = []
        try:
            if waiting and not is_away:
                async with asyncio.timeout(self._deadline_s):
                    while waiting:
                        replaced, stated = await self._read(waiting[0], subject)
                        for one in replaced:
                            closed.setdefault(one.id, replace(one, invalid_at=waiting[0].at))
                        told += stated
                        compared.append(waiting.popleft())
        except (RequestError, ServiceError, TimeoutError) as error:
            reason = str(error) or "no answer in time"
            logger.warning("memories of %s were not compared with a message: %s", subject, reason)
            code = error.wire_code if isinstance(error, RequestError) else ""
            if isinstance(error, InvalidArguments) or code == InvalidArguments.code:
                # The message is at fault, and would be again.
                compared.append(waiting.popleft())
        return Comparison(
            subject=subject,
            closed=tuple(closed.values()),
            told=tuple(told),
            compared=tuple(compared),
            waiting=tuple(waiting),
        )

    async def close(self, found: Comparison) -> frozenset[str]:
        """End the validity of what was found, as of the time at which the messages were said;
        returns the ids. If memory does not answer in time, the messages are compared again."""
        waiting = found.waiting
        if found.closed:
            changes = [MemoryChange(id=one.id, invalid_at=one.invalid_at) for one in found.closed]
            try:
                async with asyncio.timeout(self._deadline_s):
                    await self._memory.update_many(changes, on_error=OnError.CONTINUE)
            except (RequestError, ServiceError, TimeoutError) as error:
                reason = str(error) or "no answer in time"
                logger.warning("%d outdated memories were not closed: %s", len(changes), reason)
                waiting = (*found.compared, *waiting)
        # Another turn of this person may have left messages meanwhile.
        known = [one for one in self._waiting.pop(found.subject, ()) if one not in found.compared]
        if left := [*dict.fromkeys([*known, *waiting])]:
            self._waiting[found.subject] = deque(left, maxlen=MAX_PENDING)
        return frozenset(one.id for one in found.closed)

    async def keep(self, found: Comparison, *, stored: Sequence[str] = ()) -> None:
        """Store what the messages state. `stored`: what the model has stored in this turn, of which
        nothing is stored again. If memory does not answer in time, the messages themselves are all
        that is remembered."""
        known = topic_stems(" ".join(stored))
        drafts = [one for one in found.told if not _is_stored(one.content, known)]
        if not drafts:
            return
        try:
            async with asyncio.timeout(self._deadline_s):
                await self._memory.add_many(drafts)
        except (RequestError, ServiceError, TimeoutError) as error:
            reason = str(error) or "no answer in time"
            logger.warning("%d facts that were told were not stored: %s", len(drafts), reason)

    async def _read(
        self, message: SaidMessage, subject: str
    ) -> tuple[list[MemoryEntry], list[MemoryDraft]]:
        """Earlier memories that a message replaces or takes back, and new facts that it states."""
        earlier = read_history(message.said_before[-MAX_EARLIER_MESSAGES:]).spoken_of
        # With the statement before it, which it may correct without naming it.
        words = " ".join([message.text, *earlier[-1:]])
        found = await self._related(words, subject)
        entries = [one for one in found if one.holds_since < message.at]
        contents = [one.content for one in entries]
        reading = read_message(message.text, earlier, contents)
        # What was said in the same conversation needs no word in common.
        replaced_texts = {one.replaced for one in reading.statements} | {
            one for one in earlier if any(replaces(new, one) for new in reading.statements)
        }
        if unfound := replaced_texts.difference(contents, {""}):
            # "They can only do the 19th now" has no word of the appointment that it moves.
            more = await self._related(" ".join(sorted(unfound)), subject)
            entries += [
                one for one in more if one.content in unfound and one.holds_since < message.at
            ]
        replaced = [
            one
            for one in entries
            if any(replaces(statement, one.content) for statement in reading.statements)
        ]
        over = [
            one
            for one in entries
            if one in replaced
            or one.content == reading.takes_back
            or any(_has_replaced(other, one) for other in replaced)
        ]
        valid = [one.content for one in found if one not in over]
        told = [
            _draft(statement.text, message, subject)
            for statement in reading.statements
            if not any(says_same(statement.text, known) for known in valid)
        ]
        return over, told

    async def _related(self, words: str, subject: str) -> list[MemoryEntry]:
        """Facts about a person that share a word or a concept with a text."""
        which = MemoryFilter(subject=subject, types=FACT_TYPES)
        return await find_related(self._memory, words, which=which, limit=MAX_CANDIDATES)


def _draft(statement: str, message: SaidMessage, subject: str) -> MemoryDraft:
    return MemoryDraft(
        content=statement,
        category=Category.PREFERENCE if is_taste(statement) else Category.FACT,
        subject=subject,
        session=message.conversation,
        valid_at=message.at,
    )


def _is_stored(statement: str, known: frozenset[int]) -> bool:
    """Check whether half of the words of a statement are known."""
    words = topic_stems(statement)
    return bool(words) and 2 * len(words & known) >= len(words)


def _has_replaced(new: MemoryEntry, old: MemoryEntry) -> bool:
    """Check whether a memory that is over replaced an older one, which was not closed then: a
    correction names only the last value, and an older one must not hold again."""
    if new.holds_since <= old.holds_since:
        return False
    text = in_first_person(new.content)
    return replaces(Statement(text=text, is_change=is_changed(text)), old.content)
