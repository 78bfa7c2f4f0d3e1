"""`spade-llm storage move`: agents' small databases in PostgreSQL, and back in files."""

from __future__ import annotations

import json
import shutil
from asyncio import to_thread
from contextlib import AsyncExitStack
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import pytest

from spade_llm.agents import AgentOptions, MemoryAgent, RAGAgent
from spade_llm.agents.rag import RagOptions
from spade_llm.assistant.middleware.usage_ledger import USAGE_TABLES, UsageLedger
from spade_llm.assistant.turn.turn_recorder import UsageTotals
from spade_llm.cli import main
from spade_llm.core.database import DatabaseUrl
from spade_llm.core.database_copy import copy_store, marked_unfinished
from spade_llm.core.errors import ConfigurationError
from spade_llm.core.postgres import PostgresServer
from spade_llm.memory import (
    MemoryDraft,
    ObservedMessage,
    PostgresMemoryBackend,
    SQLiteMemoryBackend,
)
from spade_llm.memory.database.schema import MEMORY_TABLES
from spade_llm.search.memory_query import MemoryFilter, MemoryQuery
from spade_llm.xmpp.invitations import INVITATION_TABLES, Invitations
from spade_llm.xmpp.servers.data_directory import lock_directory
from tests.rag.bag_of_words import BagOfWords

if TYPE_CHECKING:
    from pathlib import Path

    from spade_llm.core.database import DatabasePlace
    from spade_llm.memory.database.backend import DatabaseMemoryBackend
    from tests.postgres_server import PostgresProcess

NOW = datetime(2026, 3, 1, tzinfo=UTC)
pytestmark = pytest.mark.thorough


async def turns_of_ada(place: DatabasePlace) -> int:
    async with UsageLedger(place) as ledger:
        return sum(day.spent.turns for day in await ledger.of_peer("ada@x", days=1))


async def make_agent(home: Path) -> None:
    """Folder of an agent with some usage and an invitation."""
    await to_thread(home.mkdir, parents=True)
    local = home.name.partition("@")[0]
    async with (
        UsageLedger(home / USAGE_TABLES.file_name(local)) as ledger,
        Invitations(home / INVITATION_TABLES.file_name(local)) as invitations,
    ):
        await ledger.add("ada@x", UsageTotals(turns=3), groups=["@x"])
        await invitations.make(uses=1, lasts_s=60.0, stay_s=None, note="Bo")


async def move(data: Path, *arguments: str) -> int:
    return await to_thread(main, ["storage", "move", "--data", str(data), *arguments])


