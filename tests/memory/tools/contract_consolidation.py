"""What memory_consolidate promises."""

from __future__ import annotations

from tests.memory.tools.calling import UNKNOWN_ID, Tools, assert_error, contents, stored

SOURCES = [
    "Ada moved to Berlin on 3 May 2021. She found a flat near the park.",
    "Her rent is 1,250 EUR. It rises by 3.5 % in 2026.",
    "Ada works with Miriam Okafor at Acme.",
]


async def three(tools: Tools) -> list[str]:
    return [await stored(tools, content, tags=["t", content[0]]) for content in SOURCES]


async def test_consolidation_answers_with_the_new_memory(tools: Tools) -> None:
    ids = await three(tools)

    answer = await tools("memory_consolidate", memory_ids=ids, summary_strategy="extractive",
                         preserve_originals=True, tags=["consolidated", "summary"],
                         metadata={"n": 1})  # fmt: skip

    assert list(answer) == [
        "success",
        "consolidated_memory_id",
        "original_count",
        "preserved",
        "summary_length",
    ]
    assert (answer["success"], answer["original_count"], answer["preserved"]) == (True, 3, True)
    memory = await tools("memory_get", id=answer["consolidated_memory_id"])
    assert answer["summary_length"] == len(memory["content"]) > 0
    assert memory["tags"] == ["consolidated", "summary"]
    assert memory["metadata"] == {"n": 1}
    assert memory["memory_tier"] == "long_term"


async def test_the_summary_keeps_names_numbers_and_dates(tools: Tools) -> None:
    answer = await tools("memory_consolidate", memory_ids=await three(tools))

    memory = await tools("memory_get", id=answer["consolidated_memory_id"])
    kept = ("Ada", "Berlin", "3 May 2021", "1,250", "3.5", "2026", "Miriam Okafor", "Acme")
    for fact in kept:
        assert fact in memory["content"]
    assert answer["summary_length"] <= sum(map(len, SOURCES))


async def test_long_sources_are_shortened(tools: Tools) -> None:
    talk = "It was really nice to talk about {} things for quite a long while, as one does."
    chat = " ".join(talk.format(word) for word in ("many", "old", "new", "odd", "good", "small"))
    texts = [f"{chat} {source}" for source in SOURCES] + [chat * 3]
    ids = [await stored(tools, text) for text in texts]

    answer = await tools("memory_consolidate", memory_ids=ids)

    memory = await tools("memory_get", id=answer["consolidated_memory_id"])
    assert answer["summary_length"] < sum(map(len, texts)) * 0.6
    assert "Miriam Okafor" in memory["content"]
    assert "1,250" in memory["content"]


async def test_any_language_can_be_consolidated(tools: Tools) -> None:
    texts = ["田中さんは2024年5月に東京へ引っ越した。部屋は広い。", "家賃は12万円です。"]
    ids = [await stored(tools, text) for text in texts]

    answer = await tools("memory_consolidate", memory_ids=ids)

    memory = await tools("memory_get", id=answer["consolidated_memory_id"])
    assert "2024年5月" in memory["content"]
    assert "12万円" in memory["content"]
    assert 0 < answer["summary_length"] <= sum(map(len, texts))


async def test_originals_are_kept_unless_told(tools: Tools) -> None:
    ids = await three(tools)

    answer = await tools("memory_consolidate", memory_ids=ids)

    assert answer["preserved"] is True
    assert len(await contents(tools)) == 4


async def test_originals_are_deleted_when_told(tools: Tools) -> None:
    ids = await three(tools)

    answer = await tools("memory_consolidate", memory_ids=ids, preserve_originals=False)

    assert answer["preserved"] is False
    (one,) = (await tools("memory_list"))["memories"]
    assert one["id"] == answer["consolidated_memory_id"]
    for id in ids:
        assert_error(await tools("memory_get", id=id), "NotFoundError")


async def test_tags_are_those_of_the_originals_unless_given(tools: Tools) -> None:
    ids = await three(tools)

    inherited = await tools("memory_consolidate", memory_ids=ids)
    none = await tools("memory_consolidate", memory_ids=ids, tags=[])

    memory = await tools("memory_get", id=inherited["consolidated_memory_id"])
    assert (memory["tags"], memory["metadata"]) == (["t", "A", "H"], {})
    assert (await tools("memory_get", id=none["consolidated_memory_id"]))["tags"] == []


async def test_one_that_is_missing_leaves_all_as_it_was(tools: Tools) -> None:
    ids = await three(tools)

    answer = await tools(
        "memory_consolidate", memory_ids=[*ids, UNKNOWN_ID], preserve_originals=False
    )

    assert_error(answer, "NotFoundError", UNKNOWN_ID)
    assert len(await contents(tools)) == 3


async def test_fewer_than_two_different_memories_are_an_error(tools: Tools) -> None:
    id = await stored(tools, "alone")

    for ids in ([], [id], [id, id], [id, id.upper()]):
        answer = await tools("memory_consolidate", memory_ids=ids)
        assert_error(answer, "ValidationError", "memory_ids", "2 to 50")
    assert len(await contents(tools)) == 1


async def test_fifty_memories_are_the_most(tools: Tools) -> None:
    items = [{"content": f"The code of door {n} is {n * 37}."} for n in range(51)]
    ids = (await tools("memory_batch_store", items=items))["stored_ids"]

    too_many = await tools("memory_consolidate", memory_ids=ids)
    most = await tools("memory_consolidate", memory_ids=[*ids[:50], ids[0]])

    assert_error(too_many, "ValidationError", "memory_ids", "2 to 50", "not 51")
    assert most["original_count"] == 50
