"""What the entry tools promise where there are vectors, of an embedder that knows only words."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest

from spade_llm.memory import SQLiteMemoryBackend
from tests.memory.tools.calling import Tools, contents, found, stored
from tests.memory.tools.contract_further import *  # noqa: F403
from tests.memory.tools.contract_ranking import *  # noqa: F403
from tests.memory.tools.contract_search import *  # noqa: F403
from tests.memory.tools.contract_subjects import *  # noqa: F403
from tests.memory.tools.fixtures import ada_tools, bob_tools, other_tools, tools
from tests.rag.bag_of_words import BagOfWords

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Sequence
    from pathlib import Path

    import numpy as np
    from numpy.typing import NDArray

__all__ = ["ada_tools", "bob_tools", "other_tools", "tools"]

COMMON = [f"beta {number} and some more words around it" for number in range(20)]


class SlowForRows(BagOfWords):
    """Embeds questions at once; rows, which come in batches of `held_from` and more, are held back
    until `go_on` is set."""

    def __init__(self) -> None:
        super().__init__()
        self.held_from = 1000
        self.go_on = asyncio.Event()

    async def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        if len(texts) >= self.held_from:
            await self.go_on.wait()
        return await super().embed(texts)


@pytest.fixture
def embedder() -> SlowForRows:
    return SlowForRows()


@pytest.fixture
async def backend(tmp_path: Path, embedder: BagOfWords) -> AsyncIterator[SQLiteMemoryBackend]:
    async with SQLiteMemoryBackend(tmp_path / "memory.db", embedder=embedder) as backend:
        yield backend


async def test_a_semantic_search_is_the_default_and_by_vectors(
    tools: Tools, backend: SQLiteMemoryBackend
) -> None:
    await stored(tools, "green tea")
    await stored(tools, "the weather of tomorrow")
    await backend.wait_idle()

    answer = await tools("memory_explain", query="green tea")

    assert answer["outcome"] == "ok"
    best = answer["results"][0]
    assert best["content"] == "green tea"
    assert best["similarity"] > 0.9
    assert best["why"]["vector"]["rank"] == 1
    assert best["why"]["keyword"]["rank"] is None


async def test_what_was_stored_just_now_is_found_by_meaning(tools: Tools) -> None:
    for number in range(5):
        id = await stored(tools, f"green tea number {number}")

        answer = await tools("memory_search", query=f"green tea number {number}")

        assert answer["total"] == number + 1
        assert answer["results"][0]["id"] == id


async def test_the_keyword_weight_weighs(tools: Tools, backend: SQLiteMemoryBackend) -> None:
    rare = "alpha among one two three four five six other words"
    close = "beta beta"
    items = [{"content": content} for content in (*COMMON, rare, close)]
    await tools("memory_batch_store", items=items)
    await backend.wait_idle()

    first = {}
    for weight in (0.0, 1.0):
        first[weight], *_ = await found(
            tools, "alpha beta", search_mode="hybrid", keyword_weight=weight
        )

    assert first == {0.0: close, 1.0: rare}


async def test_a_threshold_bounds_a_semantic_search(
    tools: Tools, backend: SQLiteMemoryBackend
) -> None:
    for content in ("green tea", "green grass in the garden", "weather"):
        await stored(tools, content)
    await backend.wait_idle()

    near = await found(tools, "green tea", search_mode="semantic", min_similarity=0.9)
    wide = await found(tools, "green tea", search_mode="semantic", min_similarity=0.2)

    assert near == ["green tea"]
    assert wide == ["green tea", "green grass in the garden"]


async def test_without_its_embedder_a_search_says_that_it_is_degraded(
    tools: Tools, embedder: BagOfWords, backend: SQLiteMemoryBackend
) -> None:
    await stored(tools, "green tea")
    await backend.wait_idle()
    embedder.is_away = True

    answer = await tools("memory_explain", query="green tea")

    assert answer["outcome"] == "degraded"
    assert [one["content"] for one in answer["results"]] == ["green tea"]
    plain = await tools("memory_search", query="green tea")
    assert plain["total"] == 1
    assert "by words" in plain["degraded"]


@pytest.mark.parametrize("mode", ["semantic", "hybrid"])
async def test_a_batch_is_found_by_words_until_it_has_vectors(
    tools: Tools, embedder: SlowForRows, backend: SQLiteMemoryBackend, mode: str
) -> None:
    await stored(tools, "coffee at noon")
    await backend.wait_idle()
    embedder.held_from = 2
    items = [{"content": f"green tea number {number}"} for number in range(100)]
    await tools("memory_batch_store", items=items)

    early = await tools("memory_search", query="green tea number 7", search_mode=mode)
    embedder.go_on.set()
    await backend.wait_idle()
    late = await tools("memory_search", query="green tea number 7", search_mode=mode)

    for answer in (early, late):
        assert answer["total"] == 10
        assert answer["results"][0]["content"] == "green tea number 7"
    assert "by words" in early["degraded"]
    assert "degraded" not in late


async def test_what_has_no_vector_yet_is_similar_by_words_and_is_not_merged(
    tools: Tools, embedder: SlowForRows, backend: SQLiteMemoryBackend
) -> None:
    id = await stored(tools, "likes green tea in the morning")
    await backend.wait_idle()
    embedder.held_from = 1
    await stored(tools, "in the morning likes green tea")

    similar = await tools("memory_similar", id=id)
    merged = await tools("memory_deduplicate", dry_run=False)

    assert [one["content"] for one in similar["results"]] == ["in the morning likes green tea"]
    assert similar["outcome"] == "degraded"
    assert merged["merged_count"] == 0


async def test_what_says_nearly_the_same_is_similar(
    tools: Tools, backend: SQLiteMemoryBackend
) -> None:
    id = await stored(tools, "likes green tea in the morning")
    await stored(tools, "likes green tea in the early morning")
    await stored(tools, "the weather of tomorrow")
    await backend.wait_idle()

    answer = await tools("memory_similar", id=id)

    assert answer["outcome"] == "ok"
    assert [one["content"] for one in answer["results"]] == ["likes green tea in the early morning"]
    assert (await tools("memory_get_score", id=id))["access_count"] == 0


async def test_near_duplicates_are_merged_but_not_other_facts(
    tools: Tools, backend: SQLiteMemoryBackend
) -> None:
    oldest = await stored(tools, "ada likes green tea in the morning")
    await stored(tools, "in the morning ada likes green tea")
    await stored(tools, "ada likes green tea in the morning at 7")
    await backend.wait_idle()

    answer = await tools("memory_deduplicate", dry_run=False)

    assert answer["merged_count"] == 1
    assert answer["groups"][0]["kept_id"] == oldest
    assert await contents(tools) == [
        "ada likes green tea in the morning at 7",
        "ada likes green tea in the morning",
    ]
