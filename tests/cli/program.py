"""The command as a person starts it: in a process of its own, in an environment of its own."""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
import sys
from asyncio.subprocess import DEVNULL, PIPE, Process
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Mapping

ROOT = Path(__file__).parents[2]
READY_S = 60.0
STOP_S = 10.0
GONE_S = 10.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    status: int
    output: str
    errors: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Program:
    """`spade-llm` on one data directory, with agents that need no model and no network."""

    data: Path
    agents: Path
    has_prosody: bool
    tracer: tuple[str, ...] = ()
    """A program, with its arguments, that the command runs under."""
    variables: Mapping[str, str] = field(default_factory=dict)
    """Of its environment, beside what it has from ours."""

    async def run(self, command: str, *arguments: str, stdin: str = "") -> Outcome:
        """To its end."""
        process = await self._spawn(command, *arguments, stdin=PIPE, errors=PIPE)
        try:
            async with asyncio.timeout(READY_S):
                output, errors = await process.communicate(stdin.encode())
        finally:
            if process.returncode is None:
                process.kill()
                await process.wait()
        return Outcome(
            status=process.returncode or 0, output=output.decode(), errors=errors.decode()
        )

    @asynccontextmanager
    async def up(self, *arguments: str) -> AsyncIterator[Up]:
        process = await self._spawn("up", *self.up_arguments, *arguments, stdin=DEVNULL)
        up = Up(process, self.data)
        try:
            yield up
        finally:
            await up.kill()

    @property
    def up_arguments(self) -> tuple[str, ...]:
        return ("--agents", str(self.agents), "--no-download")

    @property
    def environment(self) -> dict[str, str]:
        own = ("SPADE_LLM_", "OPENAI_", "OLLAMA_")
        kept = {key: value for key, value in os.environ.items() if not key.startswith(own)}
        path = kept.get("PATH", "") if self.has_prosody else ""
        return {**kept, "PATH": path, "PYTHONPATH": str(ROOT), **self.variables}

    def command(self, *words: str) -> tuple[str, ...]:
        program = (sys.executable, "-m", "spade_llm.cli")
        return (*self.tracer, *program, *words, "--data", str(self.data))

    async def _spawn(
        self, command: str, *arguments: str, stdin: int, errors: int | None = None
    ) -> Process:
        return await asyncio.create_subprocess_exec(
            *self.command(command, *arguments),
            stdin=stdin,
            stdout=PIPE,
            stderr=errors,
            env=self.environment,
            start_new_session=True,
        )


class Up:
    """A `spade-llm up` in a process group of its own."""

    def __init__(self, process: Process, data: Path) -> None:
        self.pid = process.pid
        self.lines: list[str] = []
        self._process = process
        self._data = data

    async def ready(self) -> str:
        """Its ready line."""
        return await self.line("ready")

    async def line(self, start: str) -> str:
        """The next line that starts so."""
        assert self._process.stdout is not None
        async with asyncio.timeout(READY_S):
            async for raw in self._process.stdout:
                self.lines.append(raw.decode().rstrip())
                if self.lines[-1].startswith(start):
                    return self.lines[-1]
        raise AssertionError(f"no line {start!r} in {self.lines}")

    async def stop(self, signal_number: int = signal.SIGTERM, *, group: bool = False) -> int:
        """Its exit code. `group`: the signal goes to all of its group, as Ctrl-C does."""
        (os.killpg if group else os.kill)(self.pid, signal_number)
        async with asyncio.timeout(STOP_S):
            return await self._process.wait()

    async def all_gone(self) -> None:
        """Return once no process names its data directory any more."""
        async with asyncio.timeout(GONE_S):
            while processes_of(self._data):  # noqa: ASYNC110 - the kernel tells nobody
                await asyncio.sleep(0.05)

    async def kill(self) -> None:
        if self._process.returncode is None:
            self._process.kill()
            await self._process.wait()
            await self.all_gone()


def program_in(folder: Path, *, has_prosody: bool, port: int) -> Program:
    """`port` as if it were that of last time: other runs on this machine may want the usual one."""
    data = folder / "data"
    data.mkdir()
    (data / "port").write_text(f"{port}\n", encoding="ascii")
    return Program(data=data, agents=modest_agents(folder / "agents"), has_prosody=has_prosody)


def processes_of(data: Path) -> dict[int, str]:
    """Command lines, by process id, that name this directory. Linux only."""
    found = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdecimal():
            command = command_of(int(entry.name))
            if str(data) in command:
                found[int(entry.name)] = command
    return found


def command_of(pid: int) -> str:
    """Command line of a process; empty if there is none."""
    try:
        command = Path(f"/proc/{pid}/cmdline").read_bytes()
    except (FileNotFoundError, ProcessLookupError, PermissionError):
        return ""
    return command.replace(b"\0", b" ").decode(errors="replace")


def modest_agents(folder: Path) -> Path:
    """The standard agents, with rules as their model and without embeddings."""
    shutil.copytree(ROOT / "agents", folder)
    _replace(folder / "assistant" / "agent.toml", 'kind = "auto"', 'kind = "offline"')
    for name in ("memory", "rag"):
        _replace(folder / name / "agent.toml", 'embeddings = "auto"', 'embeddings = "none"')
    return folder


def _replace(path: Path, old: str, new: str) -> None:
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new), encoding="utf-8")
