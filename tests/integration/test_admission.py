"""Who may talk to an assistant, on a real server."""

from __future__ import annotations

import asyncio
import logging
import time
from typing import TYPE_CHECKING

import pytest
from slixmpp.xmlstream.handler import Callback
from slixmpp.xmlstream.matcher import MatchXPath

from spade_llm.agents import AssistantConfig, Services
from spade_llm.assistant.chat.client import ChatClient
from spade_llm.assistant.middleware.quota import GroupQuotas, PeerQuota
from spade_llm.core.errors import RequestRefused
from spade_llm.core.limits import Rate
from spade_llm.providers.scripted import ScriptedProvider
from spade_llm.xmpp.admission_control import STRANGER, TOO_FAST, WELCOME, AdmissionPolicy
from spade_llm.xmpp.invitations import Invitations
from tests.integration.network import WAIT_S, answer_to, jid_of

if TYPE_CHECKING:
    from tests.integration.network import Network

CLOSED = AdmissionPolicy(allow=("nobody@localhost",))


async def test_a_stranger_comes_in_with_an_invitation_and_is_a_guest(network: Network) -> None:
    crowd = GroupQuotas(guest=PeerQuota(turns=1))
    model = ScriptedProvider.echo()
    config = AssistantConfig(crowd_limits=crowd)
    assistant = await network.assistant(model, admission=CLOSED, config=config)
    file = next(network.directory.glob("*/admission-*.db"))
    async with Invitations(file) as invitations:
        code = await invitations.make(uses=1, lasts_s=60.0)
    eve, ada = await network.person("eve"), await network.person("ada")

    assert await answer_to(eve, assistant, "hello") == STRANGER
    eve.send(jid_of(assistant), "are you there?")
    assert await answer_to(eve, assistant, f"/join {code}") == WELCOME
    assert await answer_to(eve, assistant, "hello") == "hello"
    assert "share of today" in await answer_to(eve, assistant, "more")
    assert await answer_to(ada, assistant, f"/join {code}") != WELCOME
    assert [one.messages[-1]["content"] for one in model.requests] == ["hello"]


async def test_a_program_that_is_not_let_in_is_told_so_at_once(network: Network) -> None:
    assistant = await network.assistant(admission=CLOSED)
    program = await network.program()

    with pytest.raises(RequestRefused) as refusal:
        await ChatClient(program.node.requester, jid_of(assistant)).say("hello")

    assert refusal.value.wire_code == "unauthorised"


async def test_services_that_an_assistant_asks_may_answer_it(network: Network) -> None:
    memory = await network.memory()
    person = await network.person("ada")
    only_her = AdmissionPolicy(allow=(person.bare,))
    services = Services(memory=jid_of(memory))
    assistant = await network.assistant(services=services, admission=only_her)

    assert "nothing" in (await answer_to(person, assistant, "/memories")).lower()


async def test_excess_messages_are_refused_and_others_are_answered(
    network: Network,
) -> None:
    limits = AdmissionPolicy(talk=Rate(per_s=0.01, burst=3))
    model = ScriptedProvider.echo()
    assistant = await network.assistant(model, admission=limits)
    eve, ada = await network.person("eve"), await network.person("ada")

    for number in range(500):
        eve.send_raw(
            f"<message type='chat' to='{jid_of(assistant)}' id='f{number}'>"
            f"<body>flood {number}</body></message>"
        )
    heard = [str((await eve.received())["body"]) for _ in range(3)]
    refused = [await eve.error() for _ in range(200)]

    assert sorted(heard) == ["flood 0", "flood 1", "flood 2"]
    assert [one["id"] for one in refused] == [f"f{number}" for number in range(3, 203)]
    assert {one["error"]["condition"] for one in refused} == {"resource-constraint"}
    assert {one["error"]["type"] for one in refused} == {"wait"}
    assert {one["error"]["text"] for one in refused} == {TOO_FAST}
    assert await answer_to(ada, assistant, "hello") == "hello"
    await eve.ping()
    assert eve.waiting() == []
    assert len(model.requests) == 4


async def test_a_client_that_waits_for_each_answer_is_paced_and_not_refused(
    network: Network,
) -> None:
    limits = AdmissionPolicy(talk=Rate(per_s=20.0, burst=2))
    assistant = await network.assistant(admission=limits)
    ada = await network.person("ada")
    began = time.monotonic()

    for number in range(8):
        assert await answer_to(ada, assistant, f"question {number}") == f"question {number}"

    assert time.monotonic() - began >= 6 / 20
    assert ada.errors.empty()


