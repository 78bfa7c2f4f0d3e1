"""Whatever a model writes as a tool call, its own server takes the history with it back."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from hypothesis import given, settings
from hypothesis import strategies as st

from spade_llm.assistant.turn.prompt import call_message, result_message
from spade_llm.providers.openai.answer import AnswerAssembler
from tests.openai_rules import check_request

if TYPE_CHECKING:
    from spade_llm.providers.model import Completion

TEXT = st.text(max_size=80) | st.sampled_from(["", "call_1", "add", "{", "[]", "null", '{"a": 1}'])
CALL = st.builds(
    lambda id, name, arguments: {"id": id, "function": {"name": name, "arguments": arguments}},
    st.none() | TEXT | st.just("x" * 65),
    st.none() | TEXT,
    st.none() | TEXT | st.dictionaries(st.text(max_size=5), st.integers()),
)


def completion_of(calls: list[object]) -> Completion:
    assembly = AnswerAssembler(max_bytes=1_000_000)
    message = {"choices": [{"message": {"tool_calls": calls}, "finish_reason": "tool_calls"}]}
    assembly.add(json.dumps(message).encode())
    return assembly.completion()


@settings(deadline=None)
@given(st.lists(CALL, min_size=1, max_size=4))
def test_a_history_with_any_calls_is_taken_back(calls: list[object]) -> None:
    completion = completion_of(calls)
    results = [result_message(call, "done") for call in completion.tool_calls]

    history = [{"role": "user", "content": "hi"}, call_message(completion), *results]

    check_request(json.dumps({"model": "m", "messages": history}).encode())
