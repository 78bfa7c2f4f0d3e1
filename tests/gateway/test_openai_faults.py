"""Cut answers and failing models behind /v1, as OpenAI's own client sees them."""

from __future__ import annotations

import asyncio
import itertools
from contextlib import AsyncExitStack
from dataclasses import dataclass
from typing import TYPE_CHECKING

import openai
import pytest
import pytest_asyncio

from spade_llm.providers import LLMProvider, ModelLimits
from tests.gateway.web import started
from tests.integration.network import jid_of
from tests.openai_server import Hang, OpenAIServer, Raw, Reset, Say, Status, running_server

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from openai import AsyncOpenAI
    from openai.types.chat import ChatCompletion, ChatCompletionChunk

    from tests.conftest import Provisioner
    from tests.gateway.web import Web
    from tests.openai_server import Answer

pytestmark = pytest.mark.asyncio(loop_scope="module")

API_KEY = "sk-secret-of-the-assistant"
LIMITS = ModelLimits(deadline_s=20.0, attempts=2, first_pause_s=0.01, longest_pause_s=0.02)
LEAKY = '{"error": {"message": "Incorrect API key: %s", "code": "invalid_api_key"}}' % API_KEY  # noqa: UP031
LENGTH = '{"error": {"message": "maximum context length is 8192 tokens"}}'
NO_QUOTA = '{"error": {"message": "no more money", "code": "insufficient_quota"}}'

