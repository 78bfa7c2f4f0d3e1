"""The tutorial works: its files are written, its commands run, and they print what it shows."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
import time
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from tests.cli.program import ROOT
from tests.recording.session import shape

PAGES = sorted((ROOT / "docs" / "tutorial").glob("*.md"))
HOW_TO = ROOT / "docs" / "extending.md"
BLOCK = re.compile(r'```(\w+)(?: title="([^" ]+)( \(continued\))?")?\n(.*?)```', re.DOTALL)
"""A file, in one block or in several; or commands."""
RUN_S = 60
NEEDS_PROSODY = "6-hosting"


@dataclass(slots=True)
class Reader:
    """Does what a page says, in a folder with the parts of a clone that it uses."""

    folder: Path
    stack: ExitStack
    running: list[subprocess.Popen[str]] = field(default_factory=list)

    def follow(self, page: str) -> None:
        for language, title, is_continued, text in BLOCK.findall(page):
            if title:
                with (self.folder / title).open("a" if is_continued else "w") as file:
                    file.write(f"\n\n{text}" if is_continued else text)
            elif language == "bash":
                self._run(text)
            elif language == "console":
                for command, shown in _commands(text):
                    self._type(command, shown)

    def _type(self, command: str, shown: list[str]) -> None:
        if command.startswith("spade-llm up"):
            output = self._start(f"{command} --no-download")
        else:
            output = self._run(command)
        found = shape(output)
        for line in shown:
            for part in line.split("[…]"):
                _, at, found = found.partition(shape(part))
                assert at == shape(part), f"{command!r} printed no {part!r}: {output}"

    def _run(self, command: str) -> str:
        done = subprocess.run(
            ["bash", "-ec", command],
            cwd=self.folder,
            env=self._environment,
            capture_output=True,
            text=True,
            timeout=RUN_S,
            check=False,
        )
        assert done.returncode == 0, f"{command}: {done.stdout}{done.stderr}"
        return done.stdout

    def _start(self, command: str) -> str:
        """Start it in the background, as in a terminal of its own; return once it is ready."""
        self.stop()
        process = subprocess.Popen(
            ["bash", "-c", f"exec {command}"],
            cwd=self.folder,
            env=self._environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            text=True,
        )
        self.running.append(process)
        assert process.stdout is not None
        output = ""
        deadline = time.monotonic() + RUN_S
        while not output.startswith("ready") and "\nready" not in output:
            line = process.stdout.readline()
            assert line and time.monotonic() < deadline, output
            output += line
        return output

    def stop(self) -> None:
        while self.running:
            process = self.running.pop()
            process.send_signal(signal.SIGINT)
            process.communicate(timeout=RUN_S)

    @property
    def _environment(self) -> dict[str, str]:
        ours = ("SPADE_LLM_", "OPENAI_")
        kept = {key: value for key, value in os.environ.items() if not key.startswith(ours)}
        path = f"{Path(sys.executable).parent}:{kept['PATH']}"
        return {**kept, "PATH": path, "PYTHONPATH": str(ROOT), "PYTHONWARNINGS": "ignore"}


def _commands(text: str) -> list[tuple[str, list[str]]]:
    """Commands of a console, each with the lines that it prints."""
    commands: list[tuple[str, list[str]]] = []
    for line in text.splitlines():
        if line.startswith("$ "):
            commands.append((line.removeprefix("$ "), []))
        else:
            commands[-1][1].append(line)
    return commands


@pytest.mark.timeout(240)
@pytest.mark.parametrize(
    "page",
    [
        pytest.param(page, marks=pytest.mark.thorough if page.stem[0] > "1" else pytest.mark.quick)
        for page in (*PAGES, HOW_TO)
    ],
    ids=lambda page: page.stem,
)
def test_a_page_of_the_tutorial_works(page: Path, tmp_path: Path) -> None:
    if page.stem == NEEDS_PROSODY and shutil.which("prosody") is None:
        pytest.skip("no prosody on PATH")
    for name in ("agents", "examples"):
        shutil.copytree(ROOT / name, tmp_path / name)
    with ExitStack() as stack:
        reader = Reader(tmp_path, stack)
        stack.callback(reader.stop)
        reader.follow(page.read_text(encoding="utf-8"))


def test_the_tutorial_has_six_steps_that_lead_on() -> None:
    assert [page.stem[0] for page in PAGES] == list("123456")
    for page, following in zip(PAGES, PAGES[1:], strict=False):
        assert f"]({following.name})" in page.read_text(encoding="utf-8").rpartition("Next:")[2]