async def test_an_agent_moves_to_the_database_and_back(
    tmp_path: Path,
    postgres: PostgresProcess,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("SPADE_LLM_DATABASE", postgres.url())
    home = tmp_path / "agents" / "mover@example.org"
    await make_agent(home)

    assert await move(tmp_path, "--to", "database", "--dry-run", "--json") == 0
    planned = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    async with PostgresServer(DatabaseUrl(postgres.url()), agent=home.name) as server:
        assert not await server.stores()
        assert await move(tmp_path, "--to", "database") == 0
        assert await turns_of_ada(server) == 3
    done = capsys.readouterr().out
    shutil.rmtree(home)
    assert await move(tmp_path, "--to", "files", "--agent", home.name) == 0

    assert {"usage", "admission"} == {one["store"] for one in planned}
    assert all(one["is_dry_run"] and not one["is_verified"] for one in planned)
    assert "mover@example.org  usage/usage: 1 rows, 1 copied, verified" in done
    assert "mover@example.org: 4 of 4 tables verified" in done
    assert await turns_of_ada(home / "usage-mover.db") == 3
    assert home.stat().st_mode & 0o777 == 0o700


async def test_a_running_agent_is_copied_but_the_move_is_not_finished(
    tmp_path: Path, postgres: PostgresProcess, capsys: pytest.CaptureFixture[str]
) -> None:
    home = tmp_path / "agents" / "runner@example.org"
    await make_agent(home)
    to_database = ["--to", "database", "--database", postgres.url()]

    with lock_directory(home, what="runner"):
        assert await move(tmp_path, *to_database) == 1
    error = capsys.readouterr().err
    assert await move(tmp_path, *to_database) == 0

    assert "have written meanwhile: runner@example.org. Stop them" in error
    assert "usage/usage: 1 rows, 0 copied, verified" in capsys.readouterr().out


async def test_an_agent_that_uses_the_target_anywhere_is_not_overwritten(
    tmp_path: Path, postgres: PostgresProcess, capsys: pytest.CaptureFixture[str]
) -> None:
    home = tmp_path / "agents" / "elsewhere@example.org"
    await make_agent(home)
    address, database = DatabaseUrl(postgres.url()), ["--database", postgres.url()]

    async with PostgresServer(address, agent=home.name, is_agent=True):
        assert await move(tmp_path, "--to", "database", *database) == 1
        refused = capsys.readouterr().err
        assert await move(tmp_path, "--to", "database", *database, "--dry-run") == 0
    assert await move(tmp_path, "--to", "database", *database) == 0
    async with PostgresServer(address, agent=home.name, is_agent=True):
        capsys.readouterr()
        assert await move(tmp_path, "--to", "files", *database, "--replace") == 1
        unfinished = capsys.readouterr().err
    with lock_directory(home, what="an agent that uses the files"):
        assert await move(tmp_path, "--to", "files", *database) == 1

    assert "elsewhere@example.org runs, with the database that would be written" in refused
    assert "have written meanwhile: elsewhere@example.org. Stop them" in unfinished
    assert "runs, with the files that would be written" in capsys.readouterr().err


async def fill_memory(backend: DatabaseMemoryBackend) -> None:
    """Entries, a link, a grant, a conversation with an episode, and their vectors."""
    ada, bob = backend.for_owner("ada@x"), backend.for_owner("bob@x")
    for number in range(450):
        await ada.add(MemoryDraft(content=f"The code of door {number} is {number * 7}"))
    cat = await ada.add(MemoryDraft(content="The cat is called Momo", tags=("pets",)))
    vet = await ada.add(MemoryDraft(content="The vet is in Mill Road", metadata={"a": 1}))
    await ada.link(cat.id, vet.id, relation="goes to")
    await ada.grant("bob@x", tag="pets")
    said = [ObservedMessage(id=f"m{n}", role="user", content=f"word{n}", at=NOW) for n in range(9)]
    await bob.observe("holiday", said)
    await backend.wait_idle()


async def found_by_ada(backend: DatabaseMemoryBackend) -> list[str]:
    result = await backend.for_owner("ada@x").search(MemoryQuery(text="cat Momo vet", limit=5))
    return [one.entry.content for one in result.hits]


async def test_a_memory_moves_with_its_vectors_and_back(
    tmp_path: Path, postgres: PostgresProcess, capsys: pytest.CaptureFixture[str]
) -> None:
    home = tmp_path / "agents" / "memory@move.example.org"
    await to_thread(home.mkdir, parents=True)
    database = ["--database", postgres.url()]
    async with SQLiteMemoryBackend(home / "memory.db", embedder=BagOfWords()) as backend:
        await fill_memory(backend)
        found = await found_by_ada(backend)

    assert await move(tmp_path, "--to", "database", *database, "--dry-run") == 0
    planned = capsys.readouterr().out
    assert await move(tmp_path, "--to", "database", *database) == 0
    async with (
        PostgresServer(DatabaseUrl(postgres.url()), agent=home.name) as server,
        PostgresMemoryBackend(server, embedder=BagOfWords()) as backend,
    ):
        moved = await found_by_ada(backend)
        links = await backend.for_owner("ada@x").links(
            (await backend.for_owner("ada@x").list(MemoryFilter(tags=("pets",)))).entries[0].id
        )
        shown = await backend.for_owner("bob@x").history("holiday")
        await backend.for_owner("ada@x").add(MemoryDraft(content="Written in PostgreSQL"))
    (home / "memory.db").unlink()
    assert await move(tmp_path, "--to", "files", *database) == 0
    async with SQLiteMemoryBackend(home / "memory.db", embedder=BagOfWords()) as backend:
        entries = await backend.for_owner("ada@x").list(limit=1)
        back = await found_by_ada(backend)

    assert "memory/entry: 452 rows, 452 to copy" in planned
    assert found == moved == back
    assert [one.relation for one in links] == ["goes to"]
    assert len(shown) == 9
    assert (entries.total, entries.entries[0].content) == (453, "Written in PostgreSQL")


async def test_a_memory_that_has_changed_on_both_sides_is_copied_anew_with_replace(
    tmp_path: Path, postgres: PostgresProcess, capsys: pytest.CaptureFixture[str]
) -> None:
    home = tmp_path / "agents" / "memory@anew.example.org"
    await to_thread(home.mkdir, parents=True)
    to_database = ["--to", "database", "--database", postgres.url()]
    async with SQLiteMemoryBackend(home / "memory.db", embedder=BagOfWords()) as backend:
        await fill_memory(backend)
    assert await move(tmp_path, *to_database) == 0
    async with PostgresServer(DatabaseUrl(postgres.url()), agent=home.name) as server:
        async with PostgresMemoryBackend(server) as backend:
            await backend.for_owner("ada@x").add(MemoryDraft(content="Written in PostgreSQL"))
        async with SQLiteMemoryBackend(home / "memory.db", embedder=BagOfWords()) as backend:
            ada = backend.for_owner("ada@x")
            linked = (await ada.list(MemoryFilter(tags=("pets",)))).entries
            await ada.forget([linked[0].id])

        assert await move(tmp_path, *to_database) == 1
        refused = capsys.readouterr().err
        assert await move(tmp_path, *to_database, "--replace") == 0
        async with PostgresMemoryBackend(server, embedder=BagOfWords()) as backend:
            page = await backend.for_owner("ada@x").list(limit=1)

    assert "changed since they were copied" in refused
    assert page.total == 451


async def test_files_that_are_an_unfinished_copy_are_not_copied_to_the_database(
    tmp_path: Path, postgres: PostgresProcess, capsys: pytest.CaptureFixture[str]
) -> None:
    class Interrupted(Exception):
        pass

    def stop_half_way(done: int, total: int) -> None:
        if done > total / 2:
            raise Interrupted

    home = tmp_path / "agents" / "half@move.example.org"
    await to_thread(home.mkdir, parents=True)
    database = ["--database", postgres.url()]
    async with PostgresServer(DatabaseUrl(postgres.url()), agent=home.name) as server:
        async with PostgresMemoryBackend(server) as backend:
            await fill_memory(backend)
        async with SQLiteMemoryBackend(home / "memory.db"):
            pass
        with pytest.raises(Interrupted):
            await copy_store(MEMORY_TABLES, server, home / "memory.db", progress=stop_half_way)

    refused = await move(tmp_path, "--to", "database", *database, "--replace")
    error = capsys.readouterr().err
    finished = await move(tmp_path, "--to", "files", *database)
    again = await move(tmp_path, "--to", "database", *database, "--replace")

    assert (refused, finished, again) == (1, 0, 0)
    assert "a copy was not finished (tables " in error
    assert "storage move --to files` again" in error


@pytest.mark.parametrize("kind", ["memory", "rag"])
async def test_an_agent_with_a_database_refuses_files_that_are_an_unfinished_copy(
    tmp_path: Path, postgres: PostgresProcess, kind: str
) -> None:
    options = AgentOptions(data=tmp_path, database=DatabaseUrl(postgres.url()))
    agent: MemoryAgent | RAGAgent
    if kind == "memory":
        agent = MemoryAgent("memory@half", "word", uses_file=True, options=options)
        copied = marked_unfinished(tmp_path / "memory.db", "entry")
    else:
        await to_thread((tmp_path / "rag").mkdir)
        rag = RagOptions(uses_files=True)
        agent = RAGAgent("rag@half", "word", embedder=None, roots=[], options=options, rag=rag)
        copied = marked_unfinished(tmp_path / "rag" / "documents.sqlite3", "passage_vectors")

    async with copied, AsyncExitStack() as stack:
        with pytest.raises(ConfigurationError, match="copy was not finished .* --to files"):
            await agent.open_resources(stack)
