"""`spade-llm memory export` and `import`: exports, passports, memories of other programs."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from spade_llm.cli.terminal import note, progress_bar, sanitize_line, show
from spade_llm.core.errors import ConfigurationError, InvalidArguments
from spade_llm.core.text import pluralize
from spade_llm.memory.transfer import memory_file, passport_store
from spade_llm.memory.transfer.export_formats import letta_agent_file, markdown_lines, owners_about
from spade_llm.memory.transfer.import_formats import OWN_FORMAT, is_own_export, read_import
from spade_llm.memory.transfer.importer import import_records
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

    from spade_llm.cli.memory import AgentMemory
    from spade_llm.memory.transfer.memory_file import MemoryPlace
    from spade_llm.memory.transfer.passport import Passport, PassportHeader

MAX_HEADER_BYTES = 16_384
"""Beginning of a file that tells whether it is a passport."""

LINES_PER_REPORT = 500
KIND_NAMES = {"entry": "memory", "decay": "decay policy", "audit": "audit record"}
"""Names of the kinds of records, in the singular, where they differ."""


def export_memories(memory: AgentMemory, options: argparse.Namespace) -> int:
    """Export to a file, or to standard output (`-`)."""
    place, target = memory.place, options.file
    match options.format:
        case "markdown":
            _write_lines(target, markdown_lines(place, owner=options.owner, about=options.about))
            _show_export(options, {"file": target}, f"exported    {target}")
            return 0
        case "letta":
            return _export_letta(place, options)
    if options.owner:
        raise ConfigurationError("--owner goes with --format markdown or letta")
    if options.about and options.format is None:
        return _export_passport(memory, options)
    if options.about:
        raise ConfigurationError("--about does not go with --format jsonl: it exports everything")
    with progress_bar("exported") as progress:
        # The first line is the header.
        count = _write_lines(target, memory_file.export_lines(place, progress)) - 1
    record = {"file": target, "records": count}
    _show_export(options, record, f"exported    {count} records to {target}")
    return 0


def _show_export(options: argparse.Namespace, record: object, text: str | Iterable[str]) -> None:
    """Show a result, unless the export itself is on standard output."""
    if options.file != "-":
        show(options, record, text)


def _export_letta(place: MemoryPlace, options: argparse.Namespace) -> int:
    if not options.about:
        raise ConfigurationError("--format letta needs --about JID: the person of the agent file")
    owners = [options.owner] if options.owner else owners_about(place, options.about)
    if len(owners) != 1:
        raise ConfigurationError(
            f"--format letta needs --owner JID: one of {', '.join(owners)}"
            if owners
            else f"--about: nothing is remembered about {options.about!r}"
        )
    done = letta_agent_file(place, owner=owners[0], about=options.about)
    _write_lines(options.file, done.content.splitlines())
    record = {"file": options.file, "memories": done.memories, "owner": owners[0]}
    memories = _plural(done.memories, "memory")
    text = f"exported    {memories} of {owners[0]} to {options.file}"
    _show_export(options, record, text)
    if done.left_out:
        print(f"left out    {done.left_out} older ones, which do not fit", file=sys.stderr)
    return 0


def _write_lines(target: str, lines: Iterable[str]) -> int:
    """Write lines to a file that does not exist, or to standard output; return their number."""
    if target == "-":
        return sum(print(line) is None for line in lines)
    with new_file(Path(target)) as unfinished, unfinished.open("w", encoding="utf-8") as file:
        count = sum(file.write(f"{line}\n") > 0 for line in lines)
        file.flush()
        # Before the rename: after a power failure, the file could be empty.
        os.fsync(file.fileno())
    return count


def _export_passport(memory: AgentMemory, options: argparse.Namespace) -> int:
    """Export the memories about one person as a passport, to a file or standard output (`-`)."""
    target, about = options.file, options.about
    now = datetime.now(UTC)
    with memory_file.opened_memory(memory.place, is_read_only=True) as transaction:
        content = passport_store.collect_records(transaction, about, now=now)
    if not content.lines:
        raise ConfigurationError(f"--about: nothing is remembered about {about!r}")
    header, passport = passport_store.issue_passport(
        content, about, issuer=memory.jid, key=_passport_key(memory), now=now
    )
    if target == "-":
        sys.stdout.buffer.write(passport)
        return 0
    with new_file(Path(target)) as unfinished, unfinished.open("wb") as file:
        file.write(passport)
        file.flush()
        os.fsync(file.fileno())
    lines = [f"exported    {_counts(header)} about {header.subject} to {target}"]
    if header.left_out:
        lines.append(f"left out    {header.left_out} older ones, which do not fit")
    lines.append(f"signed      by {header.issuer}, key {header.fingerprint}")
    show(options, {"file": target, **header.model_dump()}, lines)
    return 0


def _is_passport(source: Path) -> bool:
    try:
        with source.open("rb") as file:
            return is_passport(file.read(MAX_HEADER_BYTES))
    except OSError as error:
        raise ConfigurationError(f"{str(source)!r} cannot be read: {error.strerror}") from None


def _import_passport(memory: AgentMemory, source: Path, options: argparse.Namespace) -> int:
    """Import a passport as memories of --owner about --about. Its issuer is not asked."""
    if options.person:
        raise ConfigurationError(
            f"--person: {str(source)!r} is a passport, of one person: remove it"
        )
    with source.open("rb") as file:
        passport = read_passport(file.read(MAX_PASSPORT_BYTES + 1))
    header = passport.header
    made_at = f"made {header.made_at:%Y-%m-%d %H:%M} UTC"
    note(
        options, f"passport    of {header.subject} by {header.issuer}, {made_at}: {_counts(header)}"
    )
    note(options, f"signature   intact, key {header.fingerprint}: compare it with the one there")
    owner, about = normalize_subject(options.owner), normalize_subject(options.about)
    for option, jid, kind in (("--owner", owner, "agent"), ("--about", about, "person")):
        if JID_PATTERN.fullmatch(jid or "") is None:
            raise ConfigurationError(f"{option}: a passport needs the JID of the {kind} here")
    if options.dry_run:
        text = f"would be imported: at most {len(passport.records)} records"
        record = {"is_dry_run": True, "passport": header, "records": len(passport.records)}
        show(options, record, text)
        return 0
    with memory.agent_stopped():
        done = asyncio.run(_load_passport(memory, passport, owner=str(owner), about=str(about)))
    text = f"imported    {done.added} records; {done.present} were there already"
    show(options, {"is_dry_run": False, "passport": header, **asdict(done)}, text)
    return 0


async def _load_passport(
    memory: AgentMemory, passport: Passport, *, owner: str, about: str
) -> memory_file.ImportSummary:
    async with memory.opened() as backend:
        store = PassportStore(backend, _passport_key(memory), issuer=memory.jid)
        return await store.load(passport, subject=about, owner=owner)


def _passport_key(memory: AgentMemory) -> PassportKey:
    # An agent of another machine has no folder here.
    memory.home.mkdir(parents=True, exist_ok=True, mode=0o700)
    return PassportKey.load_or_create(memory.home)


def _counts(header: PassportHeader) -> str:
    memories = pluralize(header.entries, "memory", "memories")
    return f"{memories} and {pluralize(header.messages, 'message')}"


def import_memories(memory: AgentMemory, options: argparse.Namespace) -> int:
    """Import a passport, an export or a file of another program."""
    source = Path(options.file)
    is_signed = options.format is None and _is_passport(source)
    return (_import_passport if is_signed else _import)(memory, source, options)


def _import(memory: AgentMemory, source: Path, options: argparse.Namespace) -> int:
    try:
        with memory.agent_stopped():
            asyncio.run(_create_or_migrate(memory))
            done = _imported(memory.place, source, options)
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigurationError(f"{str(source)!r} cannot be read as text: {error}") from None
    except InvalidArguments as error:
        raise ConfigurationError(f"{str(source)!r}: {error}") from None
    for fault in done.faults:
        print(f"left out    {sanitize_line(fault)}", file=sys.stderr)
    if done.left_out > len(done.faults):
        print(f"left out    and {done.left_out - len(done.faults)} more", file=sys.stderr)
    done_or_not = "would be imported:" if options.dry_run else "imported   "
    lines = [f"{done_or_not} {_added(done)}; {done.present} were there already"]
    if done.updated:
        lines.append(f"updated     {_plural(done.updated, 'memory')}")
    if done.omitted:
        lines.append(f"not taken   {_list(done.omitted)}")
    show(options, {"is_dry_run": options.dry_run, **asdict(done)}, lines)
    return 1 if done.left_out else 0


def _imported(
    place: MemoryPlace, source: Path, options: argparse.Namespace
) -> memory_file.ImportSummary:
    """Import a file; its content, or `--format`, tells the format."""
    if options.format in (None, OWN_FORMAT) and (options.format or is_own_export(source)):
        if options.owner or options.about or options.person:
            raise ConfigurationError(
                f"{str(source)!r} names the owner and subject of each memory itself:"
                " remove --owner, --about and --person"
            )
        with (
            source.open(encoding="utf-8", newline="\n") as file,
            progress_bar("imported", is_bytes=True) as progress,
        ):
            lines = _counted(file, source.stat().st_size, progress)
            return memory_file.import_lines(place, lines, is_dry_run=options.dry_run)
    target = ImportTarget(
        owner=normalize_subject(options.owner), subject=normalize_subject(options.about)
    )
    with progress_bar("imported", is_bytes=True) as progress:
        records = read_import(source, target, progress, format_name=options.format)
        return import_records(
            place, records, person=options.person or "", is_dry_run=options.dry_run
        )


def _counted(
    lines: Iterable[str], size: int, progress: memory_file.OnTransferProgress
) -> Iterator[str]:
    """The same lines; reports how much of the file they are, in bytes."""
    done = 0
    for number, line in enumerate(lines):
        yield line
        done += len(line.encode())
        if number % LINES_PER_REPORT == 0:
            progress(done, size)


def _added(done: memory_file.ImportSummary) -> str:
    added = _list({KIND_NAMES.get(kind, kind): number for kind, number in done.counts.items()})
    if done.conversations:
        return f"{added} in {_plural(done.conversations, 'conversation')}"
    return added or "0 records"


def _list(counts: Mapping[str, int]) -> str:
    return ", ".join(_plural(number, name) for name, number in counts.items())


def _plural(number: int, name: str) -> str:
    return pluralize(number, name, f"{name[:-1]}ies" if name.endswith("y") else "")


async def _create_or_migrate(memory: AgentMemory) -> None:
    """Open the memory once, which creates it or migrates it to this version."""
    async with memory.opened():
        return


@contextmanager
def new_file(target: Path) -> Iterator[Path]:
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
