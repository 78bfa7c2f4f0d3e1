"""How the contract of the entry tools calls a tool: by name, with JSON, and JSON comes back."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from collections.abc import Iterable

    from spade_llm.memory.tools.entry_tool import EntryTool

Answer = dict[str, Any]

UNKNOWN_ID = "00000000-0000-4000-8000-000000000000"


class Tools(Protocol):
    async def __call__(self, name: str, /, **arguments: object) -> Answer: ...


def calling(tools: Iterable[EntryTool]) -> Tools:
    """The arguments are what a model's JSON is when it was read."""
    by_name = {tool.name: tool for tool in tools}

    async def call(name: str, /, **arguments: object) -> Answer:
        read = json.loads(json.dumps(arguments))
        answer: Answer = json.loads(await by_name[name].execute(**read))
        return answer

    return call


async def stored(tools: Tools, content: str, **fields: object) -> str:
    """The new memory's id."""
    answer = await tools("memory_store", content=content, **fields)
    assert "error" not in answer, answer
    return str(answer["id"])


async def contents(tools: Tools, **filters: object) -> list[str]:
    """Of a list, newest first."""
    return [one["content"] for one in (await tools("memory_list", **filters))["memories"]]


async def found(tools: Tools, query: str, **options: object) -> list[str]:
    """Of a search by keywords, unless another mode is asked for."""
    answer = await tools("memory_search", **{"query": query, "search_mode": "keyword", **options})
    return [one["content"] for one in answer["results"]]


def assert_error(answer: Answer, error_type: str, *words: str) -> None:
    """The uniform error object, with these words in its message."""
    assert list(answer) == ["error", "error_type", "message"], answer
    assert answer["error"] is True
    assert answer["error_type"] == error_type
    for word in words:
        assert word in answer["message"], answer
