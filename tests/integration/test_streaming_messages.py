"""An answer that grows in one bubble of a person's client, and is one message in the end."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import pytest

from spade_llm.agents import AssistantConfig
from spade_llm.assistant.config import PresentationOptions
from spade_llm.guardrails import KeywordGuardrail
from spade_llm.tools import LLMTool
from spade_llm.xmpp.stanzas.message_codec import CORRECTION
from tests.integration.ending_model import END, EndingModel
from tests.integration.network import PATIENCE_S, calling, eventually, jid_of, next_message
from tests.integration.test_reply_presentation import until_answered, watch
from tests.session import terminal
from tests.session.terminal import Terminal
from tests.xmpp.client import Client

if TYPE_CHECKING:
    from spade_llm.agents import LLMAgent
    from tests.integration.network import Network

pytestmark = [
    pytest.mark.server,
    # The embedded server passes no question from client to client (XEP-0030).
    pytest.mark.parametrize("server", ["prosody"], indirect=True),
]

AT_ONCE = PresentationOptions(first_s=0.0, edit_every_s=0.01)
QUICK = AssistantConfig(manners=AT_ONCE)
REPLACE = f"{{{CORRECTION}}}replace"
NO_STORE = "{urn:xmpp:hints}no-store"
COMPOSING = "{http://jabber.org/protocol/chatstates}composing"


async def modern(network: Network, name: str = "ada", *, software: str = "Dino") -> Client:
    """Somebody whose client shows corrections."""
    person = await network.person(name)
    person.shows_corrections(software)
    return person


def said(stanza: Any) -> str:
    return str(stanza["body"])


def replaced(stanza: Any) -> str:
    """Id of the message that this one corrects."""
    found = stanza.xml.find(REPLACE)
    return "" if found is None else str(found.get("id"))


def is_partial(stanza: Any) -> bool:
    return stanza.xml.find(NO_STORE) is not None and stanza.xml.find(COMPOSING) is not None


async def test_an_answer_grows_in_one_bubble_and_only_the_whole_is_kept(network: Network) -> None:
    model = EndingModel()
    assistant, ada = await network.assistant(model, config=QUICK), await modern(network)

    ada.send(jid_of(assistant), "a story")
    model.says("**Once**")
    first = await next_message(ada)
    model.says(" upon")
    second = await next_message(ada)
    model.says(" a time", END)
    third = await next_message(ada)
    if is_partial(third):
        third = await next_message(ada)

    assert [said(first), said(second), said(third)] == [
        "*Once*",
        "*Once* upon",
        "*Once* upon a time",
    ]
    assert [replaced(first), replaced(second), replaced(third)] == ["", first["id"], first["id"]]
    assert [is_partial(first), is_partial(second), is_partial(third)] == [True, True, False]
    assert len({first["id"], second["id"], third["id"]}) == 3


async def test_a_client_that_shows_no_corrections_gets_the_whole(network: Network) -> None:
    model = EndingModel()
    assistant, ada = await network.assistant(model, config=QUICK), await network.person()

    ada.send(jid_of(assistant), "a story")
    model.says("Once", " upon", END)

    answer = await next_message(ada)
    assert (said(answer), replaced(answer)) == ("Once upon", "")


@pytest.mark.parametrize("software", ["Profanity", "Somebody's own"])
async def test_a_client_that_is_not_known_to_show_further_corrections_gets_the_whole(
    network: Network, software: str
) -> None:
    model = EndingModel()
    assistant = await network.assistant(model, config=QUICK)
    ada = await modern(network, software=software)
    seen = watch(ada)

    ada.send(jid_of(assistant), "a story")
    model.says("Once")
    await until_asked(assistant, ada)
    model.says(" upon", END)

    (answer,) = await asyncio.wait_for(until_answered(seen), PATIENCE_S)
    assert answer.findtext("{jabber:client}body") == "Once upon"


async def test_profanity_shows_all_of_an_answer_that_is_long_in_the_making(
    network: Network,
) -> None:
    terminal.require()
    model, jid = EndingModel(), await network.account("ada")
    config = AssistantConfig(manners=PresentationOptions(first_s=0.0, edit_every_s=0.0))
    assistant = await network.assistant(model, config=config)
    profanity = await Terminal(network.directory / "profanity").begin(
        jid, network.passwords[jid], network.server.endpoint
    )
    network.stack.callback(profanity.close)

    profanity.types(f"/msg {jid_of(assistant)} a story")
    model.says("Once")
    bob = await network.person("bob")
    await until_asked(assistant, bob, jid=f"{jid}/terminal")
    for piece in (" upon", " a time", " there was"):
        model.says(piece)
        await bob.ping()  # What could be shown of it has left by now.
    model.says(" a queen", END)

    await profanity.shows("Once upon a time there was a queen")


async def test_nothing_grows_beside_a_client_of_the_same_person_that_would_show_half_of_it(
    network: Network,
) -> None:
    """Their server copies each message to all of their clients (XEP-0280)."""
    model = EndingModel()
    assistant = await network.assistant(model, config=QUICK)
    phone = await modern(network)
    laptop = Client(phone.bare, network.passwords[phone.bare])
    network.stack.push_async_callback(laptop.close)
    laptop.shows_corrections("Profanity")
    await laptop.log_in(network.server.endpoint)
    await befriend(assistant, phone, laptop)
    seen = watch(phone)

    phone.send(jid_of(assistant), "a story")
    model.says("Once")
    await until_asked(assistant, laptop)
    model.says(" upon", END)

    (answer,) = await asyncio.wait_for(until_answered(seen), PATIENCE_S)
    assert answer.findtext("{jabber:client}body") == "Once upon"


async def test_while_a_table_is_written_its_whole_rows_are_shown(network: Network) -> None:
    model = EndingModel()
    assistant, ada = await network.assistant(model, config=QUICK), await modern(network)

    ada.send(jid_of(assistant), "what costs what?")
    model.says("So:\n\n| what | costs |\n|---|---|\n| tea | 2 |\n| cof")
    first = await next_message(ada)
    model.says("fee | 3 |", END)
    answer = await next_message(ada)

    table = ["So:", "", "```", "what  costs", "----  -----", "tea   2", "```"]
    assert said(first).split("\n") == table
    assert (said(answer).split("\n")[-2], replaced(answer)) == ("coffee  3", first["id"])


async def test_text_over_the_message_limit_follows_the_streaming_message(network: Network) -> None:
    model = EndingModel()
    assistant, ada = await network.assistant(model, config=QUICK), await modern(network)

    ada.send(jid_of(assistant), "a story")
    model.says("first " * 600)
    bubble = await next_message(ada)
    model.says("\n\n" + "second " * 500, END)
    pieces = [await next_message(ada)]
    while "second" not in said(pieces[-1]):
        pieces.append(await next_message(ada))

    assert said(pieces[-2]) == ("first " * 600).strip()
    assert replaced(pieces[-2]) == bubble["id"]
    assert (said(pieces[-1]), replaced(pieces[-1])) == (("second " * 500).strip(), "")


async def test_a_stopped_streaming_message_is_marked_as_stopped(
    network: Network,
) -> None:
    model = EndingModel()
    assistant, ada = await network.assistant(model, config=QUICK), await modern(network)
    ada.send(jid_of(assistant), "a story")
    model.says("Once")
    bubble = await next_message(ada)

    ada.send(jid_of(assistant), "/stop")

    ended, stopped = await next_message(ada), await next_message(ada)
    assert (said(ended), replaced(ended), is_partial(ended)) == (
        "Once\n\n(stopped)",
        bubble["id"],
        False,
    )
    assert (said(stopped), replaced(stopped)) == ("Stopped.", "")


async def test_an_output_guardrail_sees_all_before_anything_is_shown(network: Network) -> None:
    model = EndingModel()
    guard = KeywordGuardrail("names", ["voldemort"])
    config = AssistantConfig(manners=AT_ONCE, output_guardrails=(guard,))
    assistant, ada = await network.assistant(model, config=config), await modern(network)

    ada.send(jid_of(assistant), "who is it?")
    model.says("It is Voldemort", END)

    answer = await next_message(ada)
    assert "oldemort" not in said(answer)
    assert replaced(answer) == ""


async def test_a_question_about_a_tool_stands_below_what_was_said_and_the_answer_replaces_that(
    network: Network,
) -> None:
    model = EndingModel()
    sent: list[str] = []
    send = LLMTool(
        "send", "sends", {"type": "object"}, lambda: sent.append(""), needs_approval=True
    )
    config = AssistantConfig(manners=AT_ONCE, tools=(send,))
    assistant, ada = await network.assistant(model, config=config), await modern(network)

    ada.send(jid_of(assistant), "send it")
    model.says("I will.")
    bubble = await next_message(ada)
    model.says(calling("send"))
    question = await next_message(ada)
    ada.send(jid_of(assistant), "yes")
    runs = await next_message(ada)
    model.says("Done.", END)
    answer = await next_message(ada)
    while is_partial(answer):
        answer = await next_message(ada)

    assert ("May I run this tool?" in said(question), said(runs)) == (True, "Yes: send runs now.")
    assert not (is_partial(question) or replaced(question) or replaced(runs))
    assert (said(answer), replaced(answer)) == ("I will.\n\nDone.", bubble["id"])
    assert sent == [""]


async def test_client_features_of_contacts_are_known_in_advance(network: Network) -> None:
    assistant, ada = await network.assistant(), await modern(network)
    assert assistant.peer_features.known(ada.jid) is None

    await befriend(assistant, ada)

    assert assistant.peer_features.knows_to_follow(ada.jid)


async def befriend(assistant: LLMAgent, *clients: Client) -> None:
    """One person and the assistant show each other their presence; return once what these clients
    of theirs can do is known."""
    ada = clients[0]
    await ada.xmpp.get_roster()
    ada.xmpp.send_presence_subscription(pto=jid_of(assistant))
    await ada.presence("subscribe", jid_of(assistant))
    ada.xmpp.send_presence_subscription(pto=jid_of(assistant), ptype="subscribed")
    for client in clients:
        await until_asked(assistant, client)


async def until_asked(assistant: LLMAgent, client: Client, *, jid: str = "") -> None:
    """Return once it is known what the client at this full JID, or this client, can do."""

    async def is_known() -> bool:
        await client.ping()
        return assistant.peer_features.known(jid or client.jid) is not None

    await eventually(is_known)


async def test_a_client_that_follows_corrections_shows_each_corrected_answer_in_one_bubble(
    network: Network,
) -> None:
    assistant, ada = await network.assistant(), await modern(network)
    await befriend(assistant, ada)
    answers = []
    for number, corrects in enumerate(["", "m0", "m0"]):
        replace = f"<replace xmlns='{CORRECTION}' id='{corrects}'/>" if corrects else ""
        ada.send_raw(
            f"<message to='{jid_of(assistant)}' type='chat' id='m{number}'>"
            f"<body>{number}</body>{replace}</message>"
        )
        answers.append(await next_message(ada))

    assert [replaced(one) for one in answers] == ["", answers[0]["id"], answers[0]["id"]]


async def test_an_answer_that_is_there_at_once_is_one_message(network: Network) -> None:
    model = EndingModel()
    assistant, ada = await network.assistant(model), await modern(network)
    seen = watch(ada)

    ada.send(jid_of(assistant), "hello")
    model.says("Hello", ", Ada", END)

    (answer,) = await asyncio.wait_for(until_answered(seen), PATIENCE_S)
    assert answer.findtext("{jabber:client}body") == "Hello, Ada"


async def test_a_turn_that_is_taken_up_again_goes_on_in_the_bubble_that_there_is(
    network: Network,
) -> None:
    model = EndingModel()
    assistant, ada = await network.assistant(model, config=QUICK), await modern(network)
    ada.send(jid_of(assistant), "a story")
    model.says("Once")
    bubble = await next_message(ada)

    await assistant.node.dispatcher.close(patience_s=0)
    await assistant.stop()
    await network.assistant(model, config=AssistantConfig(), jid=jid_of(assistant))
    model.says("Once upon a time", END)

    answer = await next_message(ada)
    assert (said(answer), replaced(answer)) == ("Once upon a time", bubble["id"])
    assert ada.waiting() == []
