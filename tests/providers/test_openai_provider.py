"""LLMProvider against a strict server: what it sends, and what it makes of good answers."""

from __future__ import annotations

import asyncio
import gc
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from spade_llm.core.errors import ConfigurationError, InvalidModelOutput, ModelError
from spade_llm.providers import LLMProvider
from spade_llm.providers.model import Usage
from spade_llm.providers.retry import ModelLimits
from tests.openai_server import Call, Say
from tests.providers.conftest import API_KEY
from tests.providers.model_calls import CLOCK, HELLO, open_stream, read_stream, user

if TYPE_CHECKING:
    from spade_llm.providers.model import ContextMessage
    from tests.openai_server import OpenAIServer
    from tests.providers.conftest import Connect


async def test_a_question_is_answered_with_the_tokens_it_took(provider: LLMProvider) -> None:
    completion = await provider.complete(HELLO)

    assert completion.text == "You said: hello"
    assert completion.usage == Usage(prompt_tokens=7, completion_tokens=5)
    assert completion.tool_calls == ()


async def test_a_stream_gives_the_text_in_pieces_and_then_whole(provider: LLMProvider) -> None:
    deltas, completion = await read_stream(provider)

    assert deltas == ["You", " said:", " hello"]
    assert completion.text == "You said: hello"
    assert completion.usage == Usage(prompt_tokens=7, completion_tokens=5)


async def test_a_tool_call_and_its_result_make_the_round_trip(
    provider: LLMProvider, server: OpenAIServer
) -> None:
    server.enqueue(Say(calls=(Call(name=CLOCK.name, arguments='{"timezone": "Asia/Tokyo"}'),)))

    (call,) = (await provider.complete(HELLO, [CLOCK])).tool_calls
    after: list[ContextMessage] = [
        *HELLO,
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [
                {
                    "id": call.id,
                    "type": "function",
                    "function": {"name": call.name, "arguments": call.arguments},
                }
            ],
        },
        {"role": "tool", "tool_call_id": call.id, "content": "09:00"},
    ]
    answer = await provider.complete(after, [CLOCK])

    assert (call.name, call.arguments) == (CLOCK.name, '{"timezone": "Asia/Tokyo"}')
    assert answer.text == "You said: hello"


async def test_an_orphan_tool_result_is_refused_by_the_server_as_openai_does(
    provider: LLMProvider,
) -> None:
    orphan: ContextMessage = {"role": "tool", "tool_call_id": "call_9", "content": "x"}

    with pytest.raises(ModelError, match="preceding message"):
        await provider.complete([*HELLO, orphan])


@pytest.mark.parametrize("is_whole", [False, True])
async def test_streamed_tool_calls_are_put_together(
    provider: LLMProvider, server: OpenAIServer, is_whole: bool
) -> None:
    calls = (
        Call(name="one", arguments='{"a": "first value"}', id="call_a", index=0),
        Call(name="two", arguments='{"b": "second value"}', id="call_b", index=1),
    )
    server.enqueue(Say(text="Let me see.", calls=calls, has_whole_calls=is_whole))

    deltas, completion = await read_stream(provider, (CLOCK,))

    assert "".join(deltas) == "Let me see."
    assert [(c.id, c.name, c.arguments) for c in completion.tool_calls] == [
        (c.id, c.name, c.arguments) for c in calls
    ]


@pytest.mark.parametrize("index", [0, None])
@pytest.mark.parametrize("call_id", [None, "", "call_x"])
@pytest.mark.parametrize("is_stream", [False, True])
async def test_calls_get_distinct_ids_where_the_server_gives_none_or_one_for_all(
    provider: LLMProvider,
    server: OpenAIServer,
    index: int | None,
    call_id: str | None,
    is_stream: bool,
) -> None:
    indexes = (index, None if index is None else 1)
    calls = tuple(
        Call(name=name, arguments=f'{{"of": "{name}"}}', id=call_id, index=i)
        for name, i in zip(("one", "two"), indexes, strict=True)
    )
    server.enqueue(Say(calls=calls, has_whole_calls=True))

    if is_stream:
        _, completion = await read_stream(provider, (CLOCK,))
    else:
        completion = await provider.complete(HELLO, [CLOCK])

    assert [(c.name, c.arguments) for c in completion.tool_calls] == [
        ("one", '{"of": "one"}'),
        ("two", '{"of": "two"}'),
    ]
    assert len({c.id for c in completion.tool_calls} - {""}) == 2


@pytest.mark.parametrize(
    ("choice", "sent"),
    [
        ("auto", "auto"),
        ("none", "none"),
        ("required", "required"),
        (CLOCK.name, {"type": "function", "function": {"name": CLOCK.name}}),
    ],
)
async def test_tool_choice_is_sent_in_the_form_of_the_protocol(
    provider: LLMProvider, server: OpenAIServer, choice: str, sent: object
) -> None:
    await provider.complete(HELLO, [CLOCK], tool_choice=choice)

    assert server.requests[-1]["tool_choice"] == sent


