"""A person with an ordinary chat client talks to an assistant."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from spade_llm.agents import Services
from spade_llm.providers.scripted import ScriptedProvider
from tests.integration.gated_model import GatedModel
from tests.integration.network import WAIT_S, answer_to, jid_of

if TYPE_CHECKING:
    from tests.integration.network import Network
    from tests.xmpp.client import Client

ACL = "{urn:spade-llm:acl:1}acl"
FORM = "{jabber:x:data}x"


def watch_states(client: Client) -> asyncio.Queue[Any]:
    """The chat states that the client is shown, as they come."""
    states: asyncio.Queue[Any] = asyncio.Queue()
    client.xmpp.register_plugin("xep_0085")
    client.xmpp.add_event_handler("chatstate", states.put_nowait)
    return states


async def test_a_plain_message_gets_a_plain_answer(network: Network) -> None:
    assistant = await network.assistant()
    ada = await network.person()

    ada.send(jid_of(assistant), "hello?")
    answer = await ada.received()

    assert answer["body"] == "hello?"
    assert answer["from"] == assistant.address
    assert answer["type"] == "chat"
    assert answer.xml.find(ACL) is None
    assert answer.xml.find(FORM) is None


async def test_the_thread_of_a_message_comes_back(network: Network) -> None:
    assistant = await network.assistant()
    ada = await network.person()

    ada.send_raw(
        f"<message to='{jid_of(assistant)}' type='chat' id='m1'>"
        "<body>hello</body><thread>t-42</thread></message>"
    )

    assert (await ada.received()).xml.findtext("{jabber:client}thread") == "t-42"


async def test_users_are_served_concurrently_and_each_in_order(network: Network) -> None:
    model = GatedModel()
    assistant = await network.assistant(model)
    ada, bob = await network.person("ada"), await network.person("bob")
    for text in ("wait, one", "two", "three"):
        ada.send(jid_of(assistant), text)
    await asyncio.wait_for(model.was_asked.wait(), WAIT_S)

    assert await answer_to(bob, assistant, "and me?") == "and me?"
    assert ada.waiting() == []

    model.gate.set()
    answers = [str((await ada.received())["body"]) for _ in range(3)]
    assert answers == ["wait, one", "two", "three"]


async def test_typing_is_shown_while_the_model_takes_its_time(network: Network) -> None:
    model = GatedModel()
    assistant = await network.assistant(model)
    ada = await network.person()
    states = watch_states(ada)

    ada.send(jid_of(assistant), "wait for it")
    state = await asyncio.wait_for(states.get(), WAIT_S)
    model.gate.set()

    assert state["chat_state"] == "composing"
    assert (await ada.received())["body"] == "wait for it"


async def test_an_instant_answer_comes_without_typing(network: Network) -> None:
    assistant = await network.assistant()
    ada = await network.person()
    states = watch_states(ada)

    for text in ("one", "two"):
        assert await answer_to(ada, assistant, text) == text

    shown = [states.get_nowait()["chat_state"] for _ in range(states.qsize())]
    assert set(shown) <= {"active"}


COMMANDS = {
    "/help": "/forget all",
    "/new": "A new conversation",
    "/status": "Everything is reachable",
    "/memories": "I remember nothing about you.",
    "//memories": "I remember nothing about you.",
    "Help": "also work alone, without the slash",
    "¿ayuda?": "/forget all",
    "status?": "Everything is reachable",
    "recuerdos": "I remember nothing about you.",
    "/forget": "/forget NUMBER",
    "/forget all": "write /forget all yes",
    "/forget ALL yes": "Forgotten: 0 memories",
}


async def test_commands_cost_no_model_call(network: Network) -> None:
    model = ScriptedProvider()
    memory = await network.memory()
    assistant = await network.assistant(model, services=Services(memory=jid_of(memory)))
    ada = await network.person()

    for command, words in COMMANDS.items():
        assert words in await answer_to(ada, assistant, command)

    assert model.requests == []


async def test_messages_longer_than_a_word_and_replies_reach_the_model(
    network: Network,
) -> None:
    assistant, ada = await network.assistant(), await network.person()
    for text in ("help me with my taxes", "why?", "new"):
        assert await answer_to(ada, assistant, text) == text

    ada.send_raw(
        f"<message to='{jid_of(assistant)}' type='chat' id='r1'><body>documents</body>"
        f"<reply xmlns='urn:xmpp:reply:0' to='{jid_of(assistant)}' id='x'/>"
        "<fallback xmlns='urn:xmpp:fallback:0' for='urn:xmpp:reply:0'/></message>"
    )

    assert (await ada.received())["body"] == "documents"
