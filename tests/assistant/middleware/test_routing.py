"""To whom an answer goes: routing functions, several recipients, chains, loops, and what fails."""

from __future__ import annotations

import asyncio
import threading
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import pytest
from pydantic import BaseModel

from spade_llm.assistant.chat.client import ChatClient
from spade_llm.assistant.middleware.guardrails import GuardrailMiddleware
from spade_llm.assistant.middleware.routing import (
    RoutingDecider,
    RoutingMiddleware,
    RoutingResponse,
    first_of,
    routing_rule,
)
from spade_llm.guardrails import GuardrailAction, KeywordGuardrail
from spade_llm.messaging import InMemoryNetwork
from spade_llm.messaging.outgoing_messages import chat_message
from spade_llm.providers import Completion, ScriptedProvider
from tests.assistant.assistant_harness import Mind
from tests.messaging.node_harness import Member
from tests.messaging.scripted_peer import Program

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Sequence

    from spade_llm.assistant.chat.messages import ChatReply
    from spade_llm.assistant.middleware.routing import RoutedMessage, RoutingFunction
    from spade_llm.assistant.turn.turn import TurnMiddleware
    from spade_llm.providers.model import ContextMessage, ToolSpec

THREAD = "t1"
DECISION_S = 5.0


@dataclass
class Town:
    """Who lives on the network: agents that echo, and programs that listen."""

    network: InMemoryNetwork = field(default_factory=InMemoryNetwork)
    minds: list[Mind] = field(default_factory=list)

    def agent(
        self,
        name: str,
        *,
        reply_to: str | None = None,
        route: RoutingFunction | None = None,
        max_hops: int = 32,
        decision_s: float = DECISION_S,
        within: Sequence[TurnMiddleware] = (),
    ) -> Mind:
        """Answers with its own name behind what it was told."""

        def echo(said: Sequence[ContextMessage], _tools: Sequence[ToolSpec]) -> Completion:
            return Completion(text=f"{said[-1]['content']} {name}")

        model = ScriptedProvider([echo] * 100)
        mind = Mind(self.network, f"{name}@net/1", model)
        layer = RoutingMiddleware(
            mind.letters,
            reply_to=reply_to,
            deciding=RoutingDecider(route, decision_s=decision_s) if route else None,
            run=mind.run,
            max_hops=max_hops,
        )
        self.minds.append(mind.think(layers=[layer, *within]))
        return mind

    def program(self, name: str) -> Program:
        return Program(network=self.network, jid=f"{name}@net/1")


@pytest.fixture
async def town() -> AsyncIterator[Town]:
    town = Town()
    yield town
    for mind in town.minds:
        await mind.member.node.close(patience_s=0)


async def say(person: Program, to: str, text: str, *, thread: str = THREAD) -> None:
    await person.transport.send(chat_message(to, text, thread=thread))


async def asked(town: Town, to: str, text: str) -> ChatReply:
    """As one of our programs."""
    client = Member(network=town.network, jid="client@net/1")
    reply = await ChatClient(client.node.requester, to).say(text)
    await client.node.close()
    return reply


async def test_an_answer_goes_along_a_chain_to_the_person_at_its_end(town: Town) -> None:
    town.agent("a", reply_to="b@net")
    town.agent("b", reply_to="c@net")
    town.agent("c", reply_to="eve@net")
    ada, eve = town.program("ada"), town.program("eve")

    await say(ada, "a@net", "hello")
    answer = (await eve.got(1))[0]

    assert answer.content == "hello a b c"
    assert answer.conversation_id == THREAD
    assert answer.extra == {"message_type": "llm", "hops": "3"}
    assert ada.received == []


async def test_a_program_s_request_ends_with_the_answer_and_says_where_it_went(
    town: Town,
) -> None:
    town.agent("a", reply_to="eve@net")
    eve = town.program("eve")

    reply = await asked(town, "a@net", "hello")

    assert (reply.text, reply.routed_to, reply.is_for_asker) == ("hello a", ("eve@net",), False)
    assert [one.content for one in await eve.got(1)] == ["hello a"]


