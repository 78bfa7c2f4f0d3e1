"""What waits for memory gets there in order, whatever memory says to some of it."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

import pytest

from spade_llm.assistant.history.memory_outbox import (
    MAX_FAILURES,
    MemoryOutbox,
    OutboxFlusher,
    QueuedObservation,
)
from spade_llm.core.errors import RequestFailed
from spade_llm.memory import SQLiteMemoryBackend
from spade_llm.memory.contract import ObservedMessage

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Sequence

    from spade_llm.memory import HistoryStore

ADA = "ada@x"


class FailingOn:
    """A memory whose disk, or whose code, fails on what holds one text."""

    def __init__(self, memory: HistoryStore, text: str) -> None:
        self._memory, self._text = memory, text
        self.history = memory.history
        self.retract = memory.retract
        self.close_conversation = memory.close_conversation
        self.episode_messages = memory.episode_messages

    async def observe(
        self, conversation: str, messages: Sequence[ObservedMessage], *, subject: str | None = None
    ) -> int:
        if any(self._text in message.content for message in messages):
            raise RequestFailed("internal", peer="memory@x")
        return await self._memory.observe(conversation, messages, subject=subject)


@pytest.fixture
async def memory() -> AsyncIterator[HistoryStore]:
    async with SQLiteMemoryBackend(":memory:") as backend:
        yield backend.for_owner("a@x")


@pytest.fixture
async def outbox() -> AsyncIterator[MemoryOutbox]:
    async with MemoryOutbox(None) as one:
        yield one


async def _put(outbox: MemoryOutbox, *texts: str) -> None:
    for text in texts:
        message = ObservedMessage(id=text, role="user", content=text, at=datetime.now(UTC))
        await outbox.put(QueuedObservation(conversation=ADA, subject=ADA, messages=(message,)))


async def _texts(memory: HistoryStore) -> list[str]:
    return [message.content for message in await memory.history(ADA)]


async def _fail(handing_over: OutboxFlusher, times: int) -> None:
    for _ in range(times):
        with pytest.raises(RequestFailed):
            await handing_over.all()


async def test_an_item_that_always_fails_does_not_block_later_ones(
    memory: HistoryStore, outbox: MemoryOutbox
) -> None:
    handing_over = OutboxFlusher(FailingOn(memory, "poison"), outbox)
    await _put(outbox, "before", "poison", "behind", "and last")

    await _fail(handing_over, MAX_FAILURES - 1)
    assert await _texts(memory) == []
    await handing_over.all()
    assert await _texts(memory) == ["before"]
    await _fail(handing_over, MAX_FAILURES - 1)
    for _ in range(2):
        await handing_over.all()

    assert await _texts(memory) == ["before", "behind", "and last"]
    assert await outbox.oldest() == []


async def test_a_memory_that_fails_on_everything_loses_nothing(
    memory: HistoryStore, outbox: MemoryOutbox
) -> None:
    await _put(outbox, "one", "two")

    await _fail(OutboxFlusher(FailingOn(memory, ""), outbox), 3 * MAX_FAILURES)
    await OutboxFlusher(memory, outbox).all()

    assert await _texts(memory) == ["one", "two"]


async def test_pending_messages_are_flushed_before_a_conversation_is_closed(
    memory: HistoryStore, outbox: MemoryOutbox
) -> None:
    await _put(outbox, "one", "two")

    await OutboxFlusher(memory, outbox).of(ADA)
    await memory.close_conversation(ADA)

    assert await _texts(memory) == []
    assert await outbox.oldest() == []
