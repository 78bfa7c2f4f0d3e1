"""Answers that must be objects: what passes, what the model is told, and how often it is asked."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel

from spade_llm.assistant.config import TurnLimits
from spade_llm.assistant.turn.prompt import user_message
from spade_llm.assistant.turn.recall import RecallResult
from spade_llm.assistant.turn.structured_output import (
    AnswerSchemaError,
    JsonAnswerSchema,
    PydanticAnswerSchema,
)
from spade_llm.assistant.turn.turn import Turn
from spade_llm.assistant.turn.turn_options import TurnOptions
from spade_llm.context import NoContextManagement
from spade_llm.core.errors import InvalidAnswer, InvalidArguments
from spade_llm.core.text import strip_code_fence
from spade_llm.providers import Completion, ScriptedProvider, ToolCall, Usage
from spade_llm.tools import LocalToolbox, tool

if TYPE_CHECKING:
    from spade_llm.assistant.turn.structured_output import AnswerSchema
    from spade_llm.assistant.turn.turn_options import OnDelta
    from spade_llm.providers.scripted import ScriptedAnswer


class City(BaseModel):
    name: str
    people: int


class Tree(BaseModel):
    value: int
    leaves: list[Tree] = []


PARIS = '{"name": "Paris", "people": 2}'
FORMS: list[AnswerSchema] = [PydanticAnswerSchema(City), JsonAnswerSchema(City.model_json_schema())]
JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=8,
)


@tool
def count_people(city: str) -> int:
    """How many live there."""
    return len(city)


async def answered(
    answers: list[ScriptedAnswer],
    form: AnswerSchema = FORMS[0],
    *,
    limits: TurnLimits | None = None,
    on_delta: OnDelta | None = None,
) -> tuple[str, ScriptedProvider]:
    model = ScriptedProvider(answers)
    turn = Turn(
        model,
        strategy=NoContextManagement(),
        system_prompt="Be",
        toolbox=LocalToolbox([count_people]),
        limits=limits or TurnLimits(),
    )
    history = [user_message("Which city?", peer="you@x")]
    asker = TurnOptions(answer_schema=form, on_delta=on_delta)
    result = await turn.run(history, RecallResult(), options=asker)
    return result.text, model


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("text", [PARIS, f"```json\n{PARIS}\n```", f"\n```\n{PARIS}\n```  "])
def test_an_object_passes_with_and_without_a_fence(form: AnswerSchema, text: str) -> None:
    assert form.checked(text) == PARIS


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(
    "text",
    [
        "Paris",
        "[]",
        "null",
        "",
        '{"name": "Paris"}',
        '{"name": 1, "people": "x"}',
        f"Well: {PARIS}",
    ],
)
def test_anything_else_does_not(form: AnswerSchema, text: str) -> None:
    with pytest.raises(AnswerSchemaError):
        form.checked(text)


@given(JSON_VALUES)
def test_any_json_is_an_object_or_a_fault(value: Any) -> None:
    text = json.dumps(value)
    for form in FORMS:
        try:
            form.checked(text)
        except AnswerSchemaError:
            continue
        assert City.model_validate(value)


@given(st.text())
def test_a_fence_is_taken_away_once_and_words_are_not(text: str) -> None:
    assert strip_code_fence(f"```json\n{text}\n```") == text.strip()
    assert strip_code_fence(f"Look: {text}") == f"Look: {text}".strip()


@pytest.mark.parametrize(
    ("schema", "words"),
    [
        ({"type": "array"}, "must be a schema of type 'object'"),
        ({"type": "object", "required": 1}, "JSON Schema"),
        ({"type": "object", "title": "x" * 20_000}, r"limit \(16384 bytes\)"),
    ],
)
def test_a_schema_that_cannot_be_is_refused_by_field(schema: dict[str, object], words: str) -> None:
    with pytest.raises(InvalidArguments, match=f"^response_schema: .*{words}"):
        JsonAnswerSchema(schema)


def test_a_model_that_contains_itself_is_a_schema_too() -> None:
    form = JsonAnswerSchema(Tree.model_json_schema())

    assert form.checked('{"value": 1, "leaves": [{"value": 2}]}')
    with pytest.raises(AnswerSchemaError):
        form.checked('{"value": 1, "leaves": [{"value": "two"}]}')


@pytest.mark.thorough
def test_a_schema_with_endless_branches_does_not_block() -> None:
    level: dict[str, object] = {"type": "string"}
    definitions = {"n0": level}
    for n in range(1, 60):
        step = {"$ref": f"#/$defs/n{n - 1}"}
        definitions[f"n{n}"] = {"anyOf": [step, step]}
    schema = {
        "type": "object",
        "properties": {"a": {"$ref": "#/$defs/n59"}},
        "$defs": definitions,
    }

    with pytest.raises(AnswerSchemaError, match="too many steps"):
        JsonAnswerSchema(schema).checked('{"a": 1}')


async def test_a_model_that_misses_the_form_is_told_what_is_wrong_and_asked_once_more() -> None:
    text, model = await answered(['{"name": "Paris", "people": "many"}', PARIS])

    assert text == PARIS
    first, second = model.requests
    assert "JSON Schema" in str(first.messages[-2]["content"])
    assert first.messages[-1]["content"] == "Which city?"
    assert [m["role"] for m in second.messages[-3:]] == ["user", "assistant", "user"]
    assert "people: " in str(second.messages[-1]["content"])
    assert second.response_schema == City.model_json_schema()
    assert second.tools == ()


async def test_a_second_miss_is_a_clear_failure() -> None:
    with pytest.raises(
        InvalidAnswer, match="second answer does not match the requested schema either: name: "
    ):
        await answered(["Paris", '{"people": 2}', PARIS])


async def test_tools_are_used_before_the_object_is_given_and_no_part_of_it_is_shown() -> None:
    shown: list[str] = []

    async def show(text: str) -> None:
        shown.append(text)

    call = ToolCall(id="1", name="count_people", arguments='{"city": "Paris"}')
    script: list[ScriptedAnswer] = [Completion(text="Let me see", tool_calls=(call,)), PARIS]

    text, model = await answered(script, on_delta=show)

    assert (text, shown) == (PARIS, [])
    assert [bool(request.tools) for request in model.requests] == [True, True]
    assert model.requests[0].response_schema is None


async def test_a_model_is_not_called_again_after_the_token_limit() -> None:
    usage = Usage(prompt_tokens=90, completion_tokens=20)

    with pytest.raises(InvalidAnswer, match="used up its 100 tokens"):
        await answered([Completion(text="Paris", usage=usage)], limits=TurnLimits(tokens=100))
