"""Small namespaces are looked through in RAM: with what Chroma would find, and never outdated."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

import numpy as np

from spade_llm.rag.store.chroma_index import ChromaIndex
from spade_llm.rag.store.vector_index import MAX_CACHE_BYTES, VectorCollection

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    from numpy.typing import NDArray

COLLECTION = VectorCollection(namespace_id=1, owner="a@x", namespace="d", model="m", dimension=8)


@asynccontextmanager
async def index_in(
    folder: Path, *, held_bytes: int = MAX_CACHE_BYTES
) -> AsyncIterator[ChromaIndex]:
    index = ChromaIndex(folder, held_bytes=held_bytes)
    yield index
    await index.close()


def some_vectors(count: int, seed: int = 0) -> NDArray[np.float32]:
    vectors = np.random.default_rng(seed).normal(size=(count, 8)).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    return vectors


async def test_ram_and_chroma_find_the_same(tmp_path: Path) -> None:
    """With the same cosines: an answer does not depend on what is loaded yet."""
    vectors = some_vectors(40)
    async with index_in(tmp_path / "c") as index:
        await index.add(COLLECTION, range(40), vectors)
        in_ram = await index.nearest(COLLECTION, vectors[7], 5)
        some_in_ram = await index.cosines(COLLECTION, vectors[7], [3, 9, 99])
    async with index_in(tmp_path / "c", held_bytes=0) as index:
        in_chroma = await index.nearest(COLLECTION, vectors[7], 5)
        some_in_chroma = await index.cosines(COLLECTION, vectors[7], [3, 9, 99])

    assert list(in_ram.items()) == list(in_chroma.items())
    assert list(in_ram)[0] == 7
    assert set(some_in_ram) == {3, 9}
    assert some_in_ram == some_in_chroma


async def test_added_vectors_are_found_and_removed_ones_are_not(tmp_path: Path) -> None:
    vectors = some_vectors(3)
    async with index_in(tmp_path / "c") as index:
        await index.add(COLLECTION, [0, 1], vectors[:2])
        before = await index.nearest(COLLECTION, vectors[2], 3)
        await index.add(COLLECTION, [2], vectors[2:])
        with_it = await index.nearest(COLLECTION, vectors[2], 3)
        await index.remove(COLLECTION.key, [2])
        without = await index.nearest(COLLECTION, vectors[2], 3)

    assert set(before) == {0, 1}
    assert list(with_it)[0] == 2
    assert set(without) == {0, 1}


async def test_questions_beside_changes_end_with_what_is_there(tmp_path: Path) -> None:
    vectors = some_vectors(60)
    async with index_in(tmp_path / "c") as index:
        await index.add(COLLECTION, [0], vectors[:1])

        async def add(number: int) -> None:
            await index.add(COLLECTION, [number], vectors[number : number + 1])

        questions = (index.nearest(COLLECTION, vectors[n], 3) for n in range(60))
        await asyncio.gather(*map(add, range(1, 60)), *questions)

        assert set(await index.nearest(COLLECTION, vectors[0], 60)) == set(range(60))


async def test_a_dropped_namespace_leaves_nothing_behind(tmp_path: Path) -> None:
    vectors = some_vectors(2)
    async with index_in(tmp_path / "c") as index:
        await index.add(COLLECTION, [0], vectors[:1])
        await index.nearest(COLLECTION, vectors[0], 1)
        await index.drop(COLLECTION.key)
        await index.add(COLLECTION, [1], vectors[1:])

        assert set(await index.nearest(COLLECTION, vectors[0], 5)) == {1}
