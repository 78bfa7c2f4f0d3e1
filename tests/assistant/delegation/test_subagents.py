"""Answers of sub-agents: each reaches the question that it is for, whatever order they come in."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spade_llm.assistant.chat.messages import ChatReply
from spade_llm.assistant.chat.service import ChatService, ChatTurnInput
from spade_llm.assistant.delegation.subagents import (
    PresenceStatus,
    SubAgents,
    coordination_tools,
)
from spade_llm.core.errors import PeerUnavailable
from spade_llm.messaging import InMemoryNetwork
from spade_llm.messaging.outgoing_messages import OutgoingMessages
from spade_llm.tools import CallContext, LocalToolbox
from tests.conftest import at_most
from tests.messaging.node_harness import Member
from tests.messaging.scripted_peer import Program

if TYPE_CHECKING:
    from spade_llm.messaging import AclMessage

PATIENCE_S = 30.0
JIDS = ["one@net", "two@net", "three@net"]


async def there(_jid: str) -> PresenceStatus:
    return PresenceStatus.THERE


@dataclass(frozen=True)
class Step:
    """One question, and what its sub-agent does about it."""

    asker: str
    jid: str
    way: str
    place: int
    """When its answer comes, among those of the others."""


STEPS = st.lists(
    st.builds(
        Step,
        asker=st.sampled_from(["ada@net", "bob@net", "eve@net"]),
        jid=st.sampled_from(JIDS),
        way=st.sampled_from(["once", "twice", "late", "never", "forged"]),
        place=st.integers(0, 100),
    ),
    min_size=1,
    max_size=12,
)


class Field:
    """A coordinator and plain programs as its sub-agents; mallory answers for others."""

    def __init__(self) -> None:
        network = InMemoryNetwork()
        self.coordinator = Member(network=network, jid="coordinator@net/1")
        self.agents = SubAgents(JIDS, session="s", timeout_s=PATIENCE_S)
        letters = OutgoingMessages(self.coordinator.node)
        self.agents.join(self.coordinator.node, letters, there)
        self.programs = {jid: Program(network=network, jid=f"{jid}/1") for jid in JIDS}
        self.mallory = Program(network=network, jid="mallory@net/1")

    def ask(self, step: Step, text: str) -> asyncio.Task[str]:
        return asyncio.create_task(self.agents.ask(step.jid, text, asker=step.asker))

    async def question(self, jid: str, text: str) -> AclMessage:
        """As the sub-agent got it, once it has."""
        program = self.programs[jid]
        async with asyncio.timeout(PATIENCE_S):
            while True:
                for message in program.received:
                    if message.content == text:
                        return message
                program.arrived.clear()
                await program.arrived.wait()


@settings(max_examples=at_most(40))
@given(STEPS)
def test_answers_never_cross(steps: list[Step]) -> None:
    asyncio.run(_answers_never_cross(steps))


async def _answers_never_cross(steps: list[Step]) -> None:
    field = Field()
    waiting = [field.ask(step, f"question {n}") for n, step in enumerate(steps)]
    questions = [await field.question(step.jid, f"question {n}") for n, step in enumerate(steps)]

    for number, step in sorted(enumerate(steps), key=lambda pair: pair[1].place):
        await _answer(field, step, number, questions[number], waiting[number])
    expected = [number for number, step in enumerate(steps) if step.way in ("once", "twice")]
    answers = {number: await waiting[number] for number in expected}
    for one in waiting:
        one.cancel()
    await asyncio.wait(waiting)

    assert answers == {number: f"answer {number}" for number in expected}
    assert all(one.cancelled() for n, one in enumerate(waiting) if n not in expected)
    assert field.coordinator.node.dispatcher.load.running == 0
    await field.coordinator.node.close(patience_s=0)


async def _answer(
    field: Field, step: Step, number: int, question: AclMessage, waiting: asyncio.Task[str]
) -> None:
    if step.way == "late":  # As at the deadline.
        waiting.cancel()
        await asyncio.wait([waiting])
    if step.way == "forged":
        await field.mallory.answer(question, "forged")
        await field.mallory.answer(question, "forged", in_thread=False)
    elif step.way != "never":
        for _ in range(2 if step.way == "twice" else 1):
            await field.programs[step.jid].answer(question, f"answer {number}")


async def test_one_asker_s_questions_are_one_session_and_each_has_its_thread() -> None:
    field = Field()
    step = Step("ada@net", "one@net", "once", 0)
    other = Step("bob@net", "one@net", "once", 0)
    waiting = [field.ask(step, "a"), field.ask(step, "b"), field.ask(other, "c")]
    asked = [await field.question("one@net", text) for text in "abc"]
    for message in asked:
        await field.programs["one@net"].answer(message, "done")
    await asyncio.gather(*waiting)

    sessions = [message.conversation_id.rpartition(".")[0] for message in asked]
    assert sessions[0] == sessions[1] != sessions[2]
    assert len({message.conversation_id for message in asked}) == 3
    assert asked[0].extra == {"message_type": "llm", "coordination_session": "s"}


async def test_one_of_ours_is_asked_in_its_own_ontology_in_one_conversation_for_each_asker() -> (
    None
):
    heard: list[str] = []

    async def answer(turn_input: ChatTurnInput) -> ChatReply:
        heard.append(turn_input.conversation)
        return ChatReply(text=turn_input.text.upper())

    async def ours(_jid: str) -> PresenceStatus:
        return PresenceStatus.OURS

    network = InMemoryNetwork()
    coordinator = Member(network=network, jid="coordinator@net/1")
    worker = Member(network=network, jid="one@net/1")
    ChatService(answer).attach(worker.node.dispatcher)
    agents = SubAgents(["one@net"], session="s")
    agents.join(coordinator.node, OutgoingMessages(coordinator.node), ours)

    answers = [await agents.ask("one@net", text, asker="ada@net") for text in ("a", "b")]
    await agents.ask("one@net", "c", asker="bob@net")

    assert answers == ["A", "B"]
    assert heard[0] == heard[1] != heard[2]
    await worker.node.close()
    await coordinator.node.close()


async def test_a_resumed_turn_gets_the_answers_of_the_tasks_that_it_had_given() -> None:
    heard: list[str] = []

    async def answer(turn_input: ChatTurnInput) -> ChatReply:
        heard.append(turn_input.text)
        return ChatReply(text=f"{turn_input.text} {len(heard)}")

    async def ours(_jid: str) -> PresenceStatus:
        return PresenceStatus.OURS

    network = InMemoryNetwork()
    worker = Member(network=network, jid="one@net/1")
    ChatService(answer).attach(worker.node.dispatcher)
    lives = [Member(network=network, jid=f"coordinator@net/{number}") for number in (1, 2)]
    context = CallContext(on_behalf_of="ada@net", turn="t", idempotency_key="k")
    tasks = [{"agent_id": "one@net", "message": text} for text in ("a", "b", "a")]

    async def give(life: Member, context: CallContext) -> str:
        agents = SubAgents(["one@net"], session="s")
        agents.join(life.node, OutgoingMessages(life.node), ours)
        toolbox = LocalToolbox(coordination_tools(agents))
        name, arguments = "send_to_agents_parallel", {"tasks": tasks}
        return (await toolbox.call(name, arguments, context=context)).text

    first, again = [await give(life, context) for life in lives]
    await give(lives[1], replace(context, idempotency_key="other"))

    assert first == again
    assert heard[:3] == ["a", "b", "a"]
    assert len(heard) == 6
    for member in (worker, *lives):
        await member.node.close()


async def test_offline_agents_are_not_awaited_and_are_listed_as_offline() -> None:
    async def away(_jid: str) -> PresenceStatus:
        return PresenceStatus.AWAY

    coordinator = Member(network=InMemoryNetwork(), jid="coordinator@net/1")
    agents = SubAgents(["one@net"], session="s")
    agents.join(coordinator.node, OutgoingMessages(coordinator.node), away)

    with pytest.raises(PeerUnavailable, match="one@net is away"):
        await agents.ask("one@net", "a", asker="ada@net")

    assert await agents.states() == {"one@net": "away"}


async def test_an_answer_to_a_question_of_an_earlier_process_is_ignored() -> None:
    field = Field()
    step = Step("ada@net", "one@net", "once", 0)
    waiting = field.ask(step, "a")
    question = await field.question("one@net", "a")
    waiting.cancel()
    again = Member(network=field.coordinator.network, jid="coordinator@net/1")
    agents = SubAgents(JIDS, session="s")
    agents.join(again.node, OutgoingMessages(again.node), there)

    await field.programs["one@net"].answer(question, "late")

    message = (await again.got(1))[0]
    assert message.content == "late"
    assert again.node.is_awaited(message)
    assert field.programs["one@net"].received == [question]
