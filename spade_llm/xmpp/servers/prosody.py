"""Prosody server: start, stop and accounts of a private instance.

Does not touch a Prosody that the system runs. What it is told is in prosody_config.py.
"""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import os
import re
import secrets
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

from spade_llm.core.errors import ConfigurationError
from spade_llm.xmpp.connection.jids import account_name, local_part
from spade_llm.xmpp.servers.certificates import local_certificates
from spade_llm.xmpp.servers.managed_server import Endpoint, ServerKind
from spade_llm.xmpp.servers.prosody_config import (
    Federation,
    prosody_config,
    trust_path,
    trusted_cas,
)
from spade_llm.xmpp.servers.server_process import (
    ServerProcess,
    loopback_addresses,
    server_environment,
    usable_port,
)

SCRAM_ITERATIONS = 10_000
"""Prosody's own number for new accounts."""
ACCOUNT_TEMPLATE = """\
return {{
	["stored_key"] = "{stored_key}";
	["server_key"] = "{server_key}";
	["salt"] = "{salt}";
	["iteration_count"] = {iterations};
}};
"""
ACCOUNT_TIMEOUT_S = 15.0


def write_accounts(data: Path, domain: str, passwords: Mapping[str, str]) -> None:
    """`data`: Prosody's data_path. `passwords`: by bare JID; one that exists gets this password.

    Raises:
        ConfigurationError: not a bare JID of this domain, or a password that has other characters
            than ASCII's, which `create_account` takes.
    """
    names = {jid: _name(jid, password, domain) for jid, password in passwords.items()}
    account_path(data, domain, "").parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    # `prosodyctl` takes 0.2 s of processor for each account. Prosody reads the file at each login,
    # so it may run meanwhile (0.12 and 13, `storage = "internal"`, `internal_hashed`).
    write = partial(_write, data, domain)
    # hashlib leaves the interpreter to others while it hashes.
    with ThreadPoolExecutor(os.cpu_count()) as threads:
        list(threads.map(write, names.values(), passwords.values()))


def account_path(data: Path, domain: str, name: str) -> Path:
    """Return the path of Prosody's file for the account with this local part."""
    return data / _encoded(domain) / "accounts" / f"{_encoded(name)}.dat"


