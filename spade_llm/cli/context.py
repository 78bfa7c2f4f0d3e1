"""Context of a command: data directory, server address, accounts, the user's login."""

from __future__ import annotations

import os
import shutil
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from spade_llm.cli.signals import shield_from_stop
from spade_llm.core.database import DatabasePlace, DatabaseUrl, StoreTables
from spade_llm.core.errors import ConfigurationError
from spade_llm.core.postgres import PostgresServer
from spade_llm.core.settings import DATABASE_VARIABLE, AgentSettings, read_environment
from spade_llm.xmpp.connection.settings import ConnectionSettings, full_jid, parse_address
from spade_llm.xmpp.servers.data_directory import AccountPasswords, read_run_record, saved_ca

if TYPE_CHECKING:
    import argparse

    from spade_llm.agents import ChatAgent
    from spade_llm.xmpp.servers.data_directory import RunRecord

MIN_FREE_BYTES = 4_000_000
"""Minimum free disk space in bytes for databases, logs and passwords of a first start; an embedder
needs 25 MB more."""
OWN_SERVER_KINDS = frozenset({"auto", "embedded", "prosody"})

LOGIN_TIMEOUT_S = 8.0
"""Shorter than an agent's, which may start before its server."""
DEFAULT_PERSON = "you"
DEFAULT_ASSISTANT = "assistant"
REPLICAS_FOLDER = "replicas"
"""Folder of an agent with a folder for each of its replicas on this machine."""


def agent_directories(data: Path) -> list[Path]:
    """Folders of all agents that ever ran on this data, named by their JIDs, in order."""
    return sorted(path for path in (data / "agents").glob("*@*") if path.is_dir())


def agent_file(agent: str, name: str, data: Path, *, what: str, hint: str = "") -> Path:
    """Path of the file `name` in the folder of the agent with this JID or local part. `what`
    describes its content, and `hint` how an agent comes to have it, for errors. Raises
    ConfigurationError: no such agent has it, or several."""
    return agent_files(agent, name, data, what=what, hint=hint)[0]


def agent_files(agent: str, name: str, data: Path, *, what: str, hint: str = "") -> list[Path]:
    """As `agent_file`: the file of the agent itself, and those of its replicas."""
    found: dict[Path, list[Path]] = {}
    for pattern in (f"*/{name}", f"*/{REPLICAS_FOLDER}/*/{name}"):
        for path in sorted((data / "agents").glob(pattern)):
            local = path.relative_to(data / "agents")
            found.setdefault(data / "agents" / local.parts[0], []).append(path)
    home = named_agent(list(found), agent)
    if home is None:
        known = ", ".join(one.name for one in sorted(found)) or "none"
        raise ConfigurationError(
            f"there is no {what} of {agent!r} below {str(data / 'agents')!r} (known: {known});"
            f" name the data directory with --data, or the agent with --agent{hint}"
        )
    return found[home]


def named_agent(homes: Sequence[Path], agent: str) -> Path | None:
    """Folder of the agent with this JID or local part; None: it is not among these. Raises
    ConfigurationError: several are."""
    named = [home for home in homes if is_named(home.name, agent)]
    if len(named) > 1:
        names = ", ".join(home.name for home in named)
        raise ConfigurationError(f"several agents match ({names}): give the full JID")
    return named[0] if named else None


def is_named(jid: str, name: str) -> bool:
    """True if `name` is this JID or its local part."""
    return name in (jid, jid.partition("@")[0])


@dataclass(frozen=True, slots=True, kw_only=True)
class CliContext:
    data: Path
    host: str
    port: int
    domain: str
    alternative_addresses: tuple[tuple[str, int], ...] = ()
    """Further addresses of the same server."""
    ca: Path | None = None
    server_kind: str = ""
    """Kind of our own server (xmpp/servers), if known."""
    database: DatabaseUrl | None = None
    """Database of agents without `[storage] database_url`; None: files."""
    may_register: bool = False
    """Missing accounts are registered in-band."""

    @property
    def accounts(self) -> AccountPasswords:
        return AccountPasswords(self.data)

    def connection(self) -> ConnectionSettings:
        from spade_llm.xmpp.connection.settings import ConnectionSettings

        return ConnectionSettings(
            host=self.host,
            port=self.port,
            others=self.alternative_addresses,
            ca_path=self.ca,
            register=self.may_register,
        )

    def jid(self, name: str) -> str:
        return full_jid(name, self.domain)


def data_directory(options: argparse.Namespace) -> Path:
    """Directory of --data, else the default. Raises ConfigurationError: it is a file."""
    data = Path(options.data).absolute() if options.data else default_data_directory()
    if data.exists() and not data.is_dir():
        raise ConfigurationError(f"--data: {str(data)!r} is a file: name a directory")
    return data


def default_data_directory() -> Path:
    return Path(read_environment().data).absolute()


def check_disk_space(data: Path) -> None:
    """Raises ConfigurationError: the disk is full."""
    there = next(folder for folder in (data, *data.parents) if os.path.exists(folder))
    free = shutil.disk_usage(there).free
    if free < MIN_FREE_BYTES:
        raise ConfigurationError(
            f"the disk of {str(data)!r} is full ({free} bytes are free, {MIN_FREE_BYTES} are"
            " needed): free some space, or choose another directory with --data"
        )


