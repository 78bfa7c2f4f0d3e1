"""`spade-llm memory`: statistics, verification, export, import, backup of a memory file.

Actions that read work while the agent runs; import and reindex require that it is stopped.
"""

from __future__ import annotations

import asyncio
import os
import sys
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from spade_llm.cli.context import data_directory, is_named
from spade_llm.cli.factory.deployment_spec import read_deployment, standard_deployment
from spade_llm.cli.factory.embeddings import KEYWORDS_ONLY, EmbedderPool
from spade_llm.cli.signals import run_until_stopped
from spade_llm.cli.terminal import progress_bar, sanitize_line
from spade_llm.core import directory_lock
from spade_llm.core.errors import ConfigurationError
from spade_llm.core.text import pluralize
from spade_llm.memory import SQLiteMemoryBackend
from spade_llm.memory.sqlite.connection import Transaction
from spade_llm.memory.transfer import memory_file, passport_store
from spade_llm.memory.transfer.import_formats import OWN_FORMAT, is_own_export, read_import
from spade_llm.memory.transfer.importer import import_records
from spade_llm.memory.transfer.memory_file import verify_memory_file
from spade_llm.memory.transfer.passport import (
    MAX_PASSPORT_BYTES,
    PassportKey,
    is_passport,
    read_passport,
)
from spade_llm.memory.transfer.passport_store import PassportStore
from spade_llm.memory.transfer.records import ImportTarget
from spade_llm.memory.validation import JID_PATTERN, normalize_subject

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator, Mapping

    from spade_llm.cli.factory.deployment_spec import DeploymentSpec
    from spade_llm.memory.transfer.passport import Passport, PassportHeader

MEMORY_FILE = "memory.db"
MAX_HEADER_BYTES = 16_384
"""Beginning of a file that tells whether it is a passport."""

KIND_NAMES = {"entry": "memory", "decay": "decay policy", "audit": "audit record"}
"""Names of the kinds of records, in the singular, where they differ."""


def main(options: argparse.Namespace) -> int:
    home = _agent_directory(data_directory(options), options.agent)
    match options.action:
        case "stats":
            for line in memory_file.statistics_lines(home / MEMORY_FILE):
                print(line)
            return 0
        case "verify":
            return _verify(home / MEMORY_FILE)
        case "export":
            if options.about:
                return _export_passport(home, options.file, options.about)
            return _export(home / MEMORY_FILE, options.file)
        case "backup":
            target = Path(options.file)
            with _new_file(target) as unfinished, progress_bar("copied") as progress:
                memory_file.backup_file(home / MEMORY_FILE, unfinished, progress)
            print(f"copied      {target.stat().st_size} bytes to {target}")
            return 0
        case "import":
            source = Path(options.file)
            is_signed = options.format is None and _is_passport(source)
            return (_import_passport if is_signed else _import)(home, source, options)
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
            " there once"
        )
    names = ", ".join(path.name for path in found)
    raise ConfigurationError(f"there are several memories ({names}): name one with --agent")


def _verify(path: Path) -> int:
    faults = verify_memory_file(path)
    for fault in faults:
        print(f"wrong       {fault}", file=sys.stderr)
    if not faults:
        print("no errors found")
    return 1 if faults else 0


def _export(path: Path, target: str) -> int:
    """Export to a file, or to standard output (`-`)."""
    if target == "-":
        for line in memory_file.export_lines(path, lambda _done, _total: None):
            print(line)
        return 0
    with _new_file(Path(target)) as unfinished, unfinished.open("w", encoding="utf-8") as file:
        with progress_bar("exported") as progress:
            lines = memory_file.export_lines(path, progress)
            # The first line is the header.
            count = sum(file.write(f"{line}\n") > 0 for line in lines) - 1
        file.flush()
        # Before the rename: after a power failure, the file could be empty.
        os.fsync(file.fileno())
    print(f"exported    {count} records to {target}")
    return 0


