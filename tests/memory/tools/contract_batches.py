"""What memory_batch_store and memory_batch_update promise."""

from __future__ import annotations

import asyncio

import pytest

from tests.memory.tools.calling import UNKNOWN_ID, Tools, assert_error, contents, stored

GOOD, BAD = {"content": "good"}, {"content": ""}


async def test_a_batch_is_stored_in_order(tools: Tools) -> None:
    items = [{"content": f"{word} memory", "tags": ["batch"]} for word in ("First", "Second")]

    answer = await tools("memory_batch_store", items=items, on_error="rollback")

    assert list(answer) == ["success", "stored_count", "stored_ids", "errors"]
    assert (answer["success"], answer["stored_count"], answer["errors"]) == (True, 2, [])
    first, second = answer["stored_ids"]
    assert (await tools("memory_get", id=first))["content"] == "First memory"
    assert (await tools("memory_get", id=second))["content"] == "Second memory"
    assert sorted(await contents(tools, tags=["batch"])) == ["First memory", "Second memory"]


async def test_every_field_of_an_item_is_kept(tools: Tools) -> None:
    item = {
        "content": "x: 1",
        "content_type": "yaml",
        "memory_tier": "working",
        "tags": ["t"],
        "metadata": {"k": [1]},
    }

    (id,) = (await tools("memory_batch_store", items=[item]))["stored_ids"]

    memory = await tools("memory_get", id=id)
    assert {key: memory[key] for key in item} == item


async def test_the_same_content_twice_is_stored_twice(tools: Tools) -> None:
    answer = await tools("memory_batch_store", items=[GOOD, GOOD])

    assert len(set(answer["stored_ids"])) == 2


async def test_rollback_is_all_or_nothing_and_the_default(tools: Tools) -> None:
    for options in ({}, {"on_error": "rollback"}):
        answer = await tools("memory_batch_store", items=[GOOD, BAD, GOOD], **options)

        assert (answer["success"], answer["stored_count"], answer["stored_ids"]) == (False, 0, [])
        (error,) = answer["errors"]
        assert error == {
            "index": 1,
            "error_type": "ValidationError",
            "message": "Content cannot be empty",
        }
    assert await contents(tools) == []


async def test_continue_stores_the_good_ones_and_names_each_bad_one(tools: Tools) -> None:
    items = [BAD, {"content": "one"}, {"content": "x", "memory_tier": "y"}, {"content": "two"}, 7]

    answer = await tools("memory_batch_store", items=items, on_error="continue")

    assert (answer["success"], answer["stored_count"]) == (False, 2)
    assert [error["index"] for error in answer["errors"]] == [0, 2, 4]
    assert {error["error_type"] for error in answer["errors"]} == {"ValidationError"}
    assert await contents(tools) == ["two", "one"]


async def test_stop_keeps_what_came_before(tools: Tools) -> None:
    items = [{"content": "one"}, {"content": "two"}, BAD, {"content": "four"}, BAD]

    answer = await tools("memory_batch_store", items=items, on_error="stop")

    assert (answer["success"], answer["stored_count"]) == (False, 2)
    assert [error["index"] for error in answer["errors"]] == [2]
    assert await contents(tools) == ["two", "one"]


LONG = {"content": "x" * 40_000}
"""Looks right, and the memory refuses it."""


@pytest.mark.parametrize(
    ("on_error", "kept", "wrong"),
    [("rollback", [], [1]), ("continue", ["two", "one"], [1, 2]), ("stop", ["one"], [1])],
)
async def test_what_the_memory_refuses_counts_as_what_cannot_be_read(
    tools: Tools, on_error: str, kept: list[str], wrong: list[int]
) -> None:
    items = [{"content": "one"}, LONG, LONG, {"content": "two"}]

    answer = await tools("memory_batch_store", items=items, on_error=on_error)

    assert await contents(tools) == kept
    assert (answer["success"], answer["stored_count"]) == (False, len(kept))
    indexes = [error["index"] for error in answer["errors"]]
    assert indexes == wrong or (on_error == "rollback" and indexes[:1] == wrong)


@pytest.mark.parametrize(("on_error", "stored_ones"), [("continue", 2), ("stop", 1)])
async def test_indexes_are_those_of_what_was_sent(
    tools: Tools, on_error: str, stored_ones: int
) -> None:
    items = [{"content": "one"}, 5, LONG, {"content": "two"}]

    answer = await tools("memory_batch_store", items=items, on_error=on_error)

    assert answer["stored_count"] == stored_ones
    expected = [1, 2] if on_error == "continue" else [1]
    assert [error["index"] for error in answer["errors"]] == expected


