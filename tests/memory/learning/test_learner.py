"""Learning over the store: each episode once, each fact once, and nobody waits for a model."""

from __future__ import annotations

import asyncio
import json
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import pytest

from spade_llm.core.errors import ModelUnavailable, RateLimited
from spade_llm.memory.contract import MemoryDraft, ObservedMessage
from spade_llm.memory.learning.learner import Learner, LearningSchedule
from spade_llm.memory.learning.model_extractor import TOOL_NAME
from spade_llm.memory.retrieval import retrieve_memory
from spade_llm.providers.model import Completion, ToolCall
from spade_llm.providers.scripted import ScriptedAnswer, ScriptedProvider
from spade_llm.search.memory_query import MemoryFilter, MemoryQuery, MemoryType, Origin
from tests.memory.clock import Clock

if TYPE_CHECKING:
    from collections.abc import Sequence

    from spade_llm.memory import OwnedMemory
    from spade_llm.memory.contract import MemoryEntry
    from spade_llm.memory.database.backend import DatabaseMemoryBackend

START = datetime(2026, 3, 1, 14, 5, tzinfo=UTC)
OWNER, ANA = "assistant@localhost", "ana@localhost"


@pytest.fixture
def clock() -> Clock:
    return Clock(START)


def said(number: int, text: str, *, recalled: Sequence[str] = (), day: int = 0) -> ObservedMessage:
    return ObservedMessage(
        id=f"{day}.{number}",
        role="assistant" if number % 2 else "user",
        content=text,
        at=START + timedelta(days=day, minutes=number),
        recalled=tuple(recalled),
    )


def learner(
    backend: DatabaseMemoryBackend, clock: Clock, model: ScriptedProvider | None = None
) -> Learner:
    return Learner(backend.learning(), backend, model=model, clock=clock)


async def rest(clock: Clock, *, days: float = 0) -> None:
    clock.now = START + timedelta(days=days, hours=2)


async def entries(store: OwnedMemory, *types: MemoryType) -> list[MemoryEntry]:
    page = await store.list(MemoryFilter(types=types), limit=100)
    return list(page.entries)[::-1]


def fact(content: str, *contradicts: int) -> Completion:
    found = {"content": content, "category": "fact", "about": "user", "confidence": 0.9}
    arguments = json.dumps({"facts": [{**found, "contradicts": contradicts}]})
    return Completion(tool_calls=(ToolCall(id="1", name=TOOL_NAME, arguments=arguments),))


async def test_a_conversation_becomes_an_episode_and_its_facts(
    backend: DatabaseMemoryBackend, store: OwnedMemory, clock: Clock
) -> None:
    messages = [said(0, "I live in Lisbon."), said(1, "Nice!")]
    await store.observe("c", messages, subject=ANA)

    assert await learner(backend, clock).learn() == 0
    await rest(clock)
    assert await learner(backend, clock).learn() == 2

    episode, found = await entries(store)
    assert episode.content == "2026-03-01, 14:05–14:06: user: I live in Lisbon."
    assert (episode.type, episode.origin) == (MemoryType.EPISODIC, Origin.EPISODE)
    assert list(await store.episode_messages(episode.id)) == messages
    assert found.content == "The user lives in Lisbon."
    assert (found.origin, found.sources) == (Origin.EXTRACTED, (episode.id,))
    assert (found.subject, found.session) == (ANA, "c")


async def test_what_was_learned_is_retrieved_with_what_was_said(
    backend: DatabaseMemoryBackend, store: OwnedMemory, clock: Clock
) -> None:
    messages = [said(0, "The boiler was repaired by Okonkwo."), said(1, "Good to know!")]
    await store.observe("c", messages, subject=ANA)
    await rest(clock)
    await learner(backend, clock).learn()

    text = await retrieve_memory(store, "boiler repaired", detail_limit=5, now=clock.now)

    assert "**When:** 2 hours ago\n**Summary:** user: The boiler" in text
    assert '- user: "The boiler was repaired by Okonkwo."\n- assistant: "Good to know!"' in text


async def test_nothing_is_learned_twice(
    backend: DatabaseMemoryBackend, store: OwnedMemory, clock: Clock
) -> None:
    await store.observe("c", [said(0, "I live in Lisbon.")], subject=ANA)
    await rest(clock)
    await learner(backend, clock).learn()

    again = await learner(backend, clock).learn()

    assert again == 0
    assert len(await entries(store)) == 2


async def test_what_is_said_again_strengthens_what_is_known(
    backend: DatabaseMemoryBackend, store: OwnedMemory, clock: Clock
) -> None:
    for day in (0, 1):
        await store.observe("c", [said(0, "I live in Lisbon.", day=day)], subject=ANA)
        await rest(clock, days=day)
        await learner(backend, clock).learn()

    (found,) = await entries(store, MemoryType.SEMANTIC)
    assert found.confidence > 0.9