def _export_passport(home: Path, target: str, about: str) -> int:
    """Export the memories about one person as a passport, to a file or standard output (`-`)."""
    key, now = PassportKey.load_or_create(home), datetime.now(UTC)
    with memory_file.open_memory_file(home / MEMORY_FILE, is_read_only=True) as connection:
        connection.execute("BEGIN")
        content = passport_store.collect_records(Transaction(connection), about, now=now)
    if not content.lines:
        raise ConfigurationError(f"--about: nothing is remembered about {about!r}")
    header, passport = passport_store.issue_passport(
        content, about, issuer=home.name, key=key, now=now
    )
    if target == "-":
        sys.stdout.buffer.write(passport)
        return 0
    with _new_file(Path(target)) as unfinished, unfinished.open("wb") as file:
        file.write(passport)
        file.flush()
        os.fsync(file.fileno())
    print(f"exported    {_counts(header)} about {header.subject} to {target}")
    if header.left_out:
        print(f"left out    {header.left_out} older ones, which do not fit")
    print(f"signed      by {header.issuer}, key {header.fingerprint}")
    return 0


def _is_passport(source: Path) -> bool:
    try:
        with source.open("rb") as file:
            return is_passport(file.read(MAX_HEADER_BYTES))
    except OSError as error:
        raise ConfigurationError(f"{str(source)!r} cannot be read: {error.strerror}") from None


def _import_passport(home: Path, source: Path, options: argparse.Namespace) -> int:
    """Import a passport as memories of --owner about --about. Its issuer is not asked."""
    with source.open("rb") as file:
        passport = read_passport(file.read(MAX_PASSPORT_BYTES + 1))
    header = passport.header
    made_at = f"made {header.made_at:%Y-%m-%d %H:%M} UTC"
    print(f"passport    of {header.subject} by {header.issuer}, {made_at}: {_counts(header)}")
    print(f"signature   intact, key {header.fingerprint}: compare it with the one shown there")
    owner, about = normalize_subject(options.owner), normalize_subject(options.about)
    for option, jid, whose in (("--owner", owner, "agent"), ("--about", about, "person")):
        if JID_PATTERN.fullmatch(jid or "") is None:
            raise ConfigurationError(f"{option}: a passport needs the JID of the {whose} here")
    if options.dry_run:
        print(f"would be imported: at most {len(passport.records)} records")
        return 0
    with _agent_stopped(home):
        done = asyncio.run(_load_passport(home, passport, owner=str(owner), about=str(about)))
    print(f"imported    {done.added} records; {done.present} were there already")
    return 0


async def _load_passport(
    home: Path, passport: Passport, *, owner: str, about: str
) -> memory_file.ImportSummary:
    key = PassportKey.load_or_create(home)
    async with SQLiteMemoryBackend(home / MEMORY_FILE) as backend:
        store = PassportStore(backend, key, issuer=home.name)
        return await store.load(passport, subject=about, owner=owner)


def _counts(header: PassportHeader) -> str:
    memories = pluralize(header.entries, "memory", "memories")
    return f"{memories} and {pluralize(header.messages, 'message')}"


def _import(home: Path, source: Path, options: argparse.Namespace) -> int:
    try:
        with _agent_stopped(home):
            asyncio.run(_create_or_migrate(home / MEMORY_FILE))
            done = _imported(home / MEMORY_FILE, source, options)
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigurationError(f"{str(source)!r} cannot be read as text: {error}") from None
    for fault in done.faults:
        print(f"left out    {sanitize_line(fault)}", file=sys.stderr)
    if done.left_out > len(done.faults):
        print(f"left out    and {done.left_out - len(done.faults)} more", file=sys.stderr)
    done_or_not = "would be imported:" if options.dry_run else "imported   "
    print(f"{done_or_not} {_added(done)}; {done.present} were there already")
    if done.updated:
        print(f"updated     {_plural(done.updated, 'memory')}")
    if done.omitted:
        print(f"not taken   {_list(done.omitted)}")
    return 1 if done.left_out else 0


