"""FallbackModel: who answers when models are away, and who is asked when."""

from __future__ import annotations

import asyncio
from contextlib import aclosing
from typing import TYPE_CHECKING

import pytest

from spade_llm.core.errors import (
    ContextTooLong,
    InvalidModelOutput,
    ModelDenied,
    ModelError,
    ModelUnavailable,
    RateLimited,
)
from spade_llm.providers import FallbackModel, LLMProvider, OfflineProvider, ScriptedProvider
from spade_llm.providers.fallback import OPEN_CIRCUIT_S
from spade_llm.providers.model import Completion, Sampling, TextDelta
from spade_llm.providers.retry import ModelLimits
from tests.openai_server import Hang, Reset, Status, running_server
from tests.providers.model_calls import HELLO, user

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Mapping, Sequence

    from spade_llm.providers import ChatModel, ToolSpec
    from spade_llm.providers.model import ContextMessage
    from spade_llm.providers.scripted import ScriptedAnswer
    from tests.openai_server import OpenAIServer
    from tests.providers.conftest import Connect

AWAY = ModelUnavailable("it is away")


class Named(ScriptedProvider):
    """Scripted, under a name of its own."""

    def __init__(self, name: str, answers: Sequence[ScriptedAnswer] = ()) -> None:
        super().__init__(answers)
        self._name = name

    @property
    def name(self) -> str:
        return self._name


class Clock:
    """Time that passes when told."""

    def __init__(self) -> None:
        self.now_s = 1000.0

    def __call__(self) -> float:
        return self.now_s


async def ask(model: ChatModel, *, is_stream: bool = False) -> Completion:
    if not is_stream:
        return await model.complete(HELLO)
    parts = [part async for part in model.stream(HELLO)]
    assert isinstance(parts[-1], Completion)
    return parts[-1]


@pytest.mark.parametrize("is_stream", [False, True])
async def test_the_first_answers_while_it_can(is_stream: bool) -> None:
    second = Named("second", ["no"])
    model = FallbackModel(Named("first", ["yes"]), second)

    completion = await ask(model, is_stream=is_stream)

    assert (completion.text, completion.model) == ("yes", "first")
    assert len(second.requests) == 0
    assert model.name == "first (else second)"


@pytest.mark.parametrize("is_stream", [False, True])
@pytest.mark.parametrize(
    "error", [AWAY, RateLimited("wait"), ModelDenied("no quota"), InvalidModelOutput("<html>")]
)
async def test_the_next_answers_when_the_first_cannot(error: ModelError, is_stream: bool) -> None:
    model = FallbackModel(Named("first", [error]), Named("second", ["here"]))

    completion = await ask(model, is_stream=is_stream)

    assert (completion.text, completion.model) == ("here", "second")


@pytest.mark.parametrize("is_stream", [False, True])
@pytest.mark.parametrize("error", [ContextTooLong("long"), ModelError("the request is invalid")])
async def test_errors_that_another_model_would_repeat_are_raised(
    error: ModelError, is_stream: bool
) -> None:
    second = Named("second", ["here"])

    with pytest.raises(type(error)):
        await ask(FallbackModel(Named("first", [error]), second), is_stream=is_stream)

    assert len(second.requests) == 0


@pytest.mark.parametrize("other", [AWAY, ContextTooLong("long")])
async def test_when_all_fail_it_is_the_preferred_one_that_is_reported(other: ModelError) -> None:
    model = FallbackModel(Named("first", [RateLimited("wait")]), Named("second", [other]))

    with pytest.raises(RateLimited):
        await ask(model)


async def test_an_unavailable_model_is_not_called_before_its_pause_ends() -> None:
    clock = Clock()
    first, second = Named("first", [AWAY, "back"]), Named("second", ["2", "3", "4"])
    model = FallbackModel(first, second, now=clock)

    said = [(await ask(model)).text for _ in range(2)]
    name_meanwhile = model.name
    clock.now_s += OPEN_CIRCUIT_S
    said.append((await ask(model)).text)

    assert said == ["2", "3", "back"]
    assert name_meanwhile == "second (for first, which is away)"
    assert model.name == "first (else second)"


async def test_a_pause_that_was_asked_for_is_respected_and_a_long_one_bounded() -> None:
    clock = Clock()
    first = Named("first", [RateLimited("wait", retry_after=86_400), "back"])
    model = FallbackModel(first, Named("second", ["2", "3", "4"]), now=clock)

    await ask(model)
    clock.now_s += 299
    early = await ask(model)
    clock.now_s += 1
    late = await ask(model)

    assert (early.text, late.text) == ("3", "back")


async def test_each_failed_probe_doubles_the_pause() -> None:
    clock = Clock()
    first = Named("first", [AWAY, AWAY, "back"])
    model = FallbackModel(first, Named("second", ["2"] * 9), now=clock)

    for pause_s in (0, OPEN_CIRCUIT_S, OPEN_CIRCUIT_S, OPEN_CIRCUIT_S):
        clock.now_s += pause_s
        await ask(model)

    assert len(first.requests) == 3


