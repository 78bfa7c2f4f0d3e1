"""What an agent does when it cannot connect, or is thrown out."""

from __future__ import annotations

import asyncio
import contextlib
import ssl
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from spade_llm.agents import AgentOptions, ChatAgent, ConnectionSettings
from spade_llm.core.errors import (
    AuthenticationRejected,
    CertificateRejected,
    ConfigurationError,
    RequestNotUnderstood,
    ServerUnreachable,
)
from spade_llm.messaging import OutgoingRequest
from spade_llm.xmpp.servers.certificates import local_certificates
from tests.integration.network import PATIENCE_S, WAIT_S, answer_to, jid_of
from tests.xmpp.client import Client

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path
    from xml.etree.ElementTree import Element

    from spade_llm.xmpp.servers.certificates import Certificates
    from tests.integration.network import Network

FEATURES = (
    b"<stream:stream xmlns='jabber:client' xmlns:stream='http://etherx.jabber.org/streams'"
    b" id='1' version='1.0'><stream:features>"
    b"<starttls xmlns='urn:ietf:params:xml:ns:xmpp-tls'><required/></starttls></stream:features>"
)
MOVED = (
    b"<stream:stream xmlns='jabber:client' xmlns:stream='http://etherx.jabber.org/streams'"
    b" id='1' version='1.0'><stream:error>"
    b"<see-other-host xmlns='urn:ietf:params:xml:ns:xmpp-streams'>127.0.0.1:%d</see-other-host>"
    b"</stream:error></stream:stream>"
)
DEADLINE_S = 3.0
SLACK_S = 2.5
"""Hanging up takes up to 2 s more."""


async def failure(jid: str, password: str, connection: ConnectionSettings) -> ConfigurationError:
    """Why the agent does not start; it must say so within its deadline."""
    connection = replace(connection, start_timeout_s=DEADLINE_S)
    agent = ChatAgent(jid, password, options=AgentOptions(connection=connection))
    async with asyncio.timeout(DEADLINE_S + SLACK_S):
        with pytest.raises(ConfigurationError) as caught:
            await agent.start()
    assert not agent.is_alive()
    return caught.value


@asynccontextmanager
async def silent_host() -> AsyncIterator[int]:
    """A port that accepts connections and never says a word."""
    open_ones: list[asyncio.StreamWriter] = []
    server = await asyncio.start_server(lambda _, writer: open_ones.append(writer), "127.0.0.1", 0)
    try:
        yield server.sockets[0].getsockname()[1]
    finally:
        server.close()
        for writer in open_ones:
            writer.close()
        await server.wait_closed()


