"""Listening sockets of gateways, opened before they start and inherited by children.

An open socket avoids a race: no other program can take the port between the check and the start of
a gateway. `up --processes` keeps the socket, also between the death of a child and its restart.
"""

from __future__ import annotations

import errno
import os
import socket
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from spade_llm.core.errors import ConfigurationError
from spade_llm.core.text import host_in_url
from spade_llm.xmpp.connection.settings import parse_address

if TYPE_CHECKING:
    import argparse

    from spade_llm.cli.factory.deployment_spec import DeploymentSpec

PORT_ATTEMPTS = 100
"""Number of further ports to try if one is taken; then any free port is used."""
BACKLOG = 1024
HTTP_OFF = "off"
CONSOLE_PATH = "/console"


@dataclass(frozen=True, slots=True, kw_only=True)
class Listener:
    host: str
    """Configured host; it may be a name."""
    socket: socket.socket

    @property
    def port(self) -> int:
        port: int = self.socket.getsockname()[1]
        return port

    @property
    def url(self) -> str:
        """Base URL on this machine, without a path."""
        reached = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(self.host, self.host)
        return f"http://{host_in_url(reached)}:{self.port}"

    @property
    def address(self) -> str:
        """Address in the form of `--http`."""
        return f"{host_in_url(self.host)}:{self.port}"


def with_allowed_hosts(
    specs: Sequence[DeploymentSpec], options: argparse.Namespace
) -> tuple[DeploymentSpec, ...]:
    """Add the names of --allow-host to the hosts that gateways accept."""
    found = []
    for one in specs:
        if one.settings.kind == "gateway":
            http = one.settings.http
            http = http.model_copy(update={"hosts": [*http.hosts, *(options.allow_host or [])]})
            one = replace(one, settings=one.settings.model_copy(update={"http": http}))
        found.append(one)
    return tuple(found)


def web_lines(specs: Sequence[DeploymentSpec], listeners: Mapping[str, Listener]) -> Iterator[str]:
    """URLs of the gateways, for a browser."""
    for one in specs:
        if listener := listeners.get(one.jid):
            yield f"web         {listener.url}{CONSOLE_PATH if one.settings.http.console else ''}"


@contextmanager
def open_sockets(
    specs: Sequence[DeploymentSpec], http: str | None, say: Callable[[str], None]
) -> Iterator[dict[str, Listener]]:
    """Open the sockets of all gateways, keyed by JID, for the block. Raises ConfigurationError: an
    address cannot be used."""
    gateways = [one for one in specs if one.settings.kind == "gateway"]
    if http is not None and len(gateways) != 1:
        raise ConfigurationError(
            f"--http: this option is for one gateway, and there are {len(gateways)}: set"
            " [http] host and port in their agent.toml"
        )
    with ExitStack() as stack:
        found = {one.jid: _opened(_wanted_address(one, http), say) for one in gateways}
        for listener in found.values():
            stack.enter_context(listener.socket)
        yield found


def inherited_socket(
    spec: DeploymentSpec, http: str | None, descriptor: int
) -> dict[str, Listener]:
    """Socket that the parent process `up` has opened for this gateway."""
    wanted = _wanted_address(spec, http)
    return {spec.jid: Listener(host=wanted.host, socket=socket.socket(fileno=descriptor))}


@dataclass(frozen=True, slots=True, kw_only=True)
class _WantedAddress:
    host: str
    port: int
    """0: any free one."""
    setting_name: str
    """Setting that names the port; empty means that none does, so that another port may be used."""


def _wanted_address(spec: DeploymentSpec, http: str | None) -> _WantedAddress:
    table = spec.settings.http
    if http is not None:
        host, port = parse_address(http, named="--http", default_port=table.port)
        return _WantedAddress(host=host, port=port, setting_name="--http")
    named = f"{spec.path}: http.port" if "port" in table.model_fields_set else ""
    return _WantedAddress(host=table.host, port=table.port, setting_name=named)


def _opened(wanted: _WantedAddress, say: Callable[[str], None]) -> Listener:
    ports = [wanted.port]
    if not wanted.setting_name and wanted.port:
        # At last 0, with which the system chooses a free one.
        ports = [*range(wanted.port, min(wanted.port + PORT_ATTEMPTS, 65535) + 1), 0]
    for port in ports:
        try:
            opened = socket.create_server(
                (wanted.host, port),
                family=socket.AF_INET6 if ":" in wanted.host else socket.AF_INET,
                backlog=BACKLOG,
                # Without it create_server binds `::` for IPv6 clients only.
                dualstack_ipv6=wanted.host == "::" and socket.has_dualstack_ipv6(),
            )
        except OSError as error:
            if wanted.setting_name or error.errno != errno.EADDRINUSE:
                named = wanted.setting_name or "[http] host"
                # asyncio's strerror repeats the address.
                reason = os.strerror(error.errno) if error.errno else error.strerror
                raise ConfigurationError(
                    f"{named}: cannot listen at {wanted.host}:{wanted.port} ({reason}):"
                    " stop the program that listens there, or choose another address with"
                    " --http HOST:PORT"
                ) from None
        else:
            listener = Listener(host=wanted.host, socket=opened)
            if port != wanted.port:
                say(f"http        port {wanted.port} is in use: using {listener.port} instead")
            return listener
    raise ConfigurationError(f"http: no port is free at {wanted.host}")
