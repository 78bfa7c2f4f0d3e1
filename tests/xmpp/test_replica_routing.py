"""Messages that another replica answers are held by what their stanzas show, undecoded."""

from __future__ import annotations

from dataclasses import replace
from xml.etree import ElementTree as ET

import pytest

from spade_llm.agents import ToolAgent
from spade_llm.core.database import DatabaseUrl
from spade_llm.messaging import AclMessage
from spade_llm.messaging.answer_log import request_key
from spade_llm.xmpp.agent import AgentOptions
from spade_llm.xmpp.stanzas import message_codec

AGENT, PERSON = "tools@home", "ann@home"
BODY = '{"op":"call","context":{"on_behalf_of":"bob@home"}}'


def replica() -> ToolAgent:
    """A replica that has not joined: all messages are those of others."""
    database = DatabaseUrl("postgresql://user:word@127.0.0.1:1/none")
    options = AgentOptions(database=database, is_replica=True, gateways=("gateway@home",))
    return ToolAgent(AGENT, "word", options=options)


def stanza(sender: str, acl: str = "", *, thread: str = "") -> ET.Element:
    return ET.fromstring(
        f"<message xmlns='jabber:client' type='chat' from='{sender}' to='{AGENT}' id='7'>"
        f"<body>{BODY}</body><thread>{thread}</thread>{acl}</message>"
    )


def acl(more: str = "") -> str:
    return (
        f"<acl xmlns='{message_codec.ACL_NAMESPACE}' performative='request'"
        f" ontology='spade-llm.tools/1' {more}/>"
    )


@pytest.mark.parametrize(
    ("message", "key"),
    [
        (stanza(f"{PERSON}/phone"), PERSON),
        (stanza(f"{PERSON}/program", acl()), f"{PERSON}\0bob@home"),
        (stanza(f"{PERSON}/program", acl("reply-with='8'")), f"{PERSON}\0bob@home"),
        (stanza(f"{PERSON}/program", acl(), thread="talk"), PERSON),
        (stanza(f"{PERSON}/program", acl("conversation-id='talk'")), PERSON),
        (stanza("gateway@home/1", acl("principal='Ann@home'")), f"{PERSON}\0bob@home"),
        (stanza(f"{PERSON}/program", acl("principal='eve@home'")), f"{PERSON}\0bob@home"),
    ],
)
async def test_a_held_message_has_the_key_of_its_owner_and_of_the_answer_log(
    message: ET.Element, key: str
) -> None:
    agent = replica()
    assert agent.replicas is not None

    is_held = agent.replicas.is_held(message)

    (held,) = agent.replicas.members._held.values()
    request = message_codec.decode(message)
    assert isinstance(request, AclMessage)
    if request.acts_for and PERSON not in request.sender:
        request = replace(request, principal=PERSON)
    assert (is_held, held.key) == (True, key)
    assert held.request == request_key(request)[:2]


async def test_a_message_of_another_replica_is_not_decoded() -> None:
    agent = replica()
    assert agent.replicas is not None
    unreadable = stanza(f"{PERSON}/program", acl("reply-by='soon'"))

    agent.replicas.is_held(unreadable)

    (held,) = agent.replicas.members._held.values()
    assert held.key == f"{PERSON}\0bob@home"


@pytest.mark.parametrize("name", ["received", "performative"])
async def test_what_only_this_replica_received_or_knows_is_not_held(name: str) -> None:
    agent = replica()
    assert agent.replicas is not None
    if name == "received":
        message = stanza(f"{PERSON}/phone")
        message.append(ET.Element("{urn:xmpp:delay}delay"))
    else:
        message = stanza(f"{PERSON}/program", acl().replace("'request'", "'cancel'"))

    assert not agent.replicas.is_held(message)
    assert not agent.replicas.members.held