async def test_a_batch_that_fails_touches_no_one_elses_writes(tools: Tools) -> None:
    bad = [{"content": f"never {number}"} for number in range(5)]
    calls = [
        call
        for number in range(10)
        for call in (
            tools("memory_batch_store", items=[*bad, BAD]),
            tools("memory_store", content=f"kept {number}"),
            tools("memory_batch_store", items=[*bad, LONG]),
        )
    ]

    await asyncio.gather(*calls)

    assert sorted(await contents(tools)) == [f"kept {number}" for number in range(10)]


async def test_an_unknown_way_to_go_on_is_an_error(tools: Tools) -> None:
    answer = await tools("memory_batch_store", items=[GOOD], on_error="ignore")

    assert_error(answer, "ValidationError", "on_error", "rollback, continue, stop")
    assert await contents(tools) == []


async def test_unknown_fields_of_an_item_are_named(tools: Tools) -> None:
    answer = await tools("memory_batch_store", items=[{**GOOD, "ttl_seconds": 5}])

    assert "unknown parameter 'ttl_seconds'" in answer["errors"][0]["message"]
    assert not answer["success"]


async def test_a_hundred_fit_into_a_batch(tools: Tools) -> None:
    answer = await tools("memory_batch_store", items=[{"content": f"{n}"} for n in range(100)])

    assert answer["stored_count"] == 100


async def test_a_batch_is_updated(tools: Tools) -> None:
    one = await stored(tools, "one", tags=["old"], metadata={"a": 1})
    two = await stored(tools, "two", metadata={"a": 1})
    updates = [
        {"id": one, "tags": ["updated", "important"]},
        {"id": two, "metadata": {"reviewed": True}, "content": "second", "memory_tier": "working"},
    ]

    answer = await tools("memory_batch_update", updates=updates)

    assert list(answer) == ["success", "updated_count", "updated_ids", "errors"]
    assert answer == {"success": True, "updated_count": 2, "updated_ids": [one, two], "errors": []}
    first, second = await tools("memory_get", id=one), await tools("memory_get", id=two)
    assert (first["content"], first["tags"]) == ("one", ["updated", "important"])
    assert first["metadata"] == {"a": 1}
    assert (second["content"], second["memory_tier"]) == ("second", "working")
    assert second["metadata"] == {"a": 1, "reviewed": True}


@pytest.mark.parametrize(
    ("on_error", "done", "wrong"),
    [("rollback", [], [1]), ("continue", [0, 3], [1, 2]), ("stop", [0], [1])],
)
async def test_an_unknown_id_in_a_batch_is_handled_as_told(
    tools: Tools, on_error: str, done: list[int], wrong: list[int]
) -> None:
    ids = [await stored(tools, "first"), UNKNOWN_ID, UNKNOWN_ID, await stored(tools, "last")]
    updates = [{"id": id, "content": "changed"} for id in ids]

    answer = await tools("memory_batch_update", updates=updates, on_error=on_error)

    assert (answer["success"], answer["updated_ids"]) == (False, [ids[index] for index in done])
    assert answer["updated_count"] == len(done)
    indexes = [error["index"] for error in answer["errors"]]
    assert indexes == wrong or (on_error == "rollback" and indexes == [1, 2])
    assert answer["errors"][0]["error_type"] == "NotFoundError"
    assert UNKNOWN_ID in answer["errors"][0]["message"]
    assert (await contents(tools)).count("changed") == len(done)


async def test_a_malformed_update_is_a_wrong_item(tools: Tools) -> None:
    id = await stored(tools, "as it was")
    updates = [{"id": "id1", "content": "x"}, {"id": id}, {"content": "x"}, {"id": id, "tags": []}]

    answer = await tools("memory_batch_update", updates=updates, on_error="continue")

    assert answer["updated_ids"] == [id]
    assert [error["index"] for error in answer["errors"]] == [0, 1, 2]
    messages = [error["message"] for error in answer["errors"]]
    assert "id must be a UUID" in messages[0]
    assert "something to change" in messages[1]
    assert messages[2] == "id is required"


async def test_batches_and_stores_side_by_side_lose_nothing(tools: Tools) -> None:
    async def batch(number: int) -> None:
        items = [{"content": f"batch {number} item {at}"} for at in range(10)]
        on_error = ("continue", "stop", "rollback")[number % 3]
        await tools("memory_batch_store", items=[*items, BAD], on_error=on_error)

    await asyncio.gather(
        *(batch(number) for number in range(12)),
        *(tools("memory_store", content=f"single {number}") for number in range(20)),
    )

    there = await contents(tools, limit=1000)
    assert sum(content.startswith("single") for content in there) == 20
    assert sum(content.startswith("batch") for content in there) == 80
    assert len(set(there)) == 100