@asynccontextmanager
async def starttls_host(certificates: Certificates) -> AsyncIterator[int]:
    """As much of an XMPP server as shows a certificate (RFC 6120 §5.4)."""
    tls = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    tls.load_cert_chain(certificates.cert_path, certificates.key_path)

    async def show_certificate(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(OSError, asyncio.IncompleteReadError):
            await reader.readuntil(b">")
            writer.write(FEATURES)
            await reader.readuntil(b"urn:ietf:params:xml:ns:xmpp-tls")
            await reader.readuntil(b">")
            writer.write(b"<proceed xmlns='urn:ietf:params:xml:ns:xmpp-tls'/>")
            await writer.start_tls(tls)
        writer.close()

    server = await asyncio.start_server(show_certificate, "127.0.0.1", 0)
    try:
        yield server.sockets[0].getsockname()[1]
    finally:
        server.close()
        await server.wait_closed()


async def test_a_wrong_password_is_named(network: Network) -> None:
    jid = await network.account("agent")

    error = await failure(jid, "not the password", network.connection())

    assert isinstance(error, AuthenticationRejected)
    assert jid in str(error)
    assert "not the password" not in str(error)


async def test_an_account_that_is_missing_is_named(network: Network) -> None:
    error = await failure("nobody-here@localhost", "secret", network.connection())

    assert isinstance(error, AuthenticationRejected)


async def test_another_ca_is_not_trusted(network: Network, tmp_path: Path) -> None:
    jid = await network.account("agent")
    other = local_certificates(tmp_path / "other", "localhost")

    error = await failure(
        jid, network.passwords[jid], replace(network.connection(), ca_path=other.ca_path)
    )

    assert isinstance(error, CertificateRejected)
    assert "ca" in str(error)


async def test_no_ca_is_not_trusted_either(network: Network) -> None:
    jid = await network.account("agent")

    error = await failure(jid, network.passwords[jid], replace(network.connection(), ca_path=None))

    assert isinstance(error, CertificateRejected)


async def test_a_certificate_for_another_host_is_rejected(tmp_path: Path) -> None:
    certificates = local_certificates(tmp_path, "other.example")
    async with starttls_host(certificates) as port:
        connection = ConnectionSettings(host="127.0.0.1", port=port, ca_path=certificates.ca_path)
        error = await failure("agent@elsewhere.example", "secret", connection)

    assert isinstance(error, CertificateRejected)
    assert "a domain that the certificate names" in str(error)


async def test_a_domain_that_the_server_does_not_serve_is_named(network: Network) -> None:
    error = await failure("agent@elsewhere.example", "secret", network.connection())

    assert "elsewhere.example" in str(error)


@pytest.mark.thorough
async def test_a_host_that_is_not_there_is_named(unused_tcp_port: int) -> None:
    connection = ConnectionSettings(host="127.0.0.1", port=unused_tcp_port)

    error = await failure("agent@localhost", "secret", connection)

    assert isinstance(error, ServerUnreachable)
    assert f"127.0.0.1:{unused_tcp_port}" in str(error)


@pytest.mark.thorough
async def test_a_name_that_does_not_exist_is_named() -> None:
    connection = ConnectionSettings(host="nowhere.invalid")

    error = await failure("agent@localhost", "secret", connection)

    assert isinstance(error, ServerUnreachable)
    assert "nowhere.invalid" in str(error)


@pytest.mark.thorough
async def test_a_host_that_says_nothing_does_not_hold_the_start() -> None:
    async with silent_host() as port:
        error = await failure(
            "agent@localhost", "secret", ConnectionSettings(host="127.0.0.1", port=port)
        )

    assert isinstance(error, ServerUnreachable)
    assert "no answer in time" in str(error)


@asynccontextmanager
async def sending_elsewhere(
    target: int, certificates: Certificates | None = None
) -> AsyncIterator[int]:
    """A server that has moved (RFC 6120 §4.9.3.19) and says so, behind TLS if it has a certificate.
    Certificates of the server under test are as good as its own name."""
    moved = MOVED % target

    async def redirect(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(OSError, asyncio.IncompleteReadError):
            await reader.readuntil(b">")
            if certificates is not None:
                tls = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
                tls.load_cert_chain(certificates.cert_path, certificates.key_path)
                writer.write(FEATURES)
                await reader.readuntil(b"urn:ietf:params:xml:ns:xmpp-tls")
                await reader.readuntil(b">")
                writer.write(b"<proceed xmlns='urn:ietf:params:xml:ns:xmpp-tls'/>")
                await writer.start_tls(tls)
                await reader.readuntil(b">")
            writer.write(moved)
            await writer.drain()
        writer.close()

    server = await asyncio.start_server(redirect, "127.0.0.1", 0)
    try:
        yield server.sockets[0].getsockname()[1]
    finally:
        server.close()
        await server.wait_closed()


async def test_a_server_without_a_certificate_cannot_redirect_us(network: Network) -> None:
    jid = await network.account("agent")
    async with sending_elsewhere(network.server.endpoint.port) as port:
        connection = replace(network.connection(), port=port, start_timeout_s=0.5)
        agent = ChatAgent(jid, network.passwords[jid], options=AgentOptions(connection=connection))
        with pytest.raises(ServerUnreachable, match="see-other-host"):
            await agent.start()


async def test_a_server_that_has_moved_is_followed_and_verified_there(
    network: Network, tmp_path: Path
) -> None:
    jid = await network.account("agent")
    endpoint = network.server.endpoint
    assert endpoint.ca_path is not None
    certificates = local_certificates(endpoint.ca_path.parent, "localhost")
    async with sending_elsewhere(endpoint.port, certificates) as port:
        options = AgentOptions(connection=replace(network.connection(), port=port))
        await network.start(ChatAgent(jid, network.passwords[jid], options=options))


async def test_another_address_is_tried_where_the_first_does_not_answer(
    network: Network, unused_tcp_port: int
) -> None:
    jid = await network.account("agent")
    endpoint = network.server.endpoint
    connection = replace(
        network.connection(),
        port=unused_tcp_port,
        others=((endpoint.host, endpoint.port),),
    )

    agent = ChatAgent(jid, network.passwords[jid], options=AgentOptions(connection=connection))
    await network.start(agent)

    assert agent.is_alive()


async def test_a_replaced_connection_does_not_reconnect(network: Network) -> None:
    assistant = await network.assistant()
    assert assistant.connection is not None
    usurper = Client(assistant.address, network.passwords[jid_of(assistant)])
    network.stack.push_async_callback(usurper.close)

    await usurper.log_in(network.server.endpoint)
    reason = await asyncio.wait_for(assistant.connection.closed_for_good, WAIT_S)

    assert reason == "conflict"
    assert usurper.jid == assistant.address
    assert not assistant.connection.connected.is_set()
    assert assistant.connection._keeper is not None
    await asyncio.wait_for(asyncio.wait([assistant.connection._keeper]), WAIT_S)
    await usurper.ping()


async def test_a_cut_connection_comes_back_by_itself(network: Network) -> None:
    assistant = await network.assistant()
    ada = await network.person()
    assert assistant.connection is not None
    back = asyncio.Event()
    assistant.connection.on_session.append(back.set)
    assistant.connection.on_resumed.append(back.set)

    assistant.client.abort()
    await asyncio.wait_for(back.wait(), WAIT_S)

    assert await answer_to(ada, assistant, "back?") == "back?"


async def test_a_request_that_we_fail_to_take_is_no_end_of_the_line(
    network: Network, caplog: pytest.LogCaptureFixture
) -> None:
    program, asker = await network.program(), await network.program("asker")
    failures, sessions = [ZeroDivisionError("unforeseen")], list[str]()

    def fail_once(_xml: Element) -> bool:
        if failures:
            raise failures.pop()
        return False

    program.message_filters.append(fail_once)
    program.on_session.append(lambda: sessions.append("another"))
    question = OutgoingRequest(peer=jid_of(program), ontology="weather/1", content="{}")

    with pytest.raises(RequestNotUnderstood):
        await asker.node.requester.ask(question, timeout_s=PATIENCE_S)

    assert sessions == []
    assert "processing a message of" in caplog.text