async def test_a_routing_function_may_name_several_receivers_a_transformation_and_metadata(
    town: Town,
) -> None:
    def route(message: RoutedMessage, answer: str, context: dict[str, object]) -> RoutingResponse:
        assert str(message.sender) == "ada@net/1"
        assert (message.body, message.thread) == ("hello", THREAD)
        assert message.get_metadata("nothing") is None
        assert context["conversation_id"]
        return RoutingResponse(["eve@net", "ada@net"], str.upper, {"reason": answer})

    town.agent("a", route=route)
    ada, eve = town.program("ada"), town.program("eve")

    await say(ada, "a@net", "hello")

    for one in (*await ada.got(1), *await eve.got(1)):
        assert one.content == "HELLO A"
    assert eve.received[0].extra["reason"] == "hello a"


async def test_an_answer_is_routed_to_the_asker_if_named_or_if_no_receiver_is_named(
    town: Town,
) -> None:
    town.agent("back", route=lambda message, _answer, _context: str(message.sender))
    town.agent("nobody", route=lambda *_: None)
    town.agent("fallback", route=lambda *_: "", reply_to="eve@net")
    ada, eve = town.program("ada"), town.program("eve")

    await say(ada, "back@net", "one")
    await say(ada, "nobody@net", "two")
    await say(ada, "fallback@net", "three")

    assert {one.content for one in await ada.got(2)} == {"one back", "two nobody"}
    assert [one.content for one in await eve.got(1)] == ["three fallback"]


async def test_routing_functions_may_be_coroutines_or_block_without_delaying_others(
    town: Town,
) -> None:
    free = threading.Event()

    async def later(*_: object) -> str:
        await asyncio.sleep(0)
        return "eve@net"

    def blocking(*_: object) -> str:
        assert free.wait(DECISION_S)
        return "eve@net"

    town.agent("later", route=later)
    town.agent("blocking", route=blocking)
    ada, eve = town.program("ada"), town.program("eve")

    await say(ada, "blocking@net", "first")
    await say(ada, "later@net", "second")
    assert [one.content for one in await eve.got(1)] == ["second later"]
    free.set()

    assert (await eve.got(2))[1].content == "first blocking"


@pytest.mark.parametrize("wrong", [1 / 3, RoutingResponse("eve@net", None, {"k": "v" * 2000})])
async def test_a_failing_routing_function_leaves_the_answer_to_the_asker(
    town: Town, wrong: object
) -> None:
    def route(*_: object) -> str:
        if isinstance(wrong, RoutingResponse):
            return wrong  # type: ignore[return-value]  # a program's mistake
        raise ZeroDivisionError("internals")

    town.agent("a", route=route)
    ada = town.program("ada")

    await say(ada, "a@net", "hello")

    assert [one.content for one in await ada.got(1)] == ["hello a"]


async def test_a_hanging_routing_function_leaves_the_answer_to_the_asker(town: Town) -> None:
    async def never(*_: object) -> str:
        await asyncio.Event().wait()
        return ""

    town.agent("a", route=never, decision_s=0.01)
    ada = town.program("ada")

    await say(ada, "a@net", "hello")

    assert [one.content for one in await ada.got(1)] == ["hello a"]


async def test_a_routing_function_that_exits_leaves_the_answer_to_the_asker(town: Town) -> None:
    async def cancelled(*_: object) -> str:
        raise asyncio.CancelledError

    town.agent("a", route=cancelled)
    ada = town.program("ada")

    await say(ada, "a@net", "hello")

    assert [one.content for one in await ada.got(1)] == ["hello a"]


async def test_a_command_in_a_routed_answer_is_not_executed_by_its_receiver(
    town: Town,
) -> None:
    def command(_answer: str) -> str:
        return "/forget all"

    def route(*_: object) -> RoutingResponse:
        return RoutingResponse("b@net", transform=command)

    town.agent("a", route=route)
    town.agent("b", reply_to="eve@net")
    ada, eve = town.program("ada"), town.program("eve")

    await say(ada, "a@net", "please pass this on")

    assert [one.content for one in await eve.got(1)] == ["/forget all b"]


