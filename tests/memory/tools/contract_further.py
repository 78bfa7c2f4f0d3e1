"""What the further tools promise: similar, deduplicate, links, decay, grants."""

from __future__ import annotations

from tests.memory.tools.calling import UNKNOWN_ID, Tools, assert_error, contents, stored


async def test_duplicates_are_only_listed_unless_told(tools: Tools) -> None:
    oldest = await stored(tools, "The port is 5432")
    newer = await stored(tools, "the  port is 5432")
    await stored(tools, "The port is 5433")

    answer = await tools("memory_deduplicate")

    assert list(answer) == ["dry_run", "examined_count", "merged_count", "groups"]
    assert (answer["dry_run"], answer["examined_count"], answer["merged_count"]) == (True, 3, 1)
    assert answer["groups"] == [
        {"kept_id": oldest, "content": "The port is 5432", "duplicate_ids": [newer]}
    ]
    assert len(await contents(tools)) == 3


async def test_merging_keeps_the_oldest_with_what_all_had(tools: Tools) -> None:
    oldest = await stored(tools, "likes tea", tags=["a"], metadata={"k": "old", "x": 1})
    second = await stored(tools, "Likes tea", tags=["b", "a"], metadata={"k": "new", "y": 2})
    third = await stored(tools, "likes  tea", tags=["c"])
    for id in (oldest, second, second, third):
        await tools("memory_get", id=id)

    await tools("memory_deduplicate")
    answer = await tools("memory_deduplicate", dry_run=False)

    assert (answer["dry_run"], answer["merged_count"]) == (False, 2)
    assert answer["groups"][0]["kept_id"] == oldest
    assert sorted(answer["groups"][0]["duplicate_ids"]) == sorted([second, third])
    assert await contents(tools) == ["likes tea"]
    score = await tools("memory_get_score", id=oldest)
    assert score["access_count"] == 4
    memory = await tools("memory_get", id=oldest)
    assert sorted(memory["tags"]) == ["a", "b", "c"]
    assert memory["metadata"] == {"k": "old", "x": 1, "y": 2}
    assert_error(await tools("memory_get", id=second), "NotFoundError")


async def test_merging_again_finds_nothing_more(tools: Tools) -> None:
    for _ in range(3):
        await stored(tools, "likes tea")

    await tools("memory_deduplicate", dry_run=False)
    answer = await tools("memory_deduplicate", dry_run=False)

    assert (answer["examined_count"], answer["merged_count"], answer["groups"]) == (1, 0, [])


async def test_only_what_is_asked_for_is_merged(tools: Tools) -> None:
    await stored(tools, "likes tea", tags=["a"])
    await stored(tools, "likes tea", tags=["b"])
    await stored(tools, "likes tea", memory_tier="working", tags=["a"])

    tagged = await tools("memory_deduplicate", tags=["b"])
    long_term = await tools("memory_deduplicate", memory_tier="long_term", dry_run=False)

    assert tagged["merged_count"] == 0
    assert long_term["merged_count"] == 1
    assert len(await contents(tools)) == 2


async def test_what_differs_in_a_number_a_name_or_a_not_is_no_duplicate(tools: Tools) -> None:
    for content in (
        "The meeting with Ada is on 3 May",
        "The meeting with Ada is on 4 May",
        "The meeting with Bob is on 3 May",
        "The meeting with Ada is not on 3 May",
    ):
        await stored(tools, content)

    answer = await tools("memory_deduplicate", min_similarity=0.8, dry_run=False)

    assert answer["merged_count"] == 0
    assert len(await contents(tools)) == 4


async def test_similar_memories_have_the_form_of_a_search(tools: Tools) -> None:
    id = await stored(tools, "green tea in the morning")
    await stored(tools, "green tea in the morning", tags=["t"])

    answer = await tools("memory_similar", id=id, min_similarity=0.0)

    assert list(answer) == ["results", "total", "outcome"]
    assert answer["outcome"] in ("ok", "empty", "degraded")
    assert answer["total"] == len(answer["results"])
    assert id not in [one["id"] for one in answer["results"]]
    for one in answer["results"]:
        assert list(one) == ["id", "content", "similarity", "memory_tier", "tags", "created_at"]


