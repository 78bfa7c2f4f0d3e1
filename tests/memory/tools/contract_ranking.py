"""What memory_search and memory_explain promise about order and reasons."""

from __future__ import annotations

from tests.memory.tools.calling import Tools, found, stored


async def test_created_at_sorts_the_newest_first(tools: Tools) -> None:
    for content in ("tea tea tea", "some tea with milk", "tea and coffee and other things"):
        await stored(tools, content)

    assert await found(tools, "tea", sort_by="created_at") == [
        "tea and coffee and other things",
        "some tea with milk",
        "tea tea tea",
    ]


async def test_importance_sorts_the_highest_first(tools: Tools) -> None:
    ids = [await stored(tools, f"tea {word}") for word in ("low", "high", "middle")]
    for id, score in zip(ids, (0.0, 1.0, 0.6), strict=True):
        await tools("memory_set_score", id=id, score=score)

    assert await found(tools, "tea", sort_by="importance") == ["tea high", "tea middle", "tea low"]


async def test_the_importance_weight_weighs(tools: Tools) -> None:
    await stored(tools, "green tea")
    important = "some green tea is mentioned in this longer sentence"
    id = await stored(tools, important)
    for other, score in ((id, 1.0),):
        await tools("memory_set_score", id=other, score=score)

    assert (await found(tools, "green tea"))[0] == "green tea"
    assert (await found(tools, "green tea", importance_weight=1.0))[0] == important


async def test_a_search_can_say_why(tools: Tools) -> None:
    await stored(tools, "green tea")

    answer = await tools("memory_explain", query="green tea", search_mode="keyword")

    assert answer["total"] == 1
    why = answer["results"][0]["why"]
    assert list(why) == ["keyword", "vector", "bonuses", "age_seconds", "grant"]
    assert why["keyword"]["rank"] == 1
    assert why["keyword"]["score"] > 0
    assert why["grant"] is None
