"""What memory_store, memory_get, memory_update, memory_delete and memory_list promise."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta, timezone
from uuid import UUID

import pytest

from tests.memory.tools.calling import UNKNOWN_ID, Tools, assert_error, contents, stored

DATE = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ")
FUTURE = datetime.now(UTC) + timedelta(days=2)
PAST = datetime.now(UTC) - timedelta(days=2)


async def test_storing_answers_with_id_content_tier_and_date(tools: Tools) -> None:
    answer = await tools(
        "memory_store",
        content="User prefers dark mode and large font sizes",
        memory_tier="long_term",
        tags=["preferences", "ui"],
        metadata={"source": "settings_page"},
    )

    assert list(answer) == ["id", "content", "memory_tier", "created_at"]
    assert str(UUID(answer["id"])) == answer["id"]
    assert answer["content"] == "User prefers dark mode and large font sizes"
    assert answer["memory_tier"] == "long_term"
    assert DATE.fullmatch(answer["created_at"])


async def test_what_is_not_said_has_its_default(tools: Tools) -> None:
    id = await stored(tools, "plain")

    memory = await tools("memory_get", id=id)

    assert memory["content_type"] == "text"
    assert memory["memory_tier"] == "long_term"
    assert (memory["tags"], memory["metadata"]) == ([], {})
    assert memory["expires_at"] is None


async def test_null_is_the_same_as_not_said(tools: Tools) -> None:
    id = await stored(
        tools, "plain", content_type=None, memory_tier=None, tags=None, metadata=None,
        agent_id=None, ttl_seconds=None,
    )  # fmt: skip

    memory = await tools("memory_get", id=id)

    assert (memory["content_type"], memory["memory_tier"]) == ("text", "long_term")
    assert (memory["tags"], memory["metadata"], memory["expires_at"]) == ([], {}, None)


async def test_a_memory_is_got_with_all_its_fields(tools: Tools) -> None:
    id = await stored(
        tools, "x = 1", content_type="code", memory_tier="working", tags=["py"], metadata={"n": [1]}
    )

    memory = await tools("memory_get", id=id)

    assert list(memory) == [
        "id",
        "content",
        "content_type",
        "memory_tier",
        "tags",
        "metadata",
        "created_at",
        "updated_at",
        "expires_at",
    ]
    assert (memory["id"], memory["content"], memory["content_type"]) == (id, "x = 1", "code")
    assert (memory["memory_tier"], memory["tags"]) == ("working", ["py"])
    assert memory["metadata"] == {"n": [1]}
    assert memory["created_at"] == memory["updated_at"]
    assert DATE.fullmatch(memory["created_at"])


@pytest.mark.parametrize("content_type", ["text", "image", "code", "json", "yaml"])
async def test_every_content_type_is_kept(tools: Tools, content_type: str) -> None:
    id = await stored(tools, "content", content_type=content_type)

    assert (await tools("memory_get", id=id))["content_type"] == content_type


@pytest.mark.parametrize("content", ["", " \n\t"])
async def test_content_cannot_be_empty(tools: Tools, content: str) -> None:
    answer = await tools("memory_store", content=content)

    assert answer == {
        "error": True,
        "error_type": "ValidationError",
        "message": "Content cannot be empty",
    }
    assert await contents(tools) == []


@pytest.mark.parametrize(
    "content", ["日本語 🦜 e\u0301 \u200f\x07", "'; DROP TABLE entry; --", '" OR NEAR(* ^', "\r\n"]
)
async def test_any_text_comes_back_equal(tools: Tools, content: str) -> None:
    id = await stored(tools, f"a{content}b", tags=[f"t{content}"], metadata={content: content})

    memory = await tools("memory_get", id=id)

    assert memory["content"] == f"a{content}b"
    assert memory["tags"] == [f"t{content}"]
    assert memory["metadata"] == {content: content}


async def test_an_explicit_store_stores_the_same_again(tools: Tools) -> None:
    first, second = await stored(tools, "the same"), await stored(tools, "the same")

    assert first != second
    assert await contents(tools) == ["the same", "the same"]


async def test_a_memory_with_a_time_to_live_says_when_it_expires(tools: Tools) -> None:
    id = await stored(tools, "for an hour", ttl_seconds=3600)

    memory = await tools("memory_get", id=id)

    lives = datetime.fromisoformat(memory["expires_at"]) - datetime.fromisoformat(
        memory["created_at"]
    )
    assert timedelta(seconds=3599) <= lives <= timedelta(seconds=3601)


async def test_a_short_term_memory_expires_without_being_told(tools: Tools) -> None:
    id = await stored(tools, "soon gone", memory_tier="short_term")

    assert (await tools("memory_get", id=id))["expires_at"] is not None


@pytest.mark.parametrize("tier", ["short_term", "long_term", "working"])
async def test_no_time_to_live_at_all_expires_at_once(tools: Tools, tier: str) -> None:
    id = await stored(tools, "gone already", memory_tier=tier, ttl_seconds=0)

    assert_error(await tools("memory_get", id=id), "NotFoundError", id)
    assert await contents(tools) == []
    answer = await tools("memory_search", query="gone already", search_mode="keyword")
    assert answer == {"results": [], "total": 0}


async def test_the_agent_id_is_the_owner_or_nothing(tools: Tools) -> None:
    await stored(tools, "ours", agent_id="assistant@localhost")

    answer = await tools("memory_store", content="theirs", agent_id="someone.else@localhost")

    assert_error(answer, "ValidationError", "agent_id", "assistant@localhost")
    assert await contents(tools) == ["ours"]


async def test_a_whole_number_may_be_written_with_a_point(tools: Tools) -> None:
    id = await stored(tools, "for an hour", ttl_seconds=3600.0)

    assert (await tools("memory_get", id=id))["expires_at"]


async def test_metadata_may_be_deep_but_not_bottomless(tools: Tools) -> None:
    deep: dict[str, object] = {}
    for _ in range(200):
        deep = {"in": deep}

    assert await stored(tools, "x", metadata={"a": {"b": [{"c": 1}]}})
    assert_error(await tools("memory_store", content="y", metadata=deep), "ValidationError",
                 "metadata", "levels")  # fmt: skip


@pytest.mark.parametrize(
    ("fields", "word"),
    [
        ({"content": "x" * 40_000}, "content"),
        ({"content": "x", "tags": ["t"] * 2 + [str(n) for n in range(50)]}, "tags"),
    ],
)
async def test_what_the_memory_refuses_is_named(
    tools: Tools, fields: dict[str, object], word: str
) -> None:
    assert_error(await tools("memory_store", **fields), "ValidationError", word)
    assert await contents(tools) == []


ID_TOOLS: list[tuple[str, dict[str, object]]] = [
    ("memory_get", {}),
    ("memory_update", {"content": "new"}),
    ("memory_delete", {}),
    ("memory_get_score", {}),
    ("memory_set_score", {"score": 0.5}),
    ("memory_similar", {}),
    ("memory_get_links", {}),
]


@pytest.mark.parametrize(("name", "fields"), ID_TOOLS)
async def test_an_unknown_id_is_not_found(
    tools: Tools, name: str, fields: dict[str, object]
) -> None:
    assert_error(await tools(name, id=UNKNOWN_ID, **fields), "NotFoundError", UNKNOWN_ID)


async def test_an_id_may_be_written_in_capitals(tools: Tools) -> None:
    id = await stored(tools, "here")

    assert (await tools("memory_get", id=id.upper()))["id"] == id


async def test_an_update_changes_what_is_given_and_nothing_else(tools: Tools) -> None:
    id = await stored(tools, "old", tags=["a"], metadata={"k": 1}, content_type="yaml")

    answer = await tools("memory_update", id=id, content="new")

    assert list(answer) == ["id", "updated", "updated_at"]
    assert (answer["id"], answer["updated"]) == (id, True)
    assert DATE.fullmatch(answer["updated_at"])
    memory = await tools("memory_get", id=id)
    assert (memory["content"], memory["tags"], memory["metadata"]) == ("new", ["a"], {"k": 1})
    assert memory["content_type"] == "yaml"
    assert memory["updated_at"] == answer["updated_at"]


async def test_new_content_is_what_a_search_finds(tools: Tools) -> None:
    id = await stored(tools, "the meeting is on Tuesday")

    await tools("memory_update", id=id, content="the appointment is on Friday")

    assert (await tools("memory_search", query="Tuesday", search_mode="keyword"))["total"] == 0
    assert (await tools("memory_search", query="Friday", search_mode="keyword"))["total"] == 1


async def test_new_tags_replace_the_old_ones(tools: Tools) -> None:
    id = await stored(tools, "x", tags=["preferences", "old"])

    await tools("memory_update", id=id, tags=["preferences", "ui", "theme"])
    assert (await tools("memory_get", id=id))["tags"] == ["preferences", "ui", "theme"]

    await tools("memory_update", id=id, tags=[])
    assert (await tools("memory_get", id=id))["tags"] == []


async def test_metadata_merges_key_by_key(tools: Tools) -> None:
    id = await stored(tools, "x", metadata={"a": 1, "b": {"deep": 1}})

    await tools("memory_update", id=id, metadata={"b": {"other": 2}, "c": None})

    memory = await tools("memory_get", id=id)
    assert memory["metadata"] == {"a": 1, "b": {"other": 2}, "c": None}


async def test_promotion_takes_the_expiry_away_and_demotion_gives_one(tools: Tools) -> None:
    id = await stored(tools, "x", memory_tier="short_term")

    await tools("memory_update", id=id, memory_tier="long_term")
    promoted = await tools("memory_get", id=id)
    await tools("memory_update", id=id, memory_tier="short_term")
    demoted = await tools("memory_get", id=id)

    assert (promoted["memory_tier"], promoted["expires_at"]) == ("long_term", None)
    assert demoted["memory_tier"] == "short_term"
    assert demoted["expires_at"] is not None


async def test_deleting_answers_with_what_was_deleted(tools: Tools) -> None:
    gone, stays = await stored(tools, "gone"), await stored(tools, "stays")

    answer = await tools("memory_delete", id=gone)

    assert answer == {"deleted_count": 1, "deleted_ids": [gone]}
    assert list(answer) == ["deleted_count", "deleted_ids"]
    assert_error(await tools("memory_get", id=gone), "NotFoundError")
    assert (await tools("memory_get", id=stays))["content"] == "stays"


async def test_id_and_ids_join(tools: Tools) -> None:
    one, two, three = [await stored(tools, word) for word in ("one", "two", "three")]

    answer = await tools("memory_delete", id=one, ids=[two, one, two.upper()])

    assert answer["deleted_count"] == 2
    assert sorted(answer["deleted_ids"]) == sorted([one, two])
    assert (await tools("memory_get", id=three))["content"] == "three"


async def test_of_several_ids_those_that_are_there_are_deleted(tools: Tools) -> None:
    id = await stored(tools, "there")

    answer = await tools("memory_delete", ids=[UNKNOWN_ID, id])

    assert answer == {"deleted_count": 1, "deleted_ids": [id]}


async def test_ids_of_which_none_is_there_are_not_found(tools: Tools) -> None:
    assert_error(await tools("memory_delete", ids=[UNKNOWN_ID]), "NotFoundError", UNKNOWN_ID)


async def test_a_whole_tier_is_deleted(tools: Tools) -> None:
    await stored(tools, "short", memory_tier="short_term")
    await stored(tools, "long", memory_tier="long_term")

    answer = await tools("memory_delete", memory_tier="short_term")

    assert answer["deleted_count"] == 1
    assert await contents(tools) == ["long"]


async def test_what_is_older_than_a_date_is_deleted(tools: Tools) -> None:
    await stored(tools, "from today")

    before = await tools("memory_delete", older_than=PAST.isoformat())
    assert before == {"deleted_count": 0, "deleted_ids": []}
    assert (await tools("memory_delete", older_than=FUTURE.isoformat()))["deleted_count"] == 1


async def test_several_conditions_narrow_each_other(tools: Tools) -> None:
    work = await stored(tools, "working", memory_tier="working")
    long = await stored(tools, "long", memory_tier="long_term")

    old = await tools("memory_delete", memory_tier="working", older_than=PAST.isoformat())
    other_tier = await tools("memory_delete", id=long, memory_tier="working")
    both = await tools("memory_delete", ids=[work, long], memory_tier="working")

    assert (old["deleted_count"], other_tier["deleted_count"]) == (0, 0)
    assert both == {"deleted_count": 1, "deleted_ids": [work]}
    assert await contents(tools) == ["long"]


async def test_a_list_has_its_page_and_the_total(tools: Tools) -> None:
    for number in range(5):
        await stored(tools, f"memory {number}", tags=["n"])

    answer = await tools("memory_list", limit=2, offset=1)

    assert list(answer) == ["memories", "total", "limit", "offset"]
    assert [one["content"] for one in answer["memories"]] == ["memory 3", "memory 2"]
    assert (answer["total"], answer["limit"], answer["offset"]) == (5, 2, 1)
    first = answer["memories"][0]
    assert list(first) == ["id", "content", "content_type", "memory_tier", "tags", "created_at"]
    assert (first["content_type"], first["memory_tier"], first["tags"]) == (
        "text",
        "long_term",
        ["n"],
    )


async def test_a_list_gives_fifty_unless_told(tools: Tools) -> None:
    items = [{"content": f"memory {number}"} for number in range(60)]
    await tools("memory_batch_store", items=items)

    answer = await tools("memory_list")

    assert (len(answer["memories"]), answer["total"]) == (50, 60)
    assert (answer["limit"], answer["offset"]) == (50, 0)
    assert len((await tools("memory_list", limit=1000))["memories"]) == 60
    assert (await tools("memory_list", offset=60))["memories"] == []


async def test_a_list_filters_by_tier_type_and_all_of_the_tags(tools: Tools) -> None:
    await stored(tools, "one", tags=["a", "b"], content_type="code")
    await stored(tools, "two", tags=["a"], memory_tier="working")
    await stored(tools, "three")

    assert await contents(tools, tags=["a"]) == ["two", "one"]
    assert await contents(tools, tags=["a", "b"]) == ["one"]
    assert await contents(tools, tags=["a", "c"]) == []
    assert await contents(tools, tags=["%"]) == []
    assert await contents(tools, tags=[]) == ["three", "two", "one"]
    assert await contents(tools, memory_tier="working") == ["two"]
    assert await contents(tools, content_type="code", tags=["a"]) == ["one"]
    assert await contents(tools, content_type="code", memory_tier="working") == []
    assert (await tools("memory_list", tags=["a"], limit=1))["total"] == 2


async def test_a_list_filters_by_dates_of_any_offset(tools: Tools) -> None:
    await stored(tools, "now")
    now = datetime.now(UTC)

    for offset in (-11, 0, 5.5, 14):
        zone = timezone(timedelta(hours=offset))
        before = (now - timedelta(minutes=5)).astimezone(zone).isoformat()
        after = (now + timedelta(minutes=5)).astimezone(zone).isoformat()
        assert await contents(tools, created_after=before) == ["now"]
        assert await contents(tools, created_before=before) == []
        assert await contents(tools, created_after=after) == []
        assert await contents(tools, created_after=before, created_before=after) == ["now"]


async def test_a_date_without_offset_is_utc(tools: Tools) -> None:
    await stored(tools, "now")
    soon = (datetime.now(UTC) + timedelta(minutes=5)).replace(tzinfo=None)

    assert await contents(tools, created_after=soon.isoformat()) == []
    assert await contents(tools, created_before=soon.isoformat()) == ["now"]
    assert await contents(tools, created_after="2024-01-01") == ["now"]
    assert await contents(tools, created_after="2024-01-01T00:00:00Z") == ["now"]


async def test_another_owner_sees_and_changes_nothing(tools: Tools, other_tools: Tools) -> None:
    id = await stored(tools, "secret of ours", tags=["t"])

    for name, fields in ID_TOOLS:
        answer = await other_tools(name, id=id, **fields)
        assert answer == await other_tools(name, id=id, **fields)
        assert_error(answer, "NotFoundError")
    assert await contents(other_tools) == []
    assert await contents(other_tools, tags=["t"]) == []
    for mode in ("semantic", "keyword", "hybrid"):
        answer = await other_tools("memory_search", query="secret", search_mode=mode)
        assert answer["results"] == []
    assert (await other_tools("memory_delete", memory_tier="long_term"))["deleted_count"] == 0
    assert (await tools("memory_get", id=id))["content"] == "secret of ours"
