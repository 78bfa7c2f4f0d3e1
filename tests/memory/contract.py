"""What every MemoryStore and HistoryStore promises, near or far.

A test module imports these functions and has fixtures `store` and `other_store`: the memories of
two owners in one backend, both empty.
"""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta
from uuid import UUID

import pytest

from spade_llm.core.errors import InvalidArguments, RequestRefused
from spade_llm.memory import Category, MemoryDraft, ObservedMessage, OwnedMemory, ScoredMemory, Tier
from spade_llm.search.memory_query import MemoryFilter, MemoryQuery

ADA = "ada@localhost"
BOB = "bob@localhost"
NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
REFUSED = (InvalidArguments, RequestRefused)


def said(id: str, content: str = "hello", role: str = "user") -> ObservedMessage:
    return ObservedMessage(id=id, role=role, content=content, at=NOON)


async def said_in(store: OwnedMemory, conversation: str) -> list[ObservedMessage]:
    return list(await store.history(conversation))


async def hits(
    store: OwnedMemory, query: str, subject: str | None = None, limit: int = 10
) -> tuple[ScoredMemory, ...]:
    which = MemoryFilter(subject=subject)
    return (await store.search(MemoryQuery(text=query, which=which, limit=limit))).hits


async def contents(store: OwnedMemory, query: str, subject: str | None = None) -> list[str]:
    return [hit.entry.content for hit in await hits(store, query, subject)]


async def test_a_new_entry_has_what_it_was_given(store: OwnedMemory) -> None:
    before = datetime.now(UTC) - timedelta(seconds=1)
    draft = MemoryDraft(
        content="Ada prefers tea",
        category=Category.PREFERENCE,
        context="breakfast",
        confidence=0.8,
        subject=ADA,
        session="s1",
        tier=Tier.WORKING,
        tags=("drinks", "té"),
        metadata={"source": "chat", "n": 3},
    )

    entry = await store.add(draft)

    assert UUID(entry.id)
    assert before < entry.created_at == entry.updated_at
    assert entry.created_at.utcoffset() == timedelta(0)
    assert (entry.content, entry.category, entry.context) == (
        draft.content,
        draft.category,
        draft.context,
    )
    assert (entry.confidence, entry.subject, entry.session, entry.tier) == (
        0.8,
        ADA,
        "s1",
        Tier.WORKING,
    )
    assert (entry.tags, dict(entry.metadata)) == (("drinks", "té"), {"source": "chat", "n": 3})
    assert (entry.access_count, entry.last_accessed_at) == (0, None)
    assert (await store.list()).entries == (entry,)


async def test_the_same_key_gives_the_same_entry(store: OwnedMemory) -> None:
    first = await store.add(MemoryDraft(content="The port is 5432"), key="k1")

    again = await store.add(MemoryDraft(content="The port is 5432"), key="k1")

    assert again == first
    assert (await store.list()).total == 1


async def test_a_key_means_its_first_write(store: OwnedMemory) -> None:
    first = await store.add(MemoryDraft(content="The port is 5432"), key="k1")

    again = await store.add(MemoryDraft(content="something else"), key="k1")

    assert again == first
    assert (await store.list()).total == 1


async def test_the_same_key_strengthens_an_entry_once(store: OwnedMemory) -> None:
    await store.add(MemoryDraft(content="The port is 5432", confidence=0.5), key="k1")

    second = await store.add(MemoryDraft(content="The port is 5432", confidence=0.5), key="k2")
    again = await store.add(MemoryDraft(content="The port is 5432", confidence=0.5), key="k2")

    assert second == again
    assert again.confidence == 0.75


async def test_the_same_content_strengthens_what_is_there(store: OwnedMemory) -> None:
    first = await store.add(MemoryDraft(content="Ada likes tea", confidence=0.5))

    again = await store.add(MemoryDraft(content="Ada likes tea", confidence=0.5, context="twice"))

    assert again.id == first.id
    assert again.confidence == 0.75
    assert again.context == "twice"
    assert again.access_count == 1
    assert again.updated_at >= first.updated_at
    assert again.created_at == first.created_at
    assert (await store.list()).total == 1


async def test_the_same_content_about_somebody_else_is_another_entry(store: OwnedMemory) -> None:
    ids = {
        (await store.add(MemoryDraft(content="likes tea", subject=subject, category=category))).id
        for subject in (None, ADA, BOB)
        for category in (Category.FACT, Category.PREFERENCE)
    }

    assert len(ids) == 6


async def test_a_question_finds_the_fact_that_answers_it(store: OwnedMemory) -> None:
    await store.add(MemoryDraft(content="My name is Ada"))
    await store.add(MemoryDraft(content="What is this? It is my bicycle"))

    assert await contents(store, "what is my name") == ["My name is Ada"]


