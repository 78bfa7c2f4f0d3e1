"""XMPP server of `up`: own server (restarted with back-off) or remote; accounts."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import socket
import time
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from spade_llm.cli.context import DEFAULT_PERSON, OWN_SERVER_KINDS, CliContext, absolute_path
from spade_llm.cli.factory.agent_factory import password_of
from spade_llm.core.concurrency import concurrent_task
from spade_llm.core.errors import ConfigurationError, PortInUse, RegistrationThrottled
from spade_llm.core.settings import read_environment, read_password
from spade_llm.xmpp.connection.settings import full_jid, parse_address
from spade_llm.xmpp.servers.data_directory import AccountPasswords

if TYPE_CHECKING:
    import argparse

    from spade_llm.cli.factory.deployment_spec import DeploymentSpec
    from spade_llm.xmpp.servers.managed_server import Endpoint, ManagedServer

logger = logging.getLogger(__name__)

DEFAULT_PORT = 5222
PORT_FILE = "port"
ANY_PORT = (0, 0)
"""Twice, as another program may take a port that was free a moment ago."""
FIRST_PAUSE_S = 0.2
MAX_PAUSE_S = 5.0

REGISTER_EVERY_S = 30.0
REGISTER_TIMEOUT_S = 900.0
"""Maximum time in seconds to register an account; ejabberd pauses for 10 minutes by default."""


@asynccontextmanager
async def run_server(
    server_on: Callable[[int], ManagedServer],
    ports: Sequence[int],
    data: Path,
    passwords: Mapping[str, str],
    *,
    say: Callable[[str], None],
) -> AsyncIterator[CliContext]:
    """Run the server with these accounts (JID → password) for the block; restart it if it dies.
    Raises ConfigurationError: it does not start, or refuses an account."""
    server, endpoint = await _start_on_free_port(server_on, ports)
    say(f"server      {server.description}")
    try:
        cli_context = CliContext(
            data=data,
            host=endpoint.host,
            port=endpoint.port,
            domain=endpoint.domain,
            ca=endpoint.ca_path,
            server_kind=server.kind,
        )
        (data / PORT_FILE).write_text(f"{endpoint.port}\n", encoding="ascii")
        await asyncio.gather(*(server.create_account(*account) for account in passwords.items()))
        async with concurrent_task(_keep_running(server, say)):
            yield cli_context
    finally:
        await server.stop()


def wanted_ports(data: Path, asked: int | None) -> tuple[int, ...]:
    """Ports to try: the requested one; else the last and the default one if they are free, then any
    (0)."""
    if asked is not None:
        return (asked,)
    try:
        last = int((data / PORT_FILE).read_text(encoding="ascii"))
    except (FileNotFoundError, ValueError):
        last = 0
    candidates = (last, DEFAULT_PORT)
    return (*(port for port in candidates if port and is_free(port)), *ANY_PORT)


def is_free(port: int) -> bool:
    """True if no program listens on this port of the loopback address."""
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        # As servers do: a port with connections in TIME_WAIT only counts as free.
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True


@asynccontextmanager
async def xmpp_server(
    options: argparse.Namespace,
    data: Path,
    specs: Sequence[DeploymentSpec],
    say: Callable[[str], None],
) -> AsyncIterator[CliContext]:
    kind = _server_kind(options)
    if kind not in OWN_SERVER_KINDS:
        cli_context = _remote_context(options, data, specs)
        say(
            f"server      {cli_context.host}:{cli_context.port} (external),"
            f" domain {cli_context.domain}"
        )
        if cli_context.may_register:
            accounts = _passwords(specs, cli_context.accounts, cli_context.jid(DEFAULT_PERSON))
            await register_accounts(cli_context, accounts, say)
        yield cli_context
        return
    from spade_llm.xmpp.servers.managed_server import choose_server

    domain = server_domain(options)
    jids = [one.jid for one in specs]

    def server_on(port: int) -> ManagedServer:
        return choose_server(kind, data, domain=domain, port=port, service_jids=jids)

    passwords = _passwords(
        specs, AccountPasswords(data, warn=say), full_jid(DEFAULT_PERSON, domain)
    )
    ports = wanted_ports(data, options.port)
    async with run_server(server_on, ports, data, passwords, say=say) as cli_context:
        yield cli_context


async def register_accounts(
    cli_context: CliContext,
    passwords: Mapping[str, str],
    say: Callable[[str], None],
    *,
    every_s: float = REGISTER_EVERY_S,
) -> None:
    """Register the missing accounts (JID → password), one after the other.

    Waits while the server throttles registrations: per account at most REGISTER_TIMEOUT_S, with a
    line for each attempt. Raises ConfigurationError: the server does not register one of them, or
    not within that time.
    """
    # One by one: servers throttle registrations by address (ejabberd: one in 10 minutes).
    for number, (jid, password) in enumerate(passwords.items(), start=1):
        began = time.monotonic()
        while (paused := await _registration_pause(jid, password, cli_context)) is not None:
            waited_s = time.monotonic() - began
            if waited_s > REGISTER_TIMEOUT_S:
                raise paused
            say(
                f"account     {jid} ({number} of {len(passwords)}): the server limits"
                f" registrations; next attempt in {every_s:.0f} s, after {waited_s / 60:.0f}"
                f" of at most {REGISTER_TIMEOUT_S / 60:.0f} min"
            )
            await asyncio.sleep(every_s)


def server_domain(options: argparse.Namespace) -> str:
    given = options.domain or read_environment().domain
    if given:
        return str(given)
    kind = _server_kind(options)
    return "localhost" if kind in OWN_SERVER_KINDS else parse_address(kind)[0]


async def _start_on_free_port(
    server_on: Callable[[int], ManagedServer], ports: Sequence[int]
) -> tuple[ManagedServer, Endpoint]:
    """Start the server on the first of these ports that is free at that moment."""
    *first, last = ports
    for port in first:
        server = server_on(port)
        with contextlib.suppress(PortInUse):
            return server, await server.start()
    server = server_on(last)
    return server, await server.start()


async def _keep_running(server: ManagedServer, say: Callable[[str], None]) -> None:
    """Restart the server with back-off when it dies; the agents reconnect by themselves."""
    while True:
        reason = await server.wait_failed()
        logger.error("%s", reason)
        say("server      has died; restarting it")
        pause_s = FIRST_PAUSE_S
        while True:
            with contextlib.suppress(ConfigurationError):
                await server.restart()
                break
            logger.error("the server does not start; the next attempt is in %.1f s", pause_s)
            await asyncio.sleep(pause_s)
            pause_s = min(pause_s * 2, MAX_PAUSE_S)
        say("server      is running again")


def _passwords(
    specs: Sequence[DeploymentSpec], accounts: AccountPasswords, person: str
) -> dict[str, str]:
    """Passwords of all accounts on our own server, generated where none is configured."""
    passwords = {person: accounts.get_or_make(person)}
    for one in specs:
        given = read_password(one.path, one.settings)
        passwords[one.jid] = given or accounts.get_or_make(one.jid)
    return passwords


def _remote_context(
    options: argparse.Namespace, data: Path, specs: Sequence[DeploymentSpec]
) -> CliContext:
    """Context of a server that is not ours: accounts exist, or `--register` creates them."""
    host, port = parse_address(_server_kind(options))
    cli_context = CliContext(
        data=data,
        host=host,
        port=port,
        domain=server_domain(options),
        ca=absolute_path(options.ca or read_environment().ca),
        may_register=options.register,
    )
    if options.register:
        _passwords(specs, cli_context.accounts, cli_context.jid(DEFAULT_PERSON))
    for one in specs:
        # Raises for a missing password now, instead of when half of the agents have started.
        password_of(one, cli_context)
    cli_context.accounts.get(cli_context.jid(DEFAULT_PERSON))
    return cli_context


async def _registration_pause(
    jid: str, password: str, cli_context: CliContext
) -> RegistrationThrottled | None:
    """Log in, registering the account if needed; None on success, else the server's throttling
    error."""
    from spade_llm.xmpp.connection.probes import probe_login

    try:
        async with probe_login(jid, password, cli_context.connection()):
            return None
    except RegistrationThrottled as error:
        return error


def _server_kind(options: argparse.Namespace) -> str:
    return str(options.server or read_environment().server)
