"""HandingOver: what waits in the outbox goes to memory, each conversation in its order.

Knows no turn. What memory cannot take is told apart from a memory that takes nothing.
"""

from __future__ import annotations

import asyncio
import logging
from itertools import groupby
from typing import TYPE_CHECKING

from spade_llm.conversation.outbox import RETRACTED
from spade_llm.errors import (
    Busy,
    DeadlinePassed,
    Refusal,
    RequestError,
    RequestFailed,
    RequestNotUnderstood,
    RequestRefused,
    ServiceError,
)

if TYPE_CHECKING:
    from collections.abc import Sequence
    from contextlib import AbstractAsyncContextManager

    from spade_llm.conversation.outbox import Observation, Outbox
    from spade_llm.memory.store import HistoryStore

logger = logging.getLogger(__name__)

MAX_GROUP_BYTES = 96 * 1024
MAX_FAILURES = 5
"""Of the observation that is first in its conversation: so often memory may fail on its group
before it is tried alone, and those behind it without it."""
MAX_OF_CONVERSATION = 1000
"""Observations handed over at once before a conversation is closed."""


class HandingOver:
    def __init__(self, memory: HistoryStore, outbox: Outbox) -> None:
        self._memory = memory
        self._outbox = outbox
        self._failures: dict[int, int] = {}
        """By the id of the first observation of a group; those that are done leave."""
        self._underway = asyncio.Lock()

    async def all(self) -> None:
        """All conversations side by side. Raises RequestError or ServiceError if one must wait."""
        async with self._underway:
            await self._groups(_by_conversation(await self._outbox.oldest()))

    async def of(self, conversation: str) -> None:
        """What waits of one conversation. Raises RequestError or ServiceError."""
        async with self._underway:
            waiting = await self._outbox.oldest_of(conversation, limit=MAX_OF_CONVERSATION)
            for observation in waiting:
                await self._deliver([observation])

    async def about(self, subject: str) -> None:
        """What waits of all conversations with one person. Raises RequestError or ServiceError."""
        async with self._underway:
            while waiting := await self._outbox.oldest_about(subject):
                await self._groups(_by_conversation(waiting))

    def paused(self) -> AbstractAsyncContextManager[object]:
        """Within its block nothing is underway to memory: what is removed there does not come
        back."""
        return self._underway

    async def _groups(self, groups: Sequence[Sequence[Observation]]) -> None:
        outcomes = await asyncio.gather(*map(self._deliver, groups), return_exceptions=True)
        for outcome in outcomes:
            if outcome is not None:
                raise outcome

    async def _deliver(self, group: Sequence[Observation]) -> None:
        try:
            await self._observe(group)
        except (RequestRefused, RequestNotUnderstood, Refusal) as error:
            if _is_worth_another_try(error):
                raise
            await self._each_alone(group, error)
        except RequestFailed:
            if not self._has_failed_often(group[0]):
                raise
            await self._first_alone(group[0])
        else:
            await self._done(group)

    async def _each_alone(self, group: Sequence[Observation], error: Exception) -> None:
        """One of them was refused: the others are kept."""
        if len(group) == 1:
            logger.error("an observation cannot be kept, and is given up: %s", error)
            await self._done(group)
            return
        for observation in group:
            await self._deliver([observation])

    async def _first_alone(self, observation: Observation) -> None:
        try:
            await self._observe([observation])
        except RequestFailed as error:
            await self._pass_over(observation, error)
        else:
            await self._done([observation])

    async def _pass_over(self, observation: Observation, error: RequestFailed) -> None:
        """Give it up if memory takes the next: then the fault is not memory's.

        With nothing behind it, it waits: it is in nobody's way, and memory may mend.
        """
        two = await self._outbox.oldest_of(observation.conversation, limit=2)
        if len(two) == 1:
            raise error
        await self._observe(two[1:])
        logger.error("memory fails on an observation each time, it is given up: %s", error)
        await self._done(two)

    def _has_failed_often(self, observation: Observation) -> bool:
        count = self._failures.get(observation.id, 0) + 1
        self._failures[observation.id] = count
        return count >= MAX_FAILURES

    async def _observe(self, group: Sequence[Observation]) -> None:
        """What was said, and what was taken back, in their order."""
        messages = [message for observation in group for message in observation.messages]
        first = group[0]
        for is_retracted, some in groupby(messages, lambda one: one.role == RETRACTED):
            if is_retracted:
                await self._memory.retract(first.conversation, [one.id for one in some])
            else:
                await self._memory.observe(first.conversation, list(some), subject=first.subject)

    async def _done(self, group: Sequence[Observation]) -> None:
        await self._outbox.done(group)
        for observation in group:
            self._failures.pop(observation.id, None)


def _by_conversation(observations: Sequence[Observation]) -> list[list[Observation]]:
    """Groups that fit into one message each; of one conversation only the first group, so that
    its order is kept."""
    groups: dict[str, list[Observation]] = {}
    full: set[str] = set()
    for observation in observations:
        group = groups.setdefault(observation.conversation, [])
        if group and _size([*group, observation]) > MAX_GROUP_BYTES:
            full.add(observation.conversation)
        if observation.conversation not in full:
            group.append(observation)
    return list(groups.values())


def _size(group: Sequence[Observation]) -> int:
    """Bytes as JSON at the most: a character may become six."""
    texts = (message.content for observation in group for message in observation.messages)
    return sum(2 * len(text.encode()) + 200 for text in texts)


def _is_worth_another_try(error: RequestError | ServiceError) -> bool:
    """True where memory did not look at what is to be kept."""
    code = error.wire_code if isinstance(error, RequestError) else error.code
    return code in (Busy.code, DeadlinePassed.code)
