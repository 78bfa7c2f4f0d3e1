"""What a model reads of a long answer is JSON, and says that there is more."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spade_llm.assistant.turn.tool_calls import MAX_RESULT_CHARS
from spade_llm.memory.tools.entry_tool import MAX_CHARS, answer_as_text


def listed(contents: list[str]) -> dict[str, Any]:
    memories = [{"id": f"{n:036}", "content": text} for n, text in enumerate(contents)]
    return {"memories": memories, "total": 5000, "limit": len(contents), "offset": 0}


def test_a_turn_leaves_it_whole() -> None:
    assert MAX_CHARS <= MAX_RESULT_CHARS


def test_a_short_answer_is_as_it_is() -> None:
    assert json.loads(answer_as_text(listed(["tea", "milk"]))) == listed(["tea", "milk"])


def test_a_long_list_has_fewer_memories_and_still_says_how_many_there_are() -> None:
    answer = json.loads(answer_as_text(listed(["a long memory " * 70] * 1000)))

    shown = len(answer["memories"])
    assert 50 < shown < 61
    assert (answer["total"], answer["limit"], answer["offset"]) == (5000, shown, 0)


def test_ids_of_all_that_was_deleted_may_be_too_many_but_their_count_is_not() -> None:
    answer = json.loads(answer_as_text({"deleted_count": 9000, "deleted_ids": ["0" * 36] * 9000}))

    assert answer["deleted_count"] == 9000
    assert 1000 < len(answer["deleted_ids"]) < 9000


@pytest.mark.parametrize("content", ["\n" * 32_768, "\0" * 32_768, "x" * 70_000])
def test_one_memory_that_does_not_fit_is_shortened_itself(content: str) -> None:
    in_list = json.loads(answer_as_text(listed([content, "tea"])))["memories"]
    alone = json.loads(answer_as_text({"id": "1", "content": content}))

    assert len(in_list) == 1
    assert in_list[0]["content"][:100] == alone["content"][:100] == content[:100]
    assert in_list[0]["content"][-1] == alone["content"][-1] == "…"


@given(contents=st.lists(st.text(max_size=400), max_size=30), bound=st.integers(400, 3000))
def test_whatever_is_listed_is_bounded_json_that_begins_with_the_first(
    contents: list[str], bound: int
) -> None:
    text = answer_as_text(listed(contents), bound)

    answer = json.loads(text)
    shown = [memory["id"] for memory in answer["memories"]]
    assert len(text) <= bound
    assert shown == [f"{n:036}" for n in range(len(shown))]
    assert bool(shown) == bool(contents)
