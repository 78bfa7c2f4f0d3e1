"""Fork server: a process that has imported the agents, and forks one process for each of them.

Imports take most of the time in which an agent's process starts. Here they are done once for all
agents, and their processes share that memory. The server forks while it has one thread
and no event loop. A request is a line of JSON with file descriptors; the server reports the start
and the end of each process in lines of JSON, and ends when the requests do.
"""

from __future__ import annotations

import asyncio
import fcntl
import json
import os
import selectors
import shlex
import signal
import socket
import sys
from asyncio.subprocess import PIPE, Process
from collections.abc import Mapping, Sequence
from contextlib import suppress
from importlib import import_module
from typing import Self

from setproctitle import setproctitle

from spade_llm.core.concurrency import freeze_gc, gc_paused
from spade_llm.core.errors import ConfigurationError

USES_IMPORTS = sys.platform == "linux"
"""Elsewhere, system libraries may fail in a forked process, which therefore begins anew (exec)."""
MODULES = (
    "spade_llm.cli.run",
    "spade_llm.agents.gateway",
    "spade_llm.agents.llm",
    "spade_llm.agents.memory",
    "spade_llm.agents.rag",
    "spade_llm.agents.tools",
)
"""Imported before the first fork. None may start a thread: a forked process would lack it."""
START_TIMEOUT_S = 60.0
"""Maximum time in seconds for the imports and the first fork."""
MAX_LINE_BYTES = 1024 * 1024
"""Limit of a request: arguments and an environment, which the system limits to less."""
MAX_FILES = 8
FREE_DESCRIPTOR = 100
"""Received descriptors are moved beyond this number, and from there to the requested ones."""


class ForkedProcess:
    """Process that a fork server has started. Its standard input is a pipe."""

    def __init__(self, pid: int) -> None:
        self.pid = pid
        self._status: asyncio.Future[int] = asyncio.get_running_loop().create_future()
        self._stdin: int | None = None

    async def wait(self) -> int:
        """Wait for the exit status; a negative one is the signal that ended the process."""
        return await asyncio.shield(self._status)

    def close_stdin(self) -> None:
        if self._stdin is not None:
            os.close(self._stdin)
            self._stdin = None

    def kill(self) -> None:
        # The number of an ended process may be another's.
        if not self._status.done():
            with suppress(ProcessLookupError):
                os.kill(self.pid, signal.SIGKILL)

    def hold_stdin(self, descriptor: int) -> None:
        """Set our end of its standard input."""
        self._stdin = descriptor

    def end(self, status: int) -> None:
        self._status.set_result(status)
        self.close_stdin()


class ForkServer:
    """Starts processes by a fork server, which it runs. Use it with `async with`."""

    def __init__(self, environment: Mapping[str, str]) -> None:
        """`environment`: that of the server itself, without the secrets of single agents."""
        self._environment = dict(environment)
        self._processes: dict[int, ForkedProcess] = {}
        self._one_at_a_time = asyncio.Lock()
        self._requests: socket.socket | None = None
        self._reading: asyncio.Task[None] | None = None
        self._started: asyncio.Future[ForkedProcess] | None = None

    async def __aenter__(self) -> Self:
        await self._launch()
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._requests is not None:
            self._requests.close()
        if self._reading is not None:
            await asyncio.wait((self._reading,))

    async def start(
        self, arguments: Sequence[str], environment: Mapping[str, str], files: Mapping[int, int]
    ) -> ForkedProcess:
        """Start `spade-llm` with these arguments in a session of its own. `files`: our descriptors
        by the numbers that they get in the process. Raises ConfigurationError: the fork server does
        not start."""
        async with self._one_at_a_time:
            if self._reading is None or self._reading.done():
                await self._launch()
            theirs, ours = os.pipe()
            try:
                self._send(arguments, environment, {0: theirs, **files})
                self._started = asyncio.get_running_loop().create_future()
                async with asyncio.timeout(START_TIMEOUT_S):
                    process = await self._started
            except (OSError, TimeoutError) as error:
                os.close(ours)
                raise ConfigurationError(
                    "the process that starts agents has ended or does not answer; its last lines"
                    " are above"
                ) from error
            finally:
                os.close(theirs)
            process.hold_stdin(ours)
            return process

    def _send(
        self, arguments: Sequence[str], environment: Mapping[str, str], files: Mapping[int, int]
    ) -> None:
        assert self._requests is not None
        request = [list(arguments), dict(environment), list(files)]
        line = json.dumps(request).encode() + b"\n"
        socket.send_fds(self._requests, [line], list(files.values()))

    async def _launch(self) -> None:
        if self._requests is not None:
            self._requests.close()
        self._requests, theirs = socket.socketpair()
        with theirs:
            server = await asyncio.create_subprocess_exec(
                *(sys.executable, "-m", __name__),
                stdin=theirs.fileno(),
                stdout=PIPE,
                # Ctrl-C in the terminal reaches the supervisor only.
                start_new_session=True,
                env=self._environment,
            )
        self._reading = asyncio.create_task(self._read_reports(server))

    async def _read_reports(self, server: Process) -> None:
        assert server.stdout is not None
        async for line in server.stdout:
            pid, status = json.loads(line)
            if status is None:
                process = self._processes[pid] = ForkedProcess(pid)
                if self._started is not None and not self._started.done():
                    self._started.set_result(process)
            else:
                self._processes.pop(pid).end(status)
        await server.wait()
        # Nothing would report the end of these any more.
        for process in self._processes.values():
            process.kill()
            process.end(-signal.SIGKILL)
        self._processes.clear()
        if self._started is not None and not self._started.done():
            self._started.set_exception(ConnectionResetError("the fork server has ended"))


