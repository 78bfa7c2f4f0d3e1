"""Server process: starts a server as a child process, waits until it is ready, stops it.

It never outlives us: on Linux the kernel ends it with our process, and anywhere the next start in
the same directory ends what an earlier one left.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import re
import signal
import socket
import ssl
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from spade_llm.core.errors import ConfigurationError, PortInUse, ServerUnreachable
from spade_llm.xmpp.servers import parent_bound

if TYPE_CHECKING:
    from spade_llm.xmpp.servers.managed_server import Endpoint

STOP_TIMEOUT_S = 5.0
"""Grace period in seconds before a stopped server is killed."""
LOG_LIMIT_BYTES = 5 * 1024 * 1024
"""Maximum log size in bytes; a larger log is rotated at a start, so there are two at most."""
TAIL_LINES = 8
# What is passed on, not what is held back: a secret of an unknown name stays here.
_PASSED_ON = re.compile(
    r"PATH|HOME|USER|LOGNAME|TZ|TMPDIR|LANG|LANGUAGE|LC_\w+|LUA_\w+|PYTHON\w*|LD_LIBRARY_PATH"
    r"|PROSODY_\w+|SSL_CERT_\w+|VIRTUAL_ENV"
)
START_TIMEOUT_S = 20.0
PROBE_TIMEOUT_S = 2.0
PROBE_PAUSE_S = 0.03
FREE_PORT_ATTEMPTS = 20


def server_environment() -> dict[str, str]:
    """Return the environment variables for a server's programs, without our secrets."""
    return {name: value for name, value in os.environ.items() if _PASSED_ON.fullmatch(name)}


class ServerProcess:
    """Runs a command in `directory`, with its output in `directory`/server.log."""

    def __init__(self, *, directory: Path, name: str) -> None:
        self.log_path = directory / "server.log"
        self._directory = directory
        self._name = name
        self._pid_path = directory / "server.pid"
        self._process: asyncio.subprocess.Process | None = None
        self._watcher: asyncio.Task[None] | None = None
        self._failed = asyncio.Event()
        self._is_stopping = False

    @property
    def pid(self) -> int | None:
        """The process id while it runs."""
        process = self._process
        return process.pid if process and process.returncode is None else None

    async def start(self, command: Sequence[str]) -> None:
        """Start it, ending first what an earlier run left in this directory.

        The command must name the directory: by that a left-over is known as ours.
        """
        await self.end_left_over()
        self._is_stopping = False
        self._failed.clear()
        if self.log_path.exists() and self.log_path.stat().st_size > LOG_LIMIT_BYTES:
            self.log_path.replace(self.log_path.with_suffix(".log.1"))
        self._process = await self._spawn(command)
        self._pid_path.write_text(str(self._process.pid), encoding="ascii")
        self._watcher = asyncio.create_task(self._watch(self._process))

    async def start_ready(self, command: Sequence[str], endpoint: Endpoint) -> Endpoint:
        """Start it and return the endpoint once it answers there; stop it if it does not.

        Raises:
            PortInUse, ServerUnreachable: as `wait_ready`.
        """
        await self.start(command)
        try:
            await wait_ready(self, endpoint)
        except BaseException:
            await self.stop()
            raise
        return endpoint

    async def stop(self) -> None:
        """End it: politely, and after STOP_TIMEOUT_S by force."""
        if self._process is None or self._watcher is None:
            return
        # Before the signal: else `_watch` would report the end as a failure.
        self._is_stopping = True
        with contextlib.suppress(ProcessLookupError):
            self._process.terminate()
        done, _ = await asyncio.wait([self._watcher], timeout=STOP_TIMEOUT_S)
        if not done:
            self._process.kill()
            await asyncio.wait([self._watcher], timeout=STOP_TIMEOUT_S)
        self._process = self._watcher = None
        self._pid_path.unlink(missing_ok=True)

    async def wait_failed(self) -> str:
        """Return why, once it has ended without `stop`. The caller cancels the wait."""
        await self._failed.wait()
        return self.exit_report()

    def has_ended(self) -> bool:
        """True once the process that was started last is gone."""
        return self.pid is None

    def exit_report(self) -> str:
        """Return the exit status and the last lines of the log."""
        status = self._process.returncode if self._process else None
        return f"{self._name} ended with status {status}; {self.log_tail()}"

    def log_tail(self) -> str:
        """The last lines of the log, on one line, for an error message."""
        try:
            with self.log_path.open("rb") as file:
                file.seek(max(0, self.log_path.stat().st_size - 4096))
                lines = file.read().decode("utf-8", "replace").splitlines()
        except FileNotFoundError:
            lines = []
        return f"last lines of {self.log_path}: " + " | ".join(lines[-TAIL_LINES:])

    async def end_left_over(self) -> None:
        """End the server that an earlier run left behind, if its pid file names one of ours."""
        if self.pid is not None:
            raise ConfigurationError(f"{self._name} in {str(self._directory)!r} is already running")
        try:
            pid = int(self._pid_path.read_text(encoding="ascii"))
        except (FileNotFoundError, ValueError):
            pid = None
        # The pid may have a new owner by now; our commands name the directory.
        if pid is not None and str(self._directory) in await _command_line(pid):
            await _end(pid)
        self._pid_path.unlink(missing_ok=True)

    async def _spawn(self, command: Sequence[str]) -> asyncio.subprocess.Process:
        # `-I -S`: nothing is imported from the working directory or from site-packages.
        wrapper = [sys.executable, "-I", "-S", parent_bound.__file__, str(os.getpid())]
        with self.log_path.open("ab") as log:
            try:
                return await asyncio.create_subprocess_exec(
                    *wrapper,
                    *command,
                    # Never written to: the embedded server ends when it is closed, so with us.
                    stdin=subprocess.PIPE,
                    stdout=log,
                    stderr=log,
                    cwd=self._directory,
                    env=server_environment(),
                    # Ctrl-C in our terminal is for us, who stop the server after its clients.
                    start_new_session=True,
                )
            except OSError as error:
                raise ConfigurationError(
                    f"{self._name} could not be started ({error.strerror})"
                ) from error

    async def _watch(self, process: asyncio.subprocess.Process) -> None:
        await process.wait()
        if process.stdin is not None:
            process.stdin.close()
        if not self._is_stopping:
            self._failed.set()


