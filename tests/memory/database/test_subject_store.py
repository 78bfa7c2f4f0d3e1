"""A person sees, corrects and removes what every agent remembers about them, and nothing else."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from spade_llm.core.errors import InvalidArguments, NotFound
from spade_llm.memory import MemoryDraft, OwnedMemory
from spade_llm.search.memory_query import MemoryFilter, MemoryQuery
from tests.memory.contract import ADA, BOB, said
from tests.memory.talks import learn, patterns, talk

if TYPE_CHECKING:
    from spade_llm.memory.contract import SubjectStore
    from spade_llm.memory.database.backend import DatabaseMemoryBackend


@pytest.fixture
def about(backend: DatabaseMemoryBackend) -> SubjectStore:
    return backend.about(ADA)


async def test_all_owners_memories_of_a_person_are_listed_newest_first(
    store: OwnedMemory, other_store: OwnedMemory, about: SubjectStore
) -> None:
    await store.add(MemoryDraft(content="first", subject=ADA))
    await other_store.add(MemoryDraft(content="second", subject=ADA))
    await store.add(MemoryDraft(content="of bob", subject=BOB))
    await store.add(MemoryDraft(content="gone", subject=ADA, ttl_s=0))

    page = await about.list()

    assert [(entry.content, entry.owner) for entry in page.entries] == [
        ("second", "someone.else@localhost"),
        ("first", "assistant@localhost"),
    ]
    assert page.total == 2


async def test_a_person_corrects_what_is_about_them_only(
    store: OwnedMemory, about: SubjectStore
) -> None:
    mine = await store.add(MemoryDraft(content="Ada is 40", subject=ADA))
    bobs = await store.add(MemoryDraft(content="Bob is 40", subject=BOB))

    corrected = await about.correct(mine.id, "Ada is 41")

    assert corrected.content == "Ada is 41"
    assert (await store.get(mine.id)).content == "Ada is 41"
    with pytest.raises(NotFound):
        await about.correct(bobs.id, "x")
    with pytest.raises(InvalidArguments, match="UUID"):
        await about.correct("%", "x")
    with pytest.raises(InvalidArguments, match="content"):
        await about.correct(mine.id, " ")


async def test_a_person_forgets_with_every_owner(
    store: OwnedMemory, other_store: OwnedMemory, about: SubjectStore
) -> None:
    one = await store.add(MemoryDraft(content="one", subject=ADA))
    await other_store.add(MemoryDraft(content="two", subject=ADA))
    bobs = await store.add(MemoryDraft(content="of bob", subject=BOB))
    await other_store.observe("c", [said("1")], subject=ADA)

    assert await about.forget([one.id, bobs.id]) == 1
    assert await about.forget_all() == 1

    assert (await about.list()).total == 0
    assert list(await other_store.history("c")) == []
    assert (await store.list()).entries[0].content == "of bob"


async def test_a_person_finds_what_was_kept_under_another_spelling_of_their_address(
    store: OwnedMemory, about: SubjectStore
) -> None:
    name, _, host = ADA.partition("@")
    odd = f"{name.title()}@{host.upper()}/phone"
    entry = await store.add(MemoryDraft(content="Ada likes tea", subject=odd))
    await store.observe("c", [said("1", "I like tea")], subject=odd)

    assert [one.id for one in (await about.list()).entries] == [entry.id]
    for spelled in (ADA, odd):
        which = MemoryFilter(subject=spelled)
        assert (await store.list(which)).total == 1
        assert len((await store.search(MemoryQuery(text="tea", which=which))).hits) == 1
    assert (await store.add(MemoryDraft(content="x", subject="User-1"))).subject == "User-1"

    assert await about.forget_all() == 1
    assert list(await store.history("c")) == []


async def test_a_person_sees_whom_they_let_compare_conversations_and_ends_it_everywhere(
    backend: DatabaseMemoryBackend,
    store: OwnedMemory,
    other_store: OwnedMemory,
    about: SubjectStore,
) -> None:
    for memory in (store, other_store):
        await memory.set_consent(ADA, is_given=True)
        for day in range(3):
            await talk(memory, ["we fly to Lisbon"], day=day, subject=ADA)
    await store.set_consent(BOB, is_given=True)
    await learn(backend)
    assert len(await patterns(other_store, ADA)) == 1
    both = ["assistant@localhost", "someone.else@localhost"]
    assert await about.consented_owners() == both

    assert await about.withdraw_all() == both

    assert await about.consented_owners() == []
    assert [await patterns(memory, ADA) for memory in (store, other_store)] == [[], []]
    assert (await store.consent(BOB)).since is not None


async def test_who_forgets_everything_allows_nothing_any_more(
    store: OwnedMemory, about: SubjectStore
) -> None:
    await store.set_consent(ADA, is_given=True)

    await about.forget_all()

    assert await about.consented_owners() == []


async def test_what_a_person_said_in_rooms_is_theirs_too_and_of_nobody_with_a_like_name(
    store: OwnedMemory, other_store: OwnedMemory, about: SubjectStore
) -> None:
    seat, likeness = f"{ADA} in tea@rooms", f"{ADA}.org in tea@rooms"
    said_there = await store.add(MemoryDraft(content="Ada drinks tea", subject=seat))
    wrong = await other_store.add(MemoryDraft(content="Ada drinks gin", subject=seat))
    others = await store.add(MemoryDraft(content="Bob drinks tea", subject=likeness))

    listed = (await about.list()).entries
    corrected = await about.correct(wrong.id, "Ada drinks water")
    forgotten = await about.forget([said_there.id, others.id])
    left = await other_store.forget_subject(ADA)

    assert {entry.content for entry in listed} == {"Ada drinks tea", "Ada drinks gin"}
    assert corrected.content == "Ada drinks water"
    assert (forgotten, left) == (1, 1)
    assert (await about.list()).entries == ()
    assert (await store.get(others.id)).subject == likeness


async def test_what_a_person_said_in_private_is_not_found_in_a_room(
    store: OwnedMemory,
) -> None:
    seat = f"{ADA} in tea@rooms"
    await store.add(MemoryDraft(content="The gate opens with 4711", subject=ADA))
    await store.add(MemoryDraft(content="The gate is blue", subject=seat))

    found = await store.search(MemoryQuery(text="gate", which=MemoryFilter(subject=seat)))

    assert [hit.entry.content for hit in found.hits] == ["The gate is blue"]
