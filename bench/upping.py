"""`spade-llm up` as a person starts it: the standard agents on a private Prosody and a folder of
their own, in an environment without our variables. Knows no benchmark.
"""

from __future__ import annotations

import asyncio
import os
import re
import sys
import time
from asyncio.subprocess import DEVNULL, PIPE
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from bench.account import Account
from bench.row import check

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Mapping

READY_S = 60.0
STOP_S = 20.0
OWN = ("SPADE_LLM_", "OPENAI_", "PYTHONDONTWRITEBYTECODE")
"""What a variable of ours begins with; an installed package has its bytecode."""
PROSODY = "/bin/prosody"
LOGIN = re.compile(r"your login +(\S+), password (\S+), host \S+, port (\d+), CA (.+)")
AGENT = re.compile(r"/(\w+)/agent\.toml")


@dataclass(frozen=True, slots=True, kw_only=True)
class Up:
    pid: int
    ready_s: float
    lines: tuple[str, ...]
    data: Path

    @property
    def pids(self) -> Mapping[str, int]:
        """`up` itself, Prosody, and by its name each agent that is a process of its own."""
        found = {"up": self.pid}
        for entry in Path("/proc").iterdir():
            command = _command_of(entry)
            if str(self.data) not in command or entry.name == str(self.pid):
                continue
            if agent := AGENT.search(command):
                found[agent[1]] = int(entry.name)
            elif PROSODY in command:
                found["prosody"] = int(entry.name)
        return found

    def resident_mb(self) -> Mapping[str, float]:
        """Of `up` itself, and by its name of each agent that is a process of its own."""
        return {name: _resident_mb(pid) for name, pid in self.pids.items() if name != "prosody"}

    def person(self) -> Account:
        """The login that it prints for its person."""
        (login,) = (found for line in self.lines if (found := LOGIN.match(line)))
        jid, password, port, ca_path = login.groups()
        return Account(
            jid=jid, password=password, port=int(port), ca_path=Path(ca_path), data=self.data
        )


@asynccontextmanager
async def up(
    folder: Path, *arguments: str, variables: Mapping[str, str] | None = None
) -> AsyncIterator[Up]:
    """From its start to its ready line, and to its end in order. Raises WrongAnswer."""
    data, began = folder / "data", time.perf_counter()
    process = await asyncio.create_subprocess_exec(
        *_command("up", data, "--no-chat", "--no-download", *arguments),
        stdin=DEVNULL,
        stdout=PIPE,
        env={**person_environment(), "HOME": str(folder), **(variables or {})},
    )
    try:
        assert process.stdout is not None
        lines: list[str] = []
        async with asyncio.timeout(READY_S):
            while not (lines and lines[-1].startswith("ready")):
                line = (await process.stdout.readline()).decode()
                check(bool(line), f"`up` ended before it was ready: {lines}")
                lines.append(line.rstrip())
        ready_s = time.perf_counter() - began
        yield Up(pid=process.pid, ready_s=ready_s, lines=tuple(lines), data=data)
    finally:
        await _stop(process)


async def ask(folder: Path, text: str) -> str:
    """What the assistant of the `up` in this folder says."""
    return await command(folder, "ask", text)


async def command(folder: Path, *words: str) -> str:
    """What another command prints while this `up` runs. Raises WrongAnswer."""
    process = await asyncio.create_subprocess_exec(
        *_command(words[0], folder / "data", *words[1:]),
        stdout=PIPE,
        env={**person_environment(), "HOME": str(folder)},
    )
    said, _ = await process.communicate()
    check(process.returncode == 0, f"`{words[0]}` ended with {process.returncode}")
    return said.decode()


def person_environment() -> dict[str, str]:
    """Without what a developer sets."""
    return {name: value for name, value in os.environ.items() if not name.startswith(OWN)}


async def _stop(process: asyncio.subprocess.Process) -> None:
    if process.returncode is None:
        process.terminate()
    try:
        async with asyncio.timeout(STOP_S):
            await process.wait()
    except TimeoutError:
        process.kill()
        await process.wait()


def _command(word: str, data: Path, *arguments: str) -> list[str]:
    return [sys.executable, "-m", "spade_llm.cli", word, *arguments, "--data", str(data)]


def _resident_mb(pid: int) -> float:
    pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6


def _command_of(entry: Path) -> str:
    try:
        return (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
    except (OSError, NotADirectoryError):
        return ""