async def test_a_new_fact_closes_the_old_and_deletes_nothing(
    backend: DatabaseMemoryBackend, store: OwnedMemory, clock: Clock
) -> None:
    await store.observe("c", [said(0, "I live in Madrid.")], subject=ANA)
    await store.observe("c", [said(0, "I moved to Lisbon.", day=5)], subject=ANA)
    await rest(clock, days=5)
    await learner(backend, clock).learn()

    now = await entries(store, MemoryType.SEMANTIC)
    which = MemoryFilter(types=(MemoryType.SEMANTIC,), as_of=START + timedelta(days=2))
    then = (await store.list(which)).entries

    assert [one.content for one in now if one.invalid_at is None] == ["The user lives in Lisbon."]
    assert [one.content for one in then] == ["The user lives in Madrid."]


async def test_a_diet_and_a_divorce_close_what_they_contradict_and_nothing_else(
    backend: DatabaseMemoryBackend, store: OwnedMemory, clock: Clock
) -> None:
    true = [f"User is allergic to {food}" for food in ("nuts", "soy", "crab", "kiwi", "milk")]
    true += [f"User is {what}" for what in ("a nurse", "tall", "a runner", "deaf", "left-handed")]
    old = ["El usuario está casado", "User is vegetarian"]
    for content in (*old, *true):
        draft = MemoryDraft(content=content, subject=ANA, valid_at=START - timedelta(days=1))
        await store.add(draft)
    await store.observe("c", [said(0, "I'm vegan. I'm divorced.")], subject=ANA)
    await rest(clock)

    await learner(backend, clock).learn()

    found = await entries(store, MemoryType.SEMANTIC)
    new = ["The user is vegan.", "The user is divorced."]
    assert sorted(one.content for one in found if one.invalid_at is None) == sorted(true + new)


async def test_what_is_true_again_is_known_again(
    backend: DatabaseMemoryBackend, store: OwnedMemory, clock: Clock
) -> None:
    for day, place in enumerate(["Lisbon", "Madrid", "Lisbon"]):
        await store.observe("c", [said(0, f"I live in {place}.", day=day)], subject=ANA)
    await rest(clock, days=3)
    await learner(backend, clock).learn()

    found = await entries(store, MemoryType.SEMANTIC)
    assert [one.content for one in found if one.invalid_at is None] == ["The user lives in Lisbon."]


async def test_what_an_assistant_recalled_is_not_learned_again(
    backend: DatabaseMemoryBackend, store: OwnedMemory, clock: Clock
) -> None:
    await store.observe("c", [said(0, "I live in Lisbon.")], subject=ANA)
    await rest(clock)
    await learner(backend, clock).learn()
    ids = [one.id for one in await entries(store)]

    messages = [said(0, "Where?", day=1), said(1, "You live in Lisbon.", recalled=ids, day=1)]
    await store.observe("d", messages, subject=ANA)
    await rest(clock, days=1)
    await learner(backend, clock).learn()

    assert sum("Lisbon" in one.content for one in await entries(store)) == 2


async def test_a_recalled_message_is_not_learned_again_either(
    backend: DatabaseMemoryBackend, store: OwnedMemory, clock: Clock
) -> None:
    await store.observe("c", [said(0, "The boiler was repaired by Okonkwo in May.")], subject=ANA)
    query = MemoryQuery(text="boiler repaired", with_messages=True)
    (hit,) = [one for one in (await store.search(query)).hits if one.entry.session == "c"]

    answer = said(1, "Okonkwo repaired the boiler in May.", recalled=[hit.entry.id], day=1)
    await store.observe("d", [said(0, "Who was it?", day=1), answer], subject=ANA)
    await rest(clock, days=1)
    await learner(backend, clock).learn()

    later = [one for one in await entries(store) if one.session == "d"]
    assert [one.content for one in later] == ["2026-03-02, 14:05–14:06: user: Who was it?"]


async def test_owners_learn_apart(
    backend: DatabaseMemoryBackend, store: OwnedMemory, other_store: OwnedMemory, clock: Clock
) -> None:
    await store.observe("c", [said(0, "I live in Madrid.")], subject=ANA)
    await other_store.observe("c", [said(0, "I live in Lisbon.", day=3)], subject=ANA)
    await rest(clock, days=3)
    await learner(backend, clock).learn()

    (mine,) = await entries(store, MemoryType.SEMANTIC)
    (theirs,) = await entries(other_store, MemoryType.SEMANTIC)
    assert (mine.content, mine.invalid_at) == ("The user lives in Madrid.", None)
    assert theirs.content == "The user lives in Lisbon."


async def test_a_model_takes_the_facts_with_one_call_for_each_episode(
    backend: DatabaseMemoryBackend, store: OwnedMemory, clock: Clock
) -> None:
    await store.observe("c", [said(0, "We go to Vienna in May.")], subject=ANA)
    await rest(clock)
    model = ScriptedProvider([fact("Ana travels to Vienna in May 2026.")])

    await learner(backend, clock, model).learn()

    (found,) = await entries(store, MemoryType.SEMANTIC)
    assert found.content == "Ana travels to Vienna in May 2026."
    assert len(model.requests) == 1