def main() -> int:
    """Serve the socket that is the standard input, and report to the standard output."""
    # Before the environment is replaced: titles are written over the memory of arguments and of it.
    setproctitle("spade-llm fork server")
    # uvloop leaves copies of the standard descriptors open. In the forked processes they would hide
    # the end of this one.
    os.closerange(3, os.sysconf("SC_OPEN_MAX"))
    if USES_IMPORTS:
        with gc_paused():
            for name in MODULES:
                import_module(name)
            freeze_gc()
    arguments = _serve(socket.socket(fileno=os.dup(0)), reports=os.dup(1))
    if arguments is None:
        return 0
    if not USES_IMPORTS:
        os.execv(sys.executable, [sys.executable, "-m", "spade_llm.cli", *arguments])
    setproctitle(shlex.join(["spade-llm", *arguments]))
    from spade_llm.cli.command_line import main as run_command

    return run_command(arguments)


def _serve(requests: socket.socket, *, reports: int) -> list[str] | None:
    """Fork on request. Returns the arguments in a forked process; None in the server at the end."""
    wake, waker = os.pipe()
    os.set_blocking(waker, False)
    signal.set_wakeup_fd(waker, warn_on_full_buffer=False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    with selectors.DefaultSelector() as selector:
        selector.register(requests, selectors.EVENT_READ, requests)
        selector.register(wake, selectors.EVENT_READ)
        while True:
            ready = [key.data for key, _ in selector.select()]
            if None in ready:
                os.read(wake, MAX_LINE_BYTES)
                _report_ended(reports)
            if requests in ready:
                line, files = _read_request(requests)
                if not line:
                    return None
                if not (pid := os.fork()):
                    break
                _report(reports, pid, None)
                for file in files:
                    os.close(file)
    signal.set_wakeup_fd(-1)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    for end in (requests.detach(), reports, wake, waker):
        os.close(end)
    return _become(line, files)


def _become(request: bytes, files: Sequence[int]) -> list[str]:
    """Make this forked process the requested one, and return its arguments."""
    arguments, environment, numbers = json.loads(request)
    os.setsid()
    moved = [fcntl.fcntl(file, fcntl.F_DUPFD, FREE_DESCRIPTOR) for file in files]
    for file in files:
        os.close(file)
    for file, number in zip(moved, numbers, strict=True):
        os.dup2(file, number)
        os.close(file)
    os.environ.clear()
    os.environ.update(environment)
    return list(arguments)


def _read_request(requests: socket.socket) -> tuple[bytes, list[int]]:
    """A line, empty at the end of the requests, and its file descriptors."""
    line, files, _, _ = socket.recv_fds(requests, MAX_LINE_BYTES, MAX_FILES)
    while line and not line.endswith(b"\n") and (more := requests.recv(MAX_LINE_BYTES)):
        line += more
    return line, files


def _report_ended(reports: int) -> None:
    with suppress(ChildProcessError):
        while (found := os.waitpid(-1, os.WNOHANG))[0]:
            _report(reports, found[0], os.waitstatus_to_exitcode(found[1]))


def _report(reports: int, pid: int, status: int | None) -> None:
    """Report the end of a process, or its start (None)."""
    with suppress(BrokenPipeError):
        os.write(reports, json.dumps([pid, status]).encode() + b"\n")


if __name__ == "__main__":
    sys.exit(main())
