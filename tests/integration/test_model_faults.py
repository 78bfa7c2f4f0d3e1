"""A model's server that fails in every way: who talks to the assistant gets one polite sentence, or
the answer after all; the next message works; nothing of our insides shows."""

from __future__ import annotations

import contextlib
import itertools
import re
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from typing import TYPE_CHECKING

import pytest
import pytest_asyncio

from spade_llm.agents import AssistantConfig
from spade_llm.providers import FallbackModel, LLMProvider, ModelLimits, OfflineProvider
from spade_llm.tools import tool
from tests.integration.network import Network, jid_of, next_message
from tests.openai_server import Call, Hang, OpenAIServer, Raw, Reset, Say, Status, running_server

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from spade_llm.agents import ChatAgent, LLMAgent
    from tests.conftest import Provisioner
    from tests.openai_server import Answer
    from tests.xmpp.client import Client

pytestmark = pytest.mark.asyncio(loop_scope="session")

API_KEY = "sk-secret-of-the-faults"
ATTEMPTS = 3
QUICK = ModelLimits(deadline_s=20.0, attempts=ATTEMPTS, first_pause_s=0.01, longest_pause_s=0.05)
IMPATIENT = replace(QUICK, attempts=2)
SILENCE_S = 1.5
"""How long a silent server is waited for, per attempt, by an assistant that is impatient."""
ANSWER = "You said: hello"
SORRY = "Sorry, my language model is not answering right now. Please try again."
ASKED_TOO_MUCH = "My language model has too many requests. Please try again in {}."
TOO_LONG = "Our conversation has become too long for my model. /new begins a new one."
INSIDES = re.compile(
    r"127\.0\.0\.1|localhost:|/v1|sk-|Traceback|HTTP|Error|openai|httpx|asyncio|\b[45]\d\d\b",
    re.IGNORECASE,
)


def paused(retry_after: str, status: int = 429) -> Status:
    return Status(status=status, headers={"Retry-After": retry_after})


def date(seconds: int) -> str:
    return format_datetime(datetime.now(UTC) + timedelta(seconds=seconds), usegmt=True)


def calls(*wanted: Call) -> Say:
    return Say(calls=wanted)


LEAKY = '{"error": {"message": "Incorrect API key: %s", "code": "invalid_api_key"}}' % API_KEY  # noqa: UP031
LENGTH = '{"error": {"message": "maximum context length is 8192 tokens"}}'
ADD = Call(name="add", arguments='{"a": 1, "b": 2}')
HTML = Raw(b"<html>Please log in to the hotel</html>", "text/html")
HALF = b'{"choices": [{"message": {"content": "Half an ans'

