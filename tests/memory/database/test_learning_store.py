"""What is still to be learned: nothing twice, nothing left out, nothing of what was forgotten."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from datetime import timedelta
from typing import TYPE_CHECKING

import pytest

from spade_llm.memory import MemoryDraft, OwnedMemory, SQLiteMemoryBackend
from spade_llm.memory.database.embedding import SELECT_EPISODE_MESSAGES, SELECT_PERSON_SALIENCES
from spade_llm.memory.database.entries import SELECT_LEARNED
from spade_llm.memory.database.learning_store import SELECT_POSITION
from spade_llm.memory.database.removal import SELECT_UNCUT
from spade_llm.memory.database.removal import SELECT_UNREAD as SELECT_UNREAD_SAID
from spade_llm.memory.learning.learning_contract import EpisodeDraft, LearningStore
from spade_llm.search.memory_query import MemoryFilter, MemoryQuery, MemoryType, Origin, SearchMode
from tests.memory.contract import ADA, BOB, NOON, said
from tests.memory.places import file_only

if TYPE_CHECKING:
    from pathlib import Path

    from spade_llm.memory import MemoryEntry
    from spade_llm.memory.database.backend import DatabaseMemoryBackend
    from spade_llm.memory.learning.learning_contract import MessageRange


@pytest.fixture
def learning(backend: DatabaseMemoryBackend) -> LearningStore:
    return backend.learning()


async def stretch_of(store: OwnedMemory, learning: LearningStore, count: int) -> MessageRange:
    messages = [said(str(number), f"line {number}") for number in range(count)]
    await store.observe("c", messages, subject=ADA)
    (message_range,) = (await learning.due()).ranges
    return message_range


def episode(first: int, last: int) -> EpisodeDraft:
    draft = MemoryDraft(content=f"lines {first} to {last}", valid_at=NOON)
    return EpisodeDraft(draft=draft, first_message=str(first), last_message=str(last))


async def one_episode(store: OwnedMemory, learning: LearningStore) -> MemoryEntry:
    message_range = await stretch_of(store, learning, 3)
    await learning.save_episodes(message_range, [episode(0, 2)])
    (kept,) = (await learning.due()).episodes
    return kept


async def test_a_stretch_is_what_no_episode_holds(
    store: OwnedMemory, learning: LearningStore
) -> None:
    message_range = await stretch_of(store, learning, 5)

    assert (message_range.owner, message_range.conversation) == ("assistant@localhost", "c")
    assert message_range.subject == ADA
    assert [message.id for message in message_range.messages] == list("01234")


async def test_what_a_search_gave_is_known_by_the_id_that_it_had_there(tmp_path: Path) -> None:
    async with SQLiteMemoryBackend(tmp_path / "memory.db", is_learned_from=True) as backend:
        store, learning = backend.for_owner(BOB), backend.learning()
        await store.observe("c", [said("1", "a green bicycle"), said("2", "rain")], subject=ADA)
        query = MemoryQuery(text="bicycle", mode=SearchMode.KEYWORD, with_messages=True)
        (hit,) = (await store.search(query)).hits

        known = await learning.recently_returned_messages(BOB, [hit.entry.id, "another"])
        of_another = await learning.recently_returned_messages(ADA, [hit.entry.id])
        await store.retract("c", ["1"])
        gone = await learning.recently_returned_messages(BOB, [hit.entry.id])

    assert known == {hit.entry.id: "a green bicycle"}
    assert (of_another, gone) == ({}, {})


async def test_kept_episodes_hold_their_messages(
    store: OwnedMemory, learning: LearningStore
) -> None:
    message_range = await stretch_of(store, learning, 6)

    ids = await learning.save_episodes(message_range, [episode(0, 1), episode(3, 4)])

    (left,) = (await learning.due()).ranges
    assert [message.id for message in left.messages] == ["5"]
    assert [one.id for one in await store.episode_messages(ids[1])] == ["3", "4"]
    entry = await store.get(ids[0])
    assert (entry.origin, entry.type, entry.session) == (Origin.EPISODE, MemoryType.EPISODIC, "c")
    assert entry.subject == ADA


async def test_the_same_episodes_again_are_those_that_are_there(
    store: OwnedMemory, learning: LearningStore
) -> None:
    message_range = await stretch_of(store, learning, 3)

    first = await learning.save_episodes(message_range, [episode(0, 2)])

    assert await learning.save_episodes(message_range, [episode(0, 2)]) == first
    assert (await store.list()).total == 1
    assert list((await learning.due()).ranges) == []


async def test_the_longest_untouched_conversation_comes_first(
    store: OwnedMemory, other_store: OwnedMemory, learning: LearningStore
) -> None:
    await store.observe("old", [said("1")])
    await other_store.observe("new", [said("1")])
    await store.observe("old", [said("2")])

    assert [one.conversation for one in (await learning.due()).ranges] == ["new", "old"]


async def test_a_long_stretch_is_cut(store: OwnedMemory, learning: LearningStore) -> None:
    message_range = await stretch_of(store, learning, 450)

    assert len(message_range.messages) == 400


async def test_what_an_episode_says_is_kept_with_its_source(
    store: OwnedMemory, learning: LearningStore
) -> None:
    kept = await one_episode(store, learning)
    before = NOON - timedelta(days=1)
    old = await store.add(MemoryDraft(content="Ada lives in York", valid_at=before))

    (id,) = await learning.save_facts(
        kept, [MemoryDraft(content="Ada lives in Bath")], invalid={old.id: NOON}
    )

    fact = await store.get(id)
    assert (fact.origin, fact.sources, fact.subject) == (Origin.EXTRACTED, (kept.id,), ADA)
    assert fact.valid_at == NOON
    assert (await store.get(old.id)).invalid_at == NOON
    assert list((await learning.due()).episodes) == []


async def test_only_what_was_said_before_is_closed(
    store: OwnedMemory, learning: LearningStore
) -> None:
    kept = await one_episode(store, learning)
    later = await store.add(MemoryDraft(content="Ada lives in York", valid_at=NOON))

    await learning.save_facts(kept, (), invalid={later.id: NOON})

    assert (await store.get(later.id)).invalid_at is None


async def test_what_was_learned_once_is_not_learned_twice(
    store: OwnedMemory, learning: LearningStore
) -> None:
    kept = await one_episode(store, learning)
    drafts = [MemoryDraft(content="Ada lives in Bath", confidence=0.5)]

    first = await learning.save_facts(kept, drafts)
    again = await learning.save_facts(kept, drafts)

    assert first == again
    assert (await store.get(first[0])).confidence == 0.5


async def test_a_fact_that_is_found_again_is_strengthened(
    store: OwnedMemory, learning: LearningStore
) -> None:
    told = await store.add(MemoryDraft(content="Ada lives in Bath", subject=ADA, confidence=0.5))
    kept = await one_episode(store, learning)

    ids = await learning.save_facts(
        kept, [MemoryDraft(content="Ada lives in Bath", confidence=0.5)]
    )

    assert ids == [told.id]
    assert (await store.get(told.id)).confidence == 0.75


async def test_nothing_is_learned_from_a_forgotten_episode(
    store: OwnedMemory, learning: LearningStore
) -> None:
    kept = await one_episode(store, learning)
    await store.forget([kept.id])

    assert list(await learning.save_facts(kept, [MemoryDraft(content="a trace")])) == []
    assert (await store.list()).total == 0
    assert list(await store.history("c")) == []


async def test_no_episode_is_kept_of_forgotten_messages(
    store: OwnedMemory, learning: LearningStore
) -> None:
    message_range = await stretch_of(store, learning, 3)
    await store.forget_subject(ADA)

    assert list(await learning.save_episodes(message_range, [episode(0, 2)])) == []
    assert (await store.list()).total == 0


async def test_a_deleted_episode_leaves_its_messages_and_is_not_cut_again(
    store: OwnedMemory, learning: LearningStore
) -> None:
    kept = await one_episode(store, learning)

    await store.delete(MemoryFilter(), ids=[kept.id])

    assert list((await learning.due()).ranges) == []
    assert list((await learning.due()).episodes) == []
    assert len(await store.history("c")) == 3


async def test_a_fact_is_true_from_its_own_date_if_it_has_one(
    store: OwnedMemory, learning: LearningStore
) -> None:
    kept = await one_episode(store, learning)
    earlier = NOON - timedelta(days=9)

    (id,) = await learning.save_facts(kept, [MemoryDraft(content="x y", valid_at=earlier)])

    assert (await store.get(id)).valid_at == earlier


async def test_what_is_forgotten_is_not_quoted_by_an_episode_any_more(
    store: OwnedMemory, learning: LearningStore
) -> None:
    message_range = await stretch_of(store, learning, 3)
    (id,) = await learning.save_episodes(message_range, [episode(0, 2)])
    told = await store.add(MemoryDraft(content="line 1"))

    await store.forget([told.id])

    (left,) = await store.peek([id])
    assert left.content == "2026-03-01, 12:00: user: line 0. line 2"
    assert left.metadata == {"messages": 2}
    assert [one.id for one in await store.episode_messages(id)] == ["0", "2"]
    assert [one.id for one in await store.history("c")] == ["0", "2"]
    assert list((await learning.due()).ranges) == []


async def test_what_is_forgotten_finds_no_episode_any_more(
    store: OwnedMemory, learning: LearningStore
) -> None:
    await store.observe("c", [said("0", "the wifi is otter"), said("1", "tea is best")])
    (message_range,) = (await learning.due()).ranges
    (id,) = await learning.save_episodes(message_range, [episode(0, 1)])

    await store.retract("c", ["0"])

    async def found(text: str) -> list[str]:
        hits = (await store.search(MemoryQuery(text=text, mode=SearchMode.KEYWORD))).hits
        return [hit.entry.id for hit in hits]

    assert await found("otter") == []
    assert await found("tea") == [id]


async def test_an_episode_whose_messages_are_all_forgotten_goes_with_them(
    store: OwnedMemory, learning: LearningStore
) -> None:
    message_range = await stretch_of(store, learning, 3)
    (id,) = await learning.save_episodes(message_range, [episode(0, 2)])

    await store.retract("c", ["0", "1", "2"])

    assert list(await store.peek([id])) == []


async def test_what_says_the_forgotten_in_other_words_leaves_an_episode_yet_to_be_read(
    store: OwnedMemory, learning: LearningStore
) -> None:
    await store.observe(
        "c", [said("0", "since my move to Leeds, I cycle"), said("1", "tea is best")], subject=ADA
    )
    (message_range,) = (await learning.due()).ranges
    (id,) = await learning.save_episodes(message_range, [episode(0, 1)])
    told = await store.add(MemoryDraft(content="I've moved to Leeds", subject=ADA))

    await store.forget([told.id])

    (left,) = await store.peek([id])
    assert "Leeds" not in left.content
    assert "tea" in left.content


async def test_an_episode_of_cleared_messages_keeps_what_is_not_forgotten(
    store: OwnedMemory, learning: LearningStore
) -> None:
    message_range = await stretch_of(store, learning, 3)
    (id,) = await learning.save_episodes(message_range, [episode(0, 2)])
    await store.clear_messages(["c"])

    await store.retract("c", ["1"])

    assert [one.content for one in await store.peek([id])] in (
        ["2026-03-01, 12:00: user: line 0. line 2"],
        # Without a learner, the messages are gone at once, and the text stays as it is.
        ["lines 0 to 2"],
    )


async def test_who_leaves_is_not_quoted_by_an_episode_about_another(
    store: OwnedMemory, learning: LearningStore
) -> None:
    await store.observe("c", [said("0", "Ada is ill")], subject=ADA)
    await store.observe("c", [said("1", "Bob is well")], subject=BOB)
    (message_range,) = (await learning.due()).ranges
    (id,) = await learning.save_episodes(message_range, [episode(0, 1)])
    assert (await store.get(id)).subject == BOB

    await store.forget_subject(ADA)

    (left,) = await store.peek([id])
    assert left.content == "2026-03-01, 12:00: user: Bob is well"
    assert [one.content for one in await store.history("c")] == ["Bob is well"]


async def test_an_episode_goes_with_all_its_messages_also_when_one_says_the_same(
    store: OwnedMemory, learning: LearningStore
) -> None:
    await store.observe("c", [said("0", "tea"), said("1", "milk")])
    (message_range,) = (await learning.due()).ranges
    draft = MemoryDraft(content="tea")
    one = EpisodeDraft(draft=draft, first_message="0", last_message="1")
    (id,) = await learning.save_episodes(message_range, [one])

    assert await store.forget([id]) == 1
    assert list(await store.history("c")) == []


@file_only
async def test_the_messages_of_an_episode_are_found_without_reading_all_of_the_owner(
    backend: DatabaseMemoryBackend,
) -> None:
    which = {"owner": ADA, "conversation": "c", "id": "1"}

    plan = await backend.read(lambda tx: tx.all(f"EXPLAIN QUERY PLAN {SELECT_POSITION}", which))

    assert any("message" in step[3] and "(conversation=? AND id=?)" in step[3] for step in plan)


@pytest.mark.parametrize(
    ("statement", "index"),
    [
        (SELECT_LEARNED, "entry_learned"),
        (SELECT_UNCUT, "message_to_learn"),
        (SELECT_UNREAD_SAID, "entry_to_learn"),
        (SELECT_UNREAD_SAID, "message_by_episode"),
        (SELECT_EPISODE_MESSAGES, "message_by_episode"),
        (SELECT_PERSON_SALIENCES, "entry_by_subject"),
    ],
)
async def test_what_a_write_compares_is_found_by_an_index(
    tmp_path: Path, statement: str, index: str
) -> None:
    path = tmp_path / "m.db"
    async with SQLiteMemoryBackend(path):
        pass

    values = dict.fromkeys(("subject", "owner", "now", "seq", "limit", "scanned", "is_episode"), 1)
    with closing(sqlite3.connect(path)) as file:
        plan = str(file.execute(f"EXPLAIN QUERY PLAN {statement}", values).fetchall())

    assert f"INDEX {index} " in plan
    assert "SCAN message" not in plan and "SCAN entry" not in plan
