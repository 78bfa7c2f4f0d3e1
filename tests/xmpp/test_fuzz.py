"""What is read of odd stanzas and odd streams, without a network."""

from __future__ import annotations

from random import Random
from xml.etree.ElementTree import fromstring

from hypothesis import given
from hypothesis import strategies as st

from spade_llm.core.errors import MalformedContent
from spade_llm.messaging import AclMessage
from spade_llm.messaging.transport import Bounce
from spade_llm.xmpp.admission_control import AdmissionControl, AdmissionPolicy
from spade_llm.xmpp.connection.settings import ConnectionSettings
from spade_llm.xmpp.connection.xmpp_client import PrologueCheck, XmppClient
from spade_llm.xmpp.invitations import Invitations
from spade_llm.xmpp.stanza_router import not_understood_reply
from spade_llm.xmpp.stanzas.message_codec import decode, encode
from tests.xmpp.random_stanzas import random_stanza

HEADER = (
    "<stream:stream xmlns='jabber:client' xmlns:stream='http://etherx.jabber.org/streams'"
    " from='localhost' version='1.0'>"
)
ENTITIES = "".join(f'<!ENTITY l{n} "{f"&l{n - 1};" * 10}">' for n in range(1, 12))
BOMB = f'<?xml version="1.0"?><!DOCTYPE b [<!ENTITY l0 "lol">{ENTITIES}]>'


@given(st.integers(0, 2**32))
def test_any_stanza_is_a_message_a_bounce_or_refused(seed: int) -> None:
    xml = fromstring(random_stanza(Random(seed), sender="eve@x/y", receiver="bot@x"))
    xml.tag = "{jabber:client}message"
    try:
        read = decode(xml)
    except MalformedContent as error:
        told = not_understood_reply(xml, error)
        assert told is None or told.receiver == "eve@x/y"
    else:
        assert read is None or isinstance(read, AclMessage | Bounce)
        if isinstance(read, AclMessage):
            fromstring(encode(read.reply(read.performative, read.content)))


@given(st.integers(0, 2**32))
async def test_a_door_answers_odd_stanzas_by_whole_ones(seed: int) -> None:
    sent: list[str] = []
    admission = AdmissionPolicy(allow=("friend@x",))
    async with Invitations(None) as invitations:
        control = AdmissionControl(admission, invitations, own_domain="x", send=sent.append)
        for number in range(3):
            xml = random_stanza(Random(seed + number), sender="eve@x/y", receiver="bot@x")
            element = fromstring(xml)
            element.tag = "{jabber:client}message"
            assert not control.is_rate_limited(element)
            control.block_stranger(element)

    for answer in sent:
        assert fromstring(answer).get("to") == "eve@x/y"


@given(st.lists(st.integers(1, 40), max_size=60))
def test_a_document_type_ends_the_stream_however_it_is_cut(cuts: list[int]) -> None:
    prologue, rest, pieces = PrologueCheck(), BOMB.encode(), list[bytes]()
    for cut in cuts:
        pieces.append(rest[:cut])
        rest = rest[cut:]

    assert any([prologue.is_forbidden(piece) for piece in [*pieces, rest] if piece])


class HungUp(XmppClient):
    times = 0

    def abort(self) -> None:
        self.times += 1


async def test_a_bomb_of_our_own_server_costs_it_the_stream_and_us_nothing() -> None:
    client = HungUp("bot@localhost/x", "secret", ConnectionSettings(), lambda _: None)
    client.init_parser()

    client.data_received(f"{BOMB}{HEADER}<message><body>&l11;</body></message>".encode())

    assert client.times == 1
    assert client.xml_root is None


async def test_elements_within_elements_sixty_thousand_deep_are_read() -> None:
    client = XmppClient("bot@localhost/x", "secret", ConnectionSettings(), lambda _: None)
    client.init_parser()
    client.data_received(HEADER.encode())

    client.data_received(f"<message>{'<a>' * 20_000}{'</a>' * 20_000}</message>".encode())

    assert client.xml_depth == 1
