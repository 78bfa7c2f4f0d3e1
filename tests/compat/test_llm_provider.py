"""LLMProvider and BaseLLMProvider as programs written for spade_llm 0.2 and 0.3 use them."""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack
from importlib import import_module
from typing import TYPE_CHECKING

import pytest
from pydantic import BaseModel

from spade_llm.compat.llm_provider import endpoint_of
from spade_llm.core.errors import ConfigurationError, ModelUnavailable, RateLimited
from spade_llm.providers import BaseLLMProvider, ChatModel, LLMProvider, ModelLimits
from spade_llm.providers.model import Completion, TextDelta, ToolCall
from spade_llm.tools import LLMTool
from tests.openai_server import Call, OpenAIServer, Say, Status, running_server
from tests.providers.model_calls import CLOCK, HELLO

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Sequence

    from spade_llm.compat.own_provider import LLMResponse, PromptSource
    from spade_llm.providers.model import ContextMessage

if TYPE_CHECKING:
    OldBaseProvider = BaseLLMProvider
else:
    # The name that spade_llm 0.2 gave to the base class.
    OldBaseProvider = import_module("spade_llm.providers.base_provider").LLMProvider
QUICK = ModelLimits(deadline_s=20.0, first_pause_s=0.01, longest_pause_s=0.05)
ADD = LLMTool("add", "The sum", {"properties": {"a": {"type": "integer"}}}, lambda a: a)


class City(BaseModel):
    name: str
    people: int


class History:
    """What a ContextManager gives a provider."""

    def __init__(self, messages: Sequence[ContextMessage]) -> None:
        self._messages = messages

    def get_prompt(self, conversation_id: str | None = None) -> Sequence[ContextMessage]:
        return self._messages


@pytest.fixture
async def server() -> AsyncIterator[OpenAIServer]:
    async with running_server() as running:
        yield running


@pytest.fixture
async def provider(server: OpenAIServer) -> AsyncIterator[LLMProvider]:
    async with LLMProvider("openai/test", "sk-x", server.base_url, limits=QUICK) as made:
        yield made


