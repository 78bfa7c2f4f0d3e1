"""`spade-llm memory`: statistics, verification, export, import, backup, deletion of memories.

Actions that read work while the agent runs; import, forget and reindex require that it is stopped.
"""

from __future__ import annotations

import asyncio
import shlex
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Unpack

from spade_llm.cli.context import (
    agent_directories,
    data_directory,
    default_database,
    is_named,
)
from spade_llm.cli.factory.deployment_spec import agents_folder, database_of, read_deployment
from spade_llm.cli.factory.embeddings import KEYWORDS_ONLY, EmbedderPool
from spade_llm.cli.memory_transfer import export_memories, import_memories, new_file
from spade_llm.cli.signals import run_until_stopped
from spade_llm.cli.terminal import note, progress_bar, show
from spade_llm.core.errors import ConfigurationError
from spade_llm.core.postgres import PostgresServer
from spade_llm.core.text import pluralize
from spade_llm.memory.database.backend import BackendOptions, DatabaseMemoryBackend, memory_backend
from spade_llm.memory.database.schema import MEMORY_TABLES
from spade_llm.memory.database.sqlite_connection import MEMORY_FILE
from spade_llm.memory.transfer import memory_file
from spade_llm.xmpp.servers.data_directory import is_locked, lock_directory

if TYPE_CHECKING:
    import argparse

    from spade_llm.cli.factory.deployment_spec import DeploymentSpec
    from spade_llm.core.database import DatabaseUrl
    from spade_llm.memory.transfer.memory_file import MemoryPlace


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentMemory:
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
        return self.file.exists() if self.database is None else asyncio.run(self._is_stored())

    async def _is_stored(self, *, in_use: bool = False) -> bool:
        """True if the database has this memory; `in_use`: if an agent uses the database now."""
        assert self.database is not None
        async with PostgresServer(self.database, agent=self.jid) as server:
            if in_use:
                return await server.agent_sessions() > 0
            return MEMORY_TABLES.what in await server.stores()

    @asynccontextmanager
    async def opened(
        self, **options: Unpack[BackendOptions]
    ) -> AsyncIterator[DatabaseMemoryBackend]:
        """Backend as the agent opens it: created or migrated. Raises ConfigurationError."""
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
            with lock_directory(self.home, what=f"{self.jid} with this data"):
                if self.database is not None and asyncio.run(self._is_stored(in_use=True)):
                    raise ConfigurationError(
                        f"{self.jid} uses the database on another machine: stop the agent first"
                    )
                yield
        except ConfigurationError as error:
            if is_locked(self.home):
                raise ConfigurationError(f"{error}: stop the agent first") from None
            raise


def find_memory(options: argparse.Namespace) -> AgentMemory:
    """Memory of --agent, or the only one without it, at the place that its agent uses. Raises
    ConfigurationError: there is none, or several."""
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


def _memory_at(home: Path, options: argparse.Namespace) -> AgentMemory:
    spec, default = find_spec(home.name, options), default_database(options)
    if spec is None:
        return AgentMemory(home=home, database=default)
    uses_file = spec.settings.storage.memories == "files"
    return AgentMemory(home=home, database=None if uses_file else database_of(spec, default))


def find_spec(jid: str, options: argparse.Namespace) -> DeploymentSpec | None:
    """The agent's agent.toml below --agents, else among the standard agents. Raises
    ConfigurationError: one of these files is not valid."""
    specs = read_deployment(agents_folder(options), domain=jid.partition("@")[2])
    return next((one for one in specs if one.jid == jid), None)


def main(options: argparse.Namespace) -> int:
    memory = find_memory(options)
    match options.action:
        case "stats":
            return _statistics(memory, options)
        case "verify":
            return _verify(memory, options)
        case "export":
            return export_memories(memory, options)
        case "backup":
            return _back_up(memory, options)
        case "import":
            return import_memories(memory, options)
        case "forget":
            with memory.agent_stopped():
                return run_until_stopped(_forget(memory, options))
        case _:
            with memory.agent_stopped():
                return run_until_stopped(_reindex(memory, options))