async def test_a_model_that_is_away_is_asked_again_after_a_pause(
    backend: DatabaseMemoryBackend, store: OwnedMemory, clock: Clock
) -> None:
    await store.observe("c", [said(0, "We go to Vienna in May.")], subject=ANA)
    await rest(clock)
    model = ScriptedProvider([ModelUnavailable("away"), fact("Ana travels to Vienna.")])
    one = learner(backend, clock, model)

    await one.learn()
    await one.learn()
    assert len(model.requests) == 1
    clock.now += timedelta(seconds=5)
    await one.learn()

    assert len(await entries(store, MemoryType.SEMANTIC)) == 1


async def test_a_model_that_asks_for_a_pause_gets_it(
    backend: DatabaseMemoryBackend, store: OwnedMemory, clock: Clock
) -> None:
    await store.observe("c", [said(0, "We go to Vienna in May.")], subject=ANA)
    await rest(clock)
    busy = RateLimited("busy", retry_after=60.0)
    model = ScriptedProvider([busy, fact("Ana travels to Vienna.")])
    one = learner(backend, clock, model)

    await one.learn()
    clock.now += timedelta(seconds=59)
    await one.learn()
    assert len(model.requests) == 1
    clock.now += timedelta(seconds=1)
    await one.learn()

    assert len(model.requests) == 2


async def test_cutting_goes_on_while_the_model_is_away(
    backend: DatabaseMemoryBackend, store: OwnedMemory, clock: Clock
) -> None:
    answers: list[ScriptedAnswer] = [ModelUnavailable("away")] * 9
    one = learner(backend, clock, ScriptedProvider(answers))
    for name in ("c", "d"):
        await store.observe(name, [said(0, "We go to Vienna in May.")], subject=ANA)
        await rest(clock)
        await one.learn()

    assert len(await entries(store, MemoryType.EPISODIC)) == 2


async def test_an_episode_that_a_model_cannot_read_is_left_to_the_rules(
    backend: DatabaseMemoryBackend, store: OwnedMemory, clock: Clock
) -> None:
    await store.observe("c", [said(0, "I live in Lisbon.")], subject=ANA)
    await rest(clock)

    await learner(backend, clock, ScriptedProvider(["what?", "what?"])).learn()

    (found,) = await entries(store, MemoryType.SEMANTIC)
    assert found.content == "The user lives in Lisbon."


async def test_a_conversation_of_thousands_is_cut_at_once(
    backend: DatabaseMemoryBackend, store: OwnedMemory, clock: Clock
) -> None:
    messages = [said(number, f"Line {number} about trains") for number in range(1000)]
    await store.observe("c", messages, subject=ANA)
    await rest(clock, days=2)

    await learner(backend, clock).learn()

    episodes = await entries(store, MemoryType.EPISODIC)
    kept = [one for episode in episodes for one in await store.episode_messages(episode.id)]
    assert [one.id for one in kept] == [one.id for one in messages]


async def test_it_works_by_itself_and_ends_when_it_is_told(
    backend: DatabaseMemoryBackend, store: OwnedMemory, clock: Clock
) -> None:
    await store.observe("c", [said(0, "I live in Lisbon.")], subject=ANA)
    await rest(clock)
    is_asked = asyncio.Event()

    def answer(*_: object) -> Completion:
        is_asked.set()
        return fact("The user lives in Lisbon.")

    model = ScriptedProvider([answer])
    schedule = LearningSchedule(poll_interval_s=0.01, min_interval_s=0.0)
    async with asyncio.timeout(5):
        async with Learner(
            backend.learning(), backend, model=model, schedule=schedule, clock=clock
        ):
            await is_asked.wait()


async def test_what_was_ended_in_the_middle_goes_on_where_it_was(
    backend: DatabaseMemoryBackend, store: OwnedMemory, clock: Clock
) -> None:
    await store.observe("c", [said(0, "We go to Vienna in May.")], subject=ANA)
    await rest(clock)
    slow = ScriptedProvider([fact("late")], delay=3600)
    ended = asyncio.create_task(learner(backend, clock, slow).learn())
    async with asyncio.timeout(5):
        while not slow.requests:
            await store.stats()
    ended.cancel()
    await asyncio.wait([ended])

    await learner(backend, clock, ScriptedProvider([fact("Ana travels to Vienna.")])).learn()

    found = [one.content for one in await entries(store)]
    assert found == ["2026-03-01, 14:05: user: We go to Vienna in May.", "Ana travels to Vienna."]


async def test_a_write_does_not_wait_for_a_model(
    backend: DatabaseMemoryBackend, store: OwnedMemory, clock: Clock
) -> None:
    await store.observe("c", [said(0, "We go to Vienna in May.")], subject=ANA)
    await rest(clock)
    slow = ScriptedProvider([fact("late")], delay=3600)
    learning = asyncio.create_task(learner(backend, clock, slow).learn())

    async with asyncio.timeout(5):
        while not slow.requests:
            await store.observe("d", [said(0, "hello")])
        count = await store.observe("d", [said(2, "still here")])

    assert count == 1
    learning.cancel()
    await asyncio.wait([learning])
