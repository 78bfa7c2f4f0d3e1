"""Told and learned forms of one fact: one entry, and what was removed does not come back."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import pytest

from spade_llm.memory.contract import MemoryChange, MemoryDraft, ObservedMessage
from spade_llm.memory.database import removal
from spade_llm.memory.database.backend import SQLiteMemoryBackend
from spade_llm.memory.learning.learner import Learner
from spade_llm.memory.learning.repeated_facts import says_same
from spade_llm.search.memory_query import Category, MemoryFilter, MemoryType, Origin
from tests.memory.clock import Clock

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    from spade_llm.memory import OwnedMemory
    from spade_llm.memory.contract import MemoryEntry

START = datetime(2026, 3, 1, 14, 5, tzinfo=UTC)
ANA = "ana@localhost"
FACTS = MemoryFilter(subject=ANA, types=(MemoryType.SEMANTIC, MemoryType.PROFILE))


@pytest.fixture
def clock() -> Clock:
    return Clock(START)


@pytest.fixture
async def backend(tmp_path: Path, clock: Clock) -> AsyncIterator[SQLiteMemoryBackend]:
    async with SQLiteMemoryBackend(tmp_path / "m.db", now=clock, is_learned_from=True) as backend:
        yield backend


async def said(store: OwnedMemory, clock: Clock, text: str, id: str = "1") -> None:
    message = ObservedMessage(id=id, role="user", content=text, at=clock.now)
    await store.observe("c", [message], subject=ANA)
    clock.now += timedelta(seconds=10)


async def told(store: OwnedMemory, content: str, category: Category = Category.FACT) -> MemoryEntry:
    return await store.add(
        MemoryDraft(content=content, category=category, subject=ANA, session="c")
    )


async def learned(backend: SQLiteMemoryBackend, clock: Clock) -> None:
    clock.now += timedelta(hours=2)
    await Learner(backend.learning(), backend, clock=clock).learn()


async def facts(store: OwnedMemory) -> list[MemoryEntry]:
    return list((await store.list(FACTS, limit=100)).entries)


async def episode_of(store: OwnedMemory) -> MemoryEntry:
    (episode,) = (await store.list(MemoryFilter(types=(MemoryType.EPISODIC,)))).entries
    return episode


@pytest.mark.parametrize(
    ("told_as", "learned_as"),
    [
        ("I live in Rome", "The user lives in Rome."),
        ("User lives in Rome", "The user lives in Rome."),
        ("I moved to Oslo last May", "The user lives in Oslo."),
        ("I live in Rome and I work at Acme", "The user works at Acme."),
        ("My sister is called Ana", "The user's sister is called Ana."),
        ("I want to learn Rust", "The user wants to learn Rust."),
        ("Vivo en Madrid", "El usuario vive en Madrid."),
        ("Mi hermana se llama Ana", "El usuario: su hermana se llama Ana."),
        ("I live in Rome", "Ana lives in Rome."),
    ],
)
def test_a_told_fact_and_its_learned_form_say_the_same(told_as: str, learned_as: str) -> None:
    assert says_same(told_as, learned_as, name="Ana")
    assert says_same(learned_as, told_as, name="Ana")


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("I live in Rome", "The user lives in Oslo."),
        ("I'm vegan", "The user is vegetarian."),
        ("I like tea", "The user dislikes tea."),
        ("My brother is called Ana", "The user's sister is called Ana."),
        ("I have an exam on Monday", "The user has an exam on Tuesday."),
        ("I have an exam on Monday", "The user has an exam."),
        ("I no longer work at Renfe", "The user works at Renfe."),
        ("I learn Rust", "The user wants to learn Rust."),
        ("My boss is called Carla", "Bea's boss is called Carla."),
    ],
)
def test_other_facts_do_not_say_the_same(one: str, other: str) -> None:
    assert not says_same(one, other)


async def test_a_told_fact_gets_the_conversation_as_its_source(
    backend: SQLiteMemoryBackend, store: OwnedMemory, clock: Clock
) -> None:
    await said(store, clock, "By the way, I live in Rome.")
    entry = await told(store, "I live in Rome")
    await learned(backend, clock)

    (found,) = await facts(store)

    assert (found.id, found.content, found.origin) == (entry.id, "I live in Rome", Origin.TOLD)
    assert found.sources == ((await episode_of(store)).id,)
    assert found.confidence == 1.0


async def test_a_told_fact_takes_the_place_of_the_learned_one(
    backend: SQLiteMemoryBackend, store: OwnedMemory, clock: Clock
) -> None:
    await said(store, clock, "I live in Rome. My sister is called Eva.")
    await learned(backend, clock)
    before = {one.content: one for one in await facts(store)}
    entry = await told(store, "I live in Rome")

    found = {one.content: one for one in await facts(store)}

    assert set(found) == {"I live in Rome", "The user's sister is called Eva."}
    assert entry.id == before["The user lives in Rome."].id
    assert (entry.origin, entry.sources) == (Origin.TOLD, ((await episode_of(store)).id,))


async def test_the_same_request_again_finds_what_took_the_place(
    backend: SQLiteMemoryBackend, store: OwnedMemory, clock: Clock
) -> None:
    await said(store, clock, "I live in Rome.")
    await learned(backend, clock)
    draft = MemoryDraft(content="I live in Rome", category=Category.FACT, subject=ANA)

    entries = [await store.add(draft, key="request") for _ in range(2)]

    assert entries[0] == entries[1]
    assert len(await facts(store)) == 1


async def test_a_fact_about_another_person_stays_apart(
    backend: SQLiteMemoryBackend, store: OwnedMemory, clock: Clock
) -> None:
    await said(store, clock, "I live in Rome.")
    await learned(backend, clock)
    other = MemoryDraft(content="I live in Rome", category=Category.FACT, subject="bob@localhost")
    await store.add(other)

    assert [one.content for one in await facts(store)] == ["The user lives in Rome."]


async def test_a_former_fact_is_not_learned_again_from_the_old_message(
    backend: SQLiteMemoryBackend, store: OwnedMemory, clock: Clock
) -> None:
    await said(store, clock, "I work at Renfe.")
    entry = await told(store, "I work at Renfe")
    await said(store, clock, "I was fired today.", id="2")
    await store.update(MemoryChange(id=entry.id, invalid_at=clock.now))
    await learned(backend, clock)

    assert await facts(store) == []


async def test_what_holds_again_is_learned_again(
    backend: SQLiteMemoryBackend, store: OwnedMemory, clock: Clock
) -> None:
    entry = await told(store, "I live in Rome")
    await store.update(MemoryChange(id=entry.id, invalid_at=clock.now))
    clock.now += timedelta(days=30)
    await said(store, clock, "I live in Rome.")
    await learned(backend, clock)

    assert [one.content for one in await facts(store)] == ["The user lives in Rome."]


async def test_an_old_message_that_is_learned_late_closes_no_newer_fact(
    backend: SQLiteMemoryBackend, store: OwnedMemory, clock: Clock
) -> None:
    await said(store, clock, "I live in Rome.")
    clock.now += timedelta(days=1)
    await told(store, "I moved to Oslo")
    await learned(backend, clock)

    assert [one.content for one in await facts(store)] == ["I moved to Oslo"]


async def test_a_learned_change_closes_what_was_told_before(
    backend: SQLiteMemoryBackend, store: OwnedMemory, clock: Clock
) -> None:
    await told(store, "Vivo en Madrid")
    clock.now += timedelta(days=1)
    await said(store, clock, "me he mudado a Jaén")
    await told(store, "Me he mudado a Jaén")
    await learned(backend, clock)

    assert [one.content for one in await facts(store)] == ["Me he mudado a Jaén"]


@pytest.mark.parametrize("few", [0, removal.FEW_MESSAGES])
@pytest.mark.parametrize("how", ["forget", "delete", "correct"])
async def test_what_was_removed_before_it_was_learned_does_not_come_back(
    backend: SQLiteMemoryBackend,
    store: OwnedMemory,
    clock: Clock,
    how: str,
    few: int,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """`few`: messages that count as few; with 0, any queue is long."""
    monkeypatch.setattr(removal, "FEW_MESSAGES", few)
    await said(store, clock, "So, I moved to Rome! And my sister is called Eva.")
    # The message says it in other words, so that forgetting does not remove it.
    entry = await told(store, "The user lives in Rome")
    if how == "forget":
        await store.forget([entry.id])
    elif how == "delete":
        await store.delete(MemoryFilter(), ids=[entry.id])
    else:
        await store.update(MemoryChange(id=entry.id, content="The user lives in Romania"))
    await said(store, clock, "I speak Greek.", id="2")
    await learned(backend, clock)

    found = {one.content for one in await facts(store)} - {"The user lives in Romania"}
    assert found == {"The user speaks Greek."}
    assert len(await store.history("c")) == 2


@pytest.mark.parametrize("few", [0, removal.FEW_EPISODES])
async def test_what_is_forgotten_while_it_is_read_is_not_stored(
    backend: SQLiteMemoryBackend,
    store: OwnedMemory,
    clock: Clock,
    few: int,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """`few`: unread episodes that count as few; with 0, any queue is long."""
    monkeypatch.setattr(removal, "FEW_EPISODES", few)
    learning = backend.learning()
    await said(store, clock, "So, I moved to Rome!")
    await said(store, clock, "I speak Greek.", id="2")
    entry = await told(store, "The user lives in Rome")
    clock.now += timedelta(hours=2)
    learner = Learner(learning, backend, clock=clock)
    # The first step cuts, and reads nothing yet.
    await learner._step()
    (reading,) = (await learning.due()).episodes
    await store.forget([entry.id])

    assert (
        await learning.save_facts(reading, [MemoryDraft(content="The user lives in Rome.")]) == []
    )
    await learner.learn()

    assert [one.content for one in await facts(store)] == ["The user speaks Greek."]


async def test_what_is_told_again_after_it_was_forgotten_is_learned(
    backend: SQLiteMemoryBackend, store: OwnedMemory, clock: Clock
) -> None:
    await said(store, clock, "So, I moved to Rome!")
    entry = await told(store, "The user lives in Rome")
    await store.forget([entry.id])
    await said(store, clock, "I live in Rome.", id="2")
    await learned(backend, clock)

    assert [one.content for one in await facts(store)] == ["The user lives in Rome."]