def find_context(options: argparse.Namespace, settings: AgentSettings | None = None) -> CliContext:
    """Context with the server of the command line, else of the agent.toml, else of the running
    `up`. Raises ConfigurationError: none of them names one."""
    data = data_directory(options)
    environment = read_environment()
    server = options.server
    if not server and environment.server not in OWN_SERVER_KINDS:
        server = environment.server
    if server:
        host, port = parse_address(server)
        domain = options.domain or environment.domain or host
        return CliContext(
            data=data,
            host=host,
            port=port,
            domain=domain,
            ca=absolute_path(options.ca or environment.ca) or saved_ca(data),
            database=default_database(options),
            may_register=_may_register(options),
        )
    if settings is not None and settings.server.host:
        return _context_of_agent(settings, data, options)
    record = read_run_record(data)
    if record is None:
        raise ConfigurationError(
            f"nothing runs on the data in {str(data)!r}: start `spade-llm up` there, name its"
            f" directory with --data{_running_above(data)}, or another server with --server"
            " HOST[:PORT]"
        )
    return replace(
        context_of_run(record, data),
        database=default_database(options),
        may_register=_may_register(options),
    )


def _may_register(options: argparse.Namespace) -> bool:
    return bool(vars(options).get("register", False))


def default_database(options: argparse.Namespace) -> DatabaseUrl | None:
    """Database of --database, else of the environment; None: files."""
    if given := vars(options).get("database"):
        return DatabaseUrl(given, "--database")
    found = read_environment().database
    return DatabaseUrl(found, DATABASE_VARIABLE) if found else None


@asynccontextmanager
async def agent_place(
    options: argparse.Namespace, tables: StoreTables, *, what: str, hint: str = ""
) -> AsyncIterator[tuple[str, DatabasePlace]]:
    """JID of the agent that `options` name, and the place of a store's tables: PostgreSQL with
    --database, else the file in its folder. `what` and `hint`: see `agent_file`. Raises
    ConfigurationError: no such agent has it, or several."""
    data, address = data_directory(options), default_database(options)
    if address is None:
        path = agent_file(options.agent, tables.file_name("*"), data, what=what, hint=hint)
        yield path.parent.name, path
        return
    record = read_run_record(data)
    domain = record.domain if record else read_environment().domain or "localhost"
    jid = full_jid(options.agent, domain)
    async with PostgresServer(address, agent=jid) as server:
        if not await server.find_schema():
            raise ConfigurationError(
                f"there is no {what} of {jid!r} in the database: give the agent's full JID with"
                f" --agent{hint}"
            )
        yield jid, server


def _running_above(data: Path) -> str:
    """Clause that names the data directory of an `up` that was started in a folder above, or in
    this folder, which was named instead of its data."""
    above = (folder / data.name for folder in data.parent.parents)
    for other in (data / default_data_directory().name, *above):
        if other.is_dir() and read_run_record(other) is not None:
            return f" ({str(other)!r} has a running one)"
    return ""


def absolute_path(text: str | None) -> Path | None:
    return Path(text).absolute() if text else None


def person_jid(options: argparse.Namespace, cli_context: CliContext) -> str:
    return cli_context.jid(options.person or DEFAULT_PERSON)


def assistant_jid(options: argparse.Namespace, cli_context: CliContext) -> str:
    return cli_context.jid(options.jid or DEFAULT_ASSISTANT)


@asynccontextmanager
async def login(jid: str, cli_context: CliContext) -> AsyncIterator[ChatAgent]:
    """Log the person in for the block. Raises ConfigurationError: there is no password, or the
    server rejects the login."""
    password = cli_context.accounts.get(jid)
    from spade_llm.agents.chat import ChatAgent
    from spade_llm.xmpp.agent import AgentOptions

    # Not available: messages for this person go on to their other clients.
    options = AgentOptions(
        connection=replace(cli_context.connection(), start_timeout_s=LOGIN_TIMEOUT_S),
        is_available=False,
        read_password=partial(cli_context.accounts.get, jid),
    )
    agent = ChatAgent(jid, password, options=options)
    await agent.start()
    try:
        yield agent
    finally:
        await shield_from_stop(agent.stop())


def _context_of_agent(
    settings: AgentSettings, data: Path, options: argparse.Namespace
) -> CliContext:
    server = settings.server
    folder = Path(options.file).absolute().parent
    return CliContext(
        data=data,
        host=server.host or "",
        port=server.port,
        alternative_addresses=tuple(
            parse_address(one, named="[server] endpoints") for one in server.endpoints
        ),
        domain=server.domain or settings.jid.partition("@")[2] or server.host or "",
        ca=folder / server.ca if server.ca else None,
        database=default_database(options),
        may_register=_may_register(options),
    )


def context_of_run(record: RunRecord, data: Path) -> CliContext:
    """Context of the running `up`."""
    return CliContext(
        data=data, host=record.host, port=record.port, domain=record.domain, ca=record.ca
    )