@pytest.mark.parametrize(
    ("model", "base_url", "expected"),
    [
        ("openai/gpt-5-mini", None, ("gpt-5-mini", "https://api.openai.com/v1")),
        ("gpt-5-mini", None, ("gpt-5-mini", "https://api.openai.com/v1")),
        ("openai/org/name", "http://h:1/x/", ("org/name", "http://h:1/x")),
        ("my-model", "http://h:1/v1", ("my-model", "http://h:1/v1")),
        ("ollama/llama3.1:8b", None, ("llama3.1:8b", "http://localhost:11434/v1")),
        ("ollama_chat/llama3", "http://h:11434", ("llama3", "http://h:11434/v1")),
        ("lm_studio/m", None, ("m", "http://localhost:1234/v1")),
        ("hosted_vllm/meta/llama", "http://h:8000/v1", ("meta/llama", "http://h:8000/v1")),
        ("groq/llama", None, ("llama", "https://api.groq.com/openai/v1")),
    ],
)
def test_a_model_is_found_by_its_provider(
    model: str, base_url: str | None, expected: tuple[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("OPENAI_API_KEY", "GROQ_API_KEY"):
        monkeypatch.setenv(name, "sk-x")

    place = endpoint_of(model, api_key=None, base_url=base_url)

    assert (place.model, place.base_url) == expected


@pytest.mark.parametrize(
    ("model", "said"),
    [
        (
            "bedrock/claude",
            "model='PROVIDER/bedrock/claude' .*model='openai/bedrock/claude'",
        ),
        ("llama3", "write model='PROVIDER/llama3' with one of openai, ollama"),
        ("groq/llama", "give api_key, or set the variable GROQ_API_KEY"),
        ("litellm_proxy/m", "give base_url"),
        ("ollama/", "needs the name of a model"),
    ],
)
def test_missing_settings_are_named_with_their_fix(
    model: str, said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("GROQ_API_KEY", raising=False)

    with pytest.raises(ConfigurationError, match=said):
        LLMProvider(model)


def test_the_environment_says_what_a_program_leaves_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-env")
    monkeypatch.setenv("OPENAI_API_BASE", "http://proxy/v1")
    monkeypatch.setenv("OLLAMA_API_BASE", "http://other:11434")

    openai = endpoint_of("openai/m", api_key=None, base_url=None)
    ollama = endpoint_of("ollama/m", api_key=None, base_url=None)

    assert (openai.base_url, openai.api_key) == ("http://proxy/v1", "sk-env")
    assert ollama.base_url == "http://other:11434/v1"
    assert "sk-env" not in repr(openai)


def test_a_keyword_that_there_is_not_is_named() -> None:
    with pytest.raises(TypeError, match="takes no fallbacks"):
        LLMProvider("ollama/m", fallbacks=["x"])  # type: ignore[call-arg]


async def test_provider_options_go_into_every_request(server: OpenAIServer) -> None:
    async with LLMProvider(
        "openai/test", "sk-x", server.base_url, 0.5, 30.0, 99, 0, top_p=0.9, stop=["."]
    ) as provider:
        await provider.complete(HELLO)

    body = server.requests[-1]
    sent = {key: body[key] for key in ("model", "temperature", "max_tokens", "top_p", "stop")}
    assert sent == {
        "model": "test",
        "temperature": 0.5,
        "max_tokens": 99,
        "top_p": 0.9,
        "stop": ["."],
    }


async def test_create_openai_takes_the_address_from_the_environment(
    server: OpenAIServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", server.base_url)

    async with LLMProvider.create_openai("sk-x", "test") as provider:
        said = (await provider.complete(HELLO)).text

    assert said == "You said: hello"


async def test_the_base_class_of_0_2_can_be_subclassed_by_its_old_name() -> None:
    class Parrot(OldBaseProvider):
        def __init__(self) -> None:
            super().__init__()

        async def get_llm_response(
            self,
            context: PromptSource,
            tools: list[LLMTool] | None = None,
            conversation_id: str | None = None,
            output_schema: type[BaseModel] | None = None,
        ) -> LLMResponse:
            return {"text": "hello yourself", "tool_calls": []}

    assert (await Parrot().complete(HELLO)).text == "hello yourself"


async def test_a_temperature_that_the_model_refuses_is_left_out(server: OpenAIServer) -> None:
    server.refused_fields = {"temperature"}
    async with LLMProvider.create_openai(
        "sk-x", "test", base_url=server.base_url, temperature=0.5
    ) as provider:
        said = [(await provider.complete(HELLO)).text for _ in range(2)]

    assert said == ["You said: hello"] * 2
    assert ["temperature" in body for body in server.requests] == [True, False, False]


@pytest.mark.thorough
@pytest.mark.parametrize(("num_retries", "asked"), [(0, 1), (2, 3), (None, 4)])
async def test_retries_are_counted_after_the_first_attempt(
    server: OpenAIServer, num_retries: int | None, asked: int
) -> None:
    server.enqueue(*[Status(status=503, headers={"Retry-After": "0"})] * 9)
    async with LLMProvider(
        "openai/test", "sk-x", server.base_url, num_retries=num_retries
    ) as provider:
        with pytest.raises(RateLimited):
            await provider.complete(HELLO)

    assert len(server.requests) == asked


async def test_a_response_has_text_or_calls_with_their_arguments_read(
    provider: LLMProvider, server: OpenAIServer
) -> None:
    broken = Call(name="add", arguments="{", id="2")
    server.enqueue(Say(text="hi"), Say(calls=(Call(name="add", arguments='{"a": 1}'), broken)))
    context = History(HELLO)

    text = await provider.get_llm_response(context, [ADD], "c1")
    calls = await provider.get_llm_response(context, tools=[ADD])

    assert text == {"text": "hi", "tool_calls": [], "structured": None}
    assert calls["text"] is None
    assert calls["tool_calls"] == [
        {"id": "call_1", "name": "add", "arguments": {"a": 1}},
        {"id": "2", "name": "add", "arguments": {}},
    ]


async def test_the_older_methods_give_parts_of_a_response(
    provider: LLMProvider, server: OpenAIServer
) -> None:
    server.enqueue(Say(text="hi"), Say(calls=(Call(name="add"),)))

    assert await provider.get_response(History(HELLO)) == "hi"
    (call,) = await provider.get_tool_calls(History(HELLO), [ADD])
    assert call["name"] == "add"


async def test_an_object_of_a_schema_is_read_and_what_is_none_stays_text(
    provider: LLMProvider, server: OpenAIServer
) -> None:
    server.enqueue(Say(text='{"name": "Lund", "people": 9}'), Say(text="Lund, I think"))

    found = await provider.get_llm_response(History(HELLO), output_schema=City)
    other = await provider.get_llm_response(History(HELLO), output_schema=City)

    assert found == {"text": None, "tool_calls": [], "structured": City(name="Lund", people=9)}
    assert other == {"text": "Lund, I think", "tool_calls": [], "structured": None}
    assert "response_format" in server.requests[0]


async def test_embeddings_are_plain_lists(provider: LLMProvider) -> None:
    vectors = await provider.get_embeddings(["one", "two"])

    assert len(vectors) == 2
    assert isinstance(vectors[0][0], float)


class Parrot(BaseLLMProvider):
    """A program's own provider, which calls no `super().__init__()`."""

    def __init__(self, *answers: LLMResponse | Exception) -> None:
        self.answers = list(answers)
        self.tools: list[object] = []
        self.seen: list[object] = []

    async def get_llm_response(
        self,
        context: PromptSource,
        tools: list[LLMTool] | None = None,
        conversation_id: str | None = None,
        output_schema: type[BaseModel] | None = None,
    ) -> LLMResponse:
        self.tools = [tool.to_openai_tool() for tool in tools or ()]
        self.seen = list(context.get_prompt(conversation_id))
        answer = self.answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer


MODELS: list[type[ChatModel]] = [LLMProvider, Parrot]
"""mypy checks that each plays the role."""


async def test_a_provider_of_ones_own_is_a_model() -> None:
    parrot = Parrot(
        {"text": "hi"},
        {"text": None, "tool_calls": [{"id": "7", "name": "add", "arguments": {"a": 1}}]},
        {"structured": City(name="Lund", people=9)},
    )

    said = await parrot.complete(HELLO, [CLOCK])
    shown, seen = parrot.tools, parrot.seen
    called = await parrot.complete(HELLO)
    structured = await parrot.complete(HELLO)

    assert said.text == "hi"
    clock = LLMTool(CLOCK.name, CLOCK.description, CLOCK.parameters, print)
    assert shown == [clock.to_openai_tool()]
    assert seen == HELLO
    assert called.tool_calls == (ToolCall(id="7", name="add", arguments='{"a": 1}'),)
    assert structured.text == '{"name":"Lund","people":9}'
    assert parrot.name == "Parrot"


@pytest.mark.parametrize("answer", [KeyError("sk-secret"), {"tool_calls": [{"id": "1"}]}])
async def test_any_error_of_an_own_provider_is_model_unavailable(
    answer: LLMResponse | Exception, caplog: pytest.LogCaptureFixture
) -> None:
    with pytest.raises(ModelUnavailable, match=r"Parrot failed \(KeyError\)"):
        await Parrot(answer).complete(HELLO)

    assert "Parrot" in caplog.text


async def test_an_own_provider_that_is_cancelled_stays_cancelled() -> None:
    class Waits(Parrot):
        async def get_llm_response(self, *_: object, **__: object) -> LLMResponse:
            never: asyncio.Future[LLMResponse] = asyncio.get_running_loop().create_future()
            return await never

    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.01):
            await Waits().complete(HELLO)


async def test_an_own_provider_streams_all_at_once() -> None:
    parts = [part async for part in Parrot({"text": "hi"}).stream(HELLO)]

    assert parts == [TextDelta("hi"), Completion(text="hi")]


class Loud(LLMProvider):
    """A program's own kind of ours."""

    async def get_llm_response(
        self,
        context: PromptSource,
        tools: list[LLMTool] | None = None,
        conversation_id: str | None = None,
        output_schema: type[BaseModel] | None = None,
    ) -> LLMResponse:
        answer = await super().get_llm_response(context, tools, conversation_id, output_schema)
        return {**answer, "text": (answer["text"] or "").upper()}


async def test_agents_call_overridden_methods(server: OpenAIServer) -> None:
    async with AsyncExitStack() as stack:
        loud = await stack.enter_async_context(Loud("openai/m", "sk-x", server.base_url))

        whole = await loud.complete(HELLO)
        parts = [part async for part in loud.stream(HELLO)]

    assert whole.text == "YOU SAID: HELLO"
    assert parts == [whole]


def test_ours_is_one_of_theirs() -> None:
    assert issubclass(LLMProvider, BaseLLMProvider)
