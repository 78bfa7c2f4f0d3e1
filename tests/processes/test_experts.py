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
TOML = '\n[human.eve]\njid = "eve"\nknows = "codes"\nseconds = 120\n'
CALL = Say(calls=(Call(name="ask_eve", arguments='{"question": "What is the code?"}'),))


@pytest_asyncio.fixture(
    scope="module", loop_scope="module", params=["assistant", "tools"], ids=["own", "shared"]
)
async def deployment(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[Deployment]:
    """Where the assistant itself, or its tool agent, asks eve."""
    directory = tmp_path_factory.mktemp("deployment")
    async with running_deployment(directory, names=()) as running:
        for name in ("tools", "assistant"):
            more = TOML if name == request.param else ""
            await running.make_agent(name, more=more, files={})
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


async def test_a_question_is_sent_once_and_answered_while_the_assistant_is_dead(
    deployment: Deployment,
) -> None:
    ada, eve = await deployment.person("ada"), await deployment.person("eve")
    eve.xmpp.send_presence(pto=ASSISTANT, ptype="subscribe")
    deployment.model.enqueue(CALL)
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
    deployment.model.enqueue(CALL, Say(text="It is 4711."))
    await deployment.start("assistant")

    assert (await said(ada)).startswith("It is 4711.")
    assert "4711" in str(deployment.model.requests[-1]["messages"])
    await eve.ping()
    assert eve.waiting() == []
