"""A turn: model and tools until there is an answer, within its limits."""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING

import pytest

from spade_llm.assistant.config import TurnLimits
from spade_llm.assistant.turn.prompt import user_message
from spade_llm.assistant.turn.recall import RecallResult
from spade_llm.assistant.turn.tool_loop import TurnResult
from spade_llm.assistant.turn.turn import Turn
from spade_llm.assistant.turn.turn_options import TurnOptions
from spade_llm.context import NoContextManagement
from spade_llm.core.errors import ModelUnavailable
from spade_llm.providers import Completion, ScriptedProvider, ToolCall, Usage
from spade_llm.providers.model import TextDelta
from spade_llm.tools import LLMTool, LocalToolbox

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Mapping, Sequence

    from spade_llm.providers.model import ContextMessage, Sampling, ToolSpec
    from spade_llm.providers.scripted import ScriptedAnswer

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
    return await turn.run([user_message(question, peer="you@x")], RecallResult())


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
        [user_message("go", peer="you@x")], RecallResult(), options=TurnOptions(on_delta=keep)
    )

    assert "".join(pieces) == "one two three" == result.text


async def streamed(turn: Turn) -> tuple[TurnResult, list[str]]:
    pieces: list[str] = []

    async def keep(text: str) -> None:
        pieces.append(text)

    history = [user_message("go", peer="you@x")]
    result = await turn.run(history, RecallResult(), options=TurnOptions(on_delta=keep))
    return result, pieces


def calling(*names: str, text: str = "", usage: Usage | None = None) -> Completion:
    calls = tuple(a_call(name, id=str(n)) for n, name in enumerate(names))
    return Completion(text=text, tool_calls=calls, usage=usage or Usage())


def noting(*names: str) -> list[LLMTool]:
    return [LLMTool(name, "notes", ANY_ARGUMENTS, lambda: "noted") for name in names]


async def test_text_between_tool_calls_is_part_of_the_answer() -> None:
    model = ScriptedProvider([calling("note", text=" Let me see.\n"), calling("note"), "It is 3."])

    result, pieces = await streamed(a_turn(model, *noting("note")))

    assert result.text == "Let me see.\n\nIt is 3." == "".join(pieces)
    assert result.added[-1] == {"role": "assistant", "content": "It is 3."}


async def test_one_call_of_the_model_is_kept_for_the_answer() -> None:
    model = ScriptedProvider([calling("note"), "done"])

    result = await run(a_turn(model, *noting("note"), limits=TurnLimits(model_calls=2)))

    assert (result.text, result.model_calls) == ("done", 2)
    assert [bool(request.tools) for request in model.requests] == [True, False]


@pytest.mark.parametrize(
    ("said", "answer"),
    [
        ("", "I stopped before I had an answer: it has used up its 100 tokens. Tools that I used:"),
        ("So far", "So far\n\n(I stopped here: it has used up its 100 tokens.)"),
    ],
)
async def test_a_turn_without_tokens_ends_with_what_there_is(said: str, answer: str) -> None:
    usage = Usage(prompt_tokens=40, completion_tokens=15)
    script: list[ScriptedAnswer] = [
        calling("note", text=said, usage=usage),
        calling("other", usage=usage),
        "too late",
    ]
    model = ScriptedProvider(script)

    result = await run(a_turn(model, *noting("note", "other"), limits=TurnLimits(tokens=100)))

    assert result.text.startswith(answer)
    assert [one.name for one in result.called] == ["note"]
    assert result.usage == usage + usage
    assert [m["role"] for m in result.added] == ["assistant", "tool", "assistant"]


async def test_an_answer_that_crosses_the_line_is_given() -> None:
    usage = Usage(prompt_tokens=400, completion_tokens=15)

    model = ScriptedProvider([Completion(text="done", usage=usage)])

    assert (await run(a_turn(model, limits=TurnLimits(tokens=1)))).text == "done"


async def test_a_turn_that_takes_too_long_ends_with_what_was_streamed() -> None:
    model = InPieces("Once upon", hangs=True)

    result, pieces = await streamed(a_turn(model, limits=TurnLimits(seconds=0.05)))

    assert pieces == ["Once upon"]
    assert result.text == "Once upon\n\n(I stopped here: it took longer than 0.05 seconds.)"
    assert model.was_closed.is_set()


async def test_an_answer_longer_than_a_message_is_cut_and_its_stream_closed() -> None:
    model = InPieces(*["word " * 1000] * 30)

    result, pieces = await streamed(a_turn(model))

    assert result.text.startswith("".join(pieces))
    assert result.text.endswith("(This answer was cut off: it is longer than one message.)")
    assert len(result.text) < 100_000
    assert model.was_closed.is_set()
    assert len(pieces) < 30


async def test_tool_calls_before_a_stop_are_recorded() -> None:
    hangs = asyncio.Event()

    async def hang() -> str:
        hangs.set()
        await asyncio.Event().wait()
        return ""

    tools = [*noting("note"), LLMTool("hang", "hangs", ANY_ARGUMENTS, hang)]
    turn = a_turn(
        ScriptedProvider([calling("note", "hang", "note")]),
        *tools,
        limits=TurnLimits(tool_calls=2),
    )
    result = TurnResult()
    history = [user_message("go", peer="you@x")]
    running = asyncio.create_task(turn.run(history, RecallResult(), result=result))
    await asyncio.wait_for(hangs.wait(), 5)

    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    result.stop()

    assert [m["role"] for m in result.added] == ["assistant", "tool", "tool", "tool", "assistant"]
    texts = [str(m["content"]) for m in result.added[1:]]
    assert texts[0] == "noted"
    assert [text.split(":")[0] for text in texts[1:3]] == ["Stopped before it had ended", "Not run"]


class InPieces(ScriptedProvider):
    """Streams these pieces, and tells whether its stream was closed."""

    def __init__(self, *pieces: str, hangs: bool = False) -> None:
        super().__init__()
        self._pieces = pieces
        self._hangs = hangs
        self.was_closed = asyncio.Event()

    async def stream(
        self,
        messages: Sequence[ContextMessage],
        tools: Sequence[ToolSpec] = (),
        *,
        tool_choice: str = "auto",
        response_schema: Mapping[str, object] | None = None,
        sampling: Sampling | None = None,
    ) -> AsyncGenerator[TextDelta | Completion]:
        try:
            for piece in self._pieces:
                yield TextDelta(piece)
            if self._hangs:
                await asyncio.Event().wait()
            yield Completion(text="".join(self._pieces))
        finally:
            self.was_closed.set()