class ProsodyServer:
    """Prosody as a ManagedServer. `port` 0 takes a free one and keeps it over restarts; uploads get
    one too. `federation=None`: it knows no other server."""

    def __init__(
        self,
        directory: Path,
        *,
        domain: str = "localhost",
        port: int = 0,
        service_jids: Sequence[str] = (),
        federation: Federation | None = None,
        has_archive: bool = False,
    ) -> None:
        self._directory = directory.absolute()
        self._domain = domain
        self._port = port
        self._upload_port = 0
        self._federation = federation
        self._has_archive = has_archive
        self._service_jids = tuple(service_jids)
        self._config_path = self._directory / "prosody.cfg.lua"
        self._process = ServerProcess(directory=self._directory, name="Prosody")

    @property
    def kind(self) -> str:
        return ServerKind.PROSODY

    @property
    def description(self) -> str:
        others = ", ".join(self._federation.peers) if self._federation else ""
        also = f", federated with {others}" if others else ""
        return f"Prosody, a private instance for {self._domain} on this machine only{also}"

    @property
    def pid(self) -> int | None:
        """The process id while it runs."""
        return self._process.pid

    async def start(self) -> Endpoint:
        for program in ("prosody", "prosodyctl"):
            if shutil.which(program) is None:
                raise ConfigurationError(
                    f"{program!r} is not on PATH; install Prosody (on Debian: apt install prosody),"
                    " or use the server 'embedded'"
                )
        self._directory.mkdir(parents=True, exist_ok=True, mode=0o700)
        (self._directory / "data").mkdir(exist_ok=True, mode=0o700)
        certificates = local_certificates(self._directory / "certificates", self._domain)
        await self._process.end_left_over()
        self._port = usable_port(self._port)
        self._upload_port = usable_port(self._upload_port)
        if self._federation is not None:
            trust = trusted_cas(certificates.ca_path, self._federation)
            trust_path(self._directory).write_text(trust, encoding="ascii")
        self._config_path.write_text(
            prosody_config(
                self._directory,
                certificates,
                domain=self._domain,
                port=self._port,
                upload_port=self._upload_port,
                addresses=loopback_addresses(),
                service_jids=self._service_jids,
                federation=self._federation,
                has_archive=self._has_archive,
            ),
            encoding="utf-8",
        )
        endpoint = Endpoint(
            host="127.0.0.1",
            port=self._port,
            domain=self._domain,
            ca_path=certificates.ca_path,
        )
        # `-F`: as a daemon it would leave the process that we watch.
        command = ["prosody", "-F", "--config", str(self._config_path)]
        return await self._process.start_ready(command, endpoint)

    async def stop(self) -> None:
        await self._process.stop()

    async def restart(self) -> Endpoint:
        await self.stop()
        return await self.start()

    async def wait_failed(self) -> str:
        return await self._process.wait_failed()

    async def create_account(self, jid: str, password: str) -> None:
        user = account_name(jid, password, domain=self._domain)
        # The undocumented `register` sets the password of an account that exists; `adduser` won't.
        # Without a fourth argument it reads the password twice, and nobody sees it in `ps`.
        output = await self._prosodyctl("register", user, self._domain, answer=f"{password}\n" * 2)
        if output is not None:
            raise ConfigurationError(f"Prosody did not make the account {jid!r}: {output}")

    async def has_account(self, jid: str) -> bool:
        user = local_part(jid, domain=self._domain)
        return account_path(self._directory / "data", self._domain, user).is_file()

    async def create_accounts(self, passwords: Mapping[str, str]) -> None:
        """Many at once, by bare JID: a thousand take seconds. It may run or not.

        Raises:
            ConfigurationError: as `create_account`; passwords are ASCII here. None is made then.
        """
        await asyncio.to_thread(write_accounts, self._directory / "data", self._domain, passwords)

    async def _prosodyctl(self, *arguments: str, answer: str) -> str | None:
        """Run prosodyctl on our instance; return what it said if it failed."""
        process = await asyncio.create_subprocess_exec(
            "prosodyctl",
            "--config",
            str(self._config_path),
            *arguments,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            cwd=self._directory,
            env=server_environment(),
        )
        try:
            output, _ = await asyncio.wait_for(
                process.communicate(answer.encode()), ACCOUNT_TIMEOUT_S
            )
        except TimeoutError:
            # The timeout has ended our wait, not the program.
            process.kill()
            await process.wait()
            return f"no answer from prosodyctl within {ACCOUNT_TIMEOUT_S:.0f} s"
        return None if process.returncode == 0 else output.decode("utf-8", "replace").strip()[-500:]


def _name(jid: str, password: str, domain: str) -> str:
    if not password.isascii():
        raise ConfigurationError(f"the password of {jid!r} is not ASCII; make it by itself")
    return account_name(jid, password, domain=domain)


def _write(data: Path, domain: str, name: str, password: str) -> None:
    """Write the account file atomically: the account may log in meanwhile."""
    path = account_path(data, domain, name)
    unfinished = path.with_suffix(".dat.new")
    descriptor = os.open(unfinished, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "w", encoding="ascii") as file:
        file.write(_scram_credentials(password, secrets.token_hex(16)))
    unfinished.replace(path)


def _scram_credentials(password: str, salt: str) -> str:
    """Credentials to verify a password by SCRAM-SHA-1 (RFC 5802 §3), without the password."""
    salted = hashlib.pbkdf2_hmac("sha1", password.encode(), salt.encode(), SCRAM_ITERATIONS)
    client_key = hmac.digest(salted, b"Client Key", "sha1")
    return ACCOUNT_TEMPLATE.format(
        stored_key=hashlib.sha1(client_key).hexdigest(),
        server_key=hmac.digest(salted, b"Server Key", "sha1").hex(),
        salt=salt,
        iterations=SCRAM_ITERATIONS,
    )


def _encoded(name: str) -> str:
    """Encode a name as Prosody does in file names (util.datamanager)."""
    return re.sub(rb"[^A-Za-z0-9]", lambda c: b"%%%02x" % c[0][0], name.encode()).decode()
