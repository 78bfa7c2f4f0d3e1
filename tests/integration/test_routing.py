"""Answers that go to others than who asked, over a server."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from spade_llm.agents import LLMAgent
from spade_llm.assistant.middleware.routing import RoutingResponse
from spade_llm.providers.scripted import ScriptedProvider
from tests.integration.network import jid_of, next_message

if TYPE_CHECKING:
    from spade_llm.assistant.middleware.routing import RoutedMessage, RoutingFunction
    from tests.integration.network import Network


async def routed(
    network: Network, *, reply_to: str | None = None, route: RoutingFunction | None = None
) -> LLMAgent:
    jid = await network.account("routed")
    agent = LLMAgent(
        jid,
        network.passwords[jid],
        ScriptedProvider.echo(),
        reply_to=reply_to,
        routing_function=route,
        options=network.options(jid),
    )
    return await network.start(agent)


async def test_a_chain_of_agents_ends_at_a_person_in_the_thread_that_it_began_in(
    network: Network,
) -> None:
    ada, eve = await network.person("ada"), await network.person("eve")
    last = await routed(network, reply_to=eve.bare)
    middle = await routed(network, reply_to=jid_of(last))
    first = await routed(network, reply_to=jid_of(middle))
    program = await network.program()

    ada.send_raw(
        f"<message type='chat' to='{jid_of(first)}' id='1'><body>hello</body>"
        "<thread>t1</thread></message>"
    )
    answer = await next_message(eve)
    reply = await program.say(jid_of(first), "hello again")

    assert (answer["body"], answer["thread"]) == ("hello", "t1")
    assert answer["from"].bare == jid_of(last)
    assert (await next_message(eve))["body"] == "hello again"
    assert (reply.text, reply.routed_to) == ("hello again", (jid_of(middle),))
    await ada.ping()
    assert ada.waiting() == []


async def test_routing_to_a_missing_account_is_reported_to_the_asker(network: Network) -> None:
    ada, eve = await network.person("ada"), await network.person("eve")
    nobody = f"nobody@{eve.bare.partition('@')[2]}"

    def route(message: RoutedMessage, answer: str, _context: dict[str, object]) -> RoutingResponse:
        return RoutingResponse([nobody, eve.bare], str.upper, {"from": str(message.sender)})

    agent = await routed(network, route=route)
    program = await network.program()

    ada.send(jid_of(agent), "hello")
    note = (await next_message(ada))["body"]
    reply = await program.say(jid_of(agent), "hello")

    assert note.startswith(f"(My answer could not be passed on to {nobody} (")
    assert reply.text.startswith(f"HELLO\n\n(My answer could not be passed on to {nobody} (")
    assert reply.routed_to == (eve.bare,)
    assert [(await next_message(eve))["body"] for _ in range(2)] == ["HELLO", "HELLO"]


@pytest.mark.parametrize("wrong", ["eve @x", "a@", "eve@x\n", "x" * 2000])
async def test_a_recipient_that_is_no_jid_costs_neither_the_answer_nor_the_connection(
    network: Network, wrong: str
) -> None:
    """A server sends such a message back in that name, and slixmpp cannot read it."""
    ada = await network.person("ada")
    agent = await routed(network, route=lambda *_: [wrong, ada.bare])

    ada.send(jid_of(agent), "hello")
    answer = (await next_message(ada))["body"]

    assert answer.startswith("hello\n\n(My answer could not be passed on to ")
    assert agent.connection is not None
    assert agent.connection.connected.is_set()
