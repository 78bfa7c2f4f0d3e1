"""What a model sees of the entry tools: names, parameters, ranges and defaults."""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING, Any

import jsonschema
import pytest

from spade_llm.memory.tools.entry_tool import SubjectScope
from spade_llm.memory.tools.toolset import entry_tools, further_tools, owner_tools
from spade_llm.providers import ScriptedProvider

if TYPE_CHECKING:
    from spade_llm.memory import OwnedMemory
    from spade_llm.memory.tools.entry_tool import EntryTool

TIERS = ["short_term", "long_term", "working"]
TYPES = ["text", "image", "code", "json", "yaml"]
ITEM = {
    "content": {"type": "string"},
    "content_type": {"type": "string", "enum": TYPES, "default": "text"},
    "memory_tier": {"type": "string", "enum": TIERS, "default": "long_term"},
    "tags": {"type": "array", "items": {"type": "string"}, "default": []},
    "metadata": {"type": "object", "default": {}},
}
UPDATE = {
    "id": {"type": "string"},
    "content": {"type": "string"},
    "tags": {"type": "array", "items": {"type": "string"}},
    "metadata": {"type": "object"},
    "memory_tier": {"type": "string", "enum": TIERS},
}
ON_ERROR = {
    "type": "string",
    "enum": ["rollback", "continue", "stop"],
    "default": "rollback",
}
FRACTION = {"type": "number", "minimum": 0.0, "maximum": 1.0}
TEXTS = {"type": "array", "items": {"type": "string"}}
TIER, TYPE = {"type": "string", "enum": TIERS}, {"type": "string", "enum": TYPES}


def an_object(properties: dict[str, Any], required: list[str]) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": properties,
        "required": required,
        "additionalProperties": False,
    }


def a_batch(properties: dict[str, Any], required: str) -> dict[str, Any]:
    return {
        "type": "array",
        "items": an_object(properties, [required]),
        "minItems": 1,
        "maxItems": 100,
    }


SCHEMAS: dict[str, tuple[dict[str, Any], list[str]]] = {
    "memory_store": (
        {
            **ITEM,
            "agent_id": {"type": "string"},
            "ttl_seconds": {"type": "integer", "minimum": 0, "maximum": 3_153_600_000},
        },
        ["content"],
    ),
    "memory_get": ({"id": {"type": "string"}}, ["id"]),
    "memory_update": (UPDATE, ["id"]),
    "memory_delete": (
        {
            "id": {"type": "string"},
            "ids": TEXTS,
            "memory_tier": TIER,
            "older_than": {"type": "string"},
        },
        [],
    ),
    "memory_list": (
        {
            "memory_tier": TIER,
            "tags": TEXTS,
            "content_type": TYPE,
            "created_after": {"type": "string"},
            "created_before": {"type": "string"},
            "limit": {"type": "integer", "minimum": 1, "maximum": 1000, "default": 50},
            "offset": {"type": "integer", "minimum": 0, "maximum": 2**53, "default": 0},
        },
        [],
    ),
    "memory_search": (
        {
            "query": {"type": "string"},
            "top_k": {"type": "integer", "minimum": 1, "maximum": 1000, "default": 10},
            "memory_tier": TIER,
            "tags": TEXTS,
            "content_type": TYPE,
            "min_similarity": {**FRACTION, "default": 0.0},
            "search_mode": {
                "type": "string",
                "enum": ["semantic", "keyword", "hybrid"],
                "default": "semantic",
            },
            "keyword_weight": {**FRACTION, "default": 0.3},
            "sort_by": {
                "type": "string",
                "enum": ["relevance", "importance", "created_at"],
                "default": "relevance",
            },
            "importance_weight": {**FRACTION, "default": 0.0},
        },
        ["query"],
    ),
    "memory_batch_store": (
        {"items": a_batch(ITEM, "content"), "on_error": ON_ERROR},
        ["items"],
    ),
    "memory_batch_update": (
        {"updates": a_batch(UPDATE, "id"), "on_error": ON_ERROR},
        ["updates"],
    ),
    "memory_get_score": ({"id": {"type": "string"}}, ["id"]),
    "memory_set_score": (
        {
            "id": {"type": "string"},
            "score": FRACTION,
            "reason": {"type": "string", "default": "Manual override"},
        },
        ["id", "score"],
    ),
    "memory_consolidate": (
        {
            "memory_ids": TEXTS,
            "summary_strategy": {
                "type": "string",
                "enum": ["extractive"],
                "default": "extractive",
            },
            "preserve_originals": {"type": "boolean", "default": True},
            "tags": TEXTS,
            "metadata": {"type": "object"},
        },
        ["memory_ids"],
    ),
}


@pytest.fixture
def scope(store: OwnedMemory) -> SubjectScope:
    return SubjectScope(store=store, owner="assistant@localhost")


def undescribed(schema: Any) -> Any:
    if isinstance(schema, dict):
        return {
            key: undescribed(value)
            for key, value in schema.items()
            if not (key == "description" and isinstance(value, str))
        }
    return schema


def test_the_eleven_have_the_names_parameters_and_defaults_of_the_specification(
    scope: SubjectScope,
) -> None:
    tools = {tool.name: tool for tool in entry_tools(scope)}

    assert list(tools) == list(SCHEMAS)
    for name, (properties, required) in SCHEMAS.items():
        schema = undescribed(tools[name].spec.parameters)
        assert json.dumps(schema) == json.dumps(an_object(properties, required)), name


def every_tool(scope: SubjectScope, store: OwnedMemory) -> list[EntryTool]:
    return [*entry_tools(scope), *further_tools(scope, store), *owner_tools(store)]


def test_every_tool_and_parameter_is_described_by_a_valid_schema(
    scope: SubjectScope, store: OwnedMemory
) -> None:
    for tool in every_tool(scope, store):
        assert tool.spec.name == tool.name
        assert tool.spec.description == tool.description
        assert tool.description.endswith(".")
        schema: dict[str, Any] = dict(tool.spec.parameters)
        jsonschema.Draft202012Validator.check_schema(schema)
        assert schema["additionalProperties"] is False
        for parameter in schema["properties"].values():
            assert len(parameter["description"]) > 5


def test_the_further_tools_have_their_names(scope: SubjectScope, store: OwnedMemory) -> None:
    assert [tool.name for tool in further_tools(scope, store)] == [
        "memory_explain",
        "memory_similar",
        "memory_deduplicate",
        "memory_link",
        "memory_unlink",
        "memory_get_links",
    ]
    assert [tool.name for tool in owner_tools(store)] == [
        "memory_decay_configure",
        "memory_decay_run",
        "memory_decay_status",
        "memory_grant",
        "memory_revoke",
        "memory_grants",
    ]


def test_the_batch_size_is_configurable(scope: SubjectScope) -> None:
    tools = {tool.name: tool for tool in entry_tools(scope, max_batch=2)}
    items = [{"content": "x"}] * 3

    answer = asyncio.run(tools["memory_batch_store"].execute(items=items))

    assert json.loads(answer)["message"] == "items must have 1 to 2 elements, not 3"
    schema: Any = tools["memory_batch_store"].spec.parameters
    assert schema["properties"]["items"]["maxItems"] == 2


def test_an_abstractive_summary_is_offered_where_there_is_a_model(scope: SubjectScope) -> None:
    tools = {tool.name: tool for tool in entry_tools(scope, model=ScriptedProvider([]))}

    schema: Any = tools["memory_consolidate"].spec.parameters
    assert schema["properties"]["summary_strategy"]["enum"] == ["extractive", "abstractive"]
