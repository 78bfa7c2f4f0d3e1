"""What the entry tools say to wrong arguments: nothing is sent to the memory, nothing changes."""

from __future__ import annotations

import pytest

from tests.memory.tools.calling import UNKNOWN_ID, Tools, assert_error, contents, stored
from tests.memory.tools.contract_batches import GOOD
from tests.memory.tools.contract_consolidation import three
from tests.memory.tools.contract_entries import ID_TOOLS


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({}, ("content is required",)),
        ({"content": None}, ("content is required",)),
        ({"content": 5}, ("content must be a string, not 5",)),
        ({"content": "x", "memory_tier": "eternal"}, ("memory_tier", "short_term", "'eternal'")),
        ({"content": "x", "content_type": "video"}, ("content_type", "yaml", "'video'")),
        ({"content": "x", "memory_tier": ["working"]}, ("memory_tier", "a list")),
        ({"content": "x", "ttl_seconds": -1}, ("ttl_seconds", "from 0", "not -1")),
        ({"content": "x", "ttl_seconds": 1.5}, ("ttl_seconds", "not 1.5")),
        ({"content": "x", "ttl_seconds": "5"}, ("ttl_seconds", "not '5'")),
        ({"content": "x", "ttl_seconds": True}, ("ttl_seconds", "not true")),
        ({"content": "x", "ttl_seconds": 10**400}, ("ttl_seconds",)),
        ({"content": "x", "tags": "ui"}, ("tags must be a list, not 'ui'",)),
        ({"content": "x", "tags": ["ui", 1]}, ("tags must be a list of strings, not of 1",)),
        ({"content": "x", "metadata": []}, ("metadata must be an object, not a list",)),
        ({"content": "x", "metadata": "{}"}, ("metadata must be an object, not '{}'",)),
        ({"content": "x", "owner": "me"}, ("unknown parameter 'owner'", "ttl_seconds")),
        ({"content": "x", "a": 1, "b": 2}, ("unknown parameters 'a', 'b'",)),
        ({"content": "x", "agent_id": 5}, ("agent_id must be a string, not 5",)),
        ({"content": "x\ud800"}, ("content must be valid Unicode text",)),
        ({"content": "x", "tags": ["\udfff"]}, ("tags must be valid Unicode text",)),
        ({"content": "x", "metadata": {"k": ["\ud800"]}}, ("metadata must be valid Unicode",)),
        ({"content": "x", "metadata": {"k": float("nan")}}, ("metadata", "numbers in range")),
    ],
)
async def test_wrong_arguments_of_a_store_are_named(
    tools: Tools, fields: dict[str, object], words: tuple[str, ...]
) -> None:
    assert_error(await tools("memory_store", **fields), "ValidationError", *words)
    assert await contents(tools) == []


