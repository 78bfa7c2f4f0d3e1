"""What we rely on in SPADE 4.1.4 and slixmpp 1.12: each test says which of our code can go, or
must change, when it fails. Needs no server."""

from __future__ import annotations

import asyncio
import inspect
import subprocess
import sys
from typing import TYPE_CHECKING
from xml.etree.ElementTree import fromstring

import pytest
from slixmpp import ClientXMPP
from slixmpp.stanza import Message as Stanza
from slixmpp.xmlstream import XMLStream, tostring
from spade.agent import Agent
from spade.behaviour import CyclicBehaviour
from spade.container import Container
from spade.message import Message as SpadeMessage
from spade.presence import PresenceManager

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

PLAIN = """<message xmlns='jabber:client' from='a@x/1' to='b@x' type='chat' id='s1'>
    <body>hello</body><thread>t1</thread><delay xmlns='urn:xmpp:delay' stamp='2026-01-01'/>
</message>"""


@pytest.fixture
def client() -> Iterator[ClientXMPP]:
    loop = asyncio.new_event_loop()
    asyncio.set_event_loop(loop)
    yield ClientXMPP("a@x", "unused")
    asyncio.set_event_loop(None)
    loop.close()


def outgoing(client: ClientXMPP, **more: object) -> Stanza:
    return SpadeMessage(to="b@x", body="hello", thread="t1", **more).prepare(client)


def parameters(function: Callable[..., object]) -> list[str]:
    return list(inspect.signature(function).parameters)


def test_spade_reads_neither_thread_nor_id_nor_delay() -> None:
    # xmpp/stanzas/message_codec.py reads the raw stanza for this reason.
    message = SpadeMessage.from_node(Stanza(xml=fromstring(PLAIN)))

    assert message.body == "hello"
    assert message.thread is None
    assert message.id == id(message)
    assert message._metadata == {}


def test_spade_writes_no_thread_of_its_own(client: ClientXMPP) -> None:
    assert "t1" not in str(outgoing(client))


def test_spade_writes_the_thread_into_its_form_only(client: ClientXMPP) -> None:
    # message_codec.py writes both, so that plain SPADE agents and other clients find it.
    xml = outgoing(client, metadata={"ontology": "o"}).xml

    assert xml.find("{jabber:client}thread") is None
    form = xml.find("{jabber:x:data}x")
    fields = {
        field.get("var"): field.findtext("{jabber:x:data}value")
        for field in form.findall("{jabber:x:data}field")
    }
    assert form.findtext("{jabber:x:data}title") == "spade:x:metadata"
    assert fields == {"ontology": "o", "_thread_node": "t1"}


def test_methods_that_xmpp_agent_overrides_exist_in_spades_agent() -> None:
    # xmpp/agent.py overrides or calls these private names.
    assert parameters(Agent.start) == ["self", "auto_register"]
    assert parameters(Agent._async_start) == ["self", "auto_register"]
    assert parameters(Agent._async_stop) == ["self"]
    assert parameters(Agent._async_connect) == ["self"]
    assert parameters(Agent._message_received) == ["self", "msg"]
    assert {"_alive", "_hook_plugin_before_connection", "_hook_plugin_after_connection"} <= set(
        Agent.__slots__
    )
    assert parameters(PresenceManager.__init__) == ["self", "agent", "approve_all"]


def test_spade_accepts_unverified_servers_and_registers_by_default() -> None:
    # xmpp/agent.py sets both.
    assert inspect.signature(Agent).parameters["verify_security"].default is False
    assert inspect.signature(Agent.start).parameters["auto_register"].default is True


def test_spades_container_delivers_inside_the_process() -> None:
    # xmpp/spade_adapters.py stands in for it; `_xmpp_send` is the way over the wire.
    assert ".dispatch(msg)" in inspect.getsource(Container.send)
    assert parameters(CyclicBehaviour._xmpp_send) == ["self", "msg"]
    assert parameters(Container.send) == ["self", "msg", "behaviour"]
    assert {"register", "unregister", "has_agent", "get_agent"} <= set(dir(Container))


@pytest.mark.thorough
def test_spade_changes_the_event_loop_policy_of_the_whole_process() -> None:
    # preserved_event_loop_policy in xmpp/spade_adapters.py puts it back.
    code = (
        "import asyncio; before = type(asyncio.get_event_loop_policy())\n"
        "from spade.container import Container; Container()\n"
        "print(before is type(asyncio.get_event_loop_policy()))"
    )

    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", code],
        capture_output=True,
        check=True,
        text=True,
        timeout=60,
    )

    assert done.stdout.strip() == "False"


def test_slixmpp_accepts_subscriptions_from_anyone(client: ClientXMPP) -> None:
    # XmppClient in xmpp_client.py sets both to None.
    assert client.roster.auto_authorize is True
    assert client.roster.auto_subscribe is True


def test_slixmpp_reads_messages_with_handlers_of_these_names(client: ClientXMPP) -> None:
    # XmppClient in xmpp_client.py removes them; our inbox reads every <message/> itself.
    assert client.remove_handler("IM")
    assert client.remove_handler("IMError")


def test_the_parts_of_slixmpps_stream_that_we_touch_are_there(client: ClientXMPP) -> None:
    assert parameters(XMLStream.send_raw) == ["self", "data"]
    assert parameters(XMLStream._spawn_event) == ["self", "xml"]
    assert parameters(XMLStream.incoming_filter) == ["self", "xml"]
    assert client._run_out_filters is None
    assert {"enable_direct_tls", "add_event_handler", "register_handler", "abort"} <= set(
        dir(client)
    )


def test_slixmpp_escapes_even_quotes_in_text() -> None:
    # Twice the bytes for JSON: xmpp/stanzas/message_codec.py writes its own text.
    body = fromstring("""<body xmlns='jabber:client'>{"a":"b"}</body>""")

    assert tostring(body, xmlns="jabber:client") == ("<body>{&quot;a&quot;:&quot;b&quot;}</body>")


LATE_SERVER = """
import sys
import spade_llm.xmpp.agent
assert not [name for name in sys.modules if name.startswith("pyjabber")], "imported too early"
import spade.container
parameters = spade.container.Parameters(host="localhost", database_in_memory=True)
assert type(parameters).__module__ == "pyjabber.server_parameters", type(parameters)
assert type(spade.container.Server(parameters)).__module__ == "pyjabber.server"
"""


@pytest.mark.thorough
def test_spades_own_server_is_imported_when_a_program_starts_it_and_not_before() -> None:
    subprocess.run([sys.executable, "-c", LATE_SERVER], check=True, timeout=60)
