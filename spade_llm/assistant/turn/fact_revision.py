"""Fact revision: ends the validity of memories that a message says are no longer true.

It works before the turn, so that the answer, with or without a model, already follows the change;
learning would notice it only after the conversation.
"""

from __future__ import annotations

import asyncio
import logging
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from spade_llm.assistant.turn.recall import find_related
from spade_llm.core.errors import RequestError, ServiceError
from spade_llm.memory.contract import MemoryChange, OnError
from spade_llm.search.memory_query import FACT_TYPES, MemoryFilter
from spade_llm.understanding.replacement import replaces
from spade_llm.understanding.statements import read_message, statements_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from spade_llm.memory.contract import MemoryStore

logger = logging.getLogger(__name__)

DEADLINE_S = 2.0
"""Deadline for the search, and for the update, in seconds; the same as for recall."""
MAX_CANDIDATES = 30
"""Memories that are compared with what a message says."""
MAX_CHARS = 1500
"""Maximum length of a message in characters: a longer one is more likely pasted than said."""
MAX_EARLIER_MESSAGES = 12
"""The person's messages before it that a correction may refer to."""


async def find_replaced(
    memory: MemoryStore, text: str, said_before: Sequence[str], *, subject: str
) -> tuple[str, ...]:
    """Ids of the memories about a person that a message of theirs replaces or takes back.

    `said_before`: that person's messages before it in the conversation, oldest first; the last
    MAX_EARLIER_MESSAGES are read. `subject`: the person's bare JID. Only memories about them are
    searched, so that nothing that is said changes what is known of another person.

    Never raises for a memory that is away or does not answer in time: the turn goes on, and the
    learner compares the memories again after the conversation.
    """
    if len(text) > MAX_CHARS or not read_message(text).may_change:
        return ()
    earlier = statements_of(said_before[-MAX_EARLIER_MESSAGES:])
    # With the statement before it, which it may correct without naming it.
    words = " ".join([text, *earlier[-1:]])
    which = MemoryFilter(subject=subject, types=FACT_TYPES)
    try:
        async with asyncio.timeout(DEADLINE_S):
            entries = await find_related(memory, words, which=which, limit=MAX_CANDIDATES)
    except (RequestError, ServiceError, TimeoutError) as error:
        logger.warning("memories of %s were not compared with a message: %s", subject, error)
        return ()
    reading = read_message(text, earlier, [one.content for one in entries])
    return tuple(
        one.id
        for one in entries
        if one.content == reading.takes_back
        or any(replaces(statement, one.content) for statement in reading.statements)
    )


async def close(memory: MemoryStore, ids: Sequence[str]) -> frozenset[str]:
    """End the validity of these memories now; returns the ids, none if memory is unavailable."""
    now = datetime.now(UTC)
    changes = [MemoryChange(id=id, invalid_at=now) for id in ids]
    try:
        async with asyncio.timeout(DEADLINE_S):
            await memory.update_many(changes, on_error=OnError.CONTINUE)
    except (RequestError, ServiceError, TimeoutError) as error:
        logger.warning("%d outdated memories were not closed: %s", len(ids), error)
        return frozenset()
    return frozenset(ids)