async def test_a_spanish_question_finds_the_fact_with_or_without_accents(
    store: OwnedMemory,
) -> None:
    await store.add(MemoryDraft(content="El cumpleaños de Ada es en mayo, en Córdoba"))

    assert len(await contents(store, "¿Cuándo es el CUMPLEANOS?")) == 1
    assert len(await contents(store, "cordoba")) == 1


async def test_words_are_found_in_every_form(store: OwnedMemory) -> None:
    await store.add(MemoryDraft(content="Users often ask about API authentication"))

    assert len(await contents(store, "a user asking for APIs")) == 1


async def test_the_beginning_of_a_word_is_found_when_the_word_is_not(store: OwnedMemory) -> None:
    await store.add(MemoryDraft(content="PostgreSQL listens on 5432"))

    assert len(await contents(store, "postgres")) == 1


async def test_context_and_tags_are_searched_too(store: OwnedMemory) -> None:
    await store.add(MemoryDraft(content="one", context="the garden"))
    await store.add(MemoryDraft(content="two", tags=("kitchen",)))

    assert await contents(store, "garden") == ["one"]
    assert await contents(store, "kitchen") == ["two"]


@pytest.mark.parametrize("query", ["zebra", "   ", "?!", "what is the", "¿qué es?"])
async def test_nothing_is_found_when_nothing_speaks_of_it(store: OwnedMemory, query: str) -> None:
    await store.add(MemoryDraft(content="My name is Ada, what is the matter?"))

    assert await contents(store, query) == []


async def test_hits_are_ordered_by_a_score_from_0_to_1(store: OwnedMemory) -> None:
    for content in ("tea", "green tea from Uji", "coffee and tea and milk and sugar", "water"):
        await store.add(MemoryDraft(content=content))

    scores = [hit.score for hit in await hits(store, "green tea")]

    assert len(scores) == 3
    assert scores == sorted(scores, reverse=True)
    assert all(0 <= score <= 1 for score in scores)


async def test_what_matches_more_words_comes_first(store: OwnedMemory) -> None:
    for number in range(20):
        await store.add(MemoryDraft(content=f"port number {number}"))
    await store.add(MemoryDraft(content="the database port"))

    assert (await contents(store, "which port has the database?"))[0] == "the database port"


async def test_equal_hits_are_ordered_by_age_newest_first(store: OwnedMemory) -> None:
    for animal in ("cat", "dog", "hen"):
        await store.add(MemoryDraft(content=f"pet {animal}"))

    assert await contents(store, "pet") == ["pet hen", "pet dog", "pet cat"]


async def test_the_same_content_is_never_found_twice(store: OwnedMemory) -> None:
    for number in range(40):
        await store.add(MemoryDraft(content="likes tea", subject=f"{number}@localhost"))
    await store.add(MemoryDraft(content="tea with a long story behind it, told at length"))

    assert sorted(await contents(store, "tea")) == [
        "likes tea",
        "tea with a long story behind it, told at length",
    ]


async def test_a_search_is_limited(store: OwnedMemory) -> None:
    for number in range(9):
        await store.add(MemoryDraft(content=f"tea {number}"))

    assert len(await hits(store, "tea", limit=4)) == 4


async def test_a_search_can_be_about_one_subject(store: OwnedMemory) -> None:
    await store.add(MemoryDraft(content="Ada likes tea", subject=ADA))
    await store.add(MemoryDraft(content="Bob likes tea", subject=BOB))
    await store.add(MemoryDraft(content="Nobody likes tea"))

    assert await contents(store, "tea", ADA) == ["Ada likes tea"]
    assert len(await contents(store, "tea")) == 3


@pytest.mark.parametrize(
    "query",
    ['"', "tea OR *", "tea AND NOT milk", "NEAR(tea milk)", "content:milk", "{", "-tea ^", "%_'"],
)
async def test_search_syntax_is_only_text(store: OwnedMemory, query: str) -> None:
    await store.add(MemoryDraft(content="tea and milk"))

    assert len(await hits(store, query)) <= 1


async def test_what_was_recalled_is_counted(store: OwnedMemory) -> None:
    await store.add(MemoryDraft(content="Ada likes tea"))

    await hits(store, "tea")
    await store.add(MemoryDraft(content="a later write"))

    entry = (await store.list()).entries[-1]
    assert entry.access_count == 1
    assert entry.last_accessed_at is not None


