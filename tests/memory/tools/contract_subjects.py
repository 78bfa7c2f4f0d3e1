"""Tools about one person neither show nor touch what is stored about another."""

from __future__ import annotations

from tests.memory.tools.calling import UNKNOWN_ID, Answer, Tools, assert_error, contents, stored

SECRET = "Bob will leave the company in March"


def reaching(id: str) -> list[tuple[str, dict[str, object]]]:
    """Every way to name a memory."""
    return [
        ("memory_get", {"id": id}),
        ("memory_update", {"id": id, "content": "seen"}),
        ("memory_delete", {"id": id}),
        ("memory_delete", {"ids": [id]}),
        ("memory_delete", {"id": id, "memory_tier": "long_term"}),
        ("memory_get_score", {"id": id}),
        ("memory_set_score", {"id": id, "score": 0.0}),
        ("memory_similar", {"id": id, "min_similarity": 0.0}),
        ("memory_get_links", {"id": id}),
    ]


def without(answer: Answer, id: str) -> str:
    return str(answer).replace(id, "ID")


async def test_an_id_of_another_person_is_as_unknown_as_one_that_never_was(
    tools: Tools, ada_tools: Tools, bob_tools: Tools
) -> None:
    secret = await stored(bob_tools, SECRET, tags=["work"])

    for (name, fields), (_, unknown) in zip(reaching(secret), reaching(UNKNOWN_ID), strict=True):
        answer = await ada_tools(name, **fields)
        assert_error(answer, "NotFoundError", secret)
        assert without(answer, secret) == without(await ada_tools(name, **unknown), UNKNOWN_ID)
    assert (await bob_tools("memory_get_score", id=secret))["access_count"] == 0
    assert (await bob_tools("memory_get", id=secret))["content"] == SECRET


async def test_what_is_stored_about_one_is_neither_listed_nor_found_for_another(
    ada_tools: Tools, bob_tools: Tools
) -> None:
    await stored(bob_tools, SECRET, tags=["work"])
    await stored(ada_tools, "Ada likes the company")

    assert await contents(ada_tools) == ["Ada likes the company"]
    assert (await ada_tools("memory_list"))["total"] == 1
    assert await contents(ada_tools, tags=["work"]) == []
    for name in ("memory_search", "memory_explain"):
        for mode in ("semantic", "keyword", "hybrid"):
            for query in (SECRET, "Bob", "company March", "*"):
                answer = await ada_tools(name, query=query, search_mode=mode, top_k=1000)
                assert SECRET not in str(answer)


async def test_what_is_about_nobody_in_particular_is_not_shown_either(
    tools: Tools, ada_tools: Tools
) -> None:
    id = await stored(tools, "a note of the agent to itself")

    assert await contents(ada_tools) == []
    assert_error(await ada_tools("memory_get", id=id), "NotFoundError")


async def test_a_tier_or_an_age_deletes_only_what_is_about_the_person(
    ada_tools: Tools, bob_tools: Tools
) -> None:
    await stored(bob_tools, SECRET)
    ours = await stored(ada_tools, "Ada likes tea")

    by_tier = await ada_tools("memory_delete", memory_tier="long_term")
    by_age = await ada_tools("memory_delete", older_than="2999-01-01T00:00:00Z")

    assert by_tier == {"deleted_count": 1, "deleted_ids": [ours]}
    assert by_age == {"deleted_count": 0, "deleted_ids": []}
    assert await contents(bob_tools) == [SECRET]


async def test_ids_of_two_people_delete_only_the_own_one(
    ada_tools: Tools, bob_tools: Tools
) -> None:
    secret, ours = await stored(bob_tools, SECRET), await stored(ada_tools, "Ada likes tea")

    answer = await ada_tools("memory_delete", ids=[secret, ours])

    assert answer == {"deleted_count": 1, "deleted_ids": [ours]}
    assert await contents(bob_tools) == [SECRET]


