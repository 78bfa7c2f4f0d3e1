"""What was said before comes back whole, in order, and as far as there is time."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spade_llm.assistant.history.conversation_cache import MAX_MESSAGES
from spade_llm.assistant.history.memory_behaviour import HistoryLoader
from spade_llm.assistant.history.memory_outbox import RETRACTED, MemoryOutbox, QueuedObservation
from spade_llm.core.errors import PeerUnavailable
from spade_llm.memory import SQLiteMemoryBackend
from spade_llm.memory.contract import ObservedMessage
from tests.conftest import at_most

if TYPE_CHECKING:
    from collections.abc import Sequence

    from spade_llm.memory import HistoryStore

ADA = "ada@x"
PATIENCE_S = 60.0
"""These tests are about what is read, not about how long it takes."""


def _said(number: int) -> ObservedMessage:
    role = "assistant" if number % 2 else "user"
    return ObservedMessage(id=str(number), role=role, content=f"{number}", at=datetime.now(UTC))


def _waiting(*numbers: int) -> QueuedObservation:
    return QueuedObservation(conversation=ADA, subject=ADA, messages=tuple(map(_said, numbers)))


class Answering:
    """A memory agent, as far as its answers go: `history` is what the test says it is."""

    def __init__(
        self, memory: HistoryStore, *, pages: int = 10**6, knows_before: bool = True
    ) -> None:
        self._memory, self._pages, self._knows_before = memory, pages, knows_before
        self.observe = memory.observe
        self.retract = memory.retract
        self.close_conversation = memory.close_conversation
        self.episode_messages = memory.episode_messages

    async def history(
        self, conversation: str, *, limit: int = 50, before: str | None = None
    ) -> Sequence[ObservedMessage]:
        if self._pages == 0:
            raise PeerUnavailable("away", peer="memory@x")
        self._pages -= 1
        before = before if self._knows_before else None
        return await self._memory.history(conversation, limit=limit, before=before)


async def _observe(memory: HistoryStore, count: int) -> None:
    for start in range(0, count, 1000):
        some = range(start, min(start + 1000, count))
        await memory.observe(ADA, list(map(_said, some)), subject=ADA)


@settings(max_examples=at_most(25))
@given(kept=st.integers(0, 450), overlap=st.integers(0, 4), waiting=st.integers(0, 6))
async def test_memory_and_outbox_together_are_the_conversation(
    kept: int, overlap: int, waiting: int
) -> None:
    async with SQLiteMemoryBackend(":memory:") as backend, MemoryOutbox(None) as outbox:
        memory = backend.for_owner("a@x")
        await _observe(memory, kept)
        for number in range(max(0, kept - overlap), kept + waiting):
            await outbox.put(_waiting(number))

        found = await HistoryLoader(memory, outbox, deadline_s=PATIENCE_S).of(ADA)

    assert [int(message.id) for message in found] == list(range(kept + waiting))


async def test_messages_with_a_pending_removal_are_not_loaded() -> None:
    async with SQLiteMemoryBackend(":memory:") as backend, MemoryOutbox(None) as outbox:
        memory = backend.for_owner("a@x")
        await _observe(memory, 4)
        await outbox.put(_waiting(4, 5))
        gone = tuple(replace(_said(number), role=RETRACTED) for number in (2, 3, 5))
        await outbox.put(QueuedObservation(conversation=ADA, subject=ADA, messages=gone))

        found = await HistoryLoader(memory, outbox, deadline_s=PATIENCE_S).of(ADA)

    assert [message.id for message in found] == ["0", "1", "4"]


async def test_the_third_of_five_hundred_turns_comes_back_and_the_bound_holds() -> None:
    async with SQLiteMemoryBackend(":memory:") as backend, MemoryOutbox(None) as outbox:
        memory = backend.for_owner("a@x")
        await _observe(memory, 1000)
        assert (await HistoryLoader(memory, outbox, deadline_s=PATIENCE_S).of(ADA))[4].id == "4"

        await _observe(memory, MAX_MESSAGES + 300)
        found = await HistoryLoader(memory, outbox, deadline_s=PATIENCE_S).of(ADA)

    assert [message.id for message in found] == [
        str(number) for number in range(300, MAX_MESSAGES + 300)
    ]


@pytest.mark.parametrize(("pages", "first"), [(1, 800), (2, 600)])
async def test_memory_that_goes_away_costs_the_oldest_part_only(pages: int, first: int) -> None:
    async with SQLiteMemoryBackend(":memory:") as backend, MemoryOutbox(None) as outbox:
        memory = backend.for_owner("a@x")
        await _observe(memory, 1000)
        await outbox.put(_waiting(1000))

        found = await HistoryLoader(
            Answering(memory, pages=pages), outbox, deadline_s=PATIENCE_S
        ).of(ADA)

    assert [int(message.id) for message in found] == list(range(first, 1001))


async def test_memory_that_is_away_from_the_start_is_said_to_be_away() -> None:
    async with SQLiteMemoryBackend(":memory:") as backend, MemoryOutbox(None) as outbox:
        memory = backend.for_owner("a@x")

        with pytest.raises(PeerUnavailable):
            await HistoryLoader(Answering(memory, pages=0), outbox, deadline_s=PATIENCE_S).of(ADA)


async def test_an_older_memory_agent_gives_the_latest_and_is_asked_no_more() -> None:
    async with SQLiteMemoryBackend(":memory:") as backend, MemoryOutbox(None) as outbox:
        memory = backend.for_owner("a@x")
        await _observe(memory, 500)

        async with asyncio.timeout(30):
            found = await HistoryLoader(
                Answering(memory, knows_before=False), outbox, deadline_s=PATIENCE_S
            ).of(ADA)

    assert [int(message.id) for message in found] == list(range(300, 500))
