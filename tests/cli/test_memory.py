"""`spade-llm memory`: a memory, in a file or in PostgreSQL, is looked at, written out, filled and
copied."""

from __future__ import annotations

import itertools
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

import psycopg
import pytest

from spade_llm.cli.memory import AgentMemory
from spade_llm.core.database import DatabaseUrl
from spade_llm.core.postgres import PostgresServer
from spade_llm.core.settings import DATABASE_VARIABLE
from spade_llm.memory import MemoryDraft
from tests.cli.program import Program, modest_agents
from tests.conftest import DATABASES
from tests.memory.old_files import AGENT, a_row, write_database

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.postgres_server import PostgresProcess

pytestmark = pytest.mark.timeout(240)

FILES = Path(__file__).parents[1] / "memory" / "transfer" / "files"


ProgramIn: TypeAlias = "Callable[[Path], Program]"

_databases = itertools.count(1)


@pytest.fixture(params=DATABASES)
def program_in(request: pytest.FixtureRequest) -> ProgramIn:
    """Takes a folder; returns the program on it, with a database of its own if it has one."""

    def made(folder: Path) -> Program:
        folder.mkdir(exist_ok=True)
        variables = {}
        if request.param == "postgres":
            server: PostgresProcess = request.getfixturevalue("postgres")
            name = f"commands{os.getpid()}n{next(_databases)}"
            with psycopg.connect(server.url(), autocommit=True) as connection:
                connection.execute(f"CREATE DATABASE {name}")
            variables[DATABASE_VARIABLE] = f"{server.url().rpartition('/')[0]}/{name}"
        return Program(
            data=folder / "data",
            agents=modest_agents(folder / "agents"),
            has_prosody=False,
            variables=variables,
        )

    return made


def memory_of(program: Program, jid: str = "memory@localhost") -> AgentMemory:
    url = program.variables.get(DATABASE_VARIABLE)
    database = DatabaseUrl(url) if url else None
    return AgentMemory(home=program.data / "agents" / jid, database=database)


async def filled(
    program: Program, *contents: str, jid: str = "memory@localhost", subject: str | None = None
) -> None:
    memory = memory_of(program, jid)
    memory.home.mkdir(parents=True, exist_ok=True)
    async with memory.opened() as backend:
        store = backend.for_owner("assistant@localhost")
        await store.add_many([MemoryDraft(content=one, subject=subject) for one in contents])


async def test_an_export_is_imported_into_an_empty_memory(
    tmp_path: Path, program_in: ProgramIn
) -> None:
    one, other = program_in(tmp_path / "one"), program_in(tmp_path / "other")
    await filled(one, "Ada likes tea", "Ada rows")
    file, again = str(tmp_path / "all.jsonl"), str(tmp_path / "again.jsonl")

    exported = await one.run("memory", "export", file)
    imported = await other.run("memory", "import", file, "--agent", "memory@localhost")
    stats = await other.run("memory", "stats")
    verified = await other.run("memory", "verify")
    await other.run("memory", "export", again)

    assert exported.output == f"exported    2 records to {file}\n"
    assert imported.output == "imported    2 memories; 0 were there already\n"
    assert "assistant@localhost: 2 memories" in stats.output
    assert (verified.status, verified.output) == (0, "no errors found\n")
    assert _text(file) == _text(again)


async def test_a_person_is_forgotten_after_a_yes(tmp_path: Path, program_in: ProgramIn) -> None:
    program = program_in(tmp_path / "one")
    await filled(program, "Ada likes tea", "Ada rows", subject="ada@localhost")
    await filled(program, "Bob likes cake", subject="bob@localhost")

    counted = await program.run("memory", "forget", "--about", "Ada")
    kept = await program.run("memory", "stats")
    forgotten = await program.run("memory", "forget", "--about", "ada@localhost", "--yes")
    left = await program.run("memory", "stats")

    assert counted.output.startswith("found       2 memories about ada@localhost; --yes deletes")
    assert "assistant@localhost: 3 memories (0 of them deleted" in kept.output
    assert forgotten.output == "deleted     2 memories about ada@localhost, and all messages\n"
    assert "assistant@localhost: 1 memory (0 of them deleted" in left.output


