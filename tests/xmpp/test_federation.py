"""Which servers a federated Prosody lets in and reaches, looked at from outside."""

from __future__ import annotations

import asyncio
import ssl
from typing import TYPE_CHECKING

import pytest

from spade_llm.core.errors import ConfigurationError
from spade_llm.xmpp.servers.certificates import Certificates, local_certificates
from spade_llm.xmpp.servers.prosody import ProsodyServer
from spade_llm.xmpp.servers.prosody_config import Federation, PeerServer
from tests.integration.federated import ONE, TWO, Member, federated_servers
from tests.xmpp.client import WAIT_S, Client

if TYPE_CHECKING:
    from pathlib import Path

HEADER = (
    "<stream:stream xmlns='jabber:server' xmlns:stream='http://etherx.jabber.org/streams'"
    " from='{claimed}' to='{there}' version='1.0'>"
)
EXTERNAL = "<auth xmlns='urn:ietf:params:xml:ns:xmpp-sasl' mechanism='EXTERNAL'>=</auth>"


async def said_to(member: Member, claimed: str, shown: Certificates) -> bytes:
    """All that it says to a server of this name with this certificate that wants to be let in."""
    reader, writer = await asyncio.open_connection("127.0.0.1", member.port)
    header = HEADER.format(claimed=claimed, there=TWO).encode()
    writer.write(header)
    await reader.readuntil(b"features>")
    writer.write(b"<starttls xmlns='urn:ietf:params:xml:ns:xmpp-tls'/>")
    await reader.readuntil(b"<proceed xmlns='urn:ietf:params:xml:ns:xmpp-tls'/>")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    context.load_cert_chain(shown.cert_path, shown.key_path)
    await writer.start_tls(context)
    writer.write(header + EXTERNAL.encode() + b"</stream:stream>")
    said = await asyncio.wait_for(reader.read(), WAIT_S)
    writer.close()
    return said


@pytest.mark.server
async def test_only_the_named_servers_with_their_certificates_are_let_in(tmp_path: Path) -> None:
    async with federated_servers(tmp_path) as members:
        known = local_certificates(tmp_path / ONE / "certificates", ONE)
        forged = local_certificates(tmp_path / "forger", ONE)

        assert b"<success" in await said_to(members[TWO], ONE, known)
        assert b"<success" not in await said_to(members[TWO], ONE, forged)
        assert b"<success" not in await said_to(members[TWO], "three.test", known)


@pytest.mark.server
async def test_a_person_reaches_the_other_server_with_a_stamped_name_and_no_third_one(
    tmp_path: Path,
) -> None:
    async with federated_servers(tmp_path) as members:
        clients = {}
        for domain, member in members.items():
            jid, password = await member.provisioner.account("ada")
            clients[domain] = Client(jid, password)
            await clients[domain].log_in(member.provisioner.endpoint)
        one, two = clients[ONE], clients[TWO]

        one.send(two.bare, "hello")
        got = await two.received()
        one.send("ada@three.test", "hello?")
        returned = await one.error()
        for client in clients.values():
            await client.close()

    assert (str(got["from"]), got["body"]) == (one.jid, "hello")
    assert returned["error"]["condition"] == "remote-server-not-found"


@pytest.mark.server
async def test_a_ca_of_another_server_that_is_missing_is_named(tmp_path: Path) -> None:
    lost = PeerServer(host="127.0.0.1", port=5269, ca_path=tmp_path / "lost.pem")
    federation = Federation(port=5269, peers={TWO: lost})

    with pytest.raises(ConfigurationError, match=r"lost\.pem"):
        await ProsodyServer(tmp_path / "server", domain=ONE, federation=federation).start()
