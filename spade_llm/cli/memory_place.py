"""Place of an agent's memory, for commands: its file, or its schema in PostgreSQL."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Unpack

from spade_llm.cli.context import (
    agent_directories,
    data_directory,
    default_database,
    is_named,
)
from spade_llm.cli.factory.deployment_spec import (
    database_of,
    read_deployment,
    standard_deployment,
)
from spade_llm.core import directory_lock
from spade_llm.core.errors import ConfigurationError
from spade_llm.core.postgres import PostgresServer
from spade_llm.memory.database.backend import memory_backend
from spade_llm.memory.database.schema import MEMORY_TABLES
from spade_llm.memory.database.sqlite_connection import MEMORY_FILE

if TYPE_CHECKING:
    import argparse
    from collections.abc import AsyncIterator, Iterator

    from spade_llm.cli.factory.deployment_spec import DeploymentSpec
    from spade_llm.core.database import DatabaseUrl
    from spade_llm.memory.database.backend import BackendOptions, DatabaseMemoryBackend
    from spade_llm.memory.transfer.memory_file import MemoryPlace


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentMemory:
    """Memory of an agent."""

    home: Path
    """The agent's folder, named by its JID."""
    database: DatabaseUrl | None
    """None: the memory is in a file."""

    @property
    def jid(self) -> str:
        return self.home.name

    @property
    def file(self) -> Path:
        return self.home / MEMORY_FILE

    @property
    def place(self) -> MemoryPlace:
        """Place for one transaction at a time. Raises ConfigurationError: the URL is not valid."""
        if self.database is None:
            return self.file
        return PostgresServer(self.database, agent=self.jid)

    def exists(self) -> bool:
        """True if there is a memory. Raises ConfigurationError."""
        if self.database is None:
            return self.file.exists()
        return asyncio.run(_has_memory(self.database, self.jid))

    @asynccontextmanager
    async def opened(
        self, **options: Unpack[BackendOptions]
    ) -> AsyncIterator[DatabaseMemoryBackend]:
        """Backend as the agent opens it, which creates or migrates the memory. Raises
        ConfigurationError."""
        place = self.place
        if isinstance(place, Path):
            async with memory_backend(place, **options) as backend:
                yield backend
        else:
            async with place, memory_backend(place, **options) as backend:
                yield backend

    @contextmanager
    def agent_stopped(self) -> Iterator[None]:
        """Keeps the agent from starting on this machine; outside of an event loop. Raises
        ConfigurationError: it runs, with PostgreSQL on whichever machine."""
        try:
            with directory_lock.lock_directory(self.home, what=f"{self.jid} with this data"):
                if self.database is not None and asyncio.run(_is_in_use(self.database, self.jid)):
                    raise ConfigurationError(
                        f"{self.jid} uses the database on another machine: stop the agent first"
                    )
                yield
        except ConfigurationError as error:
            if directory_lock.is_locked(self.home):
                raise ConfigurationError(f"{error}: stop the agent first") from None
            raise


def find_memory(options: argparse.Namespace) -> AgentMemory:
    """Memory of --agent, or the only one without it, at the place that its agent uses.

    Raises:
        ConfigurationError: there is none, or several.
    """
    data, agent = data_directory(options), options.agent
    homes = agent_directories(data)
    if agent:
        homes = [home for home in homes if is_named(home.name, agent)]
    if agent and "@" in agent:
        # Also without a memory yet: an import makes one.
        return _memory_at(data / "agents" / agent, options)
    memories = [_memory_at(home, options) for home in homes]
    found = [one for one in memories if one.exists()]
    if len(found) == 1:
        return found[0]
    if not found:
        raise ConfigurationError(
            f"there is no memory{f' of {agent}' if agent else ''} below"
            f" {str(data / 'agents')!r}: name the data directory with --data, or run `spade-llm up`"
            " there once; of an agent of another machine with memories in PostgreSQL, give"
            " --database and the full JID with --agent"
        )
    names = ", ".join(one.jid for one in found)
    raise ConfigurationError(f"there are several memories ({names}): name one with --agent")


async def _is_in_use(database: DatabaseUrl, jid: str) -> bool:
    async with PostgresServer(database, agent=jid) as server:
        return await server.agent_sessions() > 0


async def _has_memory(database: DatabaseUrl, jid: str) -> bool:
    async with PostgresServer(database, agent=jid) as server:
        return MEMORY_TABLES.what in await server.stores()


def _memory_at(home: Path, options: argparse.Namespace) -> AgentMemory:
    spec, default = find_spec(home.name, options), default_database(options)
    if spec is None:
        return AgentMemory(home=home, database=default)
    uses_file = spec.settings.storage.memories == "files"
    return AgentMemory(home=home, database=None if uses_file else database_of(spec, default))


def find_spec(jid: str, options: argparse.Namespace) -> DeploymentSpec | None:
    """The agent's agent.toml below --agents, else among the standard agents. Raises
    ConfigurationError: one of these files is not valid."""
    folder = Path(options.agents) if options.agents else standard_deployment()
    specs = read_deployment(folder, domain=jid.partition("@")[2])
    return next((one for one in specs if one.jid == jid), None)
