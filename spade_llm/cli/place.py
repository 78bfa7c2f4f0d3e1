"""Where a command works: data directory, server to log in at, accounts. Opens nothing."""

from __future__ import annotations

import os
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from spade_llm.deployment.accounts import Accounts
from spade_llm.deployment.address import full_jid, parse_address
from spade_llm.deployment.authority import kept_ca
from spade_llm.deployment.run_record import read_record
from spade_llm.errors import ConfigurationError
from spade_llm.settings import read_environment

if TYPE_CHECKING:
    import argparse

    from spade_llm.settings import AgentSettings
    from spade_llm.xmpp.connection import Connection

MIN_FREE_BYTES = 4_000_000
"""For databases, logs and passwords of a first start; an embedder takes 25 MB more."""
OUR_SERVERS = frozenset({"auto", "embedded", "prosody"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    data: Path
    host: str
    port: int
    domain: str
    others: tuple[tuple[str, int], ...] = ()
    """Further addresses of the same server."""
    ca: Path | None = None
    server: str = ""
    """Which of our own kinds it is (xmpp/server.py), where that is known."""
    may_register: bool = False
    """Accounts are made in-band where they are missing."""

    @property
    def accounts(self) -> Accounts:
        return Accounts(self.data)

    def connection(self) -> Connection:
        from spade_llm.xmpp.connection import Connection

        return Connection(
            host=self.host,
            port=self.port,
            others=self.others,
            ca_path=self.ca,
            register=self.may_register,
        )

    def jid(self, name: str) -> str:
        return full_jid(name, self.domain)


def data_directory(options: argparse.Namespace) -> Path:
    return Path(options.data or read_environment().data).absolute()


def check_room(data: Path) -> None:
    """Raises ConfigurationError: the disk is full."""
    there = next(folder for folder in (data, *data.parents) if os.path.exists(folder))
    free = shutil.disk_usage(there).free
    if free < MIN_FREE_BYTES:
        raise ConfigurationError(
            f"the disk of {str(data)!r} is full ({free} bytes are free, {MIN_FREE_BYTES} are"
            " needed): make room, or name another directory by --data"
        )


def find_place(options: argparse.Namespace, settings: AgentSettings | None = None) -> Place:
    """The server that the command line names, else the agent.toml's, else that of the running `up`.

    Raises:
        ConfigurationError: none of them names one.
    """
    data = data_directory(options)
    environment = read_environment()
    server = options.server or _remote(environment.server)
    if server:
        host, port = parse_address(server)
        domain = options.domain or environment.domain or host
        return Place(
            data=data,
            host=host,
            port=port,
            domain=domain,
            ca=absolute(options.ca or environment.ca) or kept_ca(data),
            may_register=vars(options).get("register", False),
        )
    if settings is not None and settings.server.host:
        return _place_of(settings, data, options)
    return _running_place(data)


def _remote(server: str) -> str | None:
    return None if server in OUR_SERVERS else server


def absolute(text: str | None) -> Path | None:
    return Path(text).absolute() if text else None


def _place_of(settings: AgentSettings, data: Path, options: argparse.Namespace) -> Place:
    server = settings.server
    folder = Path(options.file).absolute().parent
    return Place(
        data=data,
        host=server.host or "",
        port=server.port,
        others=tuple(parse_address(one, named="[server] endpoints") for one in server.endpoints),
        domain=server.domain or _domain_of(settings.jid) or server.host or "",
        ca=folder / server.ca if server.ca else None,
    )


def _domain_of(jid: str) -> str:
    return jid.partition("@")[2]


def _running_place(data: Path) -> Place:
    record = read_record(data)
    if record is None:
        raise ConfigurationError(
            f"nothing runs on the data in {str(data)!r}: start `spade-llm up` there,"
            " name its directory with --data, or another server with --server HOST[:PORT]"
        )
    return Place(data=data, host=record.host, port=record.port, domain=record.domain, ca=record.ca)
