"""Completion on Tab, as the shells ask for it."""

from __future__ import annotations

import asyncio
import os
import shutil
import sys
from asyncio.subprocess import PIPE
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Mapping

SHELL_S = 60.0
FOLDER = Path(sys.executable).parent


async def run(*words: str, variables: Mapping[str, str]) -> str:
    """Standard output of a program that finds `spade-llm` on its path."""
    path = f"{FOLDER}:{os.environ['PATH']}"
    process = await asyncio.create_subprocess_exec(
        *words, stdout=PIPE, stderr=PIPE, env={**os.environ, "PATH": path, **variables}
    )
    async with asyncio.timeout(SHELL_S):
        output, errors = await process.communicate()
    assert process.returncode == 0, errors.decode()
    return output.decode()


async def completions(line: str, folder: Path) -> set[str]:
    """What the program offers for this line."""
    found = folder / "found"
    variables = {
        "_ARGCOMPLETE": "1",
        "_ARGCOMPLETE_IFS": "\n",
        "_ARGCOMPLETE_STDOUT_FILENAME": str(found),
        "COMP_LINE": line,
        "COMP_POINT": str(len(line)),
        "SPADE_LLM_DATA": str(folder / "data"),
    }
    await run("spade-llm", variables=variables)
    return {one.strip() for one in found.read_text(encoding="utf-8").splitlines()}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Agents have run on its data."""
    for name in ("assistant", "memory"):
        (tmp_path / "data" / "agents" / f"{name}@localhost").mkdir(parents=True)
    (tmp_path / "notes.md").touch()
    return tmp_path


async def test_commands_options_agents_and_files_are_completed(folder: Path) -> None:
    assert await completions("spade-llm mod", folder) == {"model"}
    assert await completions("spade-llm rag add --na", folder) == {"--namespace"}
    assert await completions("spade-llm completion ", folder) >= {"bash", "zsh", "fish"}
    agents = await completions("spade-llm usage --agent ", folder)
    assert agents == {"assistant@localhost", "memory@localhost"}
    assert await completions(f"spade-llm rag add {folder}/no", folder) == {f"{folder}/notes.md"}
    # Directories only.
    assert await completions(f"spade-llm up --data {folder}/", folder) == {f"{folder}/data/"}


@pytest.mark.parametrize(
    ("shell", "ask"),
    [
        ("bash", 'eval "$(spade-llm completion bash)"; complete -p spade-llm'),
        # -f: without configuration, so that its completion system is not loaded either.
        ("zsh", 'eval "$(spade-llm completion zsh)"; print $_comps[spade-llm]'),
        ("fish", 'spade-llm completion fish | source; complete -C "spade-llm mod"'),
    ],
)
async def test_the_script_works_in_its_shell(shell: str, ask: str, folder: Path) -> None:
    if shutil.which(shell) is None:
        pytest.skip(f"no {shell} is installed")
    options = {"bash": ("--norc",), "zsh": ("-f",), "fish": ("--no-config",)}[shell]
    variables = {"HOME": str(folder), "ZDOTDIR": str(folder)}

    output = await run(shell, *options, "-c", ask, variables=variables)

    assert ("model" if shell == "fish" else "_python_argcomplete") in output