async def test_a_list_is_newest_first_and_comes_in_pages(store: OwnedMemory) -> None:
    for number in range(5):
        await store.add(MemoryDraft(content=f"fact {number}"))

    first = await store.list(limit=2)
    last = await store.list(limit=2, offset=4)

    assert [entry.content for entry in first.entries] == ["fact 4", "fact 3"]
    assert [entry.content for entry in last.entries] == ["fact 0"]
    assert first.total == last.total == 5


async def test_a_list_can_be_of_one_category_and_subject(store: OwnedMemory) -> None:
    await store.add(MemoryDraft(content="1", category=Category.PATTERN, subject=ADA))
    await store.add(MemoryDraft(content="2", category=Category.PATTERN, subject=BOB))
    await store.add(MemoryDraft(content="3", category=Category.FACT, subject=ADA))

    page = await store.list(MemoryFilter(category=Category.PATTERN, subject=ADA))

    assert [entry.content for entry in page.entries] == ["1"]
    assert page.total == 1


async def test_what_was_forgotten_is_gone(store: OwnedMemory) -> None:
    entry = await store.add(MemoryDraft(content="Ada likes tea"))
    await store.add(MemoryDraft(content="Ada likes milk"))

    assert await store.forget([entry.id]) == 1

    assert await contents(store, "tea") == []
    assert (await store.list()).total == 1
    assert await store.forget([entry.id]) == 0


async def test_only_what_is_about_the_subject_is_forgotten(store: OwnedMemory) -> None:
    entry = await store.add(MemoryDraft(content="Ada likes tea", subject=ADA))

    assert await store.forget([entry.id], subject=BOB) == 0
    assert await store.forget([entry.id], subject=ADA) == 1


async def test_what_was_forgotten_can_be_learned_anew(store: OwnedMemory) -> None:
    entry = await store.add(MemoryDraft(content="Ada likes tea", confidence=0.5))
    await store.forget([entry.id])

    anew = await store.add(MemoryDraft(content="Ada likes tea", confidence=0.5))

    assert anew.id != entry.id
    assert anew.confidence == 0.5


async def test_everything_about_a_subject_is_forgotten(store: OwnedMemory) -> None:
    await store.add(MemoryDraft(content="Ada likes tea", subject=ADA))
    await store.add(MemoryDraft(content="Ada likes milk", subject=ADA))
    await store.add(MemoryDraft(content="Bob likes tea", subject=BOB))
    await store.observe("with ada", [said("1")], subject=ADA)
    await store.observe("with bob", [said("1")], subject=BOB)

    assert await store.forget_subject(ADA) == 2

    assert await contents(store, "tea milk") == ["Bob likes tea"]
    assert await said_in(store, "with ada") == []
    assert len(await store.history("with bob")) == 1


async def test_a_conversation_closed_and_forgotten_can_begin_again(store: OwnedMemory) -> None:
    await store.observe("with ada", [said("1")], subject=ADA)
    await store.close_conversation("with ada")
    await store.forget_subject(ADA)

    await store.observe("with ada", [said("2")], subject=ADA)

    assert [message.id for message in await store.history("with ada")] == ["2"]


async def test_a_conversation_is_kept_verbatim_and_in_order(store: OwnedMemory) -> None:
    messages = [said("1", "¿qué tal?\n"), said("2", "bien", "assistant"), said("3", "  ok 👍🏽")]

    assert await store.observe("c", messages) == 3

    assert await said_in(store, "c") == messages


async def test_the_latest_messages_come_oldest_first(store: OwnedMemory) -> None:
    await store.observe("c", [said(str(number)) for number in range(9)])

    assert [message.id for message in await store.history("c", limit=3)] == ["6", "7", "8"]


async def test_a_history_is_read_page_by_page(store: OwnedMemory) -> None:
    await store.observe("c", [said(str(number)) for number in range(5)])
    await store.observe("another", [said("2")])

    pages = [await store.history("c", limit=2, before=before) for before in ("3", "1", "0")]

    assert [[message.id for message in page] for page in pages] == [["1", "2"], ["0"], []]
    assert list(await store.history("c", before="unknown")) == []


async def test_nobody_is_compared_who_did_not_allow_it_and_each_owner_is_told_apart(
    store: OwnedMemory, other_store: OwnedMemory
) -> None:
    assert (await store.consent("Ada@X/phone")).since is None

    given = await store.set_consent("Ada@X/phone", is_given=True)

    assert given.since is not None
    assert await store.set_consent("ada@x", is_given=True) == given
    assert await store.consent("ada@x") == given
    assert (await store.consent("bob@x")).since is None
    assert (await other_store.consent("ada@x")).since is None
    assert (await store.set_consent("ada@x", is_given=False)).since is None
    assert (await store.consent("ada@x")).since is None