SURVIVED: dict[str, tuple[Answer, ...]] = {
    "a pause without a time": (Status(status=429),),
    "a pause of no time": (paused("0"),),
    "a pause of less than no time": (paused("-5"),),
    "a pause until a date that is over": (paused(date(-60)),),
    "a pause until nobody knows when": (paused("soon"),),
    "trouble": (Status(status=500),),
    "trouble twice": (Status(status=502, body="<html>"), paused("0.01", 503)),
    "a connection that is lost": (Reset(),),
    "nothing in the answer": (Say(text=""),),
    "arguments that are no JSON": (calls(Call(name="add", arguments='{"a": ')),),
    "arguments that are no object": (calls(Call(name="add", arguments="[1, 2]")),),
    "arguments of the wrong type": (calls(Call(name="add", arguments='{"a": "x"}')),),
    "an unknown tool": (calls(Call(name="fly")),),
    "a tool with a name that no server takes back": (calls(Call(name="rm -rf / ñ" * 20)),),
    "a tool without a name": (calls(Call(name="")),),
    "two calls of one id": (calls(ADD, Call(name="add", arguments='{"a": 3, "b": 4}', index=1)),),
    "calls without ids": (calls(Call(name="add", id=None), Call(name="add", id=None, index=1)),),
    "an id that no server takes back": (calls(Call(name="add", id="x" * 500)),),
    "the same id in every round": (calls(ADD), calls(ADD), calls(ADD)),
}
"""Answered all the same."""
APOLOGISED: dict[str, tuple[tuple[Answer, ...], str]] = {
    "pauses without end": ((Status(status=429),) * ATTEMPTS, ASKED_TOO_MUCH.format("a minute")),
    "a pause of an hour": ((paused("3600"),), ASKED_TOO_MUCH.format("60 min")),
    "a pause of ages": ((paused("1e99"),), ASKED_TOO_MUCH.format("24 h")),
    "a pause until a day far away": ((paused(date(10_000_000)),), ASKED_TOO_MUCH.format("24 h")),
    "lasting trouble": ((Status(status=500),) * ATTEMPTS, SORRY),
    "connections that are lost": ((Reset(),) * ATTEMPTS, SORRY),
    "never anything in the answer": ((Say(text=""),) * ATTEMPTS, SORRY),
    "three megabytes": ((Say(text="x" * 3_000_000),), SORRY),
    "another content type": ((HTML,), SORRY),
    "half a JSON": ((Raw(HALF),), SORRY),
    "bytes that are no text": ((Raw(b"\xff\xfe\x00"),), SORRY),
    "another protocol": ((Raw(b'{"candidates": [{"text": "hi"}]}'),) * ATTEMPTS, SORRY),
    "a key that is not taken": ((Status(status=401, body=LEAKY),), SORRY),
    "a request that is not taken": ((Status(status=400, body=LEAKY),), SORRY),
    "a model that is not there": ((Status(status=404),), SORRY),
    "a prompt that is too long": ((Status(status=400, body=LENGTH),), TOO_LONG),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Scene:
    """An assistant with a failing model, a person with a plain client, and a program."""

    model: OpenAIServer
    assistant: LLMAgent
    impatient: LLMAgent
    """Another assistant with the same model."""
    person: Client
    program: ChatAgent
    threads: itertools.count[int]

    async def ask_as_person(self, *texts: str) -> list[str]:
        """The answers to each of these, said in a conversation of their own."""
        thread = f"t{next(self.threads)}"
        for number, text in enumerate(texts):
            self.person.send_raw(
                f"<message to='{jid_of(self.assistant)}' type='chat' id='{thread}-{number}'>"
                f"<body>{text}</body><thread>{thread}</thread></message>"
            )
        answers = [await next_message(self.person) for _ in texts]
        return [str(answer["body"]) for answer in answers]

    async def ask_as_program(self, *texts: str) -> list[str]:
        thread = f"t{next(self.threads)}"
        jid = jid_of(self.assistant)
        replies = [await self.program.say(jid, text, conversation_id=thread) for text in texts]
        return [reply.text for reply in replies]

    async def ask_impatient(self, text: str) -> str:
        self.person.send(jid_of(self.impatient), text)
        return str((await next_message(self.person))["body"])

    async def ask(self, who: str, *texts: str) -> list[str]:
        return await (self.ask_as_person if who == "person" else self.ask_as_program)(*texts)


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def scene(
    embedded: Provisioner, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[Scene]:
    @tool
    def add(a: int, b: int) -> int:
        """The sum."""
        return a + b

    async with contextlib.AsyncExitStack() as stack:
        model = await stack.enter_async_context(running_server(OpenAIServer(api_key=API_KEY)))
        network = Network(server=embedded, directory=tmp_path_factory.mktemp("faults"), stack=stack)
        yield Scene(
            model=model,
            assistant=await network.assistant(
                provider_of(model, stack), config=AssistantConfig(tools=(add,))
            ),
            impatient=await network.assistant(
                provider_of(model, stack, timeout=SILENCE_S, limits=IMPATIENT)
            ),
            person=await network.person(),
            program=await network.program(),
            threads=itertools.count(1),
        )


def provider_of(
    model: OpenAIServer,
    stack: contextlib.AsyncExitStack,
    *,
    timeout: float = QUICK.deadline_s,
    limits: ModelLimits = QUICK,
) -> LLMProvider:
    provider = LLMProvider.create_openai(
        API_KEY, "test", base_url=model.base_url, timeout=timeout, limits=limits
    )
    stack.push_async_callback(provider.aclose)
    return provider


@pytest.mark.parametrize("who", ["person", "program"])
@pytest.mark.parametrize("faults", SURVIVED.values(), ids=SURVIVED.keys())
async def test_a_temporary_fault_does_not_prevent_the_answer(
    scene: Scene, faults: tuple[Answer, ...], who: str
) -> None:
    scene.model.enqueue(*faults)

    assert await scene.ask(who, "hello", "next") == [ANSWER, "You said: next"]


@pytest.mark.parametrize("who", ["person", "program"])
@pytest.mark.parametrize(("faults", "sentence"), APOLOGISED.values(), ids=APOLOGISED.keys())
async def test_a_fault_that_lasts_costs_one_polite_sentence(
    scene: Scene, faults: tuple[Answer, ...], sentence: str, who: str
) -> None:
    scene.model.enqueue(*faults)

    said, after = await scene.ask(who, "hello", "next")

    assert said == sentence
    assert INSIDES.search(said) is None
    assert after == "You said: next"


async def test_silence_costs_one_more_attempt(scene: Scene) -> None:
    scene.model.enqueue(Hang())

    assert await scene.ask_impatient("hello") == ANSWER


@pytest.mark.thorough
async def test_lasting_silence_costs_one_polite_sentence(scene: Scene) -> None:
    scene.model.enqueue(*[Hang()] * IMPATIENT.attempts)

    assert await scene.ask_impatient("hello") == SORRY
    assert await scene.ask_impatient("next") == "You said: next"


async def test_silence_in_the_middle_of_an_answer_costs_one_polite_sentence(scene: Scene) -> None:
    scene.model.enqueue(Hang(after="Half an"))

    said = await scene.program.say(jid_of(scene.impatient), "hello")

    assert said.text == SORRY


async def test_an_answer_that_breaks_off_is_apologised_for_and_not_begun_again(
    scene: Scene,
) -> None:
    asked = len(scene.model.requests)
    scene.model.enqueue(Reset(after="Half an"))

    said, after = await scene.ask("program", "hello", "next")

    assert (said, after) == (SORRY, "You said: next")
    assert len(scene.model.requests) == asked + 2


@pytest.mark.parametrize("who", ["person", "program"])
async def test_an_answer_cut_off_by_its_length_says_so(scene: Scene, who: str) -> None:
    scene.model.enqueue(Say(text="Once upon a", finish_reason="length"))

    said, after = await scene.ask(who, "hello", "next")

    assert said.startswith("Once upon a …")
    assert "cut off" in said
    assert after == "You said: next"


async def test_the_model_reads_what_was_wrong_with_its_call(scene: Scene) -> None:
    scene.model.enqueue(
        calls(Call(name="add", arguments='{"a": ')), calls(Call(name="fly")), calls(ADD)
    )

    await scene.ask("person", "hello")

    messages = scene.model.requests[-1]["messages"]
    assert isinstance(messages, list)
    no_json, unknown, right = [one["content"] for one in messages if one["role"] == "tool"]
    assert "not valid JSON" in no_json
    assert "no tool 'fly'; there are: add" in unknown
    assert right == "3"


async def test_nothing_is_said_beyond_the_answers(scene: Scene) -> None:
    scene.model.enqueue(Status(status=500), Reset(), HTML)

    await scene.ask("person", "hello", "next")
    await scene.person.ping()

    assert scene.person.waiting() == []


async def test_one_conversation_lives_through_every_fault(scene: Scene) -> None:
    every = [*SURVIVED.values(), *(faults for faults, _ in APOLOGISED.values())]
    thread = "through every fault"

    for faults in every:
        scene.model.enqueue(*faults)
        await scene.program.say(jid_of(scene.assistant), "hello", conversation_id=thread)
    last = await scene.program.say(jid_of(scene.assistant), "and now?", conversation_id=thread)

    assert last.text == "You said: and now?"


async def test_rules_answer_while_the_model_is_away_and_the_status_says_so(
    embedded: Provisioner, tmp_path_factory: pytest.TempPathFactory
) -> None:
    async with contextlib.AsyncExitStack() as stack:
        server = await stack.enter_async_context(running_server(OpenAIServer(api_key=API_KEY)))
        network = Network(server=embedded, directory=tmp_path_factory.mktemp("away"), stack=stack)
        model = FallbackModel(provider_of(server, stack), OfflineProvider(is_stand_in=True))
        assistant, ada = await network.assistant(model), await network.person()
        server.enqueue(paused("3600"))

        answers = []
        for text in ("hello", "what is 2+2?", "/status"):
            ada.send(jid_of(assistant), text)
            answers.append(str((await next_message(ada))["body"]))

    assert answers[0].startswith("(My language model is away; I follow simple rules.) Hello!")
    assert answers[1].startswith("(My language model is away")
    assert "Model: offline (for test, which is away)." in answers[2]
    assert len(server.requests) == 1
