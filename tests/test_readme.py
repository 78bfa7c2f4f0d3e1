"""What the README tells a reader to type works, and what it names is there; its translation has the
same commands and programs."""

from __future__ import annotations

import asyncio
import json
import re
import shlex
import shutil
import subprocess
import sys
from asyncio.subprocess import PIPE
from importlib import import_module
from typing import TYPE_CHECKING, Any

import pytest

from spade_llm.cli.model import WantedModel
from spade_llm.xmpp.servers.data_directory import read_run_record
from tests.cli.program import ROOT, Program, modest_agents

if TYPE_CHECKING:
    from pathlib import Path

    from spade_llm.xmpp.servers.data_directory import RunRecord

README = (ROOT / "README.md").read_text(encoding="utf-8")
TRANSLATION = (ROOT / "README.es.md").read_text(encoding="utf-8")
UP = re.findall(r"`spade-llm (up --[^`]+)`", README)[0].split()
RUN_S = 60


def blocks(language: str, page: str = README) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", page, re.DOTALL)


def commands(program: str) -> list[list[str]]:
    """Command lines of the README that start with this program, without it."""
    lines = "\n".join(blocks("bash")).splitlines()
    split = (shlex.split(line, comments=True) for line in lines)
    return [words[1:] for words in split if words and words[0] == program]


def test_every_command_in_the_readme_is_one_that_is_tested_here() -> None:
    lines = [line for block in blocks("bash") for line in block.splitlines() if line.strip()]

    assert {line.split()[0] for line in lines} == {"make", "spade-llm", "curl", "."}
    assert {words[0] for words in commands("make")} == {"up", "test"}
    assert [words[0] for words in commands("spade-llm")] == [
        *("model", "ask", "rag", "rag", "memory", "tools", "agents", "usage", "mcp", "chat"),
        "doctor",
    ]


@pytest.mark.parametrize(
    ("target", "what"),
    [("up", "spade-llm up"), ("test", "not thorough"), ("test-all", "or hypothesis")],
)
def test_make_does_what_the_readme_says(target: str, what: str) -> None:
    if shutil.which("make") is None:
        pytest.skip("no make on PATH")

    shown = subprocess.run(
        ["make", "-n", target], cwd=ROOT, capture_output=True, text=True, timeout=RUN_S, check=True
    )

    assert what in shown.stdout


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="looks into /proc")
@pytest.mark.timeout(240)
@pytest.mark.quick
async def test_the_commands_work_in_the_order_in_which_they_stand(tmp_path: Path) -> None:
    program = Program(
        data=tmp_path / "data", agents=modest_agents(tmp_path / "agents"), has_prosody=False
    )
    _, ask, rag, answer, memory, tools, agents, usage, mcp, chat, doctor = commands("spade-llm")
    (curl,) = commands("curl")
    async with program.up(*UP[1:]) as running:
        await running.ready()
        got = await fetched(curl, read_run_record(program.data)) if shutil.which("curl") else None
        asked = await program.run(*ask)
        added = await program.run(*rag[:-1], str(ROOT / rag[-1]))
        answered = await program.run(*answer)
        counted = await program.run(*memory)
        listed = await program.run(*tools)
        seen = await program.run(*agents)
        used = await program.run(*usage)
        printed = await program.run(*mcp)
        chatted = await program.run(*chat, stdin="How much is a ticket?\n/quit\n")
        checked = await program.run(*doctor, "--agents", str(program.agents))

    assert "Tokyo:" in asked.output
    assert got is None or "Tokyo:" in got["response"]
    assert "lighthouse.md: 3 passages" in added.output
    assert "There are 199 steps" in answered.output
    assert "assistant@localhost" in counted.output
    assert "calculator" in listed.output
    assert "rag@localhost" in seen.output
    assert "you@localhost" in used.output
    assert "mcpServers" in printed.output
    assert "A ticket costs 4 euros" in chatted.output
    assert "assistant@localhost" in checked.output


async def fetched(arguments: list[str], record: RunRecord | None) -> dict[str, Any]:
    """What curl gets, from wherever the gateway is in this run."""
    assert record is not None
    there = [argument.replace("http://localhost:8000", record.web[0]) for argument in arguments]
    process = await asyncio.create_subprocess_exec("curl", "-s", *there, stdout=PIPE)
    async with asyncio.timeout(RUN_S):
        output, _ = await process.communicate()
    answer: dict[str, Any] = json.loads(output)
    return answer


async def test_the_python_program_in_the_readme_runs() -> None:
    (source,) = blocks("python")

    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-c", source), stdout=asyncio.subprocess.PIPE, cwd=ROOT
    )
    async with asyncio.timeout(RUN_S):
        output, _ = await process.communicate()

    assert process.returncode == 0
    assert "No language model is configured" in output.decode()


@pytest.mark.parametrize("page", [README, TRANSLATION], ids=["en", "es"])
def test_the_links_of_the_readme_lead_somewhere(page: str) -> None:
    targets = re.findall(r"\]\(([^)#:]+)\)", page)

    assert [target for target in targets if not (ROOT / target).exists()] == []


@pytest.mark.parametrize("page", [README, TRANSLATION], ids=["en", "es"])
def test_the_models_in_the_readme_are_understood(page: str) -> None:
    named = [shlex.split(words) for words in re.findall(r"`spade-llm model set ([^`]+)`", page)]

    found = [
        WantedModel.parse(words[0], words[-1] if "--url" in words else None) for words in named
    ]

    assert len(found) == 9
    assert found[0].kind == "ollama"
    assert all(one.name and one.url for one in found)


def test_the_translation_has_the_same_commands_programs_and_links() -> None:
    for language in ("bash", "python"):
        assert _without_comments(blocks(language, TRANSLATION)) == _without_comments(
            blocks(language)
        )
    links = [set(re.findall(r"\]\(([^)#]+)\)", page)) for page in (README, TRANSLATION)]
    assert links[0] - links[1] == {"README.es.md"}
    assert links[1] - links[0] == {"README.md"}


def _without_comments(found: list[str]) -> list[list[str]]:
    return [[line.partition("#")[0].rstrip() for line in block.splitlines()] for block in found]


def test_the_names_on_a_message_s_way_exist() -> None:
    page = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    _, _, way = page.partition("## Follow one message")
    way = way.partition("\n\nMemory")[0]
    module = ""
    for path, name in re.findall(r"\]\(../spade_llm/([\w/]+)\.py\)|`([A-Z]\w+(?:\.\w+)?)`", way):
        module = path or module
        if name and module:
            assert _find(module, name), f"{name} is not in spade_llm/{module}.py"


def _find(module: str, name: str) -> bool:
    """In this module, or in what it imports."""
    target: object = import_module(f"spade_llm.{module.replace('/', '.')}")
    for part in name.split("."):
        target = getattr(target, part, None)
    return target is not None
