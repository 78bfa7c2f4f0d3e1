"""Two private servers of two domains that talk to each other over lines which can be held."""

from __future__ import annotations

from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from spade_llm.xmpp.servers.certificates import local_certificates
from spade_llm.xmpp.servers.prosody import ProsodyServer
from spade_llm.xmpp.servers.prosody_config import Federation, PeerServer
from spade_llm.xmpp.servers.server_process import usable_port
from tests.conftest import Provisioner
from tests.processes.proxy import Line, line_to

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

ONE, TWO = "one.test", "two.test"


@dataclass(frozen=True, slots=True, kw_only=True)
class Member:
    """One server; the others reach it at `port` through `line`."""

    server: ProsodyServer
    provisioner: Provisioner
    line: Line
    port: int


@asynccontextmanager
async def federated_servers(directory: Path) -> AsyncIterator[dict[str, Member]]:
    """Each with a CA of its own, by domain."""
    async with AsyncExitStack() as stack:
        ports = {ONE: usable_port(0), TWO: usable_port(0)}
        lines = {
            domain: await stack.enter_async_context(line_to("127.0.0.1", port))
            for domain, port in ports.items()
        }
        peers = {domain: _peer(directory / domain, domain, lines[domain].port) for domain in ports}
        members = {}
        for domain, port in ports.items():
            others = {name: peer for name, peer in peers.items() if name != domain}
            server = ProsodyServer(
                directory / domain,
                domain=domain,
                federation=Federation(port=port, peers=others),
            )
            stack.push_async_callback(server.stop)
            members[domain] = Member(
                server=server,
                provisioner=Provisioner(server=server, endpoint=await server.start()),
                line=lines[domain],
                port=port,
            )
        yield members


def _peer(directory: Path, domain: str, port: int) -> PeerServer:
    """Its CA is made before its first start: each server must know the other's."""
    directory.mkdir(mode=0o700)
    ca_path = local_certificates(directory / "certificates", domain).ca_path
    return PeerServer(host="127.0.0.1", port=port, ca_path=ca_path)
