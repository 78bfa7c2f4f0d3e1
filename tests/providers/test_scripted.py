"""ScriptedProvider says what it was told, and remembers what it was asked."""

from __future__ import annotations

import pytest

from spade_llm.core.errors import ModelError, RateLimited
from spade_llm.providers import ScriptedProvider
from spade_llm.providers.model import Completion, TextDelta
from tests.providers.model_calls import CLOCK, HELLO, user


async def test_every_kind_of_answer_is_given_in_order() -> None:
    provider = ScriptedProvider(
        [
            "One",
            Completion(text="Two"),
            RateLimited("three", retry_after=1.0),
            lambda messages, tools: Completion(text=f"{len(messages)} messages, {len(tools)} tool"),
        ]
    )

    assert (await provider.complete(HELLO)).text == "One"
    assert (await provider.complete(HELLO)).text == "Two"
    with pytest.raises(RateLimited, match="three"):
        await provider.complete(HELLO)
    assert (await provider.complete(HELLO, [CLOCK])).text == "2 messages, 1 tool"


async def test_requests_are_kept_as_they_were() -> None:
    provider = ScriptedProvider.echo()
    messages = [*HELLO]

    await provider.complete(messages, [CLOCK], tool_choice="required")
    messages.append(user("later"))

    (request,) = provider.requests
    assert (request.messages, request.tools, request.tool_choice) == (
        tuple(HELLO),
        (CLOCK,),
        "required",
    )


async def test_a_script_that_is_over_says_so() -> None:
    with pytest.raises(ModelError, match="script is over: it has no answer to request 1"):
        await ScriptedProvider([]).complete(HELLO)


async def test_echo_repeats_without_end_and_streams_word_by_word() -> None:
    provider = ScriptedProvider.echo(delay=0.001)

    parts = [part async for part in provider.stream([user("one  two\nthree ")])]

    assert parts == [
        TextDelta("one"),
        TextDelta("  two"),
        TextDelta("\nthree "),
        Completion(text="one  two\nthree "),
    ]
    assert (await provider.complete([user("again")])).text == "again"
