"""`spade-llm rag add`: files by message, and large ones from the shared folder."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import pytest

from tests.cli.program import Program, modest_agents

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = [
    pytest.mark.timeout(240),
    pytest.mark.skipif(not sys.platform.startswith("linux"), reason="looks into /proc"),
]


async def test_an_assistant_answers_from_what_was_added(tmp_path: Path) -> None:
    program = Program(
        data=tmp_path / "data", agents=modest_agents(tmp_path / "agents"), has_prosody=False
    )
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
        boat = await program.run("ask", "Where is the rowing boat kept?")
        heron = await program.run("ask", "Where does the heron nest?")

    assert "added       boats.md: 1 chunks" in first.output
    assert "unchanged" in again.output
    assert by_path.status == 0
    assert (missing.status, "none.md" in missing.errors) == (1, True)
    assert "boats.md#0" in boat.output
    assert "blue shed" in boat.output
    assert "water tower" in heron.output
