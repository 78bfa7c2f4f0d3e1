"""Launcher of the embedded server: starts it in a child process and makes accounts.

This is the parent's side. The child is xmpp/servers/embedded/main.py; the two share the directory
only: the child reads the accounts that we write, and ends when its standard input does.
"""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

from spade_llm.xmpp.connection.jids import account_name, local_part
from spade_llm.xmpp.servers.certificates import local_certificates
from spade_llm.xmpp.servers.embedded.account_store import (
    PASSWORD_ITERATIONS,
    has_account,
    set_password,
)
from spade_llm.xmpp.servers.managed_server import Endpoint, ServerKind
from spade_llm.xmpp.servers.server_process import ServerProcess, usable_port

PACKAGE_PARENT = Path(__file__).resolve().parents[4]
# The child runs in the server's directory, where an uninstalled package would not be found.
LAUNCH = "import sys; sys.path.insert(0, sys.argv.pop(1)); from {module} import main; main()"


class EmbeddedServer:
    """Embedded server as a ManagedServer.

    Args:
        port: 0 takes a free one and keeps it over restarts.
        password_iterations: iterations of PBKDF2 for new passwords (tests need fewer).
    """

    def __init__(
        self,
        directory: Path,
        *,
        domain: str = "localhost",
        port: int = 0,
        password_iterations: int = PASSWORD_ITERATIONS,
    ) -> None:
        self._directory = directory.absolute()
        self._domain = domain
        self._port = port
        self._password_iterations = password_iterations
        self._process = ServerProcess(directory=self._directory, name="the embedded server")

    @property
    def kind(self) -> str:
        return ServerKind.EMBEDDED

    @property
    def description(self) -> str:
        return (
            f"the embedded server for {self._domain}, for one person on this machine: no rooms, "
            "no archive, no carbon copies, no file upload, no connection to other servers "
            "(install Prosody to have them)"
        )

    @property
    def pid(self) -> int | None:
        """The process id while it runs."""
        return self._process.pid

    async def start(self) -> Endpoint:
        self._directory.mkdir(parents=True, exist_ok=True, mode=0o700)
        certificates = local_certificates(self._directory / "certificates", self._domain)
        await self._process.end_left_over()
        self._port = usable_port(self._port)
        program = LAUNCH.format(module="spade_llm.xmpp.servers.embedded.main")
        command = [
            *(sys.executable, "-c", program, str(PACKAGE_PARENT)),
            *(str(self._directory), self._domain, str(self._port)),
        ]
        endpoint = Endpoint(
            host="127.0.0.1",
            port=self._port,
            domain=self._domain,
            ca_path=certificates.ca_path,
        )
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
        await asyncio.to_thread(
            set_password, self._directory, user, password, iterations=self._password_iterations
        )

    async def has_account(self, jid: str) -> bool:
        user = local_part(jid, domain=self._domain)
        return await asyncio.to_thread(has_account, self._directory, user)
