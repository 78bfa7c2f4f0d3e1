"""An expert's answer, when whoever asked was killed meanwhile."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest
import pytest_asyncio

from tests.openai_server import Call, Say
from tests.processes.deployment import Deployment, running_deployment

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from tests.xmpp.client import Client

pytestmark = [pytest.mark.server, pytest.mark.asyncio(loop_scope="module")]

PATIENCE_S = 30.0
ASSISTANT = "assistant@localhost"
ASKED_BY = {"eve": "assistant", "bob": "tools"}
"""Who asks whom: the assistant itself, or its tool agent."""


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def deployment(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Deployment]:
    directory = tmp_path_factory.mktemp("deployment")
    async with running_deployment(directory, names=()) as running:
        for expert, agent in reversed(ASKED_BY.items()):
            more = f'[human.{expert}]\njid = "{expert}"\nknows = "codes"\nseconds = 120\n'
            await running.make_agent(agent, more=more, files={})
        yield running


async def said(client: Client) -> str:
    return str((await asyncio.wait_for(client.messages.get(), PATIENCE_S))["body"])


async def has_left(client: Client) -> None:
    """Return once the server knows: what it sends to a dead connection is lost."""
    async with asyncio.timeout(PATIENCE_S):
        while True:
            presence = await client.presences.get()
            if presence["type"] == "unavailable" and presence["from"].bare == ASSISTANT:
                return


@pytest.mark.parametrize("name", ASKED_BY)
async def test_a_question_is_sent_once_and_answered_while_the_assistant_is_dead(
    deployment: Deployment, name: str
) -> None:
    ada, eve = await deployment.person(f"ada-{name}"), await deployment.person(name)
    call = Call(name=f"ask_{name}", arguments='{"question": "What is the code?"}')
    eve.xmpp.send_presence(pto=ASSISTANT, ptype="subscribe")
    deployment.model.enqueue(Say(calls=(call,)))
    ada.send(ASSISTANT, "What is the code?")
    question = await asyncio.wait_for(eve.messages.get(), PATIENCE_S)
    assert "> What is the code?" in question["body"]

    await deployment.kill("assistant")
    await has_left(eve)
    eve.send_raw(
        f"<message type='chat' to='{question['from'].bare}' id='e1'><body>4711</body>"
        f"<thread>{question['thread']}</thread></message>"
    )
    await eve.ping()
    deployment.model.enqueue(Say(calls=(call,)), Say(text="It is 4711."))
    await deployment.start("assistant")

    assert (await said(ada)).startswith("It is 4711.")
    assert "4711" in str(deployment.model.requests[-1]["messages"])
    await eve.ping()
    # A message that leaves in the moment of a kill may come twice, with one id.
    assert {message["id"] for message in eve.waiting()} <= {question["id"]}