@pytest.mark.parametrize(("name", "fields"), ID_TOOLS)
@pytest.mark.parametrize("id", ["", "id1", "%", "*", UNKNOWN_ID[:-1], f"{UNKNOWN_ID}0", "g" * 36])
async def test_a_malformed_id_is_a_validation_error(
    tools: Tools, name: str, fields: dict[str, object], id: str
) -> None:
    await stored(tools, "here")

    assert_error(await tools(name, id=id, **fields), "ValidationError", "id must be a UUID")
    assert await contents(tools) == ["here"]


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({}, ("something to change",)),
        ({"content": None, "tags": None}, ("something to change",)),
        ({"content": " "}, ("Content cannot be empty",)),
        ({"ttl_seconds": 5}, ("unknown parameter 'ttl_seconds'",)),
        ({"memory_tier": "forever"}, ("memory_tier",)),
        ({"tags": {}}, ("tags must be a list",)),
        ({"metadata": 3}, ("metadata must be an object, not 3",)),
    ],
)
async def test_wrong_arguments_of_an_update_are_named(
    tools: Tools, fields: dict[str, object], words: tuple[str, ...]
) -> None:
    id = await stored(tools, "as it was")

    assert_error(await tools("memory_update", id=id, **fields), "ValidationError", *words)
    assert await contents(tools) == ["as it was"]


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({}, ("at least one of id, ids, memory_tier, older_than",)),
        ({"id": None, "ids": None}, ("at least one of",)),
        ({"ids": []}, ("ids must not be empty",)),
        ({"ids": ["id1"]}, ("ids must be a UUID, not 'id1'",)),
        ({"ids": UNKNOWN_ID}, ("ids must be a list",)),
        ({"older_than": "yesterday"}, ("older_than", "ISO 8601", "'yesterday'")),
        ({"older_than": 0}, ("older_than must be a string, not 0",)),
        ({"older_than": "0001-01-01T00:00:00+14:00"}, ("older_than",)),
        ({"memory_tier": "all"}, ("memory_tier",)),
        ({"all": True}, ("unknown parameter 'all'",)),
    ],
)
async def test_wrong_arguments_of_a_delete_delete_nothing(
    tools: Tools, fields: dict[str, object], words: tuple[str, ...]
) -> None:
    await stored(tools, "still here")

    assert_error(await tools("memory_delete", **fields), "ValidationError", *words)
    assert await contents(tools) == ["still here"]


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"limit": 0}, ("limit must be a whole number from 1 to 1000, not 0",)),
        ({"limit": 1001}, ("limit",)),
        ({"limit": "5"}, ("limit", "not '5'")),
        ({"limit": True}, ("limit", "not true")),
        ({"offset": -1}, ("offset", "not -1")),
        ({"offset": 0.5}, ("offset",)),
        ({"created_after": "soon"}, ("created_after", "'soon'")),
        ({"created_before": ["2024"]}, ("created_before must be a string",)),
        ({"memory_tier": "long"}, ("memory_tier", "long_term")),
        ({"content_type": "pdf"}, ("content_type",)),
        ({"tags": "a"}, ("tags must be a list",)),
        ({"page": 2}, ("unknown parameter 'page'", "offset")),
    ],
)
async def test_wrong_arguments_of_a_list_are_named(
    tools: Tools, fields: dict[str, object], words: tuple[str, ...]
) -> None:
    assert_error(await tools("memory_list", **fields), "ValidationError", *words)


@pytest.mark.parametrize("name", ["memory_search", "memory_explain"])
@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({}, ("query is required",)),
        ({"query": " "}, ("query must not be empty",)),
        ({"query": 5}, ("query must be a string, not 5",)),
        ({"query": "x", "top_k": 0}, ("top_k must be a whole number from 1 to 1000, not 0",)),
        ({"query": "x", "top_k": 1001}, ("top_k", "not 1001")),
        ({"query": "x", "top_k": "5"}, ("top_k", "not '5'")),
        ({"query": "x", "top_k": True}, ("top_k", "not true")),
        ({"query": "x", "top_k": 2.5}, ("top_k",)),
        ({"query": "x", "min_similarity": 1.1}, ("min_similarity", "from 0.0 to 1.0", "not 1.1")),
        ({"query": "x", "min_similarity": -0.1}, ("min_similarity",)),
        ({"query": "x", "min_similarity": "0.5"}, ("min_similarity",)),
        ({"query": "x", "min_similarity": False}, ("min_similarity", "not false")),
        ({"query": "x", "keyword_weight": 2}, ("keyword_weight",)),
        ({"query": "x", "importance_weight": -1}, ("importance_weight",)),
        ({"query": "x", "search_mode": "fuzzy"}, ("search_mode", "semantic, keyword, hybrid")),
        ({"query": "x", "search_mode": "recall"}, ("search_mode",)),
        ({"query": "x", "sort_by": "date"}, ("sort_by", "relevance, importance, created_at")),
        ({"query": "x", "memory_tier": "any"}, ("memory_tier",)),
        ({"query": "x", "content_type": "any"}, ("content_type",)),
        ({"query": "x", "tags": "ui"}, ("tags",)),
        ({"query": "x", "limit": 5}, ("unknown parameter 'limit'", "top_k")),
        ({"query": "x", "explain": True}, ("unknown parameter 'explain'",)),
        ({"query": "x", "owner": "*"}, ("unknown parameter 'owner'",)),
    ],
)
async def test_wrong_arguments_of_a_search_are_named(
    tools: Tools, name: str, fields: dict[str, object], words: tuple[str, ...]
) -> None:
    assert_error(await tools(name, **fields), "ValidationError", *words)


