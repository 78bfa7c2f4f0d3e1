"""`spade-llm memory`: statistics, verification, export, import, backup of an agent's memory.

Actions that read work while the agent runs; import and reindex require that it is stopped.
"""

from __future__ import annotations

import shlex
import sys
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from spade_llm.cli.factory.embeddings import KEYWORDS_ONLY, EmbedderPool
from spade_llm.cli.memory_place import find_memory, find_spec
from spade_llm.cli.memory_transfer import export_memories, import_memories, new_file
from spade_llm.cli.signals import run_until_stopped
from spade_llm.cli.terminal import note, progress_bar, show
from spade_llm.core.errors import ConfigurationError
from spade_llm.core.text import pluralize
from spade_llm.memory.transfer import memory_file

if TYPE_CHECKING:
    import argparse

    from spade_llm.cli.memory_place import AgentMemory


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