async def test_a_paced_message_is_answered_after_a_restart(network: Network) -> None:
    model, jid = ScriptedProvider.echo(), await network.account("assistant")
    slow = AdmissionPolicy(talk=Rate(per_s=0.2, burst=1))
    assistant = await network.assistant(model, jid=jid, admission=slow)
    ada = await network.person("ada")
    assert await answer_to(ada, assistant, "first") == "first"

    ada.send(jid, "second")
    async with asyncio.timeout(WAIT_S):
        while not assistant.node.dispatcher.load.queued:
            assistant.node.dispatcher.load_changed.clear()
            await assistant.node.dispatcher.load_changed.wait()
        await assistant.node.dispatcher.written_down()
    await assistant.stop()
    await network.assistant(model, jid=jid)

    assert str((await ada.received())["body"]) == "second"
    assert len(model.requests) == 2


SIGNALS = {
    "version": "<iq type='get' to='{to}' id='{id}'><query xmlns='jabber:iq:version'/></iq>",
    "presence": "<presence to='{to}' id='{id}'/>",
    "subscription": "<presence to='{to}' id='{id}' type='subscribe'/>",
}


@pytest.mark.parametrize("kind", SIGNALS)
async def test_signals_beyond_the_rate_are_not_worked_for_and_others_are(
    kind: str, network: Network
) -> None:
    limits = AdmissionPolicy(signals=Rate(per_s=0.001, burst=5))
    assistant = await network.assistant(admission=limits)
    eve, ada = await network.person("eve"), await network.person("ada")
    taken = 0

    def count(_stanza: object) -> None:
        nonlocal taken
        taken += 1

    seen = MatchXPath("{jabber:client}iq/{jabber:iq:version}query")
    assistant.client.register_handler(Callback("versions", seen, count))
    assistant.client.add_event_handler("presence", count)
    for number in range(300):
        eve.send_raw(SIGNALS[kind].format(to=assistant.address, id=f"s{number}"))
    await eve.ping()
    # What it said before is read by then.
    assert await answer_to(eve, assistant, "hello") == "hello"

    assert 0 < taken <= 5
    answer = ada.expect_iq("v1")
    ada.send_raw(SIGNALS["version"].format(to=assistant.address, id="v1"))
    assert (await answer)["type"] == "result"


async def test_an_iq_that_is_too_fast_gets_an_error_and_answers_to_us_are_not_counted(
    network: Network,
) -> None:
    limits = AdmissionPolicy(signals=Rate(per_s=0.001, burst=1))
    assistant = await network.assistant(admission=limits)
    ada = await network.person("ada")
    for number, expected in enumerate(["result", "error", "error"]):
        answer = ada.expect_iq(f"v{number}")
        ada.send_raw(SIGNALS["version"].format(to=assistant.address, id=f"v{number}"))
        assert (await answer)["type"] == expected

    for _ in range(3):
        assert "urn:xmpp:ping" in (await assistant.discover(ada.jid)).features


FROM_OUR_SERVER_ONLY = {
    "push": "<iq type='set' to='{to}' id='q1'><query xmlns='jabber:iq:roster'>"
    "<item jid='{own}' subscription='both'/></query></iq>",
    "empty": "<iq type='set' to='{to}' id='q1'><query xmlns='jabber:iq:roster'/></iq>",
    "odd": "<iq type='set' to='{to}' id='q1'><query xmlns='jabber:iq:roster'>"
    "<item jid='@@/' subscription='odd'/></query></iq>",
    "info": "<iq type='set' to='{to}' id='q1'>"
    "<query xmlns='http://jabber.org/protocol/disco#info'/></iq>",
    "items": "<iq type='set' to='{to}' id='q1'>"
    "<query xmlns='http://jabber.org/protocol/disco#items'/></iq>",
}


@pytest.mark.parametrize("kind", FROM_OUR_SERVER_ONLY)
async def test_a_stranger_s_roster_push_is_refused_and_changes_nothing(
    kind: str, network: Network, caplog: pytest.LogCaptureFixture
) -> None:
    assistant = await network.assistant()
    eve = await network.person("eve")
    pushes: list[object] = []
    assistant.client.add_event_handler("roster_update", pushes.append)

    answer = eve.expect_iq("q1")
    stanza = FROM_OUR_SERVER_ONLY[kind].format(to=assistant.address, own=eve.bare)
    eve.send_raw(stanza.replace("type='set'", "type='result'"))
    eve.send_raw(stanza)

    told = await answer
    assert (told["type"], told["error"]["condition"]) == ("error", "service-unavailable")
    assert pushes == []
    assert not assistant.is_subscribed_to(eve.bare)
    assert eve.bare not in assistant.presence.contacts
    assert [one.getMessage() for one in caplog.records if one.levelno >= logging.WARNING] == []
