"""The outbox keeps what memory has not taken, also over a restart."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import pytest

from spade_llm.assistant.history.memory_outbox import MemoryOutbox, QueuedObservation
from spade_llm.core.errors import ConfigurationError, StorageFailed
from spade_llm.memory.contract import ObservedMessage

if TYPE_CHECKING:
    from pathlib import Path

    from tests.conftest import PlaceOf


def an_observation(text: str, *, subject: str = "ada@x") -> QueuedObservation:
    message = ObservedMessage(id=text, role="user", content=text, at=datetime.now(UTC))
    return QueuedObservation(conversation=subject, subject=subject, messages=(message,))


async def test_the_outbox_is_fifo_and_only_done_removes_items(place_of: PlaceOf) -> None:
    async with MemoryOutbox(place_of("memoryoutbox.db")) as outbox:
        await outbox.put(an_observation("one"))
        await outbox.put(an_observation("two"))
        both = await outbox.oldest()
        assert await outbox.oldest() == both
        await outbox.done(both[:1])
        left = await outbox.oldest()

    assert [observation.messages[0].content for observation in both] == ["one", "two"]
    assert left == both[1:]


async def test_it_survives_the_process(place_of: PlaceOf) -> None:
    async with MemoryOutbox(place_of("memoryoutbox.db")) as outbox:
        await outbox.put(an_observation("kept"))
    async with MemoryOutbox(place_of("memoryoutbox.db")) as outbox:
        (first,) = await outbox.oldest()

    assert first.messages[0].content == "kept"


async def test_an_empty_outbox_wakes_up_when_mail_comes(place_of: PlaceOf) -> None:
    async with MemoryOutbox(place_of("memoryoutbox.db")) as outbox:
        assert await outbox.oldest() == []
        waiter = asyncio.create_task(outbox.has_mail.wait())
        await outbox.put(an_observation("news"))

        async with asyncio.timeout(5):
            await waiter


async def test_forgetting_a_person_drops_only_theirs(place_of: PlaceOf) -> None:
    async with MemoryOutbox(place_of("memoryoutbox.db")) as outbox:
        await outbox.put(an_observation("hers", subject="ada@x"))
        await outbox.put(an_observation("his", subject="bob@x"))
        await outbox.forget("ada@x")
        (first,) = await outbox.oldest()

    assert first.subject == "bob@x"


async def test_pending_messages_of_a_conversation_are_read_in_order(place_of: PlaceOf) -> None:
    async with MemoryOutbox(place_of("memoryoutbox.db")) as outbox:
        for text, subject in (("one", "ada@x"), ("other", "bob@x"), ("two", "ada@x")):
            await outbox.put(an_observation(text, subject=subject))

        waiting = await outbox.of_conversation("ada@x")

    assert [message.content for message in waiting] == ["one", "two"]


async def test_a_file_that_is_no_outbox_is_refused_at_start(tmp_path: Path) -> None:
    (tmp_path / "o.db").write_text("not a database, but long enough to be looked at " * 100)

    with pytest.raises(ConfigurationError, match="outbox"):
        async with MemoryOutbox(tmp_path / "o.db"):
            pass


async def test_a_closed_outbox_says_so() -> None:
    with pytest.raises(StorageFailed):
        await MemoryOutbox(None).put(an_observation("late"))
