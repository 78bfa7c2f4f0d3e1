"""What memory_get_score and memory_set_score promise."""

from __future__ import annotations

import pytest

from tests.memory.tools.calling import UNKNOWN_ID, Tools, assert_error, stored


async def test_a_score_has_its_fields(tools: Tools) -> None:
    id = await stored(tools, "x")

    answer = await tools("memory_get_score", id=id)

    assert list(answer) == [
        "success",
        "memory_id",
        "importance_score",
        "access_count",
        "last_accessed_at",
    ]
    assert (answer["success"], answer["memory_id"]) == (True, id)
    assert 0 <= answer["importance_score"] <= 1
    assert (answer["access_count"], answer["last_accessed_at"]) == (0, None)


async def test_reading_a_score_is_no_use_of_the_memory(tools: Tools) -> None:
    id = await stored(tools, "x")

    for _ in range(3):
        answer = await tools("memory_get_score", id=id)

    assert (answer["access_count"], answer["last_accessed_at"]) == (0, None)


async def test_a_score_rises_with_use(tools: Tools) -> None:
    id = await stored(tools, "x")
    before = await tools("memory_get_score", id=id)

    for _ in range(5):
        await tools("memory_get", id=id)
    await stored(tools, "a write that comes after the counting")

    after = await tools("memory_get_score", id=id)
    assert after["access_count"] == 5
    assert after["last_accessed_at"].endswith("Z")
    assert after["importance_score"] > before["importance_score"]


async def test_setting_a_score_answers_with_both(tools: Tools) -> None:
    id = await stored(tools, "x")
    before = (await tools("memory_get_score", id=id))["importance_score"]

    answer = await tools("memory_set_score", id=id, score=0.9, reason="Critical user preference")

    assert list(answer) == ["success", "memory_id", "previous_score", "new_score"]
    assert (answer["success"], answer["memory_id"]) == (True, id)
    assert answer["previous_score"] == pytest.approx(before, abs=0.01)
    assert answer["new_score"] == 0.9
    assert (await tools("memory_get_score", id=id))["importance_score"] == 0.9


@pytest.mark.parametrize("score", [0.0, 0, 1, 1.0, 0.123])
async def test_a_set_score_stays_set_while_access_counts(tools: Tools, score: float) -> None:
    id = await stored(tools, "x")
    await tools("memory_set_score", id=id, score=score)

    for _ in range(3):
        await tools("memory_get", id=id)
    await tools("memory_update", id=id, content="y")

    answer = await tools("memory_get_score", id=id)
    assert answer["importance_score"] == score
    assert answer["access_count"] == 3


async def test_the_score_before_may_be_a_set_one(tools: Tools) -> None:
    id = await stored(tools, "x")

    await tools("memory_set_score", id=id, score=0.0)
    answer = await tools("memory_set_score", id=id, score=0.25)

    assert (answer["previous_score"], answer["new_score"]) == (0.0, 0.25)


async def test_a_score_of_nothing_is_not_found(tools: Tools) -> None:
    for fields in ({}, {"score": 0.5}):
        name = "memory_set_score" if fields else "memory_get_score"
        assert_error(await tools(name, id=UNKNOWN_ID, **fields), "NotFoundError", UNKNOWN_ID)
