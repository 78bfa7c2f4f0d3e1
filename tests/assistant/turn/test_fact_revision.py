"""Fact revision: what a message says is outdated is closed before the turn, by the time at which
each was said."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import pytest

from spade_llm.assistant.turn.fact_revision import FactRevision, SaidMessage
from spade_llm.assistant.turn.recall import find_related
from spade_llm.core.errors import Busy
from spade_llm.memory import SQLiteMemoryBackend
from spade_llm.memory.contract import MemoryDraft, OnError
from spade_llm.search.memory_query import FACT_TYPES, Category, MemoryFilter

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Sequence

    from spade_llm.memory import OwnedMemory
    from spade_llm.memory.contract import BatchResult, MemoryChange, MemoryEntry, SearchResult
    from spade_llm.search.memory_query import MemoryQuery

ANA = "ana@x"
START = datetime(2026, 3, 1, 9, tzinfo=UTC)
DEADLINE_S = 0.5
"""Long enough for a memory that answers on a busy machine; one that does not is waited for."""


def at(minutes: int) -> datetime:
    return START + timedelta(minutes=minutes)


def message(text: str, *before: str, minutes: int = 60) -> SaidMessage:
    return SaidMessage(text=text, conversation="s", said_before=before, at=at(minutes))


@pytest.fixture
async def memory() -> AsyncIterator[OwnedMemory]:
    async with SQLiteMemoryBackend(":memory:") as backend:
        yield backend.for_owner("a@x")


async def told(
    memory: OwnedMemory, content: str, *, minutes: int = 0, subject: str = ANA
) -> MemoryEntry:
    return await memory.add(MemoryDraft(content=content, subject=subject, valid_at=at(minutes)))


async def revised(
    revision: FactRevision, message: SaidMessage, *, is_away: bool = False
) -> frozenset[str]:
    return await revision.close(await revision.compare(message, subject=ANA, is_away=is_away))


async def current(memory: OwnedMemory) -> set[str]:
    return {one.content for one in (await memory.list()).entries}


async def test_a_change_closes_the_old_fact_of_this_person_only(memory: OwnedMemory) -> None:
    ids = [
        (await told(memory, text, subject=subject)).id
        for text, subject in (
            ("I live in Madrid", ANA),
            ("The user lives in Madrid.", ANA),
            ("My sister lives in Madrid", ANA),
            ("I live in Madrid", "bob@x"),
        )
    ]
    revision = FactRevision(memory)

    closed = await revised(revision, message("I moved to Valencia last month"))

    assert closed == set(ids[:2])
    assert {one.id for one in (await memory.list()).entries} == set(ids[2:])
    assert (await memory.get(ids[0])).invalid_at == at(60)


async def test_a_correction_names_a_fact_of_another_conversation(memory: OwnedMemory) -> None:
    entry = await told(memory, "My sister is called Ana")

    closed = await revised(FactRevision(memory), message("she's not called Ana, it's Anna"))

    assert closed == {entry.id}


async def test_what_a_message_makes_outdated_is_told_with_it(memory: OwnedMemory) -> None:
    entry = await told(memory, "My sister is called Ana")

    found = await FactRevision(memory).compare(
        message("she's not called Ana, it's Anna"), subject=ANA
    )

    assert [one.id for one in found.closed] == [entry.id]


async def test_questions_and_reports_close_nothing(memory: OwnedMemory) -> None:
    await told(memory, "I live in Madrid")
    revision = FactRevision(memory)

    for text in ("Do I live in Rome?", "Ana says she lives in Rome", "If I lived in Rome"):
        assert not await revised(revision, message(text))


async def test_what_was_said_later_is_not_closed(memory: OwnedMemory) -> None:
    await told(memory, "I live in Madrid", minutes=90)

    closed = await revised(FactRevision(memory), message("I moved to Valencia", minutes=60))

    assert closed == set()
    assert await current(memory) == {"I live in Madrid"}


@pytest.mark.parametrize(
    "before",
    ["Los vecinos hicieron una fiesta", "El autobús llegó tarde otra vez", "Vimos una película"],
)
async def test_small_talk_before_a_change_does_not_hide_the_old_fact(
    memory: OwnedMemory, before: str
) -> None:
    await told(memory, before, minutes=-1)
    await told(memory, "Vivo en Madrid")

    await revised(FactRevision(memory), message("me he mudado a Jaén", before))

    assert await current(memory) == {before}


async def test_the_words_of_many_concepts_are_all_searched_for(memory: OwnedMemory) -> None:
    entry = await told(memory, "Vivo en Madrid")
    text = "El coche, la fiesta, los vecinos, el perro, mi hermana, el dentista y mudarme"

    found = await find_related(
        memory, text, which=MemoryFilter(subject=ANA, types=FACT_TYPES), limit=30
    )

    assert [one.id for one in found] == [entry.id]


async def test_a_change_closes_also_what_the_last_value_had_left_open(memory: OwnedMemory) -> None:
    await told(memory, "Vivo en Madrid")
    await told(memory, "Me he mudado a Jaén", minutes=10)

    await revised(FactRevision(memory), message("me he mudado a Vigo"))

    assert await current(memory) == set()


async def test_what_is_told_is_stored_unless_it_is_known_or_the_model_has_stored_it(
    memory: OwnedMemory,
) -> None:
    await told(memory, "The user's sister is called Ana.")
    revision = FactRevision(memory)
    said = message("My sister is called Ana. We have a dog, Rex. I love jazz! Is it late?")

    found = await revision.compare(said, subject=ANA)
    await revision.keep(found, stored=['{"content": "The user has a dog called Rex"}'])

    assert await current(memory) == {"The user's sister is called Ana.", "I love jazz"}
    (taste,) = (await memory.list(MemoryFilter(category=Category.PREFERENCE))).entries
    assert (taste.subject, taste.session, taste.valid_at) == (ANA, "s", at(60))


async def test_what_was_told_while_memory_was_away_is_stored_with_the_next_message(
    memory: OwnedMemory,
) -> None:
    revision = FactRevision(memory)
    await revised(revision, message("I live in Madrid", minutes=30), is_away=True)

    await revision.keep(await revision.compare(message("My dog is Rex"), subject=ANA))

    assert await current(memory) == {"I live in Madrid", "My dog is Rex"}


async def test_a_taken_back_message_leaves_what_it_seemed_to_replace(memory: OwnedMemory) -> None:
    await told(memory, "I live in Madrid")
    await told(memory, "I moved to Jaén", minutes=10)

    await revised(FactRevision(memory), message("just kidding", "I moved to Jaén"))

    assert await current(memory) == {"I live in Madrid"}


class _GatedMemory:
    """A memory with an outage: requests wait until it is over, or fail at once."""

    def __init__(self, memory: OwnedMemory) -> None:
        self._memory = memory
        self.is_up = asyncio.Event()
        self.is_refusing = False

    async def search(self, query: MemoryQuery) -> SearchResult:
        if self.is_refusing:
            raise Busy("too much to do")
        await self.is_up.wait()
        return await self._memory.search(query)

    async def update_many(
        self, changes: Sequence[MemoryChange], *, on_error: OnError = OnError.ROLLBACK
    ) -> BatchResult:
        await self.is_up.wait()
        return await self._memory.update_many(changes, on_error=on_error)

    async def add_many(self, drafts: Sequence[MemoryDraft]) -> object:
        await self.is_up.wait()
        return await self._memory.add_many(drafts)


@pytest.mark.parametrize("outage", ["late", "busy", "away"])
async def test_what_memory_missed_is_closed_before_the_next_turn(
    memory: OwnedMemory, outage: str
) -> None:
    old = await told(memory, "I live in Madrid")
    gate = _GatedMemory(memory)
    gate.is_refusing = outage == "busy"
    revision = FactRevision(gate, deadline_s=DEADLINE_S)

    first = await revised(revision, message("I moved to Valencia"), is_away=outage == "away")
    await told(memory, "I moved to Valencia", minutes=60)
    gate.is_refusing = False
    gate.is_up.set()
    then = await revised(revision, message("where do I live?", minutes=70))

    assert not first
    assert then == {old.id}
    assert await current(memory) == {"I moved to Valencia"}


async def test_a_late_comparison_closes_nothing_that_was_said_since(memory: OwnedMemory) -> None:
    await told(memory, "I live in Madrid")
    gate = _GatedMemory(memory)
    revision = FactRevision(gate, deadline_s=DEADLINE_S)
    await revised(revision, message("I moved to Valencia"))
    await told(memory, "I moved to Rome", minutes=65)
    gate.is_up.set()

    await revised(revision, message("what a day", minutes=70))

    assert await current(memory) == {"I moved to Rome"}


async def test_what_was_not_closed_in_time_is_closed_before_the_next_turn(
    memory: OwnedMemory,
) -> None:
    old = await told(memory, "I live in Madrid")
    gate = _GatedMemory(memory)
    gate.is_up.set()
    revision = FactRevision(gate, deadline_s=DEADLINE_S)
    found = await revision.compare(message("I moved to Valencia"), subject=ANA)
    gate.is_up.clear()

    assert await revision.close(found) == {old.id}
    assert await current(memory) == {"I live in Madrid"}
    gate.is_up.set()
    assert await revised(revision, message("what a day", minutes=70)) == {old.id}
    assert await current(memory) == set()


async def test_a_message_that_is_only_compared_changes_nothing(memory: OwnedMemory) -> None:
    await told(memory, "I live in Madrid")
    revision = FactRevision(memory)

    await revision.compare(message("I moved to Valencia"), subject=ANA)

    assert await revised(revision, message("what a day", minutes=70)) == set()
    assert await current(memory) == {"I live in Madrid"}


async def test_a_fact_of_the_conversation_is_closed_by_an_event_without_a_common_word(
    memory: OwnedMemory,
) -> None:
    entry = await told(memory, "I do nights at the Amazon warehouse")
    change = message("I handed my notice in and joined the council", entry.content, "it rains")

    assert await revised(FactRevision(memory), change) == {entry.id}


async def test_a_fact_that_a_change_has_no_word_of_is_closed(memory: OwnedMemory) -> None:
    visit = "Our dentist is Dr Hale, next visit 12 December at 9:40"
    entry = await told(memory, visit)
    change = message("they can only do the 19th now", visit, "I take the bus to work")

    assert await revised(FactRevision(memory), change) == {entry.id}