async def test_a_batch_changes_only_what_is_about_the_person(
    ada_tools: Tools, bob_tools: Tools
) -> None:
    secret, ours = await stored(bob_tools, SECRET), await stored(ada_tools, "Ada likes tea")
    updates = [{"id": id, "content": "changed"} for id in (ours, secret, UNKNOWN_ID)]

    all_or_nothing = await ada_tools("memory_batch_update", updates=updates)
    unchanged = await contents(ada_tools)
    answer = await ada_tools("memory_batch_update", updates=updates, on_error="continue")

    assert (all_or_nothing["success"], all_or_nothing["updated_count"]) == (False, 0)
    assert unchanged == ["Ada likes tea"]
    assert answer["updated_ids"] == [ours]
    foreign, unknown = answer["errors"]
    assert (foreign["index"], foreign["error_type"]) == (1, "NotFoundError")
    assert without(foreign, secret)[12:] == without(unknown, UNKNOWN_ID)[12:]
    assert await contents(bob_tools) == [SECRET]


async def test_memories_of_two_people_are_not_consolidated(
    tools: Tools, ada_tools: Tools, bob_tools: Tools
) -> None:
    secret, ours = await stored(bob_tools, SECRET), await stored(ada_tools, "Ada likes tea")
    for_one = await ada_tools("memory_consolidate", memory_ids=[secret, ours])
    for_all = await tools("memory_consolidate", memory_ids=[secret, ours], preserve_originals=False)

    assert_error(for_one, "NotFoundError", secret)
    assert_error(for_all, "ValidationError", "different people")
    assert (await contents(ada_tools), await contents(bob_tools)) == (["Ada likes tea"], [SECRET])


async def test_what_is_consolidated_stays_about_the_person(
    tools: Tools, ada_tools: Tools, bob_tools: Tools
) -> None:
    ids = [await stored(bob_tools, SECRET), await stored(bob_tools, "Bob likes tea")]

    answer = await bob_tools("memory_consolidate", memory_ids=ids)

    id = answer["consolidated_memory_id"]
    assert_error(await ada_tools("memory_get", id=id), "NotFoundError")
    assert SECRET in (await bob_tools("memory_get", id=id))["content"]


async def test_duplicates_and_similar_ones_of_two_people_stay_apart(
    tools: Tools, ada_tools: Tools, bob_tools: Tools
) -> None:
    secret, ours = [await stored(one, "likes green tea") for one in (bob_tools, ada_tools)]

    similar = await ada_tools("memory_similar", id=ours, min_similarity=0.0)
    for_one = await ada_tools("memory_deduplicate", dry_run=False)
    for_all = await tools("memory_deduplicate", dry_run=False)

    assert similar["results"] == []
    assert (for_one["examined_count"], for_one["merged_count"]) == (1, 0)
    assert for_all["merged_count"] == 0
    assert (await bob_tools("memory_get", id=secret))["content"] == "likes green tea"


async def test_links_between_two_people_are_seen_by_neither(
    tools: Tools, ada_tools: Tools, bob_tools: Tools
) -> None:
    secret, ours = await stored(bob_tools, SECRET), await stored(ada_tools, "Ada likes tea")
    await tools("memory_link", source_id=secret, target_id=ours)

    for source, target in ((ours, secret), (secret, ours)):
        for name in ("memory_link", "memory_unlink"):
            answer = await ada_tools(name, source_id=source, target_id=target)
            assert_error(answer, "NotFoundError", secret)
    assert (await ada_tools("memory_get_links", id=ours))["links"] == []
    assert (await bob_tools("memory_get_links", id=secret))["links"] == []
    assert (await tools("memory_get_links", id=ours))["total"] == 1


async def test_nobody_passes_for_another_by_an_argument(ada_tools: Tools, bob_tools: Tools) -> None:
    await stored(bob_tools, SECRET)

    for field in ("subject", "owner", "of", "session", "user_id"):
        answer = await ada_tools("memory_list", **{field: "bob@localhost"})
        assert_error(answer, "ValidationError", f"unknown parameter '{field}'")
    answer = await ada_tools("memory_store", content="x", agent_id="bob@localhost")
    assert_error(answer, "ValidationError", "agent_id")
    assert await contents(bob_tools) == [SECRET]
