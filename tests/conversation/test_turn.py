"""A turn: model and tools until there is an answer, within its limits."""

from __future__ import annotations

import asyncio
import json

import pytest

from spade_llm.context import NoContextManagement
from spade_llm.conversation.prompt import user_message
from spade_llm.conversation.recall import Recalled
from spade_llm.conversation.turn import Asker, Turn, TurnLimits, TurnResult
from spade_llm.errors import ModelUnavailable
from spade_llm.providers import Completion, ScriptedProvider, ToolCall, Usage
from spade_llm.tools import LLMTool, LocalToolbox

ANY_ARGUMENTS = {"type": "object", "properties": {}}


def a_call(name: str, arguments: str = "{}", *, id: str = "1") -> ToolCall:
    return ToolCall(id=id, name=name, arguments=arguments)


def a_turn(
    model: ScriptedProvider, *tools: LLMTool, limits: TurnLimits | None = None, prompt: str = "Be"
) -> Turn:
    return Turn(
        model,
        strategy=NoContextManagement(),
        system_prompt=prompt,
        toolbox=LocalToolbox(tools),
        limits=limits or TurnLimits(),
    )


async def run(turn: Turn, question: str = "hello?") -> TurnResult:
    return await turn.run([user_message(question, peer="you@x")], Recalled())


async def test_the_model_reads_the_system_prompt_and_the_question() -> None:
    model = ScriptedProvider(["hi"])

    result = await run(a_turn(model, prompt="Be kind."))

    assert result.text == "hi"
    assert result.added == [{"role": "assistant", "content": "hi"}]
    assert list(model.requests[0].messages) == [
        {"role": "system", "content": "Be kind."},
        {"role": "user", "content": "hello?", "name": "you_x"},
    ]


async def test_a_tool_s_result_goes_back_to_the_model_behind_its_call() -> None:
    model = ScriptedProvider([Completion(tool_calls=(a_call("add", '{"a": 2}'),)), "It is 3."])
    tool = LLMTool("add", "adds one", ANY_ARGUMENTS, lambda a: a + 1)

    result = await run(a_turn(model, tool))

    assert result.text == "It is 3."
    call, answer = model.requests[1].messages[-2:]
    assert call["role"] == "assistant"
    assert answer == {"role": "tool", "content": "3", "tool_call_id": "1"}


async def test_the_calls_of_one_answer_run_side_by_side() -> None:
    both = asyncio.Barrier(2)

    async def meet() -> str:
        async with asyncio.timeout(5):
            await both.wait()
        return "met"

    calls = (a_call("meet", id="1"), a_call("meet", id="2"))
    model = ScriptedProvider([Completion(tool_calls=calls), "done"])

    await run(a_turn(model, LLMTool("meet", "waits for the other", ANY_ARGUMENTS, meet)))

    assert [m["content"] for m in model.requests[1].messages[-2:]] == ["met", "met"]


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (a_call("nothing"), "no tool 'nothing'"),
        (a_call("add", "{a: 1"), "not valid JSON"),
        (a_call("add", "[1]"), "must be a JSON object"),
        (a_call("add", '{"wrong": 1}'), "failed"),
    ],
)
async def test_a_call_that_cannot_be_made_is_told_to_the_model(call: ToolCall, words: str) -> None:
    model = ScriptedProvider([Completion(tool_calls=(call,)), "I see."])
    tool = LLMTool("add", "adds one", ANY_ARGUMENTS, lambda a: a + 1)

    result = await run(a_turn(model, tool))

    assert result.text == "I see."
    assert words in str(model.requests[1].messages[-1]["content"])


async def test_the_last_model_call_is_made_without_tools() -> None:
    def stubborn(_messages: object, tools: object) -> Completion:
        return (
            Completion(tool_calls=(a_call("add", '{"a": 1}'),)) if tools else Completion(text="ok")
        )

    model = ScriptedProvider([stubborn] * 3)
    tool = LLMTool("add", "adds one", ANY_ARGUMENTS, lambda a: a + 1)

    result = await run(a_turn(model, tool, limits=TurnLimits(tool_rounds=2)))

    assert result.text == "ok"
    assert [bool(request.tools) for request in model.requests] == [True, True, False]


async def test_calls_beyond_the_limit_are_answered_and_not_run() -> None:
    ran = []
    calls = tuple(a_call("note", id=str(n)) for n in range(5))
    model = ScriptedProvider([Completion(tool_calls=calls), "done"])
    tool = LLMTool("note", "notes", ANY_ARGUMENTS, lambda: ran.append(1))

    await run(a_turn(model, tool, limits=TurnLimits(tool_calls=2)))

    results = [m["content"] for m in model.requests[1].messages if m["role"] == "tool"]
    assert len(ran) == 2
    assert len(results) == 5
    assert sum("Not run" in str(text) for text in results) == 3


async def test_a_200_kb_result_reaches_the_model_cut_and_says_so() -> None:
    model = ScriptedProvider([Completion(tool_calls=(a_call("big"),)), "much"])
    tool = LLMTool("big", "much", ANY_ARGUMENTS, lambda: "x" * 200_000)

    await run(a_turn(model, tool))

    text = str(model.requests[1].messages[-1]["content"])
    assert len(text) < 70_000
    assert "cut" in text


async def test_usage_adds_up_over_the_turn() -> None:
    usage = Usage(prompt_tokens=10, completion_tokens=2)
    first = Completion(tool_calls=(a_call("add", json.dumps({"a": 1})),), usage=usage)
    model = ScriptedProvider([first, Completion(text="done", usage=usage)])
    tool = LLMTool("add", "adds one", ANY_ARGUMENTS, lambda a: a + 1)

    result = await run(a_turn(model, tool))

    assert result.usage == Usage(prompt_tokens=20, completion_tokens=4)


async def test_an_empty_answer_is_said_to_be_one() -> None:
    result = await run(a_turn(ScriptedProvider([""])))

    assert result.text == "(The model gave no answer.)"


async def test_a_model_that_fails_raises() -> None:
    with pytest.raises(ModelUnavailable):
        await run(a_turn(ScriptedProvider([ModelUnavailable("away")])))


async def test_a_turn_ends_at_its_deadline() -> None:
    model = ScriptedProvider(["late"], delay=60)

    result = await run(a_turn(model, limits=TurnLimits(seconds=0.05)))

    assert result.text == "I stopped before I had an answer: it took longer than 0.05 seconds."


async def test_a_streamed_turn_hands_on_the_text_in_order() -> None:
    pieces: list[str] = []

    async def keep(text: str) -> None:
        pieces.append(text)

    turn = a_turn(ScriptedProvider(["one two three"]))
    result = await turn.run(
        [user_message("go", peer="you@x")], Recalled(), asker=Asker(on_delta=keep)
    )

    assert "".join(pieces) == "one two three" == result.text
