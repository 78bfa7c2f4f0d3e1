"""A tool that needs a yes: who is asked, whose answer counts, and who is served meanwhile."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import pytest

from spade_llm.agents import Services, TurnLimits
from spade_llm.assistant.chat.messages import ApprovalPrompt, ChatReply
from spade_llm.cli.chat import PlainOutput, write_answer
from spade_llm.core.errors import RequestRefused
from spade_llm.providers.model import Completion, ToolCall
from spade_llm.providers.scripted import ScriptedProvider
from spade_llm.tools import LLMTool
from tests.integration.network import WAIT_S, jid_of, next_message

if TYPE_CHECKING:
    from collections.abc import Sequence

    from spade_llm.agents import ChatAgent, LLMAgent
    from spade_llm.providers.model import ContextMessage, ToolSpec
    from tests.integration.network import Network
    from tests.xmpp.client import Client

PARAMETERS = {"type": "object", "properties": {"to": {"type": "string"}}}


@dataclass
class Sensitive:
    """A tool whose every call needs a yes; keeps whom it was called for."""

    sent: list[str] = field(default_factory=list)

    @property
    def tool(self) -> LLMTool:
        return LLMTool("send", "sends", PARAMETERS, self._send, needs_approval=True)

    def _send(self, to: str) -> str:
        self.sent.append(to)
        return f"sent to {to}"


def model_of(messages: Sequence[ContextMessage], tools: Sequence[ToolSpec]) -> Completion:
    """Wants to send to whomever it is told; says what came of it; echoes the rest."""
    last = messages[-1]
    text = str(last["content"])
    if last["role"] == "tool" or not text.startswith("send to "):
        return Completion(text=text)
    calls = [
        ToolCall(id=str(n), name="send", arguments=f'{{"to": "{to}"}}')
        for n, to in enumerate(text.removeprefix("send to ").split(" and "))
    ]
    return Completion(tool_calls=tuple(calls))


@dataclass
class Scene:
    network: Network
    tool: Sensitive
    assistant: LLMAgent

    @property
    def jid(self) -> str:
        return jid_of(self.assistant)


@pytest.fixture
async def scene(network: Network) -> Scene:
    return await scene_of(network, TurnLimits())


async def scene_of(network: Network, limits: TurnLimits) -> Scene:
    from spade_llm.agents import LLMAgent

    tool = Sensitive()
    tools = await network.tools(tools=[tool.tool])
    jid = await network.account("assistant")
    assistant = LLMAgent(
        jid,
        network.passwords[jid],
        ScriptedProvider([model_of] * 50),
        services=Services(tools=(jid_of(tools),)),
        limits=limits,
        options=network.options(jid),
    )
    return Scene(network, tool, await network.start(assistant))


async def said(client: Client) -> str:
    return str((await next_message(client))["body"])


async def asked(client: Client) -> str:
    question = await said(client)
    assert "May I run this tool?" in question
    return question


def say_in_thread(client: Client, to: str, text: str, thread: str) -> None:
    client.send_raw(
        f"<message type='chat' to='{to}' id='{thread}-{text}'><body>{text}</body>"
        f"<thread>{thread}</thread></message>"
    )


async def test_a_yes_runs_the_tool_and_a_no_does_not(scene: Scene) -> None:
    ada = await scene.network.person()

    ada.send(scene.jid, "send to bob")
    question = await asked(ada)
    ada.send(scene.jid, "yes")
    answers = [await said(ada), await said(ada)]

    assert 'to = "bob"' in question
    assert answers == ["Yes: send runs now.", "sent to bob"]

    ada.send(scene.jid, "send to eve")
    await asked(ada)
    ada.send(scene.jid, "No.")
    assert await said(ada) == "No: send will not run."
    assert "said no" in await said(ada)
    assert scene.tool.sent == ["bob"]


async def test_several_calls_are_asked_for_one_after_another(scene: Scene) -> None:
    ada = await scene.network.person()

    ada.send(scene.jid, "send to bob and eve")
    assert "bob" in await asked(ada)
    ada.send(scene.jid, "yes")
    texts = [await said(ada), await said(ada)]
    assert any("eve" in text for text in texts)
    ada.send(scene.jid, "no")

    assert await said(ada) == "No: send will not run."
    await said(ada)
    assert scene.tool.sent == ["bob"]


async def test_a_yes_that_was_on_its_way_is_no_yes_to_the_next_question(scene: Scene) -> None:
    ada = await scene.network.person()
    ada.send(scene.jid, "send to bob and eve")
    assert "bob" in await asked(ada)

    ada.send(scene.jid, "yes")
    texts = [await said(ada), await said(ada)]
    assert any("eve" in text for text in texts)
    ada.send(scene.jid, "yes please")

    assert "too soon" in await said(ada)
    ada.send(scene.jid, "no")
    assert await said(ada) == "No: send will not run."
    await said(ada)
    assert scene.tool.sent == ["bob"]


async def test_something_else_is_a_no_and_is_answered_itself(scene: Scene) -> None:
    ada = await scene.network.person()

    ada.send(scene.jid, "send to bob")
    await asked(ada)
    ada.send(scene.jid, "what would you write?")

    assert "did not say yes" in await said(ada)
    assert await said(ada) == "what would you write?"
    assert scene.tool.sent == []


async def test_a_new_conversation_is_a_no(scene: Scene) -> None:
    ada = await scene.network.person()

    ada.send(scene.jid, "send to bob")
    await asked(ada)
    ada.send(scene.jid, "/new")

    assert "did not say yes" in await said(ada)
    assert (await said(ada)).startswith("A new conversation")
    assert scene.tool.sent == []


async def test_a_stranger_s_yes_is_not_heard(scene: Scene) -> None:
    ada, eve = await scene.network.person(), await scene.network.person("eve")
    ada.send(scene.jid, "send to bob")
    await asked(ada)

    eve.send(scene.jid, "yes")

    assert await said(eve) == "yes"
    assert scene.tool.sent == []
    ada.send(scene.jid, "yes")
    assert [await said(ada), await said(ada)][1] == "sent to bob"


async def test_a_yes_in_another_conversation_of_the_same_person_is_not_heard(scene: Scene) -> None:
    ada = await scene.network.person()
    say_in_thread(ada, scene.jid, "send to bob", "one")
    await asked(ada)

    say_in_thread(ada, scene.jid, "yes", "two")

    assert await said(ada) == "yes"
    assert scene.tool.sent == []
    say_in_thread(ada, scene.jid, "yes", "one")
    assert [await said(ada), await said(ada)][1] == "sent to bob"


async def test_the_same_person_may_answer_with_another_device(scene: Scene) -> None:
    from tests.xmpp.client import Client

    ada = await scene.network.person()
    phone = Client(ada.bare, scene.network.passwords[ada.bare])
    scene.network.stack.push_async_callback(phone.close)
    await phone.log_in(scene.network.server.endpoint)
    ada.send(scene.jid, "send to bob")
    await asked(ada)

    phone.send(scene.jid, "yes")

    assert await said(phone) == "Yes: send runs now."
    assert await said(ada) == "sent to bob"


async def test_a_late_yes_runs_nothing(network: Network) -> None:
    scene = await scene_of(network, TurnLimits(approval_seconds=0.3))
    ada = await network.person()
    ada.send(scene.jid, "send to bob")
    await asked(ada)

    assert "did not answer in time" in await said(ada)
    ada.send(scene.jid, "yes")

    assert await said(ada) == "yes"
    assert scene.tool.sent == []


async def test_two_people_are_asked_at_once_and_each_answers_for_themselves(scene: Scene) -> None:
    ada, bea = await scene.network.person(), await scene.network.person("bea")
    ada.send(scene.jid, "send to a")
    bea.send(scene.jid, "send to b")
    await asyncio.gather(asked(ada), asked(bea))

    bea.send(scene.jid, "no")
    assert await said(bea) == "No: send will not run."
    await said(bea)
    ada.send(scene.jid, "sí")

    assert await said(ada) == "Sí: send se ejecuta ahora."
    assert await said(ada) == "sent to a"
    assert scene.tool.sent == ["a"]


async def test_other_users_are_served_during_an_approval(scene: Scene) -> None:
    ada, bea = await scene.network.person(), await scene.network.person("bea")
    ada.send(scene.jid, "send to bob")
    await asked(ada)

    bea.send(scene.jid, "hello")

    assert await said(bea) == "hello"


async def converse(
    program: ChatAgent, peer: str, answer: bool | None
) -> tuple[list[Any], ChatReply]:
    """Every part of an answer; questions are answered as told, None: not at all."""
    parts: list[Any] = []
    async for part in program.stream(peer, "send to bob", can_approve=True):
        parts.append(part)
        if isinstance(part, ApprovalPrompt) and answer is not None:
            await program.approve(peer, part.question, is_approved=answer)
    assert isinstance(parts[-1], ChatReply)
    return parts, parts[-1]


@pytest.mark.parametrize("is_approved", [True, False])
async def test_a_program_is_asked_and_answers(scene: Scene, is_approved: bool) -> None:
    program = await scene.network.program()

    async with asyncio.timeout(WAIT_S):
        parts, reply = await converse(program, scene.jid, is_approved)

    (question,) = [part for part in parts if isinstance(part, ApprovalPrompt)]
    assert question.tool == "send"
    assert [(call.name, call.success) for call in reply.tool_calls] == [("send", is_approved)]
    assert scene.tool.sent == ["bob"] * is_approved


async def test_only_the_asked_program_can_answer(scene: Scene) -> None:
    program, stranger = await scene.network.program(), await scene.network.program("eve")
    answers = program.stream(scene.jid, "send to bob", can_approve=True)
    question = await anext(answers)
    assert isinstance(question, ApprovalPrompt)

    with pytest.raises(RequestRefused) as refused:
        await stranger.approve(scene.jid, question.question, is_approved=True)

    assert refused.value.wire_code == "not-found"
    assert scene.tool.sent == []
    await program.approve(scene.jid, question.question, is_approved=True)
    assert isinstance([part async for part in answers][-1], ChatReply)
    assert scene.tool.sent == ["bob"]
    with pytest.raises(RequestRefused):
        await program.approve(scene.jid, question.question, is_approved=True)


async def test_a_program_that_does_not_answer_questions_gets_an_answer_at_once(
    scene: Scene,
) -> None:
    program = await scene.network.program()

    async with asyncio.timeout(WAIT_S):
        reply = await program.say(scene.jid, "send to bob")

    assert "nobody can be asked" in reply.text
    assert scene.tool.sent == []


async def test_an_answer_in_a_terminal_cannot_hide_what_is_asked_next(scene: Scene) -> None:
    you = await scene.network.program("you")
    written: list[str] = []

    async def listen() -> str:
        return "no"

    await write_answer(you, scene.jid, "look\x9b8m here", PlainOutput(written.append, listen))

    assert "".join(written) == "look8m here\n"
