"""Conversations are told to memories, and their questions asked of them. Knows no file, no figures.

Each conversation has an owner of its own; the memories are here, or in the process of a memory
agent on a stage.
"""

from __future__ import annotations

import asyncio
import tempfile
import time
from contextlib import AsyncExitStack, asynccontextmanager
from datetime import UTC, datetime
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING

from bench.locomo_score import TOP, Answered
from bench.memory_file import clear
from bench.process import running
from spade_llm.memory import SQLiteMemoryBackend
from spade_llm.memory.contract import ObservedMessage
from spade_llm.memory.remote import MemoryClient
from spade_llm.search.memory_query import MemoryFilter, MemoryQuery, SearchMode, Tier
from spade_llm.xmpp.agent import XmppAgent

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Sequence

    from bench.stage import Stage
    from bench.talk import Conversation, Question, Turn
    from spade_llm.memory import OwnedMemory
    from spade_llm.providers import MiniLmEmbedder

KEEPER = "keeper"
MESSAGES = MemoryFilter(tier=Tier.WORKING)
"""Not the episodes that are made of them meanwhile."""
DEEP = 200
"""Found for the figures within a number of tokens."""
OBSERVED_AT_ONCE = 100
TIMEOUT_S = 60.0


class AskedAt:
    """A clock that can be set to the time of a question."""

    def __init__(self) -> None:
        self.at: datetime | None = None

    def __call__(self) -> datetime:
        return self.at or datetime.now(UTC)


async def observe(conversation: Conversation, memory: OwnedMemory) -> None:
    for session, turns in groupby(conversation.turns, lambda turn: turn.session):
        messages = list(map(_message, turns))
        for start in range(0, len(messages), OBSERVED_AT_ONCE):
            await memory.observe(session, messages[start : start + OBSERVED_AT_ONCE])


async def have_vectors(memory: OwnedMemory) -> None:
    """By asking: the memory may be far."""
    while (await memory.stats()).without_vector:  # noqa: ASYNC110
        await asyncio.sleep(0.2)


async def answers_of(
    memory: OwnedMemory,
    conversation: Conversation,
    times: list[float],
    clock: AskedAt | None = None,
    *,
    depth: int = DEEP,
) -> list[Answered]:
    """`times` gets the seconds of each question's TOP; `depth` ids are kept."""
    return [await _answer(memory, one, times, clock, depth) for one in conversation.questions]


async def leaks_of(conversations: Sequence[Conversation], owned: Sequence[OwnedMemory]) -> int:
    """Turns of another conversation that an owner found, over all questions."""
    leaks = 0
    for asked in conversations:
        for question in asked.questions:
            for conversation, memory in zip(conversations, owned, strict=True):
                ids = await _found(memory, question, TOP)
                leaks += sum(not id.startswith(f"{conversation.name}/") for id in ids)
    return leaks


@asynccontextmanager
async def local_memories(
    count: int, embedder: MiniLmEmbedder | None, now: Callable[[], datetime] | None = None
) -> AsyncIterator[list[OwnedMemory]]:
    with tempfile.TemporaryDirectory(prefix="recall-") as folder:
        path = Path(folder) / "memory.db"
        async with SQLiteMemoryBackend(path, embedder=embedder, now=now or AskedAt()) as backend:
            yield [backend.for_owner(f"owner{number}@localhost") for number in range(count)]


@asynccontextmanager
async def remote_memories(stage: Stage, count: int) -> AsyncIterator[list[OwnedMemory]]:
    """Each owner is an agent; the memory is one of its own, in another process."""
    async with AsyncExitStack() as stack:
        keeper = await stage.account(KEEPER)
        clear(keeper.data)
        await stack.enter_async_context(stage.agent("memory", KEEPER))
        owned: list[OwnedMemory] = []
        for person in await stage.people(count):
            agent = XmppAgent(person.jid, person.password, options=person.options)
            await stack.enter_async_context(running(agent))
            owned.append(MemoryClient(agent.node.requester, keeper.jid, timeout_s=TIMEOUT_S))
        yield owned


def _message(turn: Turn) -> ObservedMessage:
    return ObservedMessage(
        id=turn.id, role=turn.role, content=turn.text, at=turn.at, speaker=turn.speaker
    )


async def _answer(
    memory: OwnedMemory,
    question: Question,
    times: list[float],
    clock: AskedAt | None,
    depth: int,
) -> Answered:
    if clock is not None:
        clock.at = question.at
    began = time.perf_counter()
    found = await _found(memory, question, TOP)
    times.append(time.perf_counter() - began)
    if depth > TOP:
        found = await _found(memory, question, depth)
    return Answered(question=question, found=found)


async def _found(memory: OwnedMemory, question: Question, limit: int) -> list[str]:
    query = MemoryQuery(
        text=question.text,
        mode=SearchMode.RECALL,
        limit=limit,
        which=MESSAGES,
        with_messages=True,
    )
    hits = (await memory.search(query)).hits
    return [str(hit.entry.metadata["message_id"]) for hit in hits]
