"""Who may talk to an assistant, on a real server."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from spade_llm.agent import Conduct, Services
from spade_llm.conversation.peer_limits import CrowdLimits, PeerLimits
from spade_llm.errors import RequestRefused
from spade_llm.providers.scripted import ScriptedProvider
from spade_llm.services.chat import ChatClient
from spade_llm.xmpp.admission import Admission
from spade_llm.xmpp.door_texts import STRANGER, TOO_FAST, WELCOME
from spade_llm.xmpp.invitations import Invitations
from spade_llm.xmpp.token_bucket import Rate
from tests.interaction.network import answer_to, jid_of

if TYPE_CHECKING:
    from tests.interaction.network import Network

CLOSED = Admission(allow=("nobody@localhost",))


async def test_a_stranger_comes_in_with_an_invitation_and_is_a_guest(network: Network) -> None:
    crowd = CrowdLimits(guest=PeerLimits(turns=1))
    model = ScriptedProvider.echo()
    conduct = Conduct(crowd_limits=crowd)
    assistant = await network.assistant(model, admission=CLOSED, conduct=conduct)
    file = next(network.directory.glob("*/admission-*.db"))
    with Invitations(file) as invitations:
        code = invitations.make(uses=1, lasts_s=60.0)
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
    only_her = Admission(allow=(person.bare,))
    services = Services(memory=jid_of(memory))
    assistant = await network.assistant(services=services, admission=only_her)

    assert "nothing" in (await answer_to(person, assistant, "/memories")).lower()


async def test_a_flood_is_refused_once_and_others_are_answered(network: Network) -> None:
    limits = Admission(talk=Rate(per_s=0.01, burst=3))
    model = ScriptedProvider.echo()
    assistant = await network.assistant(model, admission=limits)
    eve, ada = await network.person("eve"), await network.person("ada")

    for number in range(500):
        eve.send(jid_of(assistant), f"flood {number}")
    heard = [str((await eve.received())["body"]) for _ in range(4)]

    assert sorted(heard) == sorted(["flood 0", "flood 1", "flood 2", TOO_FAST])
    assert await answer_to(ada, assistant, "hello") == "hello"
    await eve.ping()
    assert eve.waiting() == []
    assert len(model.requests) == 4