def _back_up(memory: AgentMemory, options: argparse.Namespace) -> int:
    place, target = memory.place, Path(options.file)
    if not isinstance(place, Path):
        command = shlex.join(["pg_dump", f'--schema="{place.schema}"', f"--file={target}", "URL"])
        raise ConfigurationError(
            f"the memories of {memory.jid} are in PostgreSQL: make a backup with `{command}`, or"
            " write them as JSON Lines with `spade-llm memory export`"
        )
    with new_file(target) as unfinished, progress_bar("copied") as progress:
        memory_file.backup_file(place, unfinished, progress)
    size = target.stat().st_size
    record = {"file": target, "bytes": size}
    show(options, record, f"copied      {size} bytes to {target}")
    return 0


def _statistics(memory: AgentMemory, options: argparse.Namespace) -> int:
    """Show the content: a record for each owner, and one for the whole."""
    owners, whole = memory_file.read_statistics(memory.place)
    for one in owners:
        text = (
            f"{one.owner}: {pluralize(one.memories, 'memory', 'memories')}"
            f" ({one.deleted} of them deleted and not purged yet),"
            f" {pluralize(one.messages, 'message')} in"
            f" {pluralize(one.conversations, 'conversation')}"
        )
        show(options, one, text)
    models = ", ".join(whole.embedders) or "no model"
    what = "file" if memory.database is None else "database"
    lines = (
        f"vectors: {whole.vectors} ({models}), {whole.pending_vectors} to be computed",
        f"{what}: {whole.size_bytes} bytes, schema {whole.schema_version}",
    )
    show(options, whole, lines)
    return 0


def _verify(memory: AgentMemory, options: argparse.Namespace) -> int:
    faults = memory_file.verify_memory(memory.place)
    if options.json or not faults:
        show(options, {"faults": faults}, "no errors found")
    else:
        for fault in faults:
            print(f"wrong       {fault}", file=sys.stderr)
    return 1 if faults else 0


async def _forget(memory: AgentMemory, options: argparse.Namespace) -> int:
    """Delete all memories, messages and consent of a person, as `/forget all` at the memory agent;
    without --yes, only count."""
    # Late, as it imports slixmpp.
    from spade_llm.xmpp.connection.jids import bare_jid
    from spade_llm.xmpp.connection.settings import full_jid

    about = bare_jid(full_jid(options.about.strip(), memory.jid.partition("@")[2]))
    async with memory.opened() as backend:
        person = backend.about(about)
        total = (await person.list(limit=1)).total
        if options.yes:
            await person.forget_all()
            await person.withdraw_all()
    record = {"about": about, "memories": total, "deleted": options.yes}
    found = pluralize(total, "memory", "memories")
    if options.yes:
        show(options, record, f"deleted     {found} about {about}, and all messages")
    else:
        show(
            options,
            record,
            f"found       {found} about {about}; --yes deletes them, and all messages",
        )
    return 0


async def _reindex(memory: AgentMemory, options: argparse.Namespace) -> int:
    """Compute all embeddings again, with the embedder of the agent's own agent.toml."""
    spec = find_spec(memory.jid, options)
    if spec is None:
        raise ConfigurationError(f"{memory.jid} has no agent.toml: name its folder with --agents")
    # The home is DATA/agents/JID; models are kept in DATA.
    say = partial(note, options)
    async with EmbedderPool(memory.home.parents[1], may_download=True, say=say) as embedders:
        embedder = await embedders.get(spec)
        async with memory.opened(embedder=embedder, is_reindexing=True) as backend:
            with progress_bar("embedded") as progress:
                await backend.reindex(progress)
    name = embedder.name if embedder else KEYWORDS_ONLY
    show(options, {"reindexed": memory.jid, "embedder": name}, f"reindexed   with {name}")
    return 0
