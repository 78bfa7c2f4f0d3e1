"""Loopback ports, and waiting until a server of ours answers on one. Knows no server by name."""

from __future__ import annotations

import asyncio
import socket
import ssl
from typing import TYPE_CHECKING

from spade_llm.errors import ConfigurationError, PortTaken, ServerUnreachable

if TYPE_CHECKING:
    from spade_llm.xmpp.server import Endpoint
    from spade_llm.xmpp.server_process import ServerProcess

START_TIMEOUT_S = 20.0
PROBE_TIMEOUT_S = 2.0
PROBE_PAUSE_S = 0.03
FREE_PORT_ATTEMPTS = 20


def loopback_addresses() -> tuple[str, ...]:
    """127.0.0.1, and ::1 where the machine has it."""
    return ("127.0.0.1", "::1") if _can_bind("::1", 0) else ("127.0.0.1",)


def usable_port(port: int) -> int:
    """Return `port` if it is free on every loopback address; for 0, one that is.

    Raises:
        PortTaken: another program listens there.
        ConfigurationError: no port is free.
    """
    if port == 0:
        return _free_port()
    if not _is_free(port):
        raise _taken(port)
    return port


def _taken(port: int) -> PortTaken:
    return PortTaken(
        f"port {port} on this machine is taken by another program; "
        "end that program, or choose another port"
    )


def _free_port() -> int:
    for _ in range(FREE_PORT_ATTEMPTS):
        with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
            probe.bind(("127.0.0.1", 0))
            port = int(probe.getsockname()[1])
        if _is_free(port):
            return port
    raise ConfigurationError("no free port on this machine; end some programs that listen")


def _is_free(port: int) -> bool:
    return all(_can_bind(address, port) for address in loopback_addresses())


def _can_bind(address: str, port: int) -> bool:
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    try:
        with socket.socket(family, socket.SOCK_STREAM) as probe:
            # Sockets of a server killed a moment ago linger in TIME_WAIT: they don't count.
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind((address, port))
    except OSError:
        return False
    return True


async def wait_ready(process: ServerProcess, endpoint: Endpoint) -> None:
    """Return once the server answers a stream header, with the certificate that we gave it.

    Raises:
        PortTaken: another program took the port since it was found free: it answers, or ours ended.
        ServerUnreachable: it ended, or did not answer within START_TIMEOUT_S.
    """
    loop = asyncio.get_running_loop()
    deadline = loop.time() + START_TIMEOUT_S
    while not await answers_stream(endpoint):
        if process.has_ended():
            raise _end_of(process, endpoint)
        if loop.time() > deadline:
            raise ServerUnreachable(
                f"no XMPP server on {endpoint.host}:{endpoint.port} within {START_TIMEOUT_S:.0f} s;"
                f" {process.log_tail()}"
            )
        await asyncio.sleep(PROBE_PAUSE_S)


def _end_of(process: ServerProcess, endpoint: Endpoint) -> ConfigurationError:
    """Where another program has its port, that is why: Prosody goes on without it, others end."""
    if _is_free(endpoint.port):
        return ServerUnreachable(process.obituary())
    return _taken(endpoint.port)


async def answers_stream(endpoint: Endpoint) -> bool:
    """True if an XMPP server for this domain opens a stream here.

    Raises:
        PortTaken: it is another one than that whose CA the endpoint names.
    """
    try:
        return await asyncio.wait_for(_open_stream(endpoint), PROBE_TIMEOUT_S)
    except ssl.SSLCertVerificationError:
        raise _taken(endpoint.port) from None
    except (OSError, TimeoutError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
        return False


async def _open_stream(endpoint: Endpoint) -> bool:
    reader, writer = await asyncio.open_connection(endpoint.host, endpoint.port)
    try:
        writer.write(_stream_header(endpoint.domain))
        await reader.readuntil(b"features")
        if endpoint.ca_path is not None:
            await _start_tls(reader, writer, endpoint)
        writer.write(b"</stream:stream>")
        await writer.drain()
    finally:
        writer.close()
    return True


async def _start_tls(
    reader: asyncio.StreamReader, writer: asyncio.StreamWriter, endpoint: Endpoint
) -> None:
    """Another server of the same domain differs from ours by its certificate only."""
    writer.write(b"<starttls xmlns='urn:ietf:params:xml:ns:xmpp-tls'/>")
    await reader.readuntil(b"proceed")
    await reader.readuntil(b">")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.load_verify_locations(endpoint.ca_path)
    await writer.start_tls(context, server_hostname=endpoint.domain)


def _stream_header(domain: str) -> bytes:
    return (
        f"<stream:stream to='{domain}' version='1.0' xmlns='jabber:client' "
        "xmlns:stream='http://etherx.jabber.org/streams'>"
    ).encode()