@pytest.mark.parametrize(
    ("name", "field"), [("memory_batch_store", "items"), ("memory_batch_update", "updates")]
)
@pytest.mark.parametrize(
    ("value", "words"),
    [
        (None, ("is required",)),
        ([], ("must have 1 to 100 elements, not 0",)),
        ([GOOD] * 101, ("must have 1 to 100 elements, not 101",)),
        ({"content": "x"}, ("must be a list, not an object",)),
        ("x", ("must be a list",)),
    ],
)
async def test_what_is_no_batch_is_an_error(
    tools: Tools, name: str, field: str, value: object, words: tuple[str, ...]
) -> None:
    assert_error(await tools(name, **{field: value}), "ValidationError", field, *words)
    assert await contents(tools) == []


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({}, ("score is required",)),
        ({"score": None}, ("score is required",)),
        ({"score": 1.1}, ("score must be a number from 0.0 to 1.0, not 1.1",)),
        ({"score": -0.1}, ("score",)),
        ({"score": "0.5"}, ("score", "not '0.5'")),
        ({"score": True}, ("score", "not true")),
        ({"score": 10**400}, ("score",)),
        ({"score": 0.5, "reason": 5}, ("reason must be a string, not 5",)),
        ({"score": 0.5, "by": "me"}, ("unknown parameter 'by'",)),
    ],
)
async def test_wrong_arguments_of_a_score_are_named(
    tools: Tools, fields: dict[str, object], words: tuple[str, ...]
) -> None:
    id = await stored(tools, "x")

    assert_error(await tools("memory_set_score", id=id, **fields), "ValidationError", *words)


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"memory_ids": None}, ("memory_ids is required",)),
        ({"memory_ids": "all"}, ("memory_ids must be a list",)),
        ({"memory_ids": ["uuid-1", "uuid-2"]}, ("memory_ids must be a UUID, not 'uuid-1'",)),
        ({"summary_strategy": "poetic"}, ("summary_strategy", "extractive")),
        ({"preserve_originals": "false"}, ("preserve_originals must be true or false",)),
        ({"preserve_originals": 0}, ("preserve_originals must be true or false, not 0",)),
        ({"tags": "x"}, ("tags must be a list",)),
        ({"metadata": []}, ("metadata must be an object",)),
        ({"delete": True}, ("unknown parameter 'delete'",)),
    ],
)
async def test_wrong_arguments_of_a_consolidation_are_named(
    tools: Tools, fields: dict[str, object], words: tuple[str, ...]
) -> None:
    ids = await three(tools)

    answer = await tools("memory_consolidate", **{"memory_ids": ids, **fields})

    assert_error(answer, "ValidationError", *words)
    assert len(await contents(tools)) == 3


@pytest.mark.parametrize(
    ("name", "fields", "words"),
    [
        ("memory_deduplicate", {"dry_run": "no"}, ("dry_run must be true or false",)),
        ("memory_deduplicate", {"min_similarity": 0.5}, ("min_similarity", "0.8")),
        ("memory_deduplicate", {"limit": 0}, ("limit",)),
        ("memory_deduplicate", {"threshold": 1}, ("unknown parameter 'threshold'",)),
        ("memory_similar", {}, ("id is required",)),
        ("memory_similar", {"id": UNKNOWN_ID, "limit": 0}, ("limit",)),
        ("memory_link", {"source_id": UNKNOWN_ID}, ("target_id is required",)),
        ("memory_link", {"source_id": UNKNOWN_ID, "target_id": UNKNOWN_ID}, ("different",)),
        ("memory_link", {"source_id": "x", "target_id": UNKNOWN_ID}, ("source_id", "UUID")),
        ("memory_unlink", {"source_id": UNKNOWN_ID}, ("target_id is required",)),
        ("memory_decay_configure", {}, ("something to configure",)),
        ("memory_decay_configure", {"enabled": 1}, ("enabled must be true or false",)),
        ("memory_decay_configure", {"older_than_days": -1}, ("older_than_days",)),
        ("memory_decay_configure", {"below_importance": 2}, ("below_importance",)),
        ("memory_decay_configure", {"memory_tiers": ["x"]}, ("memory_tiers", "short_term")),
        ("memory_decay_run", {"dry_run": 0}, ("dry_run",)),
        ("memory_decay_status", {"x": 1}, ("unknown parameter 'x'; there are none",)),
        ("memory_grant", {}, ("to is required",)),
        ("memory_grant", {"to": "a@x", "access": "all"}, ("access", "read, write")),
        ("memory_revoke", {"id": "1"}, ("id must be a UUID",)),
    ],
)
async def test_wrong_arguments_of_the_further_tools_are_named(
    tools: Tools, name: str, fields: dict[str, object], words: tuple[str, ...]
) -> None:
    assert_error(await tools(name, **fields), "ValidationError", *words)
