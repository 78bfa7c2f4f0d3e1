"""`spade-llm rag add`: files by message, and large ones from the shared folder."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import pytest

from tests.cli.program import Outcome, Program, modest_agents
from tests.cli.terminal import on_terminal

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = [
    pytest.mark.timeout(240),
    pytest.mark.skipif(not sys.platform.startswith("linux"), reason="looks into /proc"),
]
MANY = 9000


async def test_an_assistant_answers_from_what_was_added(tmp_path: Path) -> None:
    program = Program(
        data=tmp_path / "data", agents=modest_agents(tmp_path / "agents"), has_prosody=False
    )
    elsewhere = tmp_path / "gulls.txt"
    small, large = tmp_path / "boats.md", tmp_path / "data" / "documents" / "birds.txt"
    small.write_text("The rowing boat is kept in the blue shed.", encoding="utf-8")
    large.parent.mkdir(parents=True)
    filler = "Nothing to see in this sentence about gulls. " * 6000
    large.write_text(f"{filler}\n\nThe heron nests on the water tower.\n", encoding="utf-8")
    async with program.up() as up:
        await up.ready()
        first = await program.run("rag", "add", str(small))
        again = await program.run("rag", "add", str(small))
        by_path = await program.run("rag", "add", str(large))
        missing = await program.run("rag", "add", str(tmp_path / "none.md"))
        elsewhere.write_text("Gulls. " * 30_000, encoding="utf-8")
        too_large = await program.run("rag", "add", str(elsewhere))
        boat = await program.run("ask", "Where is the rowing boat kept?")
        heron = await program.run("ask", "Where does the heron nest?")

    assert "added       boats.md: 1 passage" in first.output
    assert "unchanged" in again.output
    assert by_path.status == 0
    assert (missing.status, "none.md" in missing.errors) == (1, True)
    assert (too_large.status, "below a document root" in too_large.errors) == (1, True)
    assert "boats.md, passage 1" in boat.output
    assert "blue shed" in boat.output
    assert "water tower" in heron.output


async def test_ctrl_c_stops_a_long_ingest_at_the_agent_and_what_is_done_stays(
    tmp_path: Path,
) -> None:
    program = Program(
        data=tmp_path / "data", agents=modest_agents(tmp_path / "agents"), has_prosody=False
    )
    folder = program.data / "documents" / "many"
    folder.mkdir(parents=True)
    for number in range(MANY):
        (folder / f"{number}.md").write_text(f"Heron {number} fishes. " * 100, encoding="utf-8")
    async with program.up() as up:
        await up.ready()
        add = program.command("rag", "add", str(folder))
        async with on_terminal(add, program.environment) as adding:
            await adding.shows("[#")
            adding.ctrl_c()
            status = await adding.ended()
        listed, again = [await program.run("rag", "list") for _ in range(2)]

    assert status == 130
    count = int(listed.output.split()[1])
    assert 0 < count < MANY
    assert again.output == listed.output


async def test_added_documents_are_listed_found_shared_and_deleted(tmp_path: Path) -> None:
    program = Program(
        data=tmp_path / "data", agents=modest_agents(tmp_path / "agents"), has_prosody=False
    )
    folder = tmp_path / "birds"
    (folder / "deep").mkdir(parents=True)
    (folder / "herons.md").write_text("# Herons\n\nHerons fish at dawn. " + "Reeds. " * 60)
    (folder / "deep" / "owls.md").write_text("Owls hunt at midnight.")
    (folder / "bad.txt").write_bytes(b"caf\xe9")
    (folder / "photo.png").write_bytes(b"\x89PNG")

    async with program.up() as up:
        await up.ready()

        async def rag(*words: str) -> Outcome:
            return await program.run("rag", *words)

        added = await rag(
            *("add", str(folder), "--namespace", "zoo", "--no-recursive", "--size", "100")
        )
        deep = await rag("add", str(folder / "deep"), "--namespace", "zoo")
        wrong = await rag("add", str(folder), "--size", "100", "--overlap", "100")
        listed = await rag("list")
        documents = await rag("list", "zoo")
        stats = await rag("stats", "zoo")
        found = await rag("search", "When do owls hunt?", "-k", "1")
        granted = await rag("grant", "zoo", "you@localhost", "--write")
        grants = await rag("grants")
        revoked = await rag("revoke", "zoo", "you@localhost")
        reindexed = await rag("reindex", "zoo")
        one = await rag("delete", "zoo", "deep/owls.md")
        rest = await rag("delete", "zoo")
        nothing = await rag("list")

    assert "documents   3: 1 added, 0 unchanged, 2 left out" in added.output
    assert ("bad.txt" in added.errors, "photo.png" in added.errors) == (True, True)
    assert (added.status, deep.status) == (1, 0)
    assert (wrong.status, "overlap" in wrong.errors) == (1, True)
    assert listed.output.split()[:3] == ["zoo", "2", "documents"]
    sources = [line.split()[-1] for line in documents.output.splitlines()]
    assert sources == ["birds/herons.md", "deep/owls.md"]
    assert "documents   2" in stats.output
    assert "zoo: deep/owls.md, passage 1" in found.output
    assert granted.status == 0
    assert grants.output.split() == ["zoo", "write", "you@localhost"]
    assert revoked.output.strip() == "revoked"
    assert (reindexed.status, "embed" in reindexed.errors) == (1, True)
    assert one.output.strip() == "deleted     1 document"
    assert rest.output.strip() == "deleted     1 document"
    assert nothing.output == "no documents yet: add some with `spade-llm rag add PATH`\n"


async def test_names_are_neither_mixed_up_nor_obeyed_by_a_terminal(tmp_path: Path) -> None:
    program = Program(
        data=tmp_path / "data", agents=modest_agents(tmp_path / "agents"), has_prosody=False
    )
    first, second = tmp_path / "first" / "notes", tmp_path / "second" / "notes"
    for folder, text in ((first, "The ferry is red."), (second, "The ferry is green.")):
        folder.mkdir(parents=True)
        (folder / "ferry.md").write_text(text)
    (first / "\x1b[2Jcleared.md").write_text("Herons \x1b]0;fish\x07 at dawn.")

    async with program.up() as up:
        await up.ready()
        added = await program.run("rag", "add", str(first), str(second))
        listed = await program.run("rag", "list", "default")
        found = await program.run("rag", "search", "herons at dawn")

    assert (added.status, "2 added, 0 unchanged, 1 left out" in added.output) == (1, True)
    assert "first/notes/ferry.md has the same document name" in added.errors
    assert "notes/ [2Jcleared.md" in listed.output
    assert "Herons  ]0;fish  at dawn." in found.output
    assert "\x1b" not in added.output + added.errors + listed.output + found.output


@pytest.mark.server
async def test_documents_too_large_for_a_message_are_sent_as_files(tmp_path: Path) -> None:
    program = Program(
        data=tmp_path / "data", agents=modest_agents(tmp_path / "agents"), has_prosody=True
    )
    large = tmp_path / "large" / "birds.txt"
    large.parent.mkdir()
    large.write_text("Nothing to see of gulls. " * 20_000 + "\n\nThe heron nests here.\n")

    async with program.up() as up:
        await up.ready()
        added = await program.run("rag", "add", str(large.parent))
        again = await program.run("rag", "add", str(large.parent))
        found = await program.run("rag", "answer", "Where does the heron nest?")

    assert (added.status, again.status) == (0, 0), added.errors
    assert "added       large/birds.txt: " in added.output
    assert "1 unchanged" in again.output
    assert "default: large/birds.txt, passage " in found.output
