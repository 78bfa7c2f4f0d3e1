"""The server of `up`: one of our own with its accounts, or somebody else's. Knows no agent."""

from __future__ import annotations

import asyncio
import time
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from spade_llm.cli.hosting import password_of
from spade_llm.cli.own_server import running_server, wanted_ports
from spade_llm.cli.person import PERSON
from spade_llm.cli.place import OUR_SERVERS, Place, absolute
from spade_llm.deployment.accounts import Accounts
from spade_llm.deployment.address import full_jid, parse_address
from spade_llm.errors import RegistrationPaused
from spade_llm.settings import read_environment, read_password

if TYPE_CHECKING:
    import argparse
    from collections.abc import AsyncIterator, Callable, Mapping, Sequence
    from pathlib import Path

    from spade_llm.cli.definition import Definition
    from spade_llm.xmpp.server import ManagedServer

REGISTER_EVERY_S = 30.0
REGISTER_PATIENCE_S = 900.0
"""For each account; ejabberd pauses for 10 minutes by default."""


@asynccontextmanager
async def server_of(
    options: argparse.Namespace,
    data: Path,
    definitions: Sequence[Definition],
    say: Callable[[str], None],
) -> AsyncIterator[Place]:
    kind = _server_kind(options)
    if kind not in OUR_SERVERS:
        here = _remote_place(options, data, definitions)
        say(f"server      {here.host}:{here.port}, not ours, domain {here.domain}")
        if here.may_register:
            accounts = _passwords(definitions, here.accounts, here.jid(PERSON))
            await register_accounts(here, accounts, say)
        yield here
        return
    from spade_llm.xmpp.server import choose_server

    domain = domain_of(options)
    jids = [one.jid for one in definitions]

    def server_on(port: int) -> ManagedServer:
        return choose_server(kind, data, domain=domain, port=port, service_jids=jids)

    passwords = _passwords(definitions, Accounts(data, warn=say), full_jid(PERSON, domain))
    ports = wanted_ports(data, options.port)
    async with running_server(server_on, ports, data, passwords, say=say) as here:
        yield here


def _passwords(
    definitions: Sequence[Definition], accounts: Accounts, person: str
) -> dict[str, str]:
    """Of every account on our own server, made where nobody gave one."""
    passwords = {person: accounts.get_or_make(person)}
    for one in definitions:
        given = read_password(one.path, one.settings)
        passwords[one.jid] = given or accounts.get_or_make(one.jid)
    return passwords


def _remote_place(
    options: argparse.Namespace, data: Path, definitions: Sequence[Definition]
) -> Place:
    """Somebody else's server: it has the accounts already, or `--register` asks it for them."""
    host, port = parse_address(_server_kind(options))
    here = Place(
        data=data,
        host=host,
        port=port,
        domain=domain_of(options),
        ca=absolute(options.ca or read_environment().ca),
        may_register=options.register,
    )
    if options.register:
        _passwords(definitions, here.accounts, here.jid(PERSON))
    for one in definitions:
        password_of(one, here)
    here.accounts.get(here.jid(PERSON))
    return here


async def register_accounts(
    here: Place,
    passwords: Mapping[str, str],
    say: Callable[[str], None],
    *,
    every_s: float = REGISTER_EVERY_S,
) -> None:
    """Make the accounts (JID → password) that are missing, one after the other.

    Waits out the pauses that servers make between two registrations: per account at most
    REGISTER_PATIENCE_S, with a line for each attempt.

    Raises:
        ConfigurationError: the server does not register one of them, or not within that time.
    """
    for number, (jid, password) in enumerate(passwords.items(), start=1):
        began = time.monotonic()
        while (paused := await _paused_for(jid, password, here)) is not None:
            waited_s = time.monotonic() - began
            if waited_s > REGISTER_PATIENCE_S:
                raise paused
            say(
                f"account     {jid} ({number} of {len(passwords)}): the server pauses"
                f" registrations; next attempt in {every_s:.0f} s, after {waited_s / 60:.0f}"
                f" of at most {REGISTER_PATIENCE_S / 60:.0f} min"
            )
            await asyncio.sleep(every_s)


async def _paused_for(jid: str, password: str, here: Place) -> RegistrationPaused | None:
    """None: the account exists."""
    from spade_llm.xmpp.visit import visiting

    try:
        async with visiting(jid, password, here.connection()):
            return None
    except RegistrationPaused as error:
        return error


def _server_kind(options: argparse.Namespace) -> str:
    return str(options.server or read_environment().server)


def domain_of(options: argparse.Namespace) -> str:
    given = options.domain or read_environment().domain
    if given:
        return str(given)
    kind = _server_kind(options)
    return "localhost" if kind in OUR_SERVERS else parse_address(kind)[0]
