"""Listening sockets of gateways, opened before they start and inherited by children.

An open socket avoids a race: no other program can take the port between the check and the start of
a gateway. `up --processes` keeps the socket, also between the death of a child and its restart.
"""

from __future__ import annotations

import errno
import socket
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from spade_llm.core.errors import ConfigurationError
from spade_llm.xmpp.connection.settings import parse_address

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Iterator, Sequence

    from spade_llm.cli.factory.deployment_spec import DeploymentSpec

PORT_ATTEMPTS = 100
"""Number of further ports to try if one is taken; then any free port is used."""
BACKLOG = 1024
HTTP_OFF = "off"


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
        return f"http://{_in_url(reached)}:{self.port}"

    @property
    def address(self) -> str:
        """Address in the form of `--http`."""
        return f"{_in_url(self.host)}:{self.port}"


def with_allowed_hosts(
    specs: Sequence[DeploymentSpec], options: argparse.Namespace
) -> tuple[DeploymentSpec, ...]:
    """Gateways take requests to the names of --allow-host, too."""
    names = options.allow_host or []
    return tuple(_with_hosts(one, names) if _is_gateway(one) else one for one in specs)


@contextmanager
def open_sockets(
    specs: Sequence[DeploymentSpec], http: str | None, say: Callable[[str], None]
) -> Iterator[dict[str, Listener]]:
    """Open the sockets of all gateways, keyed by JID, for the block.

    Raises:
        ConfigurationError: an address cannot be used.
    """
    gateways = [one for one in specs if _is_gateway(one)]
    if http is not None and len(gateways) != 1:
        raise ConfigurationError(
            f"--http: it says where one gateway listens, and there are {len(gateways)}: set"
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
    """The socket that the `up` which started us has opened for this gateway."""
    wanted = _wanted_address(spec, http)
    return {spec.jid: Listener(host=wanted.host, socket=socket.socket(fileno=descriptor))}


@dataclass(frozen=True, slots=True, kw_only=True)
class _WantedAddress:
    host: str
    port: int
    """0: any free one."""
    setting_name: str
    """Setting that names the port; empty means that none does, so that another port may be used."""


def _is_gateway(spec: DeploymentSpec) -> bool:
    return spec.settings.kind == "gateway"


def _with_hosts(spec: DeploymentSpec, names: Sequence[str]) -> DeploymentSpec:
    settings = spec.settings
    http = settings.http.model_copy(update={"hosts": [*settings.http.hosts, *names]})
    return replace(spec, settings=settings.model_copy(update={"http": http}))


def _wanted_address(spec: DeploymentSpec, http: str | None) -> _WantedAddress:
    table = spec.settings.http
    if http is not None:
        host, port = parse_address(http, named="--http", default_port=table.port)
        return _WantedAddress(host=host, port=port, setting_name="--http")
    is_said = "port" in table.model_fields_set
    named = f"{spec.path}: http.port" if is_said else ""
    return _WantedAddress(host=table.host, port=table.port, setting_name=named)


def _opened(wanted: _WantedAddress, say: Callable[[str], None]) -> Listener:
    for port in _ports(wanted):
        try:
            listener = Listener(host=wanted.host, socket=_bound(wanted.host, port))
        except OSError as error:
            if wanted.setting_name or error.errno != errno.EADDRINUSE:
                raise _bind_error(wanted, error) from None
        else:
            if port != wanted.port:
                say(f"http        port {wanted.port} is taken: it is {listener.port} this time")
            return listener
    raise ConfigurationError(f"http: no port is free at {wanted.host}")


def _ports(wanted: _WantedAddress) -> list[int]:
    if wanted.setting_name or wanted.port == 0:
        return [wanted.port]
    last = min(wanted.port + PORT_ATTEMPTS, 65535)
    # 0 lets the system choose.
    return [*range(wanted.port, last + 1), 0]


def _bound(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # Without it create_server binds `::` for IPv6 clients only.
    is_both = host == "::" and socket.has_dualstack_ipv6()
    return socket.create_server(
        (host, port), family=family, backlog=BACKLOG, dualstack_ipv6=is_both
    )


def _bind_error(wanted: _WantedAddress, error: OSError) -> ConfigurationError:
    named = wanted.setting_name or "[http] host"
    return ConfigurationError(
        f"{named}: cannot listen at {wanted.host}:{wanted.port} ({error.strerror}): end the"
        " program that does, or choose another address with --http HOST:PORT"
    )


def _in_url(host: str) -> str:
    return f"[{host}]" if ":" in host else host