async def test_a_file_of_spade_llm_is_imported_but_for_what_is_wrong_in_it(
    tmp_path: Path, program_in: ProgramIn
) -> None:
    program = program_in(tmp_path)
    await filled(program)
    old = str(write_database(tmp_path / "old.db", [a_row("1"), a_row("2", category="thought")]))

    tried = await program.run("memory", "import", old, "--dry-run")
    done = await program.run("memory", "import", old)
    again = await program.run("memory", "import", old)
    stats = await program.run("memory", "stats")

    assert tried.output == "would be imported: 1 memory; 0 were there already\n"
    assert (done.status, done.output) == (1, "imported    1 memory; 0 were there already\n")
    assert done.errors.startswith("left out    row 2: category: ")
    assert again.output == "imported    0 records; 1 were there already\n"
    assert f"{AGENT}: 1 memory" in stats.output


async def test_a_bad_line_is_named_and_nothing_is_imported(
    tmp_path: Path, program_in: ProgramIn
) -> None:
    program = program_in(tmp_path)
    await filled(program, "Ada likes tea")
    file = tmp_path / "all.jsonl"
    await program.run("memory", "export", str(file))
    _write(file, _text(str(file)) + '{"kind":"entry","id":7}\n')

    outcome = await program.run("memory", "import", str(file))

    assert outcome.status == 1
    assert outcome.errors == (
        f"spade-llm memory: {str(file)!r}: line 3: id: '7' is not a valid value; nothing was"
        " imported\n"
    )


async def test_a_copy_and_an_export_never_write_over_a_file(
    tmp_path: Path, program_in: ProgramIn
) -> None:
    program = program_in(tmp_path)
    await filled(program, "Ada likes tea")
    file = tmp_path / "there"
    _write(file, "precious")

    for action in ("backup", "export"):
        outcome = await program.run("memory", action, str(file))
        # No file is copied out of a database.
        reason = "pg_dump" if program.variables and action == "backup" else "already exists"
        assert (outcome.status, reason in outcome.errors) == (1, True)

    assert _text(str(file)) == "precious"


async def test_a_memory_that_is_not_there_or_not_alone_is_asked_for(
    tmp_path: Path, program_in: ProgramIn
) -> None:
    program = program_in(tmp_path)

    none = await program.run("memory", "stats")
    await filled(program, "x", jid="memory@localhost")
    await filled(program, "x", "y", jid="second@localhost")
    several = await program.run("memory", "stats")
    named = await program.run("memory", "stats", "--agent", "second")

    assert (none.status, "there is no memory" in none.errors) == (1, True)
    assert "memory@localhost, second@localhost" in several.errors
    assert "2 memories" in named.output


async def test_after_a_reindex_everything_is_as_it_was(
    tmp_path: Path, program_in: ProgramIn
) -> None:
    program = program_in(tmp_path)
    await filled(program, "Ada likes tea")

    outcome = await program.run("memory", "reindex", "--agents", str(program.agents))

    assert outcome.output == "reindexed   with none: search by keywords only\n"
    assert (await program.run("memory", "verify")).status == 0


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="looks into /proc")
async def test_reading_commands_work_while_the_agent_runs_and_writing_ones_ask_to_stop_it(
    tmp_path: Path, program_in: ProgramIn
) -> None:
    program = program_in(tmp_path)
    copy = tmp_path / "copy"
    async with program.up() as up:
        await up.ready()
        told = await program.run("ask", "Remember that my boat is called Zephyr")
        reading = [
            await program.run("memory", *action)
            for action in (["stats"], ["verify"], ["export", "-"], ["export", str(copy)])
        ]
        writing = [
            await program.run("memory", *action)
            for action in (["import", str(copy)], ["reindex", "--agents", str(program.agents)])
        ]

    assert "Zephyr" in told.output
    assert [(one.status, one.errors) for one in reading] == [(0, "")] * 4
    assert "Zephyr" in reading[2].output
    assert [one.status for one in writing] == [1, 1]
    assert all("stop the agent first" in one.errors for one in writing)


@pytest.mark.thorough
@pytest.mark.parametrize("program_in", ["postgres"], indirect=True)
async def test_writing_commands_ask_to_stop_an_agent_on_another_machine(
    tmp_path: Path, program_in: ProgramIn
) -> None:
    program = program_in(tmp_path)
    await filled(program, "Ada likes tea")
    memory, file = memory_of(program), str(tmp_path / "all.jsonl")
    await program.run("memory", "export", file)

    assert memory.database is not None
    async with PostgresServer(memory.database, agent=memory.jid, is_agent=True):
        refused = await program.run("memory", "import", file)
    done = await program.run("memory", "import", file)

    assert "on another machine: stop the agent first" in refused.errors
    assert done.output == "imported    0 records; 1 were there already\n"


