"""Data directory of `spade-llm up`: lock, run record, CA file, account passwords, account creation.

A directory is held by one process at a time (flock), also after a crash. The run record has the
address of the server that runs on the directory. Passwords are kept in one private file per JID.
"""

from __future__ import annotations

import fcntl
import logging
import os
import secrets
import stat
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from string import ascii_letters, digits

from pydantic import BaseModel, ConfigDict, ValidationError

from spade_llm.core.errors import ConfigurationError
from spade_llm.xmpp.servers.managed_server import ManagedServer, choose_server

logger = logging.getLogger(__name__)

LOCK_FILE = "lock"
ATTEMPTS = 5
PAUSE_S = 0.05
RUN_FILE = "run.json"
CA_FILE = "ca.pem"
PASSWORD_CHARS = 20
"""119 bits: enough against any guesser, and short enough to type into a phone."""


@contextmanager
def lock_directory(directory: Path, *, what: str, remedy: str = "") -> Iterator[None]:
    """Hold the directory, made if it is missing, as long as the block runs.

    Raises:
        ConfigurationError: another process holds it; names its pid, and the remedy.
    """
    _make_directory(directory)
    # Not "w": it would remove the holder's pid before the lock is tried.
    with (directory / LOCK_FILE).open("a+") as file:
        if not _locked(file.fileno()):
            file.seek(0)
            problem = f"{what} is already running (pid {file.read().strip()})"
            raise ConfigurationError(f"{problem}: {remedy}" if remedy else problem)
        file.truncate(0)
        file.write(f"{os.getpid()}\n")
        file.flush()
        yield
        file.truncate(0)


def is_locked(directory: Path) -> bool:
    """Check whether a process holds the directory now."""
    try:
        with (directory / LOCK_FILE).open("r") as file:
            # Shared: two that look at the same time do not take each other for the holder.
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except FileNotFoundError:
        return False
    except BlockingIOError:
        return True
    return False


def _make_directory(directory: Path) -> None:
    try:
        directory.mkdir(parents=True, exist_ok=True, mode=0o700)
    except OSError as error:
        raise ConfigurationError(
            f"--data: cannot make the directory {str(directory)!r}: {error.strerror}"
        ) from None


def _locked(descriptor: int) -> bool:
    """A few attempts: `is_locked` takes the lock for a moment, too."""
    for _ in range(ATTEMPTS):
        try:
            # The kernel releases it with the process: a crash leaves no stale lock.
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            time.sleep(PAUSE_S)
        else:
            return True
    return False


class RunRecord(BaseModel):
    """Record of the running `up`: process, server address, agents."""

    model_config = ConfigDict(frozen=True)

    pid: int
    host: str
    port: int
    domain: str
    ca: Path | None
    server: str = ""
    """ServerKind of our own server (servers/managed_server.py); empty: an external server."""
    agents: tuple[str, ...]
    """Bare JIDs."""
    person: str
    web: tuple[str, ...] = ()
    """URLs of its gateways, without a path."""
    agents_folder: Path | None = None
    """Folder of the agents' settings; None: those that come with the package."""

    def write(self, data: Path) -> None:
        """Write the record atomically: a reader never sees half of it."""
        fresh = data / f"{RUN_FILE}.new"
        fresh.write_text(self.model_dump_json(indent=2) + "\n", encoding="utf-8")
        os.replace(fresh, data / RUN_FILE)


def read_run_record(data: Path) -> RunRecord | None:
    """Return the record of the `up` that runs on this data now; None if none runs."""
    # A killed `up` leaves its record behind; its lock ends with it.
    if not is_locked(data):
        return None
    try:
        return RunRecord.model_validate_json((data / RUN_FILE).read_text(encoding="utf-8"))
    except FileNotFoundError:
        return None
    except ValidationError:
        raise ConfigurationError(
            f"{str(data / RUN_FILE)!r} is unreadable: stop `spade-llm up` and start it again"
        ) from None


def remove_run_record(data: Path) -> None:
    (data / RUN_FILE).unlink(missing_ok=True)


def saved_ca(data: Path) -> Path | None:
    """Return the saved CA file; None if the system trusts the server's CA."""
    path = data / CA_FILE
    return path if path.is_file() else None


def save_ca(data: Path, authority: bytes | None) -> None:
    """Save the CA of the server, or remove a saved one."""
    if authority is None:
        (data / CA_FILE).unlink(missing_ok=True)
        return
    fresh = data / f"{CA_FILE}.new"
    fresh.write_bytes(authority)
    fresh.replace(data / CA_FILE)


