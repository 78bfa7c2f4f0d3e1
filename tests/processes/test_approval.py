"""A question for approval, when the assistant is killed while it waits for the answer."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest
import pytest_asyncio

from spade_llm.assistant.chat.messages import ApprovalPrompt, ChatReply
from tests.openai_server import Call, Say
from tests.processes.deployment import Deployment, running_deployment

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from tests.xmpp.client import Client

pytestmark = [pytest.mark.server, pytest.mark.asyncio(loop_scope="module")]

PATIENCE_S = 30.0
CALL = Say(calls=(Call(name="calculator", arguments='{"expression": "6 * 7"}'),))
ASSISTANT = "assistant@localhost"


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def deployment(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Deployment]:
    """Whose tool agent asks before it calculates."""
    async with running_deployment(tmp_path_factory.mktemp("deployment")) as running:
        await running.kill("tools")
        toml = running.directory / "agents" / "tools" / "agent.toml"
        text = toml.read_text(encoding="utf-8")
        toml.write_text(f'{text}\n[tools.calculator]\napproval = "ask"\n', encoding="utf-8")
        await running.start("tools")
        yield running


async def said(client: Client) -> str:
    return str((await asyncio.wait_for(client.messages.get(), PATIENCE_S))["body"])


async def test_a_killed_assistant_asks_again_and_takes_the_new_answer_only(
    deployment: Deployment,
) -> None:
    ada = await deployment.person("ada")
    deployment.model.enqueue(CALL)
    ada.send(ASSISTANT, "six times seven?")
    assert "May I run this tool?\ncalculator" in await said(ada)

    await deployment.kill("assistant")
    deployment.model.enqueue(CALL, Say(text="It is 42."))
    await deployment.start("assistant")

    assert "May I run this tool?\ncalculator" in await said(ada)
    assert ada.waiting() == []
    ada.send(ASSISTANT, "yes")
    assert await said(ada) == "Yes: calculator runs now."
    assert await said(ada) == "It is 42."
    assert "42" in str(deployment.model.requests[-1]["messages"])


async def test_a_program_is_asked_again_under_the_same_question(deployment: Deployment) -> None:
    program = await deployment.program("program")
    deployment.model.enqueue(CALL)
    parts = program.stream(ASSISTANT, "six times seven?", can_approve=True)
    first = await anext(parts)
    assert isinstance(first, ApprovalPrompt)

    await deployment.kill("assistant")
    deployment.model.enqueue(CALL, Say(text="It is 42."))
    await deployment.start("assistant")
    second = await anext(parts)

    assert isinstance(second, ApprovalPrompt)
    assert second.question == first.question
    await program.approve(ASSISTANT, second.question, is_approved=True)
    reply = [part async for part in parts][-1]
    assert isinstance(reply, ChatReply)
    assert [(call.name, call.success) for call in reply.tool_calls] == [("calculator", True)]


async def test_a_tool_agent_with_other_terms_is_followed_without_a_restart(
    deployment: Deployment,
) -> None:
    program = await deployment.program("other")
    deployment.model.enqueue(CALL, Say(text="no"))
    before = await program.say(ASSISTANT, "six times seven?")
    assert "nobody can be asked" in before.tool_calls[0].error

    await deployment.kill("tools")
    toml = deployment.directory / "agents" / "tools" / "agent.toml"
    text = toml.read_text(encoding="utf-8")
    toml.write_text(text.replace('approval = "ask"', 'approval = "never"'), encoding="utf-8")
    await deployment.start("tools")
    deployment.model.enqueue(CALL, Say(text="It is 42."))

    after = await program.say(ASSISTANT, "six times seven?")

    assert after.tool_calls[0].result == "42"