def _imported(path: Path, source: Path, options: argparse.Namespace) -> memory_file.ImportSummary:
    """Import a file; its content, or `--format`, tells the format."""
    if options.format in (None, OWN_FORMAT) and (options.format or is_own_export(source)):
        if options.owner or options.about:
            raise ConfigurationError(
                f"{str(source)!r} names the owner and subject of each memory itself:"
                " remove --owner and --about"
            )
        with source.open(encoding="utf-8", newline="\n") as lines:
            return memory_file.import_lines(path, lines, is_dry_run=options.dry_run)
    target = ImportTarget(
        owner=normalize_subject(options.owner), subject=normalize_subject(options.about)
    )
    with progress_bar("imported", is_bytes=True) as progress:
        records = read_import(source, target, progress, format_name=options.format)
        return import_records(path, records, is_dry_run=options.dry_run)


def _added(done: memory_file.ImportSummary) -> str:
    added = _list({KIND_NAMES.get(kind, kind): number for kind, number in done.counts.items()})
    if done.conversations:
        return f"{added} in {_plural(done.conversations, 'conversation')}"
    return added or "0 records"


def _list(counts: Mapping[str, int]) -> str:
    return ", ".join(_plural(number, name) for name, number in counts.items())


def _plural(number: int, name: str) -> str:
    return pluralize(number, name, f"{name[:-1]}ies" if name.endswith("y") else "")


async def _reindex(home: Path, options: argparse.Namespace) -> int:
    """Compute all embeddings again, with the embedder of the agent's own agent.toml."""
    definition = _definition(home.name, options)
    with _agent_stopped(home):
        # The home is DATA/agents/JID; models are kept in DATA.
        async with EmbedderPool(home.parents[1], may_download=True, say=print) as embedders:
            embedder = await embedders.get(definition)
            async with SQLiteMemoryBackend(
                home / MEMORY_FILE, embedder=embedder, is_reindexing=True
            ) as backend:
                with progress_bar("embedded") as progress:
                    await backend.reindex(progress)
    print(f"reindexed   with {embedder.name if embedder else KEYWORDS_ONLY}")
    return 0


def _definition(jid: str, options: argparse.Namespace) -> DeploymentSpec:
    folder = Path(options.agents) if options.agents else standard_deployment()
    for definition in read_deployment(folder, domain=jid.partition("@")[2]):
        if definition.jid == jid:
            return definition
    raise ConfigurationError(
        f"{jid} has no agent.toml below {str(folder)!r}: name its folder with --agents"
    )


async def _create_or_migrate(path: Path) -> None:
    """Open the file once, which creates it or migrates it to this version."""
    async with SQLiteMemoryBackend(path):
        return


@contextmanager
def _agent_stopped(home: Path) -> Iterator[None]:
    try:
        with directory_lock.lock_directory(home, what=f"{home.name} with this data"):
            yield
    except ConfigurationError as error:
        if directory_lock.is_locked(home):
            raise ConfigurationError(f"{error}: stop the agent first") from None
        raise


@contextmanager
def _new_file(target: Path) -> Iterator[Path]:
    """Temporary file that is renamed to the target when the block succeeds."""
    if target.exists():
        raise ConfigurationError(f"{str(target)!r} already exists: choose another name")
    unfinished = target.with_name(f".{target.name}.unfinished")
    try:
        unfinished.unlink(missing_ok=True)
        # Before it has content: memories are for their owner only, whatever the umask.
        unfinished.touch(mode=0o600)
        yield unfinished
        unfinished.rename(target)
    except OSError as error:
        raise ConfigurationError(f"{str(target)!r} cannot be written: {error.strerror}") from None
    finally:
        unfinished.unlink(missing_ok=True)