async def test_two_agents_that_route_to_each_other_come_to_an_end(town: Town) -> None:
    one = town.agent("one", reply_to="two@net", max_hops=5)
    two = town.agent("two", reply_to="one@net", max_hops=5)
    ada = town.program("ada")

    await say(ada, "one@net", "hello")
    await two.member.got(3)
    await one.member.node.dispatcher.close()
    await two.member.node.dispatcher.close()

    assert [len(mind.member.received) for mind in (one, two)] == [3, 3]
    assert ada.received == []


async def test_a_program_that_answers_whatever_it_gets_comes_to_an_end_too(town: Town) -> None:
    agent = town.agent("a", reply_to="parrot@net", max_hops=3)
    ada, parrot = town.program("ada"), town.program("parrot")

    await say(ada, "a@net", "hello")
    for count in range(1, 4):
        await parrot.answer((await parrot.got(count))[count - 1], "hello again")
    await agent.member.got(4)
    await agent.member.node.dispatcher.close()

    assert len(parrot.received) == 3
    assert [one.extra["hops"] for one in parrot.received] == ["1", "2", "3"]


async def test_the_asker_is_told_which_answers_could_not_be_routed(town: Town) -> None:
    town.agent("a", reply_to="nobody@net")
    town.agent("self", reply_to="self@net")
    ada = town.program("ada")

    await say(ada, "a@net", "hello")
    note = "(My answer could not be passed on to nobody@net (service-unavailable).)"
    assert [one.content for one in await ada.got(1)] == [note]

    reply = await asked(town, "self@net", "hello")
    assert reply.text.startswith("hello self\n\n(My answer could not be passed on to self@net")
    assert (reply.routed_to, reply.is_for_asker) == ((), True)


class Count(BaseModel):
    n: int


async def test_an_object_that_could_not_be_passed_on_is_still_one(town: Town) -> None:
    mind = town.agent("a", reply_to="nobody@net")
    mind.behaviour.model = ScriptedProvider(['{"n": 7}'])
    client = Member(network=town.network, jid="client@net/1")

    count = await ChatClient(client.node.requester, "a@net").say_as("how many?", Count)

    assert count == Count(n=7)
    await client.node.close()


async def test_a_function_reads_what_guardrails_have_left_of_the_question(town: Town) -> None:
    read: list[str | None] = []

    def route(message: RoutedMessage, *_: object) -> str:
        read.append(message.body)
        return "ada@net"

    hide = KeywordGuardrail("keys", ["sk-1"], GuardrailAction.MODIFY, "[key]")
    town.agent("a", route=route, within=[GuardrailMiddleware([hide])])
    ada = town.program("ada")

    await say(ada, "a@net", "mine is sk-1")

    assert [one.content for one in await ada.got(1)] == ["mine is [key] a"]
    assert read == ["mine is [key]"]


async def test_rules_are_asked_by_their_priority(town: Town) -> None:
    @routing_rule(priority=1)
    def last(_message: RoutedMessage, _answer: str, _context: dict[str, object]) -> str:
        return "eve@net"

    @routing_rule(priority=10, name="urgent")
    def first(_message: RoutedMessage, answer: str, _context: dict[str, object]) -> str | None:
        return "bob@net" if "urgent" in answer else None

    town.agent("a", route=first_of(last, first))
    ada, bob, eve = town.program("ada"), town.program("bob"), town.program("eve")

    await say(ada, "a@net", "urgent")
    await bob.got(1)
    await say(ada, "a@net", "hello")
    await eve.got(1)

    assert (first.name, first.priority, last.name) == ("urgent", 10, "last")
    assert len(bob.received) == 1


async def test_a_method_may_be_a_rule(town: Town) -> None:
    class Desk:
        def __init__(self, specialist: str) -> None:
            self.specialist = specialist

        @routing_rule(priority=10)
        def urgent(self, _message: RoutedMessage, _answer: str, _context: dict[str, object]) -> str:
            return self.specialist

    town.agent("a", route=first_of(Desk("bob@net").urgent))
    ada, bob = town.program("ada"), town.program("bob")

    await say(ada, "a@net", "the pump is broken")
    await bob.got(1)

    assert (Desk.urgent.name, Desk("x").urgent.priority) == ("urgent", 10)
