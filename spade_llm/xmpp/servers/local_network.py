"""Local network: a temporary server with accounts, for examples, notebooks and tests.

For anything that is to stay, use `spade-llm up`.
"""

from __future__ import annotations

import secrets
import tempfile
from contextlib import AsyncExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Self

from spade_llm.xmpp.agent import AgentOptions
from spade_llm.xmpp.connection.settings import ConnectionSettings
from spade_llm.xmpp.servers.managed_server import ServerKind, choose_server

if TYPE_CHECKING:
    from spade_llm.xmpp.agent import XmppAgent
    from spade_llm.xmpp.servers.managed_server import Endpoint, ManagedServer


class LocalNetwork:
    """Prosody if it is installed, else the embedded server; a new folder that goes at the end.

    `async with LocalNetwork() as network:` then
    `await network.start(LLMAgent(*await network.account("echo"), provider,
    options=network.options("echo")))`: what was started is stopped at the end.
    """

    def __init__(self, kind: ServerKind | str = ServerKind.AUTO) -> None:
        self._kind = kind
        self._stack = AsyncExitStack()
        self._server: ManagedServer | None = None
        self._endpoint: Endpoint | None = None
        self._directory = Path()

    async def __aenter__(self) -> Self:
        folder = self._stack.enter_context(tempfile.TemporaryDirectory(prefix="spade-llm-"))
        self._directory = Path(folder)
        self._server = choose_server(self._kind, self._directory)
        # Before the start, so that one that fails half-way leaves no process.
        self._stack.push_async_callback(self._server.stop)
        self._endpoint = await self._server.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._stack.aclose()

    async def account(self, name: str) -> tuple[str, str]:
        """Make `name@localhost`; returns its JID and password."""
        if self._server is None or self._endpoint is None:
            raise RuntimeError("use `async with LocalNetwork() as network:` first")
        jid, password = f"{name}@{self._endpoint.domain}", secrets.token_urlsafe(12)
        await self._server.create_account(jid, password)
        return jid, password

    def options(self, name: str) -> AgentOptions:
        """Connection and a folder of its own for one agent."""
        if self._endpoint is None:
            raise RuntimeError("use `async with LocalNetwork() as network:` first")
        data = self._directory / "agents" / name
        data.mkdir(parents=True, exist_ok=True)
        connection = ConnectionSettings(
            host=self._endpoint.host, port=self._endpoint.port, ca_path=self._endpoint.ca_path
        )
        return AgentOptions(connection=connection, data=data)

    async def start(self, *agents: XmppAgent) -> None:
        for agent in agents:
            await agent.start()
            self._stack.push_async_callback(agent.stop)