class AccountPasswords:
    """Password files of the accounts."""

    def __init__(self, data: Path, *, warn: Callable[[str], None] = logger.warning) -> None:
        """`warn`: told of files that others could read."""
        self._directory = data / "accounts"
        self._warn = warn

    def path(self, jid: str) -> Path:
        """Return the path of the password file of this bare JID, which is normalised first."""
        # slixmpp takes 0.4 s to import.
        from spade_llm.xmpp.connection.jids import bare_jid

        return self._directory / bare_jid(jid)

    def find(self, jid: str) -> str | None:
        """Return the password; None if there is none. A file that version 0.1 named by the
        unnormalised JID is read, too."""
        for path in (self.path(jid), self._directory / jid):
            try:
                password = path.read_text(encoding="utf-8").strip()
            except FileNotFoundError:
                continue
            self._close_to_others(path)
            return password or None
        return None

    def _close_to_others(self, path: Path) -> None:
        mode = stat.S_IMODE(path.stat().st_mode)
        if mode & 0o077:
            with suppress(PermissionError):  # It is not ours: the warning stays true.
                path.chmod(0o600)
            self._warn(
                f"warning     {str(path)!r} had mode {mode:03o}, 600 is right: other users of this"
                " machine may have read the password"
            )

    def get(self, jid: str) -> str:
        """Return the password. Raises ConfigurationError if there is none."""
        password = self.find(jid)
        if password is None:
            raise ConfigurationError(
                f"there is no password for {jid}: write it into {str(self.path(jid))!r}"
            )
        return password

    def get_or_make(self, jid: str) -> str:
        return self.find(jid) or self.keep(jid, new_password())

    def keep(self, jid: str, password: str) -> str:
        """Store the password in a file that only its owner can read; return it."""
        self._directory.mkdir(parents=True, exist_ok=True, mode=0o700)
        # With its mode from the start: `chmod` afterwards would leave a moment for other readers.
        descriptor = os.open(self.path(jid), os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        os.fchmod(descriptor, 0o600)  # The file may have been there, open to others.
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            file.write(password + "\n")
        return password


def new_password() -> str:
    # Letters and digits only: programs read an argument that begins with - as an option.
    return "".join(secrets.choice(ascii_letters + digits) for _ in range(PASSWORD_CHARS))


async def create_account(
    data: Path, jid: str, password: str | None = None, *, is_reset: bool = False
) -> str:
    """Make the account with this password, else the kept one, else a new one; return the
    password, which is kept with those of our other accounts. `is_reset`: an account that exists
    gets the password, else a new one.

    An agent that runs reads the kept password when it logs in again.

    Raises:
        ConfigurationError: no server of ours runs on this data, or it refuses, or the account
            exists and is not to be reset.
    """
    from spade_llm.xmpp.connection.jids import bare_jid

    record = read_run_record(data)
    if record is None or not record.server:
        what = "`spade-llm up` there uses another server" if record else "nothing runs there"
        raise ConfigurationError(
            f"no server of ours for the data in {str(data)!r}: {what}; start `spade-llm up`, name"
            " its directory with --data, or make the account with the other server's own tools"
        )
    jid, accounts = bare_jid(jid), AccountPasswords(data)
    is_agent = jid in map(bare_jid, record.agents)
    if not is_reset and await account_exists(data, jid, record):
        what = "is an agent" if is_agent else "has an account already"
        raise ConfigurationError(f"{jid} {what}: --reset gives it a new password")
    if is_agent and accounts.find(jid) is None:
        raise ConfigurationError(
            f"{jid} has its password from its agent.toml: change it there, and start `up` again"
        )
    password = password or (new_password() if is_reset else accounts.get_or_make(jid))
    await _server(data, record).create_account(jid, password)
    return accounts.keep(jid, password)


async def account_exists(data: Path, jid: str, record: RunRecord) -> bool:
    """True if the account belongs to `up` or exists on its server."""
    from spade_llm.xmpp.connection.jids import bare_jid

    if bare_jid(jid) in map(bare_jid, (*record.agents, record.person)):
        return True
    return await _server(data, record).has_account(jid)


def _server(data: Path, record: RunRecord) -> ManagedServer:
    return choose_server(record.server, data, domain=record.domain)