async def test_two_memories_are_linked_listed_and_unlinked(tools: Tools) -> None:
    one, two = await stored(tools, "one"), await stored(tools, "two")

    link = await tools("memory_link", source_id=one, target_id=two, relation="causes")
    again = await tools("memory_link", source_id=one, target_id=two, relation="causes")
    plain = await tools("memory_link", source_id=two, target_id=one)

    assert list(link) == ["source_id", "target_id", "relation", "created_at"]
    assert (link["source_id"], link["target_id"], link["relation"]) == (one, two, "causes")
    assert again == link
    assert plain["relation"] == "related"
    links = await tools("memory_get_links", id=two)
    assert links == {"id": two, "links": [link, plain], "total": 2}

    removed = await tools("memory_unlink", source_id=two, target_id=one, relation="causes")
    assert removed == {"source_id": two, "target_id": one, "removed_count": 1}
    assert (await tools("memory_unlink", source_id=one, target_id=two))["removed_count"] == 1
    assert (await tools("memory_get_links", id=one))["links"] == []


async def test_a_link_to_nothing_is_not_found(tools: Tools) -> None:
    id = await stored(tools, "one")

    for source, target in ((id, UNKNOWN_ID), (UNKNOWN_ID, id)):
        answer = await tools("memory_link", source_id=source, target_id=target)
        assert_error(answer, "NotFoundError", UNKNOWN_ID)


async def test_nothing_decays_until_it_is_configured(tools: Tools) -> None:
    await stored(tools, "x", memory_tier="working")

    status = await tools("memory_decay_status")

    assert list(status) == [
        "enabled",
        "older_than_days",
        "below_importance",
        "memory_tiers",
        "last_run_at",
        "last_deleted",
        "due",
    ]
    assert (status["enabled"], status["last_run_at"], status["due"]) == (False, None, 0)


async def test_decay_deletes_what_it_said_it_would(tools: Tools) -> None:
    gone = await stored(tools, "unused", memory_tier="working")
    kept = await stored(tools, "important", memory_tier="working")
    await stored(tools, "long", memory_tier="long_term")
    await tools("memory_set_score", id=gone, score=0.0)
    await tools("memory_set_score", id=kept, score=1.0)

    configured = await tools("memory_decay_configure", enabled=True, older_than_days=0)
    again = await tools("memory_decay_configure", below_importance=0.5)
    dry = await tools("memory_decay_run")
    there = await contents(tools)
    done = await tools("memory_decay_run", dry_run=False)

    assert (configured["enabled"], configured["older_than_days"]) == (True, 0)
    assert (again["enabled"], again["older_than_days"]) == (True, 0)
    assert (again["below_importance"], again["due"]) == (0.5, 1)
    assert dry == {"dry_run": True, "deleted_count": 1, "deleted_ids": [gone]}
    assert len(there) == 3
    assert done == {"dry_run": False, "deleted_count": 1, "deleted_ids": [gone]}
    assert sorted(await contents(tools)) == ["important", "long"]
    status = await tools("memory_decay_status")
    assert status["last_deleted"] == 1
    assert status["last_run_at"].endswith("Z")


async def test_grants_are_given_listed_and_revoked(tools: Tools) -> None:
    grant = await tools("memory_grant", to="ada@localhost", access="write", tag="shared")
    again = await tools("memory_grant", to="ada@localhost", access="write", tag="shared")

    assert list(grant) == ["id", "to", "access", "tag", "session", "created_at"]
    assert (grant["to"], grant["access"]) == ("ada@localhost", "write")
    assert (grant["tag"], grant["session"]) == ("shared", None)
    assert again == grant
    assert await tools("memory_grants") == {"grants": [grant], "total": 1}
    assert await tools("memory_revoke", id=grant["id"]) == {"id": grant["id"], "revoked": True}
    assert await tools("memory_grants") == {"grants": [], "total": 0}
    assert_error(await tools("memory_revoke", id=grant["id"]), "NotFoundError", grant["id"])
