"""Vectors in RAM: what looking at all of them would find, and never outdated."""

from __future__ import annotations

import asyncio
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spade_llm.core.errors import StorageFailed
from spade_llm.rag.store.vector_index import VectorCache
from spade_llm.search import passage_index
from spade_llm.search.passage_index import PassageVectors
from tests.conftest import at_most

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from numpy.typing import NDArray

DIMENSIONS = 64
NEAR = 0.02


def some_vectors(count: int, seed: int = 0) -> NDArray[np.float32]:
    vectors = np.random.default_rng(seed).normal(size=(count, DIMENSIONS)).astype(np.float32)
    return np.asarray(vectors / np.linalg.norm(vectors, axis=1, keepdims=True), np.float32)


def held_of(count: int, first_id: int = 0) -> PassageVectors:
    held = PassageVectors()
    held.put(range(first_id, first_id + count), some_vectors(count))
    return held


def reading(count: int, first_id: int = 0) -> Callable[[], Awaitable[PassageVectors]]:
    async def read() -> PassageVectors:
        return held_of(count, first_id)

    return read


@settings(max_examples=at_most(40))
@given(
    st.lists(st.tuples(st.booleans(), st.sets(st.integers(0, 30), min_size=1)), max_size=8),
    st.sets(st.integers(0, 35)) | st.none(),
    st.integers(1, 40),
)
def test_the_nearest_are_those_of_a_look_at_all(
    changes: list[tuple[bool, set[int]]], among: set[int] | None, limit: int
) -> None:
    held = PassageVectors()
    there: dict[int, NDArray[np.float32]] = {}
    for seed, (is_added, ids) in enumerate(changes):
        vectors = some_vectors(len(ids), seed)
        if is_added:
            held.put(sorted(ids), vectors)
            there.update(zip(sorted(ids), vectors, strict=True))
        else:
            held.remove(sorted(ids))
            there = {number: row for number, row in there.items() if number not in ids}
    asked = some_vectors(1, 99)[0]

    found = held.nearest(asked, limit, None if among is None else sorted(among))

    allowed = {number: row for number, row in there.items() if among is None or number in among}
    true = {number: float(row @ asked) for number, row in allowed.items()}
    assert len(held) == len(there)
    assert len(found) == min(limit, len(true))
    assert all(abs(cosine - true[number]) < NEAR for number, cosine in found.items())
    least = min(found.values(), default=-1)
    assert all(true[number] < least + NEAR for number in true.keys() - found.keys())
    assert list(found.values()) == sorted(found.values(), reverse=True)
    assert held.cosines(asked, sorted(found)) == pytest.approx(dict(sorted(found.items())))


def test_sketches_find_what_is_near_among_many(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(passage_index, "EXACT_ROWS", 100)
    monkeypatch.setattr(passage_index, "COMPUTED_ROWS", 200)
    held, vectors = held_of(3000), some_vectors(3000)

    for number in (3, 1500, 2999):
        asked = vectors[number] + 0.3 * some_vectors(1, number)[0]
        assert list(held.nearest(asked, 3))[0] == number


async def test_a_small_collection_is_there_for_the_first_question() -> None:
    cache = VectorCache()

    held = await cache.of("place", reading(3))

    assert held is not None
    assert await cache.of("place", reading(9)) is held


async def test_changes_while_a_collection_is_read_are_included() -> None:
    cache, may_end = VectorCache(), asyncio.Event()

    async def read() -> PassageVectors:
        await may_end.wait()
        return held_of(3)

    assert await cache.of("place", read) is None
    cache.added("place", [7], some_vectors(1, 7))
    cache.removed("place", [1])
    may_end.set()
    async with asyncio.timeout(5):
        await cache.settled()

    held = await cache.of("place", read)
    assert held is not None
    assert set(held.nearest(some_vectors(1)[0], 10)) == {0, 2, 7}


async def test_commits_while_copies_are_read_are_included() -> None:
    """It was added before they began to be read, and was not in the file yet."""
    cache, may_end = VectorCache(patience_s=0), asyncio.Event()

    async def read() -> PassageVectors:
        await may_end.wait()
        return held_of(3)

    cache.added("place", [7], some_vectors(1, 7))
    assert await cache.of("place", read) is None
    cache.committed("place", [7], some_vectors(1, 7))
    may_end.set()
    async with asyncio.timeout(5):
        await cache.settled()

    held = await cache.of("place", read)
    assert held is not None
    assert set(held.nearest(some_vectors(1)[0], 10)) == {0, 1, 2, 7}


async def test_later_changes_are_included() -> None:
    cache = VectorCache()
    held = await cache.of("place", reading(3))

    cache.added("place", [7], some_vectors(1, 7))
    cache.removed("place", [0])

    assert held is not None
    assert set(held.nearest(some_vectors(1)[0], 10)) == {1, 2, 7}


async def test_a_dropped_collection_is_read_anew() -> None:
    cache = VectorCache()
    await cache.of("place", reading(3))

    cache.dropped("place")
    held = await cache.of("place", reading(2, first_id=50))

    assert held is not None
    assert set(held.nearest(some_vectors(1)[0], 10)) == {50, 51}


async def test_collections_that_do_not_fit_leave_those_used_longest_ago_first() -> None:
    room = 2 * held_of(20).size_bytes + 100
    cache, reads = VectorCache(max_bytes=room), list[str]()

    async def read(name: str) -> PassageVectors:
        reads.append(name)
        return held_of(20)

    for name in ("a", "b", "a", "c", "a", "b"):
        await cache.of(name, partial(read, name))

    assert reads == ["a", "b", "c", "b"]


async def test_one_that_is_too_large_is_not_read_again_for_every_question() -> None:
    cache, reads = VectorCache(), list[int]()

    async def read() -> None:
        reads.append(1)

    assert [await cache.of("place", read) for _ in range(3)] == [None] * 3
    assert len(reads) == 1


async def test_a_store_that_is_away_is_asked_again_by_the_next_question() -> None:
    cache = VectorCache()

    async def away() -> PassageVectors:
        raise StorageFailed("the vector index could not be read or written")

    assert await cache.of("place", away) is None
    assert await cache.of("place", reading(1)) is not None
