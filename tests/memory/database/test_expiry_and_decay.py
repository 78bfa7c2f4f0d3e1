"""What time does to memories: expiry, purge, importance, reviews; and a clock that goes back."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import pytest

from spade_llm.core.errors import NotFound
from spade_llm.memory import MemoryDraft, SQLiteMemoryBackend, Tier
from spade_llm.memory.contract import DecayPolicy, MemoryChange
from spade_llm.memory.database.entry_changes import next_review_state
from spade_llm.memory.database.rows import importance_from_use
from spade_llm.memory.learning.learning_contract import EpisodeDraft
from spade_llm.search.memory_query import MemoryFilter, MemoryQuery
from tests.memory.clock import Clock
from tests.memory.contract import contents, said

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    from spade_llm.memory.contract import MemoryStore

START = datetime(2026, 3, 1, 12, tzinfo=UTC)


@pytest.fixture
def clock() -> Clock:
    return Clock(START)


@pytest.fixture
async def backend(tmp_path: Path, clock: Clock) -> AsyncIterator[SQLiteMemoryBackend]:
    async with SQLiteMemoryBackend(tmp_path / "m.db", now=clock) as backend:
        yield backend


@pytest.fixture
def store(backend: SQLiteMemoryBackend) -> MemoryStore:
    return backend.for_owner("a@b")


def rows(backend: SQLiteMemoryBackend, sql: str) -> list[tuple[object, ...]]:
    with closing(sqlite3.connect(backend.path)) as file:
        return file.execute(sql).fetchall()


async def test_a_memory_is_gone_from_the_second_it_expires(
    store: MemoryStore, clock: Clock
) -> None:
    entry = await store.add(MemoryDraft(content="tea", ttl_s=60))

    clock.go(seconds=59)
    seen_before = (await store.list()).total
    clock.go(seconds=1)

    assert seen_before == 1
    assert (await store.list()).total == 0
    with pytest.raises(NotFound):
        await store.get(entry.id)
    assert (await store.stats()).by_type == {}


async def test_short_term_lives_as_long_as_is_configured(tmp_path: Path, clock: Clock) -> None:
    async with SQLiteMemoryBackend(tmp_path / "s.db", now=clock, short_term_ttl_s=9) as backend:
        entry = await backend.for_owner("a@b").add(MemoryDraft(content="x", tier=Tier.SHORT_TERM))

    assert entry.expires_at == START + timedelta(seconds=9)


async def test_an_expired_memory_is_not_strengthened(store: MemoryStore, clock: Clock) -> None:
    first = await store.add(MemoryDraft(content="tea", ttl_s=60))
    clock.go(seconds=60)

    assert (await store.add(MemoryDraft(content="tea"))).id != first.id


async def test_the_purge_removes_what_expired_and_what_was_deleted_long_ago(
    backend: SQLiteMemoryBackend, store: MemoryStore, clock: Clock
) -> None:
    expired = await store.add(MemoryDraft(content="expired", ttl_s=60))
    deleted = await store.add(MemoryDraft(content="deleted"))
    await store.add(MemoryDraft(content="kept"))
    await store.delete(MemoryFilter(), ids=[deleted.id])
    clock.go(days=29)
    first = await backend.purge()
    clock.go(days=2)

    second = await backend.purge()

    assert (first, second, await backend.purge()) == (1, 1, 0)
    assert rows(backend, "SELECT content FROM entry") == [("kept",)]
    assert await store.forget([expired.id, deleted.id]) == 0
    log = rows(backend, "SELECT action, count, length(ids) FROM audit ORDER BY seq")
    assert log == [("delete", 1, 16), ("purge", 1, 16), ("purge", 1, 16)]


async def test_opening_purges(tmp_path: Path, clock: Clock) -> None:
    backend = SQLiteMemoryBackend(tmp_path / "m.db", now=clock)
    async with backend:
        await backend.for_owner("a@b").add(MemoryDraft(content="tea", ttl_s=60))
    clock.go(hours=1)

    async with backend:
        assert rows(backend, "SELECT count(*) FROM entry") == [(0,)]


async def test_the_purge_of_an_episode_leaves_its_messages(
    backend: SQLiteMemoryBackend, clock: Clock
) -> None:
    store = backend.for_owner("a@b")
    await store.observe("c", [said("1")])
    (message_range,) = (await backend.learning().due()).ranges
    draft = MemoryDraft(content="episode")
    ids = await backend.learning().save_episodes(
        message_range, [EpisodeDraft(draft=draft, first_message="1", last_message="1")]
    )
    await store.delete(MemoryFilter(), ids=ids)
    clock.go(days=31)

    await backend.purge()

    assert [message.id for message in await store.history("c")] == ["1"]
    assert list((await backend.learning().due()).ranges) == []


async def test_the_purge_lets_go_of_what_decays(backend: SQLiteMemoryBackend, clock: Clock) -> None:
    store = backend.for_owner("a@b")
    await store.add(MemoryDraft(content="unused", tier=Tier.WORKING))
    used = await store.add(MemoryDraft(content="used", tier=Tier.WORKING))
    await store.configure_decay(DecayPolicy(is_enabled=True))
    clock.go(days=89)
    for _ in range(9):
        await store.get(used.id)
    clock.go(days=2)

    await backend.purge()

    assert [entry.content for entry in (await store.list()).entries] == ["used"]


def test_importance_is_a_half_at_first_and_follows_use() -> None:
    assert importance_from_use(0, 0) == 0.5
    assert importance_from_use(0, 30) == 0.25
    assert importance_from_use(5, 0) == 0.75
    assert 0 <= importance_from_use(0, 10_000) < importance_from_use(10**9, 0) <= 1
    assert importance_from_use(0, -5) == 0.5


async def test_importance_is_that_of_the_time_of_reading(store: MemoryStore, clock: Clock) -> None:
    await store.add(MemoryDraft(content="tea"))

    clock.go(days=30)

    assert (await store.list()).entries[0].importance == 0.25


def test_a_review_keeps_a_memory_longer_each_time() -> None:
    first = next_review_state(None, None, None, at=START)
    then = int(START.timestamp() * 1_000_000)

    second = next_review_state(*first, then, at=START + timedelta(days=3))

    assert second[0] > first[0] > 0
    assert next_review_state(*first, then, at=START + timedelta(days=3)) == second


async def test_a_review_is_kept(
    backend: SQLiteMemoryBackend, store: MemoryStore, clock: Clock
) -> None:
    entry = await store.add(MemoryDraft(content="tea"))

    await store.reviewed([entry.id, entry.id])
    ((first,),) = rows(backend, "SELECT stability FROM entry")
    clock.go(days=5)
    await store.reviewed([entry.id])

    ((second,),) = rows(backend, "SELECT stability FROM entry")
    assert isinstance(first, float) and isinstance(second, float)
    assert second > first


async def test_a_clock_that_goes_back_loses_nothing(
    backend: SQLiteMemoryBackend, store: MemoryStore, clock: Clock
) -> None:
    entry = await store.add(MemoryDraft(content="green tea"))
    await store.reviewed([entry.id])

    clock.go(days=-400)
    later = await store.add(MemoryDraft(content="black tea"))
    await store.update(MemoryChange(id=entry.id, tags=("a",)))
    await store.reviewed([entry.id])
    await backend.purge()

    assert (await store.list()).total == 2
    assert len(await contents(backend.for_owner("a@b"), "tea")) == 2
    assert 0 <= (await store.get(entry.id)).importance <= 1
    assert later.created_at == START - timedelta(days=400)


async def test_a_clock_set_back_hides_nothing_that_was_true_when_it_was_stored(
    backend: SQLiteMemoryBackend, clock: Clock
) -> None:
    store = backend.for_owner("a@x")
    await store.add(MemoryDraft(content="the tea is green", valid_at=clock.now))
    later = clock.now + timedelta(days=2)
    await store.add(MemoryDraft(content="the tea will be black", valid_at=later))

    clock.go(hours=-1)

    assert [one.content for one in (await store.list()).entries] == ["the tea is green"]
    assert await contents(store, "tea") == ["the tea is green"]


async def test_a_list_and_a_search_mean_the_same_by_dates(
    backend: SQLiteMemoryBackend, clock: Clock
) -> None:
    store = backend.for_owner("a@x")
    await store.add(MemoryDraft(content="tea"))

    for which in (MemoryFilter(created_after=clock.now), MemoryFilter(created_before=clock.now)):
        assert (await store.list(which)).total == 1
        assert len((await store.search(MemoryQuery(text="tea", which=which))).hits) == 1