FAULTS: dict[str, tuple[tuple[Answer, ...], type[openai.APIStatusError], int, str]] = {
    "a pause": (
        (Status(status=429, headers={"Retry-After": "3600"}),),
        openai.RateLimitError,
        429,
        "rate_limit_exceeded",
    ),
    "the assistant's key": (
        (Status(status=401, body=LEAKY),),
        openai.InternalServerError,
        503,
        "model_denied",
    ),
    "the assistant's model": (
        (Status(status=404),),
        openai.InternalServerError,
        503,
        "model_denied",
    ),
    "the assistant's quota": (
        (Status(status=429, body=NO_QUOTA),),
        openai.InternalServerError,
        503,
        "model_denied",
    ),
    "lost connections": (
        (Reset(), Reset()),
        openai.InternalServerError,
        503,
        "model_unavailable",
    ),
    "another protocol": (
        (Raw(b'{"candidates": []}'), Raw(b'{"candidates": []}')),
        openai.InternalServerError,
        503,
        "empty_model_output",
    ),
    "a long prompt": (
        (Status(status=400, body=LENGTH),),
        openai.BadRequestError,
        400,
        "context_length_exceeded",
    ),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Scene:
    web: Web
    model: OpenAIServer
    names: itertools.count[int]

    async def client(self, *, token: str = "", retries: int = 0) -> AsyncOpenAI:
        """Of a new principal, so that no two tests share a conversation."""
        client = openai.AsyncOpenAI(
            base_url=f"{self.web.agent.url}/v1",
            api_key=token or await self.web.token(f"asker{next(self.names)}"),
            max_retries=retries,
            timeout=60.0,
        )
        self.web.network.stack.push_async_callback(client.close)
        return client

    async def ask(self, client: AsyncOpenAI) -> ChatCompletion:
        return await client.chat.completions.create(
            model=self.name, messages=[{"role": "user", "content": "hello"}]
        )

    async def stream(self, client: AsyncOpenAI) -> openai.AsyncStream[ChatCompletionChunk]:
        return await client.chat.completions.create(
            model=self.name, messages=[{"role": "user", "content": "hello"}], stream=True
        )

    @property
    def name(self) -> str:
        return self.web.agent.gateway.addresses.assistants[0].partition("@")[0]


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def scene(
    embedded: Provisioner, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[Scene]:
    async with AsyncExitStack() as stack:
        model = await stack.enter_async_context(running_server(OpenAIServer(api_key=API_KEY)))
        provider = LLMProvider.create_openai(
            API_KEY, "test", base_url=model.base_url, limits=LIMITS
        )
        stack.push_async_callback(provider.aclose)
        folder = tmp_path_factory.mktemp("v1")
        web = await stack.enter_async_context(started(embedded, folder, model=provider))
        yield Scene(web=web, model=model, names=itertools.count(1))


async def test_a_cut_answer_says_length_and_nothing_else(scene: Scene) -> None:
    scene.model.enqueue(Say(text="Once upon a", finish_reason="length"))

    (choice,) = (await scene.ask(await scene.client())).choices

    assert choice.finish_reason == "length"
    assert choice.message.content == "Once upon a"


async def test_a_cut_stream_says_length_and_nothing_else(scene: Scene) -> None:
    scene.model.enqueue(Say(text="Once upon a", finish_reason="length"))

    chunks = [chunk.choices[0] async for chunk in await scene.stream(await scene.client())]

    assert "".join(chunk.delta.content or "" for chunk in chunks) == "Once upon a"
    assert [chunk.finish_reason for chunk in chunks if chunk.finish_reason] == ["length"]


@pytest.mark.parametrize("is_streamed", [False, True], ids=["whole", "streamed"])
@pytest.mark.parametrize(("faults", "kind", "status", "code"), FAULTS.values(), ids=FAULTS.keys())
async def test_a_failing_model_is_an_error_of_the_api(
    scene: Scene,
    faults: tuple[Answer, ...],
    kind: type[openai.APIStatusError],
    status: int,
    code: str,
    is_streamed: bool,
) -> None:
    scene.model.enqueue(*faults)
    ask = scene.stream if is_streamed else scene.ask

    with pytest.raises(kind) as caught:
        await ask(await scene.client())

    assert (caught.value.status_code, caught.value.code) == (status, code)
    assert API_KEY not in caught.value.response.text
    assert "127.0.0.1" not in caught.value.response.text


async def test_the_pause_that_the_model_asks_for_reaches_the_client(scene: Scene) -> None:
    scene.model.enqueue(Status(status=429, headers={"Retry-After": "3600"}))

    with pytest.raises(openai.RateLimitError) as caught:
        await scene.ask(await scene.client())

    assert caught.value.response.headers["Retry-After"] == "3600"


async def test_a_client_does_not_repeat_what_only_the_operator_can_mend(scene: Scene) -> None:
    asked = len(scene.model.requests)
    scene.model.enqueue(Status(status=401, body=LEAKY))

    with pytest.raises(openai.InternalServerError):
        await scene.ask(await scene.client(retries=2))

    assert len(scene.model.requests) == asked + 1


async def test_only_administrators_learn_why_the_model_fails(scene: Scene) -> None:
    scene.model.enqueue(Status(status=401, body=LEAKY))
    with pytest.raises(openai.InternalServerError):
        await scene.ask(await scene.client())
    program = await scene.web.network.program()

    admin = (await scene.web.http.get("/api/v0/agents")).text
    other = (await scene.web.client(await scene.web.token("eve")).get("/api/v0/agents")).text
    status = await program.status(jid_of(scene.web.assistant))

    server = scene.model.base_url.removeprefix("http://").removesuffix("/v1")
    assert f"Model: {server} does not accept the API key" in admin
    assert server not in other + status.model_dump_json()
    assert "API key" not in other + status.model_dump_json()
    assert API_KEY not in admin


async def test_a_failed_question_can_be_asked_again(scene: Scene) -> None:
    scene.model.enqueue(Status(status=401, body=LEAKY))
    client = await scene.client()

    with pytest.raises(openai.InternalServerError):
        await scene.ask(client)
    answer = (await scene.ask(client)).choices[0].message.content

    assert answer == "You said: hello"


async def test_an_error_behind_the_first_part_is_an_event_of_the_stream(scene: Scene) -> None:
    scene.model.enqueue(Reset(after="Half an"))
    stream = await scene.stream(await scene.client())
    text = ""

    with pytest.raises(openai.APIError) as caught:
        async for chunk in stream:
            text += chunk.choices[0].delta.content or ""

    assert text == "Half an"
    assert not isinstance(caught.value, openai.APIStatusError)
    assert caught.value.code == "model_unavailable"


async def test_refusals_before_any_route_have_the_same_form(scene: Scene) -> None:
    unknown, client = await scene.client(token="unknown"), await scene.client()

    with pytest.raises(openai.AuthenticationError) as stranger:
        await scene.ask(unknown)
    with pytest.raises(openai.NotFoundError) as nowhere:
        await client.embeddings.create(model="test", input="hello")
    with pytest.raises(openai.APIStatusError) as large:
        await client.post("/chat/completions", cast_to=object, body={"x": "x" * 3_000_000})

    assert (stranger.value.code, stranger.value.type) == ("invalid_api_key", "authentication_error")
    assert nowhere.value.type == "invalid_request_error"
    assert (large.value.status_code, large.value.type) == (413, "invalid_request_error")


async def test_a_model_that_thinks_for_long_does_not_hold_the_headers_back(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("spade_llm.gateway.routes.openai.FIRST_PART_S", 0.05)
    gate = asyncio.Event()
    scene.model.enqueue(Say(text="Done", gate=gate))

    stream = await scene.stream(await scene.client())
    gate.set()
    chunks = [chunk.choices[0].delta.content or "" async for chunk in stream]

    assert "".join(chunks) == "Done"


async def test_a_client_that_leaves_before_the_first_part_ends_the_turn(scene: Scene) -> None:
    scene.model.was_left.clear()
    scene.model.enqueue(Hang())
    asked = asyncio.create_task(scene.stream(await scene.client()))
    scene.model.was_asked.clear()
    await scene.model.was_asked.wait()

    asked.cancel()

    async with asyncio.timeout(10.0):
        await scene.model.was_left.wait()
