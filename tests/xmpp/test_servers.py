"""What both servers promise: the same tests on Prosody and on the embedded one."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from slixmpp.exceptions import IqError

from spade_llm.core.errors import ConfigurationError
from spade_llm.xmpp.servers.certificates import local_certificates
from spade_llm.xmpp.servers.managed_server import STANZA_LIMIT_BYTES, Endpoint
from tests.xmpp.client import WAIT_S, Client

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from pathlib import Path

    from tests.conftest import Provisioner

    Login = Callable[..., Awaitable[Client]]


async def test_an_account_logs_in_over_verified_tls(xmpp: Provisioner, login: Login) -> None:
    client = await login(xmpp, "alice", resource="desk")

    assert client.jid.endswith("@localhost/desk")
    assert client.xmpp.transport.get_extra_info("ssl_object") is not None


async def test_a_client_that_trusts_another_ca_does_not_log_in(
    xmpp: Provisioner, tmp_path: Path
) -> None:
    jid, password = await xmpp.account("alice")
    stranger = local_certificates(tmp_path, "localhost").ca_path
    endpoint = Endpoint(
        host=xmpp.endpoint.host, port=xmpp.endpoint.port, domain="localhost", ca_path=stranger
    )
    client = Client(jid, password)

    outcome = await client.attempt(endpoint)

    await client.close()
    assert outcome in ("bad certificate", "disconnected")


async def test_a_wrong_password_is_refused(xmpp: Provisioner) -> None:
    jid, _ = await xmpp.account("alice")
    client = Client(jid, "wrong")

    outcome = await client.attempt(xmpp.endpoint)

    await client.close()
    assert outcome == "failed_auth"


async def test_an_unknown_account_is_refused(xmpp: Provisioner) -> None:
    client = Client("nobody@localhost", "wrong")

    outcome = await client.attempt(xmpp.endpoint)

    await client.close()
    assert outcome == "failed_auth"


async def test_making_an_account_again_sets_its_password(xmpp: Provisioner) -> None:
    jid, _ = await xmpp.account("alice")

    await xmpp.server.create_account(jid, "nueva contraseña")

    client = Client(jid, "nueva contraseña")
    outcome = await client.attempt(xmpp.endpoint)
    await client.close()
    assert outcome == "session"


@pytest.mark.parametrize(
    ("jid", "password"),
    [
        ("alice@elsewhere.example", "x"),
        ("@localhost", "x"),
        ("a b@localhost", "x"),
        ("alice@localhost", ""),
        ("alice@localhost", "two\nlines"),
    ],
)
async def test_an_impossible_account_is_refused_before_the_server_sees_it(
    xmpp: Provisioner, jid: str, password: str
) -> None:
    with pytest.raises(ConfigurationError):
        await xmpp.server.create_account(jid, password)


async def test_a_client_cannot_make_accounts(xmpp: Provisioner, login: Login) -> None:
    client = await login(xmpp, "alice")
    client.xmpp.register_plugin("xep_0077")

    with pytest.raises(IqError):
        await client.xmpp["xep_0077"].get_registration(jid="localhost", timeout=WAIT_S)


async def test_a_message_arrives_unchanged_with_its_thread_and_id(
    xmpp: Provisioner, login: Login
) -> None:
    alice, bob = await login(xmpp, "alice"), await login(xmpp, "bob")

    alice.send_raw(
        f"<message to='{bob.bare}' type='chat' id='m1'><body>5 &lt; 6 &amp; “ñ” 🎈</body>"
        "<thread>t1</thread><data xmlns='urn:example' xml:lang='es'><b/> tail</data></message>"
    )

    message = await bob.received()
    assert (message["id"], message["thread"], message["body"]) == ("m1", "t1", "5 < 6 & “ñ” 🎈")
    payload = message.xml.find("{urn:example}data")
    assert payload.get("{http://www.w3.org/XML/1998/namespace}lang") == "es"
    assert payload[0].tail == " tail"


async def test_the_server_stamps_the_sender_of_a_message(xmpp: Provisioner, login: Login) -> None:
    mallory, bob = await login(xmpp, "mallory"), await login(xmpp, "bob")

    mallory.send_raw(
        f"<message from='admin@localhost/x' to='{bob.jid}' type='chat'><body>hi</body></message>"
    )

    assert str((await bob.received())["from"]) == mallory.jid


async def test_messages_of_one_client_arrive_in_order(xmpp: Provisioner, login: Login) -> None:
    alice, bob = await login(xmpp, "alice"), await login(xmpp, "bob")

    for number in range(200):
        alice.send(bob.jid, str(number))

    assert [(await bob.received())["body"] for _ in range(200)] == [str(n) for n in range(200)]


async def test_a_message_to_an_unknown_domain_comes_back_and_the_server_lives(
    xmpp: Provisioner, login: Login
) -> None:
    alice, bob = await login(xmpp, "alice"), await login(xmpp, "bob")

    alice.send("someone@elsewhere.example", "hi")

    assert str((await alice.error())["from"]) == "someone@elsewhere.example"
    alice.send(bob.jid, "still here")
    assert (await bob.received())["body"] == "still here"


async def test_a_message_to_an_unknown_account_comes_back(xmpp: Provisioner, login: Login) -> None:
    alice = await login(xmpp, "alice")

    alice.send("nobody@localhost", "hi")

    assert (await alice.error())["error"]["condition"] == "service-unavailable"


async def test_discovery_of_the_server_is_answered(xmpp: Provisioner, login: Login) -> None:
    client = await login(xmpp, "alice")
    disco = client.xmpp["xep_0030"]

    items = await disco.get_items(jid="localhost", timeout=WAIT_S)
    info = await disco.get_info(jid="localhost", timeout=WAIT_S)

    assert items["type"] == "result"
    assert ("server", "im") in {identity[:2] for identity in info["disco_info"]["identities"]}


@pytest.mark.parametrize("to", ["", "to='localhost'", "to='nobody@localhost/x'", "to='a@b.c'"])
async def test_an_unknown_request_gets_an_error(xmpp: Provisioner, login: Login, to: str) -> None:
    client = await login(xmpp, "alice")
    answers = client.expect_iq("q1")

    client.send_raw(f"<iq type='get' id='q1' {to}><query xmlns='urn:example:unknown'/></iq>")

    assert (await answers)["type"] == "error"
    await client.ping()


async def test_clients_can_ask_each_other(xmpp: Provisioner, login: Login) -> None:
    alice, bob = await login(xmpp, "alice"), await login(xmpp, "bob")

    await alice.xmpp["xep_0199"].send_ping(bob.jid, timeout=WAIT_S)


async def test_offline_messages_are_delivered_in_order_with_their_time(
    xmpp: Provisioner, login: Login
) -> None:
    alice, bob = await login(xmpp, "alice"), await login(xmpp, "bob", is_available=False)
    for number in range(3):
        alice.send(bob.bare, str(number))
    await alice.ping()

    await bob.become_available()

    messages = [await bob.received() for _ in range(3)]
    assert [message["body"] for message in messages] == ["0", "1", "2"]
    assert all(message["delay"]["stamp"] for message in messages)
    assert str(messages[0]["from"]) == alice.jid


async def test_a_message_to_a_resource_that_has_gone_waits_for_the_account(
    xmpp: Provisioner, login: Login
) -> None:
    alice, bob = await login(xmpp, "alice"), await login(xmpp, "bob", is_available=False)

    alice.send(f"{bob.bare}/yesterday", "hi")
    await alice.ping()
    await bob.become_available()

    assert (await bob.received())["body"] == "hi"


async def test_a_second_login_with_the_same_full_jid_replaces_the_first(
    xmpp: Provisioner, login: Login
) -> None:
    alice, bob = await login(xmpp, "alice"), await login(xmpp, "bob", resource="one")

    newer = Client(bob.jid, bob.xmpp.password)
    await newer.log_in(xmpp.endpoint)

    await bob.dropped()
    assert (await bob.stream_errors.get())["condition"] == "conflict"
    alice.send(newer.jid, "hi")
    assert (await newer.received())["body"] == "hi"
    await newer.close()


async def test_malformed_xml_ends_that_stream_only(xmpp: Provisioner, login: Login) -> None:
    mallory, alice = await login(xmpp, "mallory"), await login(xmpp, "alice")

    mallory.send_raw("<message><body></message>")

    await mallory.dropped()
    await alice.ping()


async def test_a_stanza_above_the_limit_ends_that_stream_only(
    xmpp: Provisioner, login: Login
) -> None:
    mallory, bob = await login(xmpp, "mallory"), await login(xmpp, "bob")

    mallory.send(bob.jid, "x" * (STANZA_LIMIT_BYTES + 100_000))

    await mallory.dropped()
    await bob.ping()
    assert bob.messages.empty()


async def test_a_stanza_just_below_the_limit_arrives(xmpp: Provisioner, login: Login) -> None:
    alice, bob = await login(xmpp, "alice"), await login(xmpp, "bob")
    body = "x" * (STANZA_LIMIT_BYTES - 10_000)

    alice.send(bob.jid, body)

    assert (await bob.received())["body"] == body


async def test_presence_is_visible_to_granted_subscribers(xmpp: Provisioner, login: Login) -> None:
    alice, bob = await login(xmpp, "alice"), await login(xmpp, "bob")
    await alice.xmpp.get_roster(timeout=WAIT_S)

    alice.xmpp.send_presence_subscription(pto=bob.bare)
    await bob.presence("subscribe", alice.bare)
    bob.xmpp.send_presence_subscription(pto=alice.bare, ptype="subscribed")

    await alice.presence("subscribed", bob.bare)
    await alice.presence("available", bob.jid)
    assert alice.xmpp.client_roster[bob.bare]["to"]
    await bob.close()
    await alice.presence("unavailable", bob.jid)


async def test_a_subscription_request_is_queued_for_an_offline_user(
    xmpp: Provisioner, login: Login
) -> None:
    alice, bob = await login(xmpp, "alice"), await login(xmpp, "bob", is_available=False)

    alice.xmpp.send_presence_subscription(pto=bob.bare)
    await alice.ping()
    await bob.become_available()

    await bob.presence("subscribe", alice.bare)