def loopback_addresses() -> tuple[str, ...]:
    """127.0.0.1, and ::1 where the machine has it."""
    return ("127.0.0.1", "::1") if _can_bind("::1", 0) else ("127.0.0.1",)


def usable_port(port: int) -> int:
    """Return `port` if it is free on every loopback address; for 0, one that is.

    Raises:
        PortInUse: another program listens there.
        ConfigurationError: no port is free.
    """
    if port:
        if not _is_free(port):
            raise _port_taken(port)
        return port
    for _ in range(FREE_PORT_ATTEMPTS):
        with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
            probe.bind(("127.0.0.1", 0))
            port = int(probe.getsockname()[1])
        # A port that is free on 127.0.0.1 may be taken on ::1, which is `localhost`, too.
        if _is_free(port):
            return port
    raise ConfigurationError("no free port on this machine; end some programs that listen")


async def wait_ready(process: ServerProcess, endpoint: Endpoint) -> None:
    """Return once the server answers a stream header, with the certificate that we gave it.

    Raises:
        PortInUse: another program took the port since it was found free: it answers, or ours ended.
        ServerUnreachable: it ended, or did not answer within START_TIMEOUT_S.
    """
    loop = asyncio.get_running_loop()
    deadline = loop.time() + START_TIMEOUT_S
    while not await answers_stream(endpoint):
        if process.has_ended():
            # Another server ends if its port is taken; Prosody runs on without it.
            if _is_free(endpoint.port):
                raise ServerUnreachable(process.exit_report())
            raise _port_taken(endpoint.port)
        if loop.time() > deadline:
            raise ServerUnreachable(
                f"no XMPP server on {endpoint.host}:{endpoint.port} within {START_TIMEOUT_S:.0f} s;"
                f" {process.log_tail()}"
            )
        await asyncio.sleep(PROBE_PAUSE_S)


async def answers_stream(endpoint: Endpoint) -> bool:
    """True if an XMPP server for this domain opens a stream here.

    Raises:
        PortInUse: the server's certificate is not from the CA of the endpoint.
    """
    try:
        return await asyncio.wait_for(_open_stream(endpoint), PROBE_TIMEOUT_S)
    except ssl.SSLCertVerificationError:
        raise _port_taken(endpoint.port) from None
    except (OSError, TimeoutError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
        return False


async def _command_line(pid: int) -> str:
    """The command line of a process, empty if there is none: its id may have a new owner by now."""
    proc = Path("/proc")
    if (proc / "self").exists():
        try:
            return (proc / str(pid) / "cmdline").read_bytes().replace(b"\0", b" ").decode()
        except (FileNotFoundError, ProcessLookupError):
            return ""
    process = await asyncio.create_subprocess_exec(
        "ps", "-o", "command=", "-p", str(pid), stdout=subprocess.PIPE
    )
    output, _ = await asyncio.wait_for(process.communicate(), STOP_TIMEOUT_S)
    return output.decode()


async def _end(pid: int) -> None:
    """End a process that is not our child, politely first."""
    for sign in (signal.SIGTERM, signal.SIGKILL):
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, sign)
        deadline = asyncio.get_running_loop().time() + STOP_TIMEOUT_S
        while asyncio.get_running_loop().time() < deadline:
            if not await _command_line(pid):
                return
            await asyncio.sleep(0.05)


def _port_taken(port: int) -> PortInUse:
    return PortInUse(
        f"port {port} on this machine is taken by another program; "
        "end that program, or choose another port"
    )


def _is_free(port: int) -> bool:
    return all(_can_bind(address, port) for address in loopback_addresses())


def _can_bind(address: str, port: int) -> bool:
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    try:
        with socket.socket(family, socket.SOCK_STREAM) as probe:
            # Sockets of a server killed a moment ago linger in TIME_WAIT: they don't count.
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind((address, port))
    except OSError:
        return False
    return True


async def _open_stream(endpoint: Endpoint) -> bool:
    reader, writer = await asyncio.open_connection(endpoint.host, endpoint.port)
    try:
        writer.write(
            f"<stream:stream to='{endpoint.domain}' version='1.0' xmlns='jabber:client' "
            "xmlns:stream='http://etherx.jabber.org/streams'>".encode()
        )
        await reader.readuntil(b"features")
        if endpoint.ca_path is not None:
            # Another server of the same domain differs from ours by its certificate only.
            writer.write(b"<starttls xmlns='urn:ietf:params:xml:ns:xmpp-tls'/>")
            await reader.readuntil(b"proceed")
            await reader.readuntil(b">")
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
            context.load_verify_locations(endpoint.ca_path)
            await writer.start_tls(context, server_hostname=endpoint.domain)
        writer.write(b"</stream:stream>")
        await writer.drain()
    finally:
        writer.close()
    return True