async def test_memories_of_another_program_are_imported_and_exported_to_read(
    tmp_path: Path, program_in: ProgramIn
) -> None:
    program = program_in(tmp_path)
    await filled(program)
    source = str(FILES / "open_webui_chats.json")
    whose = ("--owner", "assistant@localhost", "--about", "ada@localhost")
    page, agent_file = str(tmp_path / "page.md"), str(tmp_path / "ada.af")

    unowned = await program.run("memory", "import", source)
    done = await program.run("memory", "import", source, *whose)
    await program.run("memory", "import", str(FILES / "mcp_memory.jsonl"), *whose)
    again = await program.run("memory", "import", source, *whose)
    read = await program.run("memory", "export", page, "--format", "markdown")
    letta = await program.run(
        "memory", "export", agent_file, "--format", "letta", "--about", "ada@localhost"
    )

    assert (unowned.status, "needs --owner JID" in unowned.errors) == (1, True)
    assert done.output == (
        "imported    2 messages in 1 conversation; 0 were there already\n"
        "not taken   1 other-branch message\n"
    )
    assert again.output.startswith("imported    0 records; 2 were there already\n")
    assert (read.output, "- Plays the cello" in _text(page)) == (f"exported    {page}\n", True)
    assert letta.output == f"exported    5 memories of assistant@localhost to {agent_file}\n"


def _text(path: str) -> str:
    return Path(path).read_text(encoding="utf-8")


def _write(path: Path, text: str) -> None:
    path.write_text(text, encoding="utf-8")


async def test_a_passport_is_exported_and_imported_for_another_address(
    tmp_path: Path, program_in: ProgramIn
) -> None:
    one, two = program_in(tmp_path / "one"), program_in(tmp_path / "two")
    await filled(one)
    await filled(two, jid="memory@two.test")
    await filled(one, "Ada rows", subject="ada@localhost")
    await filled(one, "Bob rows", subject="bob@localhost")
    file = tmp_path / "ada.jsonl"
    to = ("--owner", "assistant@two.test", "--about", "ada@two.test")

    exported = await one.run("memory", "export", str(file), "--about", "ada@localhost")
    unnamed = await two.run("memory", "import", str(file))
    tried = await two.run("memory", "import", str(file), *to, "--dry-run")
    done = await two.run("memory", "import", str(file), *to)
    again = await two.run("memory", "import", str(file), *to)
    stats = await two.run("memory", "stats")

    shown = exported.output.splitlines()
    assert shown[0] == f"exported    1 memory and 0 messages about ada@localhost to {file}"
    assert shown[1].startswith("signed      by memory@localhost, key ")
    assert "Bob" not in _text(str(file))
    assert "--owner: a passport needs the JID of the agent here" in unnamed.errors
    assert "passport    of ada@localhost by memory@localhost, made " in tried.output
    assert shown[1].partition("key ")[2] in tried.output
    assert "would be imported: at most 1 records" in tried.output
    assert done.output.endswith("imported    1 records; 0 were there already\n")
    assert again.output.endswith("imported    0 records; 1 were there already\n")
    assert "assistant@two.test: 1 memory" in stats.output


async def test_a_changed_passport_is_refused(tmp_path: Path, program_in: ProgramIn) -> None:
    program = program_in(tmp_path)
    await filled(program)
    await filled(program, "Ada rows", subject="ada@localhost")
    file = tmp_path / "ada.jsonl"
    await program.run("memory", "export", str(file), "--about", "ada@localhost")
    _write(file, _text(str(file)).replace("rows", "owes"))

    outcome = await program.run("memory", "import", str(file))
    nobody = await program.run("memory", "export", "-", "--about", "eve@localhost")

    assert outcome.status == 1
    assert outcome.errors == (
        "spade-llm memory: the signature does not fit: it was changed after memory@localhost had"
        " made it\n"
    )
    assert "--about: nothing is remembered about 'eve@localhost'" in nobody.errors
