"""What an asker may want of one turn, and a model that does not listen."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from spade_llm.assistant.config import TurnLimits
from spade_llm.assistant.turn.prompt import user_message
from spade_llm.assistant.turn.recall import RecallResult
from spade_llm.assistant.turn.tool_choice import infer_arguments
from spade_llm.assistant.turn.turn import Turn
from spade_llm.assistant.turn.turn_options import ToolOptions, TurnOptions
from spade_llm.context import NoContextManagement
from spade_llm.core.errors import InvalidArguments
from spade_llm.providers import Completion, OfflineProvider, ScriptedProvider, ToolCall
from spade_llm.providers.model import ToolSpec
from spade_llm.tools import LLMTool, LocalToolbox, builtin_tools

if TYPE_CHECKING:
    from spade_llm.assistant.turn.tool_loop import TurnResult
    from spade_llm.providers.model import ChatModel

ANY_ARGUMENTS = {"type": "object", "properties": {}}
NEEDS_A = {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]}
TOOLS = (
    LLMTool("look", "looks", ANY_ARGUMENTS, lambda: "looked"),
    LLMTool("add", "adds one", NEEDS_A, lambda a: a + 1),
)


def calling(name: str, arguments: str = "{}") -> Completion:
    return Completion(tool_calls=(ToolCall(id="1", name=name, arguments=arguments),))


async def run(
    model: ChatModel, wishes: ToolOptions, question: str = "hello?", **limits: int
) -> TurnResult:
    turn = Turn(
        model,
        strategy=NoContextManagement(),
        system_prompt="Be",
        toolbox=LocalToolbox((*TOOLS, *builtin_tools())),
        limits=TurnLimits(tool_rounds=limits.get("tool_rounds", 5)),
    )
    history = [user_message(question, peer="you@x")]
    return await turn.run(history, RecallResult(), options=TurnOptions(wishes=wishes))


async def test_tool_choice_none_offers_no_tools() -> None:
    model = ScriptedProvider(["hi"])

    await run(model, ToolOptions(tool_choice="none"))

    assert model.requests[0].tools == ()


@pytest.mark.parametrize("choice", ["required", "look"])
async def test_a_choice_holds_for_the_first_round_only(choice: str) -> None:
    model = ScriptedProvider([calling("look"), "done"])

    result = await run(model, ToolOptions(tool_choice=choice))

    assert [request.tool_choice for request in model.requests] == [choice, "auto"]
    assert result.text == "done"


async def test_a_model_that_does_not_listen_is_asked_again_with_that_tool_alone() -> None:
    model = ScriptedProvider(["hi", calling("add", '{"a": 1}'), "It is 2."])

    result = await run(model, ToolOptions(tool_choice="add"))

    assert [spec.name for spec in model.requests[1].tools] == ["add"]
    assert result.text == "It is 2."
    assert [called.name for called in result.called] == ["add"]


async def test_calls_of_other_tools_than_the_named_one_are_not_made() -> None:
    model = ScriptedProvider([calling("look"), calling("add", '{"a": 1}'), "It is 2."])

    result = await run(model, ToolOptions(tool_choice="add"))

    assert [called.name for called in result.called] == ["add"]


async def test_a_tool_without_arguments_is_called_whatever_the_model_does() -> None:
    model = ScriptedProvider(["hi", "hi", "I looked."])

    result = await run(model, ToolOptions(tool_choice="look"))

    assert [called.result for called in result.called] == ["looked"]
    assert result.text == "I looked."


async def test_a_call_without_its_arguments_fails_and_names_the_missing_ones() -> None:
    model = ScriptedProvider(["hi", "hi", "I could not."])

    result = await run(model, ToolOptions(tool_choice="add"))

    (called,) = result.called
    assert (called.is_success, result.text) == (False, "I could not.")
    assert "the question does not tell 'a'" in called.result
    assert str(model.requests[2].messages[-1]["content"]) == called.result


@pytest.mark.parametrize("answer", ['{"a": 41}', '```json\n{"a": 41}\n```'])
async def test_a_model_that_can_call_nothing_may_write_the_arguments(answer: str) -> None:
    model = ScriptedProvider(["hi", answer, "It is 42."])

    result = await run(model, ToolOptions(tool_choice="add"))

    assert '"required": ["a"]' in str(model.requests[1].messages[-3]["content"])
    assert [called.result for called in result.called] == ["42"]
    assert result.text == "It is 42."


async def test_arguments_that_the_tool_does_not_take_are_not_called_with() -> None:
    model = ScriptedProvider(["hi", '{"a": "many"}', "I could not."])

    result = await run(model, ToolOptions(tool_choice="add"))

    assert [called.is_success for called in result.called] == [False]


async def test_the_answer_reports_a_missing_required_tool_call() -> None:
    result = await run(ScriptedProvider(["hi", "hi"]), ToolOptions(tool_choice="required"))

    assert result.text == "hi\n\n(The model did not call a tool, as was asked.)"


@pytest.mark.parametrize(
    ("question", "result"),
    [
        ("Please use the calculator: what do I get for 12 * (3 + 4)?", "84"),
        ("¿Cuánto es 7 por 6?", "42"),
        ("2^10 and then?", "1024"),
    ],
)
async def test_rules_can_be_told_to_calculate_what_the_question_says(
    question: str, result: str
) -> None:
    found = await run(OfflineProvider(), ToolOptions(tool_choice="calculator"), question)

    assert [called.result for called in found.called] == [result]
    assert result in found.text


def a_tool(schema: dict[str, object], *required: str) -> ToolSpec:
    parameters = {"type": "object", "properties": schema, "required": list(required)}
    return ToolSpec(name="t", description="", parameters=parameters)


@pytest.mark.parametrize(
    ("schema", "required", "arguments"),
    [
        ({"query": {"type": "string"}}, ["query"], {"query": "in metres, please"}),
        ({"query": {"type": "string"}, "k": {"type": "integer"}}, [], {}),
        (
            {"q": {"type": "string"}, "k": {"type": "integer", "default": 3}},
            ["q", "k"],
            {"q": "in metres, please", "k": 3},
        ),
        ({"unit": {"enum": ["feet", "metres"]}}, ["unit"], {"unit": "metres"}),
        ({"on": {"type": "string", "format": "date"}}, ["on"], None),
        ({"a": {"type": "string"}, "b": {"type": "string"}}, ["a", "b"], None),
        ({"q": {"type": "string", "maxLength": 3}}, ["q"], None),
    ],
)
def test_arguments_of_a_tool_are_taken_from_the_question(
    schema: dict[str, object], required: list[str], arguments: dict[str, object] | None
) -> None:
    found = infer_arguments("in metres, please", a_tool(schema, *required))

    assert bool(found.why_not) == (arguments is None)
    assert arguments is None or found.arguments == arguments


async def test_rules_can_be_told_to_look_at_the_clock() -> None:
    result = await run(OfflineProvider(), ToolOptions(tool_choice="get_current_datetime"))

    assert [called.name for called in result.called] == ["get_current_datetime"]
    assert result.called[0].result[:10] in result.text


@pytest.mark.parametrize("rounds", [1, 3, 20])
async def test_the_round_limit_is_followed_by_one_answer_without_tools(rounds: int) -> None:
    def stubborn(_messages: object, tools: object) -> Completion:
        return calling("look") if tools else Completion(text="ok")

    model = ScriptedProvider([stubborn] * (rounds + 1))

    result = await run(model, ToolOptions(tool_rounds=rounds))

    assert result.text == "ok"
    assert [called.round for called in result.called] == list(range(1, rounds + 1))


async def test_only_the_named_tools_are_offered() -> None:
    model = ScriptedProvider(["hi"])

    await run(model, ToolOptions(tools=("look",)))

    assert [spec.name for spec in model.requests[0].tools] == ["look"]


@pytest.mark.parametrize(
    ("wishes", "words"),
    [
        (ToolOptions(tool_choice="fly"), "tool_choice: there is no tool 'fly'"),
        (ToolOptions(tools=("fly",)), "tools: there is no tool 'fly'"),
        (ToolOptions(tool_choice="add", tools=("look",)), "tool_choice: there is no tool 'add'"),
        (ToolOptions(tool_choice="required", tools=()), "tool_choice: required"),
    ],
)
async def test_a_wish_that_cannot_be_met_is_refused(wishes: ToolOptions, words: str) -> None:
    with pytest.raises(InvalidArguments, match=words):
        await run(ScriptedProvider([]), wishes)
