"""Indexes in RAM: loaded once, kept current, let go of; a search never sees less than the file."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, TypeVar

from hypothesis import given, settings
from hypothesis import strategies as st

from spade_llm.memory import MemoryDraft, SQLiteMemoryBackend
from spade_llm.memory.contract import MemoryChange, ObservedMessage
from spade_llm.memory.database import index_cache
from spade_llm.memory.database.index_cache import EMPTY_BYTES, IndexRanker
from spade_llm.search.memory_query import MemoryFilter, MemoryQuery, SearchMode, SortBy
from tests.conftest import at_most
from tests.rag.bag_of_words import BagOfWords

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    import pytest

    from spade_llm.memory import OwnedMemory
    from spade_llm.memory.database.backend import DatabaseMemoryBackend
    from spade_llm.memory.database.connection import Transaction

T = TypeVar("T")

OWNER = "ada@localhost"
PROMPTLY_S = 5.0


class Counted:
    """A file whose reads are counted."""

    def __init__(self, backend: DatabaseMemoryBackend) -> None:
        self._backend = backend
        self.now = backend.now
        self.has_other_writers = backend.has_other_writers
        self.reads = 0

    async def read(self, operation: Callable[[Transaction], T]) -> T:
        self.reads += 1
        return await self._backend.read(operation)

    async def read_inline(self, operation: Callable[[Transaction], T]) -> T:
        self.reads += 1
        return await self._backend.read_inline(operation)


def words(text: str, limit: int = 100) -> MemoryQuery:
    return MemoryQuery(text=text, mode=SearchMode.KEYWORD, limit=limit)


async def found(store: OwnedMemory, text: str) -> set[str]:
    return {hit.entry.content for hit in (await store.search(words(text))).hits}


async def test_a_write_is_found_at_once_however_often_it_is_searched() -> None:
    async with SQLiteMemoryBackend(":memory:") as backend:
        store = backend.for_owner(OWNER)
        for number in range(20):
            await store.add(MemoryDraft(content=f"apple number{number}"))

            assert len(await found(store, "apple")) == number + 1


async def test_writes_beside_searches_are_all_found_in_the_end() -> None:
    async with SQLiteMemoryBackend(":memory:") as backend:
        store = backend.for_owner(OWNER)

        async def write(number: int) -> None:
            await store.add(MemoryDraft(content=f"apple number{number}"))
            assert f"apple number{number}" in await found(store, f"number{number}")

        await asyncio.gather(*(write(number) for number in range(64)))

        assert len(await found(store, "apple")) == 64


async def test_an_owner_is_loaded_once_for_all_who_ask_at_the_same_time() -> None:
    async with SQLiteMemoryBackend(":memory:") as backend:
        await backend.for_owner(OWNER).add(MemoryDraft(content="apple"))
        file = Counted(backend)
        async with IndexRanker(file, None) as ranker:
            ranked = await asyncio.gather(
                *(ranker.search(OWNER, words("apple")) for _ in range(10))
            )

    assert file.reads == 1
    assert all(len(one.hits) == 1 for one in ranked)


async def test_what_is_written_while_an_owner_is_loaded_is_found() -> None:
    async with SQLiteMemoryBackend(":memory:") as backend:
        store = backend.for_owner(OWNER)
        await store.add_many([MemoryDraft(content=f"apple number{n}") for n in range(500)])
        loading = asyncio.create_task(store.search(words("apple")))
        await store.add(MemoryDraft(content="pear"))
        await loading

        assert await found(store, "pear") == {"pear"}


async def test_owners_that_were_not_asked_for_long_are_let_go_of() -> None:
    async with SQLiteMemoryBackend(":memory:") as backend:
        owners = [f"peer{number}@localhost" for number in range(8)]
        for owner in owners:
            drafts = [MemoryDraft(content=f"apple {owner} number{n}") for n in range(50)]
            await backend.for_owner(owner).add_many(drafts)
        async with IndexRanker(backend, None, max_bytes=3 * EMPTY_BYTES) as ranker:
            for owner in owners * 2:
                hits = (await ranker.search(owner, words("apple", 50))).hits
                assert len(hits) == 50

            held = ranker.size_bytes
            await ranker.search(owners[-1], words("apple"))

            assert ranker.size_bytes == held
            assert len(ranker) < len(owners)


async def test_one_owner_that_is_larger_than_the_bound_is_held_alone() -> None:
    async with SQLiteMemoryBackend(":memory:") as backend:
        for owner in ("small@localhost", OWNER):
            await backend.for_owner(owner).add(MemoryDraft(content="apple"))
        async with IndexRanker(backend, None, max_bytes=1) as ranker:
            await ranker.search("small@localhost", words("apple"))
            await ranker.search(OWNER, words("apple"))

            assert len(ranker) == 1


async def test_what_is_forgotten_leaves_the_ram_although_nobody_searches() -> None:
    async with SQLiteMemoryBackend(":memory:", embedder=BagOfWords()) as backend:
        store = backend.for_owner(OWNER)
        entries = [await store.add(MemoryDraft(content=f"apple number{n}")) for n in range(10)]
        async with asyncio.timeout(PROMPTLY_S):
            await backend.wait_idle()
        await found(store, "apple")
        await store.forget([entry.id for entry in entries])

        async with asyncio.timeout(PROMPTLY_S):
            await backend.ranker.wait_refreshed()

        assert backend.ranker.cached_rows(OWNER) == 0


async def test_a_memory_is_invisible_from_the_second_on_at_which_it_expires() -> None:
    now = [datetime(2026, 1, 1, tzinfo=UTC)]
    async with SQLiteMemoryBackend(":memory:", now=lambda: now[0]) as backend:
        store = backend.for_owner(OWNER)
        await store.add(MemoryDraft(content="apple", ttl_s=60))
        now[0] += timedelta(seconds=59)
        before = await found(store, "apple")
        now[0] += timedelta(seconds=1)
        after = await found(store, "apple")

    assert (before, after) == ({"apple"}, set())


async def test_what_was_deleted_or_changed_is_not_found_by_its_old_words() -> None:
    async with SQLiteMemoryBackend(":memory:") as backend:
        store = backend.for_owner(OWNER)
        first = await store.add(MemoryDraft(content="apple one"))
        second = await store.add(MemoryDraft(content="apple two"))
        await found(store, "apple")
        await store.update(MemoryChange(id=first.id, content="pear"))
        await store.delete(MemoryFilter(), ids=[second.id])

        assert await found(store, "apple") == set()
        assert await found(store, "pear") == {"pear"}


async def test_a_forgotten_session_takes_its_messages_out_of_the_index() -> None:
    message = ObservedMessage(id="m1", role="user", content="apple pie", at=datetime.now(UTC))
    query = MemoryQuery(text="apple", mode=SearchMode.KEYWORD, with_messages=True)
    async with SQLiteMemoryBackend(":memory:") as backend:
        store = backend.for_owner(OWNER)
        await store.observe("talk", [message])
        before = await store.search(query)
        await store.forget_session("talk")
        after = await store.search(query)

    assert [hit.entry.content for hit in before.hits] == ["apple pie"]
    assert after.hits == ()


async def test_terms_of_an_older_encoding_are_found_and_renewed(tmp_path: Path) -> None:
    path = tmp_path / "memory.db"
    async with SQLiteMemoryBackend(path) as backend:
        store = backend.for_owner(OWNER)
        await store.add(MemoryDraft(content="apple pie", tags=("sweet",)))
        await backend.write(lambda file: file.count("UPDATE entry SET terms = NULL"))
        not_encoded = await found(store, "apple")
        await backend.write(lambda file: file.count("UPDATE entry SET terms = x'0000000000'"))
        backend.ranker.clear()
        of_another_way = await found(store, "sweet")
        await backend.reindex()
        ((terms,),) = await backend.read(lambda file: file.all("SELECT terms FROM entry"))

    assert not_encoded == of_another_way == {"apple pie"}
    assert len(terms) > 5


ACTIONS = st.lists(
    st.tuples(
        st.sampled_from(["add", "change", "delete", "forget", "search"]),
        st.sampled_from(["ada@localhost", "eve@localhost"]),
        st.integers(0, 5),
    ),
    max_size=25,
)


@settings(max_examples=at_most(25))
@given(actions=ACTIONS)
async def test_a_search_finds_exactly_what_is_there(actions: list[tuple[str, str, int]]) -> None:
    async with SQLiteMemoryBackend(":memory:", embedder=BagOfWords()) as backend:
        truth: dict[str, dict[str, str]] = {"ada@localhost": {}, "eve@localhost": {}}
        for step, (action, owner, number) in enumerate(actions):
            store, there = backend.for_owner(owner), truth[owner]
            id = list(there)[number % len(there)] if there else ""
            text = f"apple {owner.partition('@')[0]} step{step}"
            if action == "add":
                there[(await store.add(MemoryDraft(content=text))).id] = text
            elif action == "change" and id:
                await store.update(MemoryChange(id=id, content=text))
                there[id] = text
            elif action == "delete" and id:
                await store.delete(MemoryFilter(), ids=[id])
                del there[id]
            elif action == "forget" and id:
                await store.forget([id])
                del there[id]
            assert await found(store, "apple") == set(there.values())


async def test_what_was_used_more_is_more_important_to_the_next_search() -> None:
    query = MemoryQuery(text="apple", mode=SearchMode.KEYWORD, sort_by=SortBy.IMPORTANCE)
    async with SQLiteMemoryBackend(":memory:") as backend:
        store = backend.for_owner(OWNER)
        ids = [(await store.add(MemoryDraft(content=f"apple number{n}"))).id for n in range(3)]
        await store.search(query)
        for _ in range(4):
            await store.get(ids[1])
        await store.add(MemoryDraft(content="a write that follows the notes of use"))

        first, *_ = (await store.search(query)).hits

    assert first.entry.id == ids[1]


async def test_whoever_leaves_in_the_middle_harms_no_other(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(index_cache, "INLINE_ROWS", 0)
    async with SQLiteMemoryBackend(":memory:") as backend:
        store = backend.for_owner(OWNER)
        await store.add_many([MemoryDraft(content=f"apple number{n}") for n in range(200)])
        for number in range(30):
            leaving = asyncio.create_task(store.search(words("apple")))
            for _ in range(number):
                await asyncio.sleep(0)
            leaving.cancel()
            await store.add(MemoryDraft(content=f"pear number{number}"))

        assert len(await found(store, "pear")) == 30
