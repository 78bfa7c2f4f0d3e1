"""`spade-llm storage move`: databases of agents from files to PostgreSQL, and back."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AsyncExitStack, contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from spade_llm.assistant.chat.message_correction import SHOWN_TABLES
from spade_llm.assistant.delegation.expert_question_log import EXPERT_TABLES
from spade_llm.assistant.feedback import FEEDBACK_TABLES
from spade_llm.assistant.history.memory_outbox import OUTBOX_TABLES
from spade_llm.assistant.middleware.usage_ledger import USAGE_TABLES
from spade_llm.cli.context import agent_directories, data_directory, default_database, named_agent
from spade_llm.cli.terminal import note, progress_bar, show
from spade_llm.core.database_copy import CopiedTable, copy_store
from spade_llm.core.errors import ConfigurationError
from spade_llm.core.postgres import PostgresServer
from spade_llm.core.settings import DATABASE_VARIABLE
from spade_llm.gateway.gateway_database import GATEWAY_TABLES
from spade_llm.memory import PostgresMemoryBackend, SQLiteMemoryBackend
from spade_llm.memory.database.schema import MEMORY_TABLES
from spade_llm.messaging.answer_log import ANSWER_TABLES
from spade_llm.rag.store.library_file import DATABASE_FILE
from spade_llm.rag.store.schema import DOCUMENT_TABLES
from spade_llm.rag.store.transfer import copy_library, copy_library_to_files
from spade_llm.xmpp.features.room_membership import ROOM_TABLES
from spade_llm.xmpp.invitations import INVITATION_TABLES
from spade_llm.xmpp.servers.data_directory import is_locked, lock_directory

if TYPE_CHECKING:
    import argparse

    from spade_llm.core.database import DatabasePlace, DatabaseUrl, StoreTables

STORES = (
    ANSWER_TABLES,
    EXPERT_TABLES,
    FEEDBACK_TABLES,
    GATEWAY_TABLES,
    INVITATION_TABLES,
    MEMORY_TABLES,
    OUTBOX_TABLES,
    ROOM_TABLES,
    SHOWN_TABLES,
    USAGE_TABLES,
)
"""Stores of all kinds of agents; each agent has some of them."""


def main(options: argparse.Namespace) -> int:
    return asyncio.run(_move(options))


async def _move(options: argparse.Namespace) -> int:
    address = default_database(options)
    if address is None:
        raise ConfigurationError(f"name the database with --database, or ${DATABASE_VARIABLE}")
    homes = _agent_homes(options)
    unfinished = [home.name for home in homes if not await _move_agent(home, address, options)]
    if unfinished and not options.dry_run:
        raise ConfigurationError(
            f"not finished, because of agents that run, or have written meanwhile:"
            f" {', '.join(unfinished)}. Stop them, and run this command again: it copies only what"
            " has changed"
        )
    return 0


def _agent_homes(options: argparse.Namespace) -> list[Path]:
    """Folders of the agents. Raises ConfigurationError: there is none."""
    data = data_directory(options)
    homes = agent_directories(data)
    if options.agent is None:
        if not homes:
            raise ConfigurationError(f"no agent has run with the data directory {str(data)!r}")
        return homes
    home = named_agent(homes, options.agent)
    if home is None and options.to == "files" and "@" in options.agent:
        home = data / "agents" / options.agent
    if home is None:
        known = ", ".join(home.name for home in homes) or "none"
        raise ConfigurationError(
            f"no agent {options.agent!r} has run with the data directory {str(data)!r} (known:"
            f" {known}): name it with --data"
        )
    return [home]


async def _move_agent(home: Path, address: DatabaseUrl, options: argparse.Namespace) -> bool:
    """Copy the stores of one agent. True: all were verified, and the agent did not run."""
    local = home.name.partition("@")[0]
    source = "files" if options.to == "database" else "database"
    are_verified = []
    with _stopped(home, options) as is_free:
        async with PostgresServer(address, agent=home.name) as server:
            is_stopped = await _source_stopped(home, server, options, is_free=is_free)
            in_database = await server.stores()
            for store in STORES:
                path = home / store.file_name(local)
                exists = {"files": path.exists(), "database": store.what in in_database}
                if not exists[source]:
                    continue
                places: dict[str, DatabasePlace] = {"files": path, "database": server}
                if options.dry_run and not exists[options.to]:
                    places[options.to] = None  # In RAM: a dry run creates no tables.
                elif store is MEMORY_TABLES and not options.dry_run:
                    is_changed = {name: is_stopped or name == options.to for name in places}
                    await _open_memory(
                        path if is_changed["files"] else None,
                        server if is_changed["database"] else None,
                    )
                are_verified += await _copy(home.name, store, places, source, options)
            are_verified += await _copy_documents(home, server, options, is_stopped=is_stopped)
    if not are_verified:
        note(options, f"{home.name}: nothing to copy")
    elif not options.dry_run:
        note(options, f"{home.name}: {sum(are_verified)} of {len(are_verified)} tables verified")
    return is_stopped and all(are_verified)


async def _source_stopped(
    home: Path, server: PostgresServer, options: argparse.Namespace, *, is_free: bool
) -> bool:
    """True if no agent changes the source. `is_free`: none runs on this machine. Raises
    ConfigurationError: an agent uses the target: the copy would overwrite what it writes."""
    in_use = await server.agent_sessions()
    uses_target = in_use if options.to == "database" else not (in_use or is_free)
    if uses_target and not options.dry_run:
        raise ConfigurationError(
            f"{home.name} runs, with the {'database' if in_use else 'files'} that would be written:"
            " stop it first"
        )
    return is_free and (not in_use or options.dry_run)


async def _open_memory(path: Path | None, server: PostgresServer | None) -> None:
    """Create the tables of these memories, or migrate them."""
    async with AsyncExitStack() as stack:
        if path is not None:
            await stack.enter_async_context(SQLiteMemoryBackend(path, is_learned_from=True))
        if server is not None:
            await stack.enter_async_context(PostgresMemoryBackend(server, is_learned_from=True))


async def _copy(
    agent: str,
    store: StoreTables,
    places: Mapping[str, DatabasePlace],
    source: str,
    options: argparse.Namespace,
) -> list[bool]:
    """Copy one store, and show its tables; return for each if it was verified."""
    with progress_bar(store.name) as progress:
        tables = await copy_store(
            store,
            places[source],
            places[options.to],
            is_dry_run=options.dry_run,
            may_replace=options.replace,
            progress=progress,
        )
    return _show(agent, store.name, tables, options)


async def _copy_documents(
    home: Path, server: PostgresServer, options: argparse.Namespace, *, is_stopped: bool
) -> list[bool]:
    """Copy the documents of a RAG agent, and show their tables."""
    if options.to == "files":
        exists = DOCUMENT_TABLES.what in await server.stores()
    else:
        exists = (home / "rag" / DATABASE_FILE).exists()
    if not exists:
        return []
    if not is_stopped:
        note(options, f"{home.name}: documents are copied when the agent is stopped")
        return [False]
    copy = copy_library_to_files if options.to == "files" else copy_library
    with progress_bar(DOCUMENT_TABLES.name) as progress:
        tables = await copy(
            home / "rag",
            server,
            is_dry_run=options.dry_run,
            may_replace=options.replace,
            progress=progress,
        )
    return _show(home.name, DOCUMENT_TABLES.name, tables, options)


def _show(
    agent: str, store: str, tables: Sequence[CopiedTable], options: argparse.Namespace
) -> list[bool]:
    """Show copied tables; return for each if it was verified."""
    for table in tables:
        if not (table.rows or table.written or options.json):
            continue  # Most are empty.
        if options.dry_run:
            state = f"{table.written} to copy"
        else:
            state = f"{table.written} copied, {'verified' if table.is_verified else 'DIFFERENT'}"
        record = {"agent": agent, "store": store, "is_dry_run": options.dry_run}
        text = f"{agent}  {store}/{table.name}: {table.rows} rows, {state}"
        show(options, record | asdict(table), text)
    return [table.is_verified for table in tables]


@contextmanager
def _stopped(home: Path, options: argparse.Namespace) -> Iterator[bool]:
    """Keeps the agent from starting while its stores are copied. False: it runs, and is read."""
    if options.dry_run or is_locked(home):
        yield options.dry_run
        return
    with lock_directory(home, what=f"{home.name} with this data"):
        yield True
