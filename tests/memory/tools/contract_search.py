"""What memory_search and memory_explain promise."""

from __future__ import annotations

import pytest

from tests.memory.tools.calling import Tools, found, stored


async def test_a_search_answers_with_results_and_their_number(tools: Tools) -> None:
    id = await stored(tools, "User prefers dark mode", tags=["preferences", "ui"])
    await stored(tools, "The port is 5432")

    answer = await tools("memory_search", query="dark mode", search_mode="keyword")

    assert list(answer) == ["results", "total"]
    assert answer["total"] == 1
    (result,) = answer["results"]
    assert list(result) == ["id", "content", "similarity", "memory_tier", "tags", "created_at"]
    assert (result["id"], result["content"]) == (id, "User prefers dark mode")
    assert (result["memory_tier"], result["tags"]) == ("long_term", ["preferences", "ui"])
    assert 0 < result["similarity"] <= 1
    assert result["created_at"].endswith("Z")


@pytest.mark.parametrize("mode", ["semantic", "keyword", "hybrid"])
async def test_every_mode_gives_ordered_scores_and_the_same_again(tools: Tools, mode: str) -> None:
    for content in ("tea in the morning", "coffee in the morning", "tea", "the weather"):
        await stored(tools, content)

    answer = await tools("memory_search", query="morning tea", search_mode=mode)
    again = await tools("memory_search", query="morning tea", search_mode=mode)

    scores = [one["similarity"] for one in answer["results"]]
    assert scores == sorted(scores, reverse=True)
    assert all(0 <= score <= 1 for score in scores)
    assert [one["id"] for one in again["results"]] == [one["id"] for one in answer["results"]]


@pytest.mark.parametrize("mode", ["semantic", "keyword", "hybrid"])
async def test_entries_that_say_the_same_are_each_a_result(tools: Tools, mode: str) -> None:
    ids = [await stored(tools, "tea at five", tags=[tag]) for tag in ("a", "b")]
    ids.append(await stored(tools, "tea at five", metadata={"from": "c"}))

    answer = await tools("memory_search", query="tea at five", search_mode=mode)
    of_b = await tools("memory_search", query="tea at five", search_mode=mode, tags=["b"])

    assert sorted(one["id"] for one in answer["results"]) == sorted(ids)
    assert answer["total"] == 3
    assert [one["id"] for one in of_b["results"]] == [ids[1]]


async def test_top_k_bounds_the_results_and_is_ten_unless_told(tools: Tools) -> None:
    items = [{"content": f"tea number {number}"} for number in range(15)]
    await tools("memory_batch_store", items=items)

    assert len(await found(tools, "tea")) == 10
    assert len(await found(tools, "tea", top_k=3)) == 3
    assert len(await found(tools, "tea", top_k=1000)) == 15


async def test_filters_apply_before_the_cut(tools: Tools) -> None:
    items: list[dict[str, object]] = [{"content": f"tea tea tea {number}"} for number in range(40)]
    wanted = {"content": "one mention of tea among many other words that are said here"}
    await tools("memory_batch_store", items=items)
    await stored(tools, **wanted, tags=["a", "b"], memory_tier="working", content_type="json")

    for filter in ({"tags": ["a", "b"]}, {"memory_tier": "working"}, {"content_type": "json"}):
        assert await found(tools, "tea", top_k=1, **filter) == [wanted["content"]]
    assert await found(tools, "tea", tags=["a", "c"]) == []
    assert len(await found(tools, "tea", tags=[], top_k=50)) == 41


async def test_results_below_the_threshold_are_left_out(tools: Tools) -> None:
    await stored(tools, "green tea")
    await stored(tools, "some tea is mentioned beside a lot of other things in this long sentence")

    answer = await tools("memory_search", query="green tea", search_mode="keyword")
    best, second = [one["similarity"] for one in answer["results"]]
    threshold = (best + second) / 2

    assert await found(tools, "green tea", min_similarity=threshold) == ["green tea"]
    assert len(await found(tools, "green tea", min_similarity=0.0)) == 2


async def test_a_question_of_nothing_known_finds_nothing(tools: Tools) -> None:
    await stored(tools, "tea")

    answer = await tools("memory_search", query="xylophone", search_mode="keyword")

    assert answer == {"results": [], "total": 0}


@pytest.mark.parametrize(
    "query", ['"', "tea AND", "NEAR(tea", "tea*", "content:tea", "%", "'; --", "^tea", "{tea}"]
)
@pytest.mark.parametrize("mode", ["semantic", "keyword", "hybrid"])
async def test_search_syntax_is_only_text(tools: Tools, query: str, mode: str) -> None:
    await stored(tools, "tea")

    answer = await tools("memory_search", query=query, search_mode=mode)

    assert "error" not in answer
    if "tea" in query and mode != "semantic":
        assert [one["content"] for one in answer["results"]] == ["tea"]
