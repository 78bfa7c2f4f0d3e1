"""How a model is to choose its words, of one call: what servers, other models and rules make of
it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from spade_llm.providers import OfflineProvider, ScriptedProvider
from spade_llm.providers.fallback import FallbackModel
from spade_llm.providers.model import Sampling
from tests.openai_server import Status
from tests.providers.model_calls import HELLO

if TYPE_CHECKING:
    from spade_llm.providers.model import ChatModel
    from tests.openai_server import OpenAIServer
    from tests.providers.conftest import Connect

COOL = Sampling(temperature=0.2, max_tokens=40)


async def test_a_call_asks_its_server_for_what_it_wants_and_the_next_does_not(
    connect: Connect, server: OpenAIServer
) -> None:
    provider = connect()

    await provider.complete(HELLO, sampling=COOL)
    _ = [part async for part in provider.stream(HELLO, sampling=Sampling(temperature=0.0))]
    await provider.complete(HELLO)

    asked, streamed, plain = list(server.requests)[-3:]
    assert (asked["temperature"], asked["max_tokens"]) == (0.2, 40)
    assert streamed["temperature"] == 0.0
    assert "max_tokens" not in streamed
    assert not {"temperature", "max_tokens"} & set(plain)


@pytest.mark.parametrize(("wanted", "sent"), [(40, 40), (90, 50)])
async def test_no_call_gets_more_than_the_provider_was_set_up_for(
    connect: Connect, server: OpenAIServer, wanted: int, sent: int
) -> None:
    await connect(max_tokens=50).complete(HELLO, sampling=Sampling(max_tokens=wanted))

    assert server.requests[-1]["max_tokens"] == sent


@pytest.mark.parametrize(
    "complaint",
    [
        "Unsupported value: 'temperature' does not support 0.2 with this model.",
        "Unsupported parameter: 'max_tokens' is not supported with this model.",
    ],
)
async def test_a_server_that_refuses_a_wish_is_asked_without_it(
    connect: Connect, server: OpenAIServer, complaint: str
) -> None:
    server.enqueue(Status(status=400, body=json.dumps({"error": {"message": complaint}})))

    completion = await connect().complete(HELLO, sampling=COOL)

    refused = "temperature" if "temperature" in complaint else "max_tokens"
    kept = {"temperature", "max_tokens"} - {refused}
    assert completion.text
    assert refused not in server.requests[-1]
    assert kept <= set(server.requests[-1])


async def test_a_model_that_stands_in_gets_the_same_wishes() -> None:
    script = ScriptedProvider.echo()
    models: list[ChatModel] = [script, FallbackModel(script)]

    for model in models:
        await model.complete(HELLO, sampling=COOL)
        _ = [part async for part in model.stream(HELLO, sampling=COOL)]

    assert [one.sampling for one in script.requests] == [COOL] * 4


async def test_rules_stop_where_the_answer_is_long_enough() -> None:
    short = await OfflineProvider().complete(HELLO, sampling=Sampling(max_tokens=3))
    whole = await OfflineProvider().complete(HELLO, sampling=Sampling(max_tokens=500))

    assert (len(short.text), short.is_cut_off) == (12, True)
    assert whole == await OfflineProvider().complete(HELLO)
