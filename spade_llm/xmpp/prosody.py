"""A private Prosody on this machine: own configuration, certificate, accounts, data; loopback only.

Does not touch a Prosody that the system runs. What it is told is in prosody_config.py.
"""

from __future__ import annotations

import asyncio
import shutil
import subprocess
from typing import TYPE_CHECKING

from spade_llm.errors import ConfigurationError
from spade_llm.xmpp.account import account_name, local_part
from spade_llm.xmpp.certificates import local_certificates
from spade_llm.xmpp.federation import trusted_cas
from spade_llm.xmpp.prosody_accounts import account_path, write_accounts
from spade_llm.xmpp.prosody_config import prosody_config, trust_path
from spade_llm.xmpp.readiness import loopback_addresses, usable_port, wait_ready
from spade_llm.xmpp.server import Endpoint, ServerKind
from spade_llm.xmpp.server_process import ServerProcess, server_environment

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from spade_llm.xmpp.federation import Federation

ACCOUNT_TIMEOUT_S = 15.0


class ProsodyServer:
    """Satisfies ManagedServer. `port` 0 takes a free one and keeps it over restarts; uploads get
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
        _require_prosody()
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
        return await self._started(
            Endpoint(
                host="127.0.0.1",
                port=self._port,
                domain=self._domain,
                ca_path=certificates.ca_path,
            )
        )

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

    async def _started(self, endpoint: Endpoint) -> Endpoint:
        await self._process.start(["prosody", "-F", "--config", str(self._config_path)])
        try:
            await wait_ready(self._process, endpoint)
        except BaseException:
            await self._process.stop()
            raise
        return endpoint

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
            process.kill()
            await process.wait()
            return f"no answer from prosodyctl within {ACCOUNT_TIMEOUT_S:.0f} s"
        return None if process.returncode == 0 else output.decode("utf-8", "replace").strip()[-500:]


def _require_prosody() -> None:
    for program in ("prosody", "prosodyctl"):
        if shutil.which(program) is None:
            raise ConfigurationError(
                f"{program!r} is not on PATH; install Prosody (on Debian: apt install prosody), "
                "or use the server 'embedded'"
            )