async def test_who_is_forgotten_allows_nothing_any_more(store: OwnedMemory) -> None:
    await store.set_consent("ada@x", is_given=True)

    await store.forget_subject("ada@x")

    assert (await store.consent("ada@x")).since is None


async def test_a_message_observed_twice_is_kept_once(store: OwnedMemory) -> None:
    await store.observe("c", [said("1", "first")])

    assert await store.observe("c", [said("1", "changed"), said("2")]) == 1

    assert [message.content for message in await store.history("c")] == ["first", "hello"]


async def test_conversations_are_apart(store: OwnedMemory) -> None:
    await store.observe("a", [said("1")])

    assert await store.observe("b", [said("1")]) == 1
    assert len(await store.history("a")) == 1
    assert await said_in(store, "none") == []


async def test_a_closed_conversation_begins_anew_and_keeps_its_messages(
    store: OwnedMemory,
) -> None:
    await store.observe("c", [said("1")])

    await store.close_conversation("c")
    after_closing = await said_in(store, "c")
    seen_again = await store.observe("c", [said("1"), said("2")])

    assert after_closing == []
    assert seen_again == 1
    assert [message.id for message in await store.history("c")] == ["2"]


async def test_what_was_said_otherwise_is_taken_back_in_its_conversation_only(
    store: OwnedMemory, other_store: OwnedMemory
) -> None:
    for one, place in ((store, "c"), (store, "d"), (other_store, "c")):
        await one.observe(place, [said("1"), said("2", "left"), said("3", "right")], subject=ADA)

    assert await store.retract("c", ["2", "3", "unknown"]) == 2

    assert await store.retract("c", ["2"]) == 0
    assert [message.id for message in await store.history("c")] == ["1"]
    assert len(await store.history("d")) == len(await other_store.history("c")) == 3
    assert await store.observe("c", [said("2", "right", "assistant")], subject=ADA) == 1


async def test_owners_never_see_each_other(store: OwnedMemory, other_store: OwnedMemory) -> None:
    entry = await store.add(MemoryDraft(content="Ada likes tea", subject=ADA), key="k")
    await store.observe("c", [said("1")], subject=ADA)

    assert await contents(other_store, "tea") == []
    assert (await other_store.list(MemoryFilter(subject=ADA))).total == 0
    assert await other_store.forget([entry.id]) == 0
    assert await other_store.forget_subject(ADA) == 0
    assert await said_in(other_store, "c") == []
    await other_store.close_conversation("c")
    own = await other_store.add(MemoryDraft(content="Ada likes tea", subject=ADA), key="k")

    assert own.id != entry.id
    assert (await store.list()).entries == (entry,)
    assert len(await store.history("c")) == 1


async def test_sixty_four_writers_lose_nothing(store: OwnedMemory) -> None:
    async def write(writer: int) -> None:
        for number in range(5):
            await store.add(MemoryDraft(content=f"writer {writer} fact {number}"))

    await asyncio.gather(*(write(writer) for writer in range(64)))

    pages = [await store.list(limit=100, offset=offset) for offset in range(0, 400, 100)]
    assert {page.total for page in pages} == {320}
    assert len({entry.content for page in pages for entry in page.entries}) == 320


@pytest.mark.parametrize(
    ("draft", "field"),
    [
        (MemoryDraft(content=""), "content"),
        (MemoryDraft(content=" \n"), "content"),
        (MemoryDraft(content="x" * (32 * 1024 + 1)), "content"),
        (MemoryDraft(content="x", context="x" * (4 * 1024 + 1)), "context"),
        (MemoryDraft(content="x", confidence=1.01), "confidence"),
        (MemoryDraft(content="x", confidence=-0.01), "confidence"),
        (MemoryDraft(content="x", tags=("x",) * 33), "tags"),
        (MemoryDraft(content="x", tags=("x" * 129,)), "tags"),
        (MemoryDraft(content="x", subject="x" * 4000), "subject"),
        (MemoryDraft(content="x", session="x" * 4000), "session"),
        (MemoryDraft(content="x", metadata={"x": "x" * 17_000}), "metadata"),
    ],
)
async def test_a_draft_out_of_bounds_is_refused_by_field(
    store: OwnedMemory, draft: MemoryDraft, field: str
) -> None:
    with pytest.raises(REFUSED, match=field):
        await store.add(draft)

    assert (await store.list()).total == 0


async def test_an_id_that_is_no_uuid_is_refused(store: OwnedMemory) -> None:
    with pytest.raises(REFUSED, match="ids"):
        await store.forget(["%"])


async def test_a_message_of_nobody_is_refused(store: OwnedMemory) -> None:
    with pytest.raises(REFUSED, match="role"):
        await store.observe("c", [said("1", role="system")])
