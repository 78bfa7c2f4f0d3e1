"""Results as text or JSON lines, colours, suggestions, the version, completion by a shell."""

from __future__ import annotations

import io
import json
import os
import re
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from spade_llm.cli.command_line import (
    EXIT_RULES,
    EXIT_SIGINT,
    EXIT_SIGPIPE,
    SHORT_HELP,
    build_parser,
    main,
)
from spade_llm.cli.terminal import style
from spade_llm.memory import SQLiteMemoryBackend
from spade_llm.version import __version__
from tests.cli.program import ROOT
from tests.cli.test_odd_arguments import leaf_commands
from tests.cli.test_terminal import Terminal

if TYPE_CHECKING:
    from pathlib import Path

SERVE = {("up",), ("run",), ("chat",), ("mcp",), ("completion",)}
"""They show no result."""


def test_every_command_that_shows_something_has_json() -> None:
    with_json = {
        words
        for words, parser in leaf_commands(build_parser())
        if "--json" in parser._option_string_actions
    }

    assert with_json == {words for words, _ in leaf_commands(build_parser())} - SERVE


async def test_one_json_object_per_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    home = tmp_path / "agents" / "memory@localhost"
    home.mkdir(parents=True)
    async with SQLiteMemoryBackend(home / "memory.db"):
        pass

    for words in (["health"], ["memory", "stats"], ["memory", "verify"]):
        main([*words, "--data", str(tmp_path), "--json"])
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]

    assert lines[0]["agent"] == "memory@localhost"
    assert lines[0]["is_healthy"] is False
    assert lines[1]["schema_version"] > 0
    assert lines[2] == {"faults": []}


@pytest.mark.parametrize(
    ("variables", "has_colour"),
    [
        ({"TERM": "xterm"}, True),
        ({"TERM": "xterm", "NO_COLOR": ""}, True),
        ({"TERM": "xterm", "NO_COLOR": "1"}, False),
        ({"TERM": "dumb"}, False),
    ],
)
def test_colours_are_for_terminals_that_want_them(
    monkeypatch: pytest.MonkeyPatch, variables: dict[str, str], has_colour: bool
) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)

    assert style("ok", "green", Terminal()) == ("\x1b[32mok\x1b[0m" if has_colour else "ok")
    assert style("ok", "green", io.StringIO()) == "ok"


def test_the_version_and_the_short_help(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["--version"])
    status = main([])

    assert (ended.value.code, status) == (0, 0)
    assert capsys.readouterr().out == f"spade-llm {__version__}\n{SHORT_HELP}\n"


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("spade-llm mem", {"memory"}),
        ("spade-llm memory ex", {"export"}),
        ("spade-llm agents --js", {"--json"}),
        ("spade-llm memory import --format ch", {"chatgpt"}),
    ],
)
def test_a_shell_gets_completions(line: str, expected: set[str]) -> None:
    reading, writing = os.pipe()
    variables = {"_ARGCOMPLETE": "1", "_ARGCOMPLETE_IFS": "\n", "COMP_POINT": str(len(line))}
    code = f"import os, sys; os.dup2({writing}, 8); from spade_llm.cli import main; main()"

    subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, **variables, "COMP_LINE": line},
        pass_fds=[writing],
        stderr=subprocess.DEVNULL,
        timeout=60,
        check=True,
    )
    os.close(writing)
    with open(reading, encoding="utf-8") as pipe:
        words = pipe.read().split("\n")

    assert {word.strip() for word in words} == expected


def test_the_page_lists_the_exit_codes() -> None:
    page = (ROOT / "docs" / "command-line.md").read_text(encoding="utf-8")
    codes = (0, 1, 2, EXIT_RULES, EXIT_SIGINT, EXIT_SIGPIPE)

    assert [int(code) for code in re.findall(r"^\| (\d+) \|", page, re.MULTILINE)] == [*codes]


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_script_for_a_shell_names_the_program(
    shell: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["completion", shell]) == 0

    assert "spade-llm" in capsys.readouterr().out
