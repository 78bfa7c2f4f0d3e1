"""`spade-llm memory`: statistics, verification, export, import, backup of a memory file.

Actions that read work while the agent runs; import and reindex require that it is stopped.
"""

from __future__ import annotations

import sys
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from spade_llm.cli.context import data_directory, is_named
from spade_llm.cli.factory.deployment_spec import read_deployment, standard_deployment
from spade_llm.cli.factory.embeddings import KEYWORDS_ONLY, EmbedderPool
from spade_llm.cli.memory_transfer import (
    agent_stopped,
    export_memories,
    import_memories,
    new_file,
)
from spade_llm.cli.signals import run_until_stopped
from spade_llm.cli.terminal import note, progress_bar, show
from spade_llm.core.errors import ConfigurationError
from spade_llm.core.text import pluralize
from spade_llm.memory import SQLiteMemoryBackend
from spade_llm.memory.database.sqlite_connection import MEMORY_FILE
from spade_llm.memory.transfer import memory_file
from spade_llm.memory.transfer.memory_file import verify_memory_file

if TYPE_CHECKING:
    import argparse

    from spade_llm.cli.factory.deployment_spec import DeploymentSpec


def main(options: argparse.Namespace) -> int:
    home = _agent_directory(data_directory(options), options.agent)
    match options.action:
        case "stats":
            return _statistics(home / MEMORY_FILE, options)
        case "verify":
            return _verify(home / MEMORY_FILE, options)
        case "export":
            return export_memories(home, options)
        case "backup":
            target = Path(options.file)
            with new_file(target) as unfinished, progress_bar("copied") as progress:
                memory_file.backup_file(home / MEMORY_FILE, unfinished, progress)
            size = target.stat().st_size
            record = {"file": target, "bytes": size}
            show(options, record, f"copied      {size} bytes to {target}")
            return 0
        case "import":
            return import_memories(home, options)
        case _:
            return run_until_stopped(_reindex(home, options))


def _agent_directory(data: Path, agent: str | None) -> Path:
    """Folder of the memory agent, or of the only one without `agent`."""
    found = sorted(path.parent for path in (data / "agents").glob(f"*/{MEMORY_FILE}"))
    if agent:
        found = [path for path in found if is_named(path.name, agent)]
    if len(found) == 1:
        return found[0]
    if not found and agent and "@" in agent:
        return data / "agents" / agent
    if not found:
        raise ConfigurationError(
            f"there is no memory file{f' of {agent}' if agent else ''} below"
            f" {str(data / 'agents')!r}: name the data directory with --data, or run `spade-llm up`"
            " there once. Memories in PostgreSQL are not read by this command"
        )
    names = ", ".join(path.name for path in found)
    raise ConfigurationError(f"there are several memories ({names}): name one with --agent")


def _statistics(path: Path, options: argparse.Namespace) -> int:
    """Show the content: a record for each owner, and one for the file."""
    owners, file = memory_file.read_statistics(path)
    for one in owners:
        text = (
            f"{one.owner}: {pluralize(one.memories, 'memory', 'memories')}"
            f" ({one.deleted} of them deleted and not purged yet),"
            f" {pluralize(one.messages, 'message')} in"
            f" {pluralize(one.conversations, 'conversation')}"
        )
        show(options, one, text)
    models = ", ".join(file.embedders) or "no model"
    lines = (
        f"vectors: {file.vectors} ({models}), {file.pending_vectors} to be computed",
        f"file: {file.size_bytes} bytes, schema {file.schema_version}",
    )
    show(options, file, lines)
    return 0


def _verify(path: Path, options: argparse.Namespace) -> int:
    faults = verify_memory_file(path)
    if options.json or not faults:
        show(options, {"faults": faults}, "no errors found")
    else:
        for fault in faults:
            print(f"wrong       {fault}", file=sys.stderr)
    return 1 if faults else 0


async def _reindex(home: Path, options: argparse.Namespace) -> int:
    """Compute all embeddings again, with the embedder of the agent's own agent.toml."""
    definition = _definition(home.name, options)
    with agent_stopped(home):
        # The home is DATA/agents/JID; models are kept in DATA.
        say = partial(note, options)
        async with EmbedderPool(home.parents[1], may_download=True, say=say) as embedders:
            embedder = await embedders.get(definition)
            async with SQLiteMemoryBackend(
                home / MEMORY_FILE, embedder=embedder, is_reindexing=True
            ) as backend:
                with progress_bar("embedded") as progress:
                    await backend.reindex(progress)
    name = embedder.name if embedder else KEYWORDS_ONLY
    show(options, {"reindexed": home.name, "embedder": name}, f"reindexed   with {name}")
    return 0


def _definition(jid: str, options: argparse.Namespace) -> DeploymentSpec:
    folder = Path(options.agents) if options.agents else standard_deployment()
    for definition in read_deployment(folder, domain=jid.partition("@")[2]):
        if definition.jid == jid:
            return definition
    raise ConfigurationError(
        f"{jid} has no agent.toml below {str(folder)!r}: name its folder with --agents"
    )