async def test_a_strict_tool_is_sent_as_one(provider: LLMProvider, server: OpenAIServer) -> None:
    anything = {"type": "object", "additionalProperties": {"type": "string"}}
    strict = replace(CLOCK, name="strict", is_strict=True)

    await provider.complete(
        HELLO, [CLOCK, strict, replace(strict, name="open", parameters=anything)]
    )

    tools = server.requests[-1]["tools"]
    assert isinstance(tools, list)
    assert [tool["function"].get("strict") for tool in tools] == [None, True, None]


async def test_the_bound_of_the_answer_is_sent(connect: Connect, server: OpenAIServer) -> None:
    await connect(max_tokens=50).complete(HELLO)

    assert server.requests[-1]["max_tokens"] == 50


async def test_a_server_that_refuses_stream_options_is_asked_without_and_remembered(
    provider: LLMProvider, server: OpenAIServer
) -> None:
    server.refused_fields = {"stream_options"}

    first = await read_stream(provider)
    second = await read_stream(provider)

    assert first == second
    assert first[1].usage == Usage()
    assert ["stream_options" in request for request in server.requests] == [True, False, False]


async def test_no_more_calls_run_at_once_than_allowed(
    connect: Connect, server: OpenAIServer
) -> None:
    server.delay_s = 0.02
    provider = connect(limits=ModelLimits(deadline_s=4.0, max_concurrency=3))

    answers = await asyncio.gather(*(provider.complete([user(str(n))]) for n in range(12)))

    assert [answer.text for answer in answers] == [f"You said: {n}" for n in range(12)]
    assert server.most_at_once == 3


async def test_a_stream_that_is_left_early_gives_its_place_back(connect: Connect) -> None:
    provider = connect(limits=ModelLimits(deadline_s=4.0, max_concurrency=1))

    async with open_stream(provider) as parts:
        await anext(parts)

    assert (await provider.complete(HELLO)).text == "You said: hello"


async def test_the_key_and_a_password_in_the_address_are_never_shown() -> None:
    provider = LLMProvider.create_openai(API_KEY, "m", base_url="http://me:pass@localhost:9/v1")

    assert repr(provider) == "LLMProvider(model='m', server='localhost:9')"


@pytest.mark.parametrize(
    "base_url",
    ["localhost:11434", "ftp://x/v1", "", "http://", "http://h:99999/v1", "http://[::1/v1"],
)
def test_an_address_that_cannot_work_is_refused_at_once(base_url: str) -> None:
    with pytest.raises(ConfigurationError, match="base_url"):
        LLMProvider.create_ollama("llama", base_url)


@pytest.mark.parametrize("key", ["", " \n", "sk-ñ", "sk-1\nsk-2"])
def test_openai_without_a_usable_key_is_refused_at_once(key: str) -> None:
    with pytest.raises(ConfigurationError, match="api_key"):
        LLMProvider.create_openai(key, "gpt-5-mini")


async def test_a_key_read_from_a_file_may_end_in_a_newline(server: OpenAIServer) -> None:
    async with LLMProvider.create_openai(f"{API_KEY}\n", "m", base_url=server.base_url) as provider:
        assert (await provider.complete(HELLO)).text == "You said: hello"


async def test_text_that_is_not_unicode_is_sent_with_question_marks(
    provider: LLMProvider,
) -> None:
    completion = await provider.complete([user("half an emoji: \ud83d, ñ")])

    assert completion.text == "You said: half an emoji: ?, ñ"


async def test_every_local_server_has_its_usual_address() -> None:
    made = [
        LLMProvider.create_ollama("m"),
        LLMProvider.create_lm_studio("m"),
        LLMProvider.create_vllm("m"),
    ]

    assert [repr(provider).split("server=")[1] for provider in made] == [
        "'localhost:11434')",
        "'localhost:1234')",
        "'localhost:8000')",
    ]


@pytest.mark.thorough
async def test_an_unclosed_provider_causes_no_warning(
    server: OpenAIServer, caplog: pytest.LogCaptureFixture
) -> None:
    provider = LLMProvider("m", base_url=server.base_url, api_key=API_KEY)
    await provider.complete(HELLO)

    del provider
    gc.collect()
    await asyncio.sleep(0)

    assert "nclosed" not in caplog.text


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("<think>He asks for  a sum.\n</think>\n\nIt is 4.", "It is 4."),
        ("\n<think></think> Hi there", "Hi there"),
        ("<thinner> paper", "<thinner> paper"),
        ("a <think> tag </think> is kept", "a <think> tag </think> is kept"),
        ("<", "<"),
    ],
)
async def test_reasoning_in_the_text_is_no_part_of_the_answer(
    provider: LLMProvider, server: OpenAIServer, text: str, answer: str
) -> None:
    server.enqueue(Say(text=text), Say(text=text))

    assert (await provider.complete(HELLO)).text == answer
    pieces, completion = await read_stream(provider)
    assert (completion.text, "".join(pieces)) == (answer, answer)


async def test_reasoning_that_was_cut_off_is_not_shown(
    provider: LLMProvider, server: OpenAIServer
) -> None:
    server.enqueue(Say(text="<think>First of all, the", finish_reason="length"))

    with pytest.raises(InvalidModelOutput):
        await provider.complete(HELLO)
