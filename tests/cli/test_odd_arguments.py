"""Empty and odd arguments of every command: one line that says what is wrong, no traceback."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

import pytest

from spade_llm.cli.command_line import build_parser, main

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytestmark = pytest.mark.thorough
LONG = "x" * 5000
NEVER_VALID = ["", "caf\udce9", "a\nb", "\x1b[31m"]
ODD = [
    *("a b@c d", "@", "-1", "9" * 30, "ñandú@dóm", LONG, "127.0.0.1:99999", "http://["),
    *("no/such/file", "FOLDER", "BINARY", "EMPTY", "BROKEN"),
]
EVERYWHERE = {"data", "server", "domain", "ca"}
"""Read by one function, for whichever command."""
FREE_TEXT = {"question", "query", "note"}
"""May have several lines, or be empty."""
MAY_BE_EMPTY = {"admins", "certificates", "web_url", "web_chat"}
"""docker/compose.yaml passes them for variables that are not set."""
SERVES = {"up", "run", "mcp"}
"""They would go on to serve: what is wrong with their arguments is found before."""


def leaf_commands(
    parser: argparse.ArgumentParser, words: tuple[str, ...] = ()
) -> Iterator[tuple[tuple[str, ...], argparse.ArgumentParser]]:
    """Every command with its words."""
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for name, inner in action.choices.items():
                yield from leaf_commands(inner, (*words, name))
            return
    yield words, parser


def _takes_text(action: argparse.Action) -> bool:
    return action.nargs != 0 and action.dest not in {"listen_fd"}


ARGUMENTS = [
    pytest.param(words, parser, action, id=f"{'-'.join(words)}-{action.dest}")
    for words, parser in leaf_commands(build_parser())
    for action in parser._actions
    if _takes_text(action)
]


def _is_run(id: str) -> bool:
    command, argument = id.partition("-")[0], id.rpartition("-")[2]
    return command == "ask" or (command not in SERVES and argument not in EVERYWHERE)


def _line(
    words: tuple[str, ...], parser: argparse.ArgumentParser, odd: argparse.Action, value: str
) -> list[str]:
    """A command line with this value, and something harmless where something is required."""
    options, positional = list(words), list[str]()
    for action in parser._actions:
        given = value if action is odd else "x"
        is_needed = action is odd or action.required
        if action.option_strings and is_needed:
            options.append(f"{action.option_strings[0]}={given}")
        elif not action.option_strings and is_needed:
            positional.append(given)
    return [*options, "--", *positional] if positional else options


@pytest.mark.parametrize(
    ("words", "parser", "action"),
    [one for one in ARGUMENTS if str(one.id).rpartition("-")[2] not in FREE_TEXT],
)
def test_unknown_arguments_are_refused_by_name(
    words: tuple[str, ...],
    parser: argparse.ArgumentParser,
    action: argparse.Action,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    for value in NEVER_VALID:
        if not value and action.dest in MAY_BE_EMPTY:
            continue
        with pytest.raises(SystemExit) as ended:
            main(_line(words, parser, action, value))

        (said,) = capsys.readouterr().err.splitlines()
        assert ended.value.code == 2
        assert said.startswith(f"spade-llm {' '.join(words)}: argument ")


@pytest.mark.parametrize(
    ("words", "parser", "action"),
    [one for one in ARGUMENTS if _is_run(str(one.id))],
)
def test_an_odd_argument_costs_no_traceback(
    words: tuple[str, ...],
    parser: argparse.ArgumentParser,
    action: argparse.Action,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Where nothing runs; what is asked of agents is checked by them, too."""
    monkeypatch.chdir(tmp_path)
    places = _places(tmp_path)
    for value in ODD:
        line = _line(words, parser, action, str(places.get(value, value)))

        status = _status(line)

        said = capsys.readouterr()
        assert status in (0, 1, 2), line
        assert status == 0 or said.err or said.out, line
        assert "Traceback" not in said.err + said.out, line


def _status(line: list[str]) -> object:
    try:
        return main(line)
    except SystemExit as ended:
        return ended.code


def _places(folder: Path) -> dict[str, Path]:
    (folder / "folder").mkdir()
    (folder / "binary").write_bytes(b"\xff\xfe\x00\xd8")
    (folder / "empty").touch()
    (folder / "broken" / "one").mkdir(parents=True)
    (folder / "broken" / "one" / "agent.toml").write_bytes(b"\xff\xfe")
    return {name.upper(): folder / name for name in ("folder", "binary", "empty", "broken")}


@pytest.mark.parametrize("question", ["", "  ", "\n"])
def test_an_empty_question_is_refused(
    question: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["ask", question, "--data", str(tmp_path)])

    assert ended.value.code == 2
    expected = "spade-llm ask: argument QUESTION: it is empty (see `spade-llm ask --help`)\n"
    assert capsys.readouterr().err == expected
