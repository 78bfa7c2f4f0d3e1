"""A failing model behind an assistant in its own process, on Prosody."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest
import pytest_asyncio

from tests.openai_server import Call, Raw, Reset, Say, Status
from tests.processes.deployment import Deployment, running_deployment

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from tests.openai_server import Answer
    from tests.xmpp.client import Client

pytestmark = [pytest.mark.server, pytest.mark.asyncio(loop_scope="module")]

ASSISTANT = "assistant@localhost"
DEADLINE_S = 60.0
FALLBACK = """
[fallback]
kind = "offline"
"""
FAULTS: tuple[tuple[Answer, ...], ...] = (
    (Status(status=429), Status(status=500)),
    (Reset(), Say(text="")),
    (
        Say(calls=(Call(name="no such tool", arguments='{"a": '),)),
        Say(calls=(Call(name="calculator", arguments='{"a": ', id=None),)),
    ),
)
"""Of one answer each."""
ENDS_IN_RULES: tuple[Answer, ...] = (
    Say(text="x" * 3_000_000),
    Raw(b"<html>a hotel's login</html>", "text/html"),
    Raw(b'{"choices": [{"message": {"content": "Half an ans'),
)


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def deployment(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Deployment]:
    directory = tmp_path_factory.mktemp("model-faults")
    async with running_deployment(directory, names=()) as running:
        await running.make_agent("assistant", more=FALLBACK, files={})
        yield running


async def ask(client: Client, text: str) -> str:
    client.send(ASSISTANT, text)
    return str((await asyncio.wait_for(client.messages.get(), DEADLINE_S))["body"])


async def test_temporary_faults_do_not_prevent_answers(deployment: Deployment) -> None:
    ada = await deployment.person("ada")
    said = []

    for number, faults in enumerate(FAULTS):
        deployment.model.enqueue(*faults)
        said.append(await ask(ada, f"hello {number}"))

    assert [text.partition("\n")[0] for text in said] == [
        f"You said: hello {number}" for number in range(len(FAULTS))
    ]


async def test_rules_answer_where_the_model_gives_no_answer(deployment: Deployment) -> None:
    bob = await deployment.person("bob")
    deployment.model.enqueue(*ENDS_IN_RULES)

    by_rules = [await ask(bob, "hello") for _ in ENDS_IN_RULES]
    by_model = await ask(bob, "hello")

    assert all(text.startswith("(My language model is away") for text in by_rules)
    assert by_model.startswith("You said: hello")


async def test_the_status_names_the_fallback_of_an_unavailable_model(
    deployment: Deployment,
) -> None:
    eve = await deployment.person("eve")
    before = await ask(eve, "/status")
    deployment.model.enqueue(Status(status=429, headers={"Retry-After": "3600"}))

    answer = await ask(eve, "hello")
    after = await ask(eve, "/status")

    assert before.startswith("Model: test (else offline).")
    assert answer.startswith("(My language model is away")
    assert after.startswith("Model: offline (for test, which is away).")