async def test_unavailable_models_are_called_if_no_other_answers() -> None:
    model = FallbackModel(Named("first", [AWAY, "back"]), Named("second", ["2", AWAY]))

    said = [(await ask(model)).text for _ in range(2)]

    assert said == ["2", "back"]


class Waits(Named):
    """Fails at first; from then on it answers when it is let go."""

    def __init__(self, name: str) -> None:
        super().__init__(name, [AWAY, *["back"] * 9])
        self.was_asked = asyncio.Event()
        self.gate = asyncio.Event()

    async def complete(
        self,
        messages: Sequence[ContextMessage],
        tools: Sequence[ToolSpec] = (),
        *,
        tool_choice: str = "auto",
        response_schema: Mapping[str, object] | None = None,
        sampling: Sampling | None = None,
    ) -> Completion:
        if len(self.requests):
            self.was_asked.set()
            await self.gate.wait()
        return await super().complete(messages, tools, tool_choice=tool_choice)


async def test_one_call_probes_while_the_others_are_answered_by_the_next() -> None:
    clock = Clock()
    first = Waits("first")
    model = FallbackModel(first, Named("second", ["2"] * 9), now=clock)
    await ask(model)
    clock.now_s += OPEN_CIRCUIT_S

    probe = asyncio.create_task(ask(model))
    await first.was_asked.wait()
    meanwhile = await ask(model)
    first.gate.set()

    assert (meanwhile.text, (await probe).text) == ("2", "back")


async def test_a_probe_that_is_cancelled_leaves_the_next_call_to_probe() -> None:
    clock = Clock()
    first = Waits("first")
    model = FallbackModel(first, Named("second", ["2"] * 9), now=clock)
    await ask(model)
    clock.now_s += OPEN_CIRCUIT_S
    probe = asyncio.create_task(ask(model))
    await first.was_asked.wait()

    probe.cancel()
    await asyncio.wait([probe])
    first.gate.set()

    assert (await ask(model)).text == "back"


@pytest.mark.parametrize("is_stream", [False, True])
async def test_a_server_that_hangs_is_left_after_our_patience(
    connect: Connect, server: OpenAIServer, is_stream: bool
) -> None:
    server.enqueue(Hang())
    model = FallbackModel(connect(), Named("second", ["here"]), patience_s=0.05)

    completion = await ask(model, is_stream=is_stream)

    assert completion.text == "here"


async def test_once_text_has_been_streamed_no_other_model_goes_on(
    connect: Connect, server: OpenAIServer
) -> None:
    server.enqueue(Reset(after="Half an"))
    second = Named("second", ["here"])
    model = FallbackModel(connect(), second)
    seen: list[TextDelta | Completion] = []

    with pytest.raises(ModelUnavailable):
        async with aclosing(model.stream(HELLO)) as parts:
            async for part in parts:
                seen.append(part)

    assert seen == [TextDelta("Half an")]
    assert len(second.requests) == 0


async def test_an_answer_that_streams_longer_than_our_patience_is_whole(
    connect: Connect, server: OpenAIServer
) -> None:
    gate = asyncio.Event()
    slow, second = Slow(gate), Named("second", ["here"])
    model = FallbackModel(slow, second, patience_s=0.05)
    seen: list[TextDelta | Completion] = []

    async with aclosing(model.stream(HELLO)) as parts:
        seen.append(await anext(parts))
        asyncio.get_running_loop().call_later(0.1, gate.set)
        seen += [part async for part in parts]

    assert seen == [TextDelta("slow"), Completion(text="slow", model="slow")]


class Slow(Named):
    """Begins at once, and ends when it is let go."""

    def __init__(self, gate: asyncio.Event) -> None:
        super().__init__("slow")
        self._gate = gate

    async def stream(
        self,
        messages: Sequence[ContextMessage],
        tools: Sequence[ToolSpec] = (),
        *,
        tool_choice: str = "auto",
        response_schema: Mapping[str, object] | None = None,
        sampling: Sampling | None = None,
    ) -> AsyncGenerator[TextDelta | Completion]:
        yield TextDelta("slow")
        await self._gate.wait()
        yield Completion(text="slow")


async def test_a_stream_that_is_left_closes_the_connection_to_its_server(
    connect: Connect, server: OpenAIServer
) -> None:
    server.enqueue(Hang(after="Half an"))
    model = FallbackModel(connect(), OfflineProvider())

    async with aclosing(model.stream(HELLO)) as parts:
        await anext(parts)

    await asyncio.wait_for(server.was_left.wait(), 5)


async def test_the_second_server_answers_while_the_first_is_rate_limited(
    connect: Connect, server: OpenAIServer
) -> None:
    server.enqueue(*[Status(status=429, headers={"Retry-After": "3600"})] * 9)
    async with (
        running_server() as other,
        LLMProvider.create_vllm("other", other.base_url, limits=ModelLimits()) as second,
    ):
        model = FallbackModel(connect(), second)
        said = [(await model.complete([user(str(n))])).text for n in range(3)]

    assert said == [f"You said: {n}" for n in range(3)]
    assert len(server.requests) == 1
