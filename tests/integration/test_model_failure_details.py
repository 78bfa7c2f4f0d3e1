"""Who is told why a model fails, and how long a pause of its server takes."""

from __future__ import annotations

import asyncio
import contextlib
from typing import TYPE_CHECKING

import pytest
import pytest_asyncio

from spade_llm.agents import AssistantConfig
from spade_llm.assistant.chat.client import ChatClient
from spade_llm.core.errors import RequestFailed
from spade_llm.messaging import bare
from spade_llm.providers import FallbackModel, OfflineProvider, retry
from tests.integration.network import PATIENCE_S, Network, jid_of, next_message
from tests.integration.test_model_faults import API_KEY, SORRY, paused, provider_of
from tests.openai_server import OpenAIServer, Status, running_server

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from spade_llm.agents import ChatAgent, LLMAgent
    from tests.conftest import Provisioner
    from tests.xmpp.client import Client

pytestmark = pytest.mark.asyncio(loop_scope="session")

REJECTED = Status(status=401)
KEPT_NEXT = "You said: and now?"


@pytest_asyncio.fixture(loop_scope="session")
async def network(
    embedded: Provisioner, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[Network]:
    async with contextlib.AsyncExitStack() as stack:
        yield Network(server=embedded, directory=tmp_path_factory.mktemp("details"), stack=stack)


@pytest_asyncio.fixture(loop_scope="session")
async def model() -> AsyncIterator[OpenAIServer]:
    async with running_server(OpenAIServer(api_key=API_KEY)) as server:
        yield server


async def say(client: Client, agent: LLMAgent, text: str) -> str:
    client.send(jid_of(agent), text)
    return str((await next_message(client))["body"])


async def test_only_the_person_that_runs_the_assistant_is_told_the_cause(
    network: Network, model: OpenAIServer
) -> None:
    ada, bob = await network.person("ada"), await network.person("bob")
    config = AssistantConfig(admins=frozenset({bare(ada.jid)}))
    assistant = await network.assistant(provider_of(model, network.stack), config=config)
    model.enqueue(REJECTED, REJECTED)

    told, polite = await say(ada, assistant, "hello"), await say(bob, assistant, "hello")
    after = await say(ada, assistant, "and now?")

    assert told.startswith(SORRY)
    assert "does not accept the API key" in told
    assert API_KEY not in told
    assert polite == SORRY
    assert after == KEPT_NEXT
    # The model does not read the address of its server in the conversation.
    assert "API key" not in str(model.requests[-1]["messages"])


async def test_programs_of_that_person_get_the_cause_as_the_failure(
    network: Network, model: OpenAIServer
) -> None:
    """Requests that want no apology, as the gateway's are."""
    admin, other = await network.program("admin"), await network.program("other")
    config = AssistantConfig(admins=frozenset({bare(jid_of(admin))}))
    assistant = await network.assistant(provider_of(model, network.stack), config=config)
    model.enqueue(REJECTED, REJECTED)

    told, polite = [await failure_for(one, assistant) for one in (admin, other)]

    assert "does not accept the API key" in told
    assert polite == "access to the language model was denied; the operator must check the settings"


async def failure_for(program: ChatAgent, assistant: LLMAgent) -> str:
    chat = ChatClient(program.node.requester, jid_of(assistant), timeout_s=PATIENCE_S)
    with pytest.raises(RequestFailed) as failed:
        await chat.say("hello", is_annotated=False)
    return failed.value.detail


async def test_an_apology_names_the_wait_of_a_rate_limit(
    network: Network, model: OpenAIServer
) -> None:
    ada = await network.person()
    assistant = await network.assistant(provider_of(model, network.stack))
    model.enqueue(paused("45"), paused("1800"))

    texts = [await say(ada, assistant, "hello") for _ in range(2)]

    sentence = "My language model has too many requests. Please try again in {}."
    assert texts == [sentence.format("45 s"), sentence.format("30 min")]


async def test_a_pause_that_is_waited_for_is_told(
    network: Network, model: OpenAIServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """To people at once, to programs in the agent's status."""
    monkeypatch.setattr(retry, "MIN_TOLD_PAUSE_S", 0.01)
    ada, program = await network.person(), await network.program()
    assistant = await network.assistant(provider_of(model, network.stack))
    model.enqueue(paused("1"))

    first = await say(ada, assistant, "hello")
    answer = str((await next_message(ada))["body"])
    model.enqueue(paused("1"))
    asking = asyncio.create_task(program.say(jid_of(assistant), "hello"))
    notes: tuple[str, ...] = ()
    while not notes and not asking.done():
        notes = (await program.status(jid_of(assistant), timeout_s=5)).notes
    reply = await asking

    told = "The model's server asks for a pause of 1 s; I answer after it."
    assert (first, answer) == (told, "You said: hello")
    assert (notes, reply.text) == ((told,), "You said: hello")


async def test_a_reply_says_that_a_fallback_wrote_it(network: Network, model: OpenAIServer) -> None:
    program = await network.program()
    first = provider_of(model, network.stack)
    fallback = FallbackModel(first, OfflineProvider(is_stand_in=True))
    assistant = await network.assistant(fallback)

    by_model = await program.say(jid_of(assistant), "hello")
    model.enqueue(REJECTED)
    by_rules = await program.say(jid_of(assistant), "hello")

    assert (by_model.fallback, by_rules.fallback) == ("", "offline")
    assert by_rules.failure == ""
