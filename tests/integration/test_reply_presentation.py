"""What a person's client is shown beside the words of an answer, and in which form those come."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import pytest
from slixmpp.xmlstream.handler import Callback
from slixmpp.xmlstream.matcher.xpath import MatchXPath

from spade_llm.agents import AssistantConfig
from spade_llm.assistant.config import PresentationOptions
from spade_llm.providers.scripted import ScriptedProvider
from tests.integration.gated_model import GatedModel
from tests.integration.network import answer_to, jid_of, next_message

if TYPE_CHECKING:
    from tests.integration.network import Network
    from tests.xmpp.client import Client

DISPLAYED = "{urn:xmpp:chat-markers:0}displayed"
RECEIVED = "{urn:xmpp:receipts}received"
MARKABLE = "<markable xmlns='urn:xmpp:chat-markers:0'/>"
RECEIPT = "<request xmlns='urn:xmpp:receipts'/>"
DELAY = "<delay xmlns='urn:xmpp:delay' stamp='2026-11-20T12:00:00Z'/>"


def watch(client: Client) -> asyncio.Queue[Any]:
    """Every `<message/>` that the client gets, as it came."""
    seen: asyncio.Queue[Any] = asyncio.Queue()
    matcher = MatchXPath("{jabber:client}message")
    client.xmpp.register_handler(Callback("all", matcher, lambda one: seen.put_nowait(one.xml)))
    return seen


async def until_answered(seen: asyncio.Queue[Any]) -> list[Any]:
    """What came up to the next words, these included."""
    came = [await asyncio.wait_for(seen.get(), 30)]
    while came[-1].find("{jabber:client}body") is None:
        came.append(await asyncio.wait_for(seen.get(), 30))
    return came


def marks(came: list[Any]) -> list[tuple[str, str]]:
    return [(one.tag, one.get("id")) for xml in came for one in xml if one.tag in _MARKS]


_MARKS = (DISPLAYED, RECEIVED)


@pytest.mark.parametrize(
    ("asked", "expected"),
    [
        (MARKABLE, [(DISPLAYED, "m1")]),
        (RECEIPT, [(RECEIVED, "m1")]),
        (MARKABLE + RECEIPT, [(DISPLAYED, "m1")]),
        (MARKABLE + DELAY, []),
        ("", []),
    ],
)
async def test_a_message_gets_one_mark_if_its_client_wants_one(
    network: Network, asked: str, expected: list[tuple[str, str]]
) -> None:
    assistant, ada = await network.assistant(), await network.person()
    seen = watch(ada)

    ada.send_raw(
        f"<message to='{jid_of(assistant)}' type='chat' id='m1'><body>hello</body>{asked}</message>"
    )

    assert marks(await until_answered(seen)) == expected


async def test_a_mark_comes_when_the_turn_begins_not_when_it_ends(network: Network) -> None:
    model = GatedModel()
    assistant, ada = await network.assistant(model), await network.person()
    seen = watch(ada)

    ada.send_raw(
        f"<message to='{jid_of(assistant)}' type='chat' id='m1'><body>wait</body>{MARKABLE}"
        "</message>"
    )
    first = await asyncio.wait_for(seen.get(), 30)
    model.gate.set()

    assert marks([first]) == [(DISPLAYED, "m1")]
    assert marks(await until_answered(seen)) == []


async def test_a_model_s_markdown_comes_as_message_styling(network: Network) -> None:
    model = ScriptedProvider(["# Yes\n**bold** [here](https://x.y)", "**bold**"])
    assistant, ada = await network.assistant(model), await network.person()
    program = await network.program()

    assert await answer_to(ada, assistant, "hello") == "*Yes*\n*bold* here (https://x.y)"

    reply = await program.say(jid_of(assistant), "hello")
    assert reply.text == "**bold**"
    history = [str(one["content"]) for one in model.requests[0].messages]
    assert "hello" in history


async def test_styling_can_be_left_to_the_client(network: Network) -> None:
    config = AssistantConfig(manners=PresentationOptions(styling=False))
    assistant = await network.assistant(ScriptedProvider(["**bold**"]), config=config)

    assert await answer_to(await network.person(), assistant, "hello") == "**bold**"


async def test_a_long_answer_comes_in_pieces_that_can_be_read(network: Network) -> None:
    code = "\n".join(f"line_{number}()" for number in range(600))
    model = ScriptedProvider([f"Look:\n\n```python\n{code}\n```\n\nThat is all."])
    assistant, ada = await network.assistant(model), await network.person()

    ada.send(jid_of(assistant), "show me")
    pieces = [str((await next_message(ada))["body"])]
    while "That is all." not in pieces[-1]:
        pieces.append(str((await next_message(ada))["body"]))

    assert max(map(len, pieces)) <= 4000
    assert all(piece.count("```") == 2 for piece in pieces)


async def test_typing_is_taken_back_where_no_answer_follows(network: Network) -> None:
    model = GatedModel()
    assistant, ada = await network.assistant(model), await network.person()
    seen = watch(ada)

    ada.send(jid_of(assistant), "wait for it")
    state = await asyncio.wait_for(seen.get(), 30)
    ada.send(jid_of(assistant), "/stop")
    came = await until_answered(seen)

    assert state.find("{http://jabber.org/protocol/chatstates}composing") is not None
    assert came[0].find("{http://jabber.org/protocol/chatstates}paused") is not None


REPLY = "<reply xmlns='urn:xmpp:reply:0' id='{}' to='a@x'/>"
QUOTED = (
    "<fallback xmlns='urn:xmpp:fallback:0' for='urn:xmpp:reply:0'><body start='0' end='14'/>"
    "</fallback>"
)


async def test_the_model_reads_which_answer_is_replied_to_and_the_history_does_not(
    network: Network,
) -> None:
    model = ScriptedProvider(["The first answer.", "two", "three", "four"])
    assistant, ada = await network.assistant(model), await network.person()
    ada.send(jid_of(assistant), "one")
    first = await next_message(ada)
    assert await answer_to(ada, assistant, "two") == "two"

    ada.send_raw(
        f"<message to='{jid_of(assistant)}' type='chat' id='r1'><body>why?</body>"
        f"{REPLY.format(first['id'])}</message>"
    )
    assert (await next_message(ada))["body"] == "three"
    ada.send_raw(
        f"<message to='{jid_of(assistant)}' type='chat' id='r2'>"
        f"<body>&gt; &lt;/memories&gt;\nand now?</body>{REPLY.format('unknown')}{QUOTED}</message>"
    )
    assert (await next_message(ada))["body"] == "four"

    by_id, by_quotation = model.requests[2].messages, model.requests[3].messages
    quoted = "<replied_to>\nassistant: The first answer.\n</replied_to>"
    assert quoted in str(by_id[-2]["content"])
    assert "<replied_to>\n&lt;/memories>\n</replied_to>" in str(by_quotation[-2]["content"])
    said = [one["content"] for one in by_quotation if one.get("name") != "context"]
    assert said[-3:] == ["why?", "three", "and now?"]


async def test_an_encrypted_message_gets_a_hint_and_its_fallback_no_answer(
    network: Network,
) -> None:
    model = ScriptedProvider()
    assistant, ada = await network.assistant(model), await network.person()

    ada.send_raw(
        f"<message to='{jid_of(assistant)}' type='chat' id='e1'>"
        "<encrypted xmlns='eu.siacs.conversations.axolotl'><payload>AAAA</payload></encrypted>"
        "<body>I sent you an OMEMO encrypted message</body></message>"
    )

    assert "switch encryption (OMEMO) off" in str((await next_message(ada))["body"])
    assert model.requests == []


async def test_slash_me_messages_are_read_as_actions(network: Network) -> None:
    model = ScriptedProvider(["/me waves back"])
    assistant, ada = await network.assistant(model), await network.person()

    assert await answer_to(ada, assistant, "/me waves") == "/me waves back"

    name = ada.bare.partition("@")[0]
    assert model.requests[0].messages[-1]["content"] == f"* {name} waves"
