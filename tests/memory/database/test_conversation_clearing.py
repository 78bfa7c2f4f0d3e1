"""Messages that are cleared are hidden at once, and gone once what they say has been learned."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

import pytest

from spade_llm.memory import SQLiteMemoryBackend
from spade_llm.memory.contract import ObservedMessage
from spade_llm.memory.learning.learner import Learner
from spade_llm.memory.retrieval import retrieve_memory
from spade_llm.memory.transfer import memory_file
from spade_llm.memory.transfer.memory_file import verify_memory
from spade_llm.search.memory_query import MemoryFilter, MemoryQuery, MemoryType
from tests.memory.clock import Clock
from tests.memory.learning.test_learner import entries
from tests.memory.talks import ANA, OWNER, START, learn, patterns, talk

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    from spade_llm.memory import OwnedMemory

SECRET = "I live in Isolde"


@pytest.fixture
def clock() -> Clock:
    return Clock(START)


@pytest.fixture
async def backend(tmp_path: Path, clock: Clock) -> AsyncIterator[SQLiteMemoryBackend]:
    path = tmp_path / "memory.db"
    async with SQLiteMemoryBackend(path, is_learned_from=True, now=clock) as backend:
        yield backend


@pytest.fixture
def store(backend: SQLiteMemoryBackend) -> OwnedMemory:
    return backend.for_owner(OWNER)


@pytest.fixture
def learner(backend: SQLiteMemoryBackend, clock: Clock) -> Learner:
    return Learner(backend.learning(), backend, clock=clock)


def _bytes(backend: SQLiteMemoryBackend) -> str:
    files = backend.path.parent.glob("memory.db*")
    return "".join(path.read_bytes().decode("latin-1") for path in files)


async def _say(store: OwnedMemory, text: str, *, id: str, session: str = "s") -> None:
    message = ObservedMessage(id=id, role="user", content=text, at=START)
    await store.observe(session, [message], subject=ANA)


async def test_what_nobody_has_learned_yet_is_hidden_and_then_learned(
    backend: SQLiteMemoryBackend, store: OwnedMemory, learner: Learner
) -> None:
    await _say(store, SECRET, id="1")
    assert await learner.learn() == 0

    assert await store.clear_messages(["s"]) == 1
    await _say(store, "Is it late?", id="2")

    assert [one.id for one in await store.history("s")] == ["2"]
    assert (await store.stats("s")).messages == 1
    query = MemoryQuery(text="Who lives in Isolde?", with_messages=True)
    assert (await store.search(query)).hits == ()
    assert "Isolde" not in "".join(memory_file.export_lines(backend.path, lambda *_: None))
    assert "Isolde" in _bytes(backend)

    await learner.learn()

    (fact,) = await entries(store, MemoryType.SEMANTIC)
    assert "Isolde" in fact.content
    assert "Isolde" in await retrieve_memory(store, "Isolde", detail_limit=5)
    assert "Details" not in await retrieve_memory(store, "Isolde", detail_limit=5)
    assert [one.id for one in await store.history("s")] == ["2"]
    await store.forget([one.id for one in await entries(store)])
    assert "Isolde" not in _bytes(backend)
    await backend.close()
    assert verify_memory(backend.path) == []


async def test_what_cannot_be_learned_is_gone_after_a_week(
    backend: SQLiteMemoryBackend, store: OwnedMemory, clock: Clock
) -> None:
    await _say(store, SECRET, id="1")
    await store.clear_messages(["s"])
    clock.now += timedelta(days=6.9)
    await backend.purge()
    assert "Isolde" in _bytes(backend)

    clock.now += timedelta(days=0.2)
    await backend.purge()

    assert "Isolde" not in _bytes(backend)


async def test_what_waits_for_a_learner_that_there_is_no_more_is_gone_at_the_next_start(
    backend: SQLiteMemoryBackend, store: OwnedMemory, clock: Clock
) -> None:
    await _say(store, SECRET, id="1")
    await store.clear_messages(["s"])
    await backend.close()

    async with SQLiteMemoryBackend(backend.path, now=clock):
        assert "Isolde" not in _bytes(backend)


async def test_more_than_a_stretch_holds_is_learned_before_it_is_gone(
    store: OwnedMemory, learner: Learner
) -> None:
    said = [
        ObservedMessage(id=str(number), role="user", content=f"My number is {number}", at=START)
        for number in range(450)
    ]
    await store.observe("s", said, subject=ANA)
    await store.clear_messages(["s"])

    await learner.learn()

    page = await store.list(MemoryFilter(types=(MemoryType.EPISODIC,)), limit=100)
    assert sum(int(str(one.metadata["messages"])) for one in page.entries) == 450


async def test_what_was_cleared_does_not_wait_behind_open_conversations(
    store: OwnedMemory, learner: Learner
) -> None:
    for number in range(20):
        await _say(store, "Hello there", id="1", session=f"open {number}")
    await _say(store, SECRET, id="1")
    await store.clear_messages(["s"])

    await learner.learn()

    (episode,) = await entries(store, MemoryType.EPISODIC)
    assert episode.session == "s"


async def test_a_pattern_outlives_the_messages_that_it_was_found_in(
    backend: SQLiteMemoryBackend, store: OwnedMemory, clock: Clock
) -> None:
    clock.now += timedelta(days=365)
    await store.set_consent(ANA, is_given=True)
    for day in range(3):
        await talk(store, ["Please answer in one sentence"], day=day, conversation=f"c{day}")
    await learn(backend)
    before = {one.content for one in await patterns(store)}
    assert before

    await store.clear_messages(["c0", "c1", "c2"])
    await talk(store, ["What is the weather in Lisbon?"], day=9, conversation="c9")
    await learn(backend)

    assert {one.content for one in await patterns(store)} == before
