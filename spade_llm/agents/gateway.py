"""Gateway agent: serves the agent network over HTTP."""

from __future__ import annotations

from contextlib import AsyncExitStack
from pathlib import Path
from typing import TYPE_CHECKING

from spade_llm.core.imports import require_extra
from spade_llm.messaging import agent_status
from spade_llm.xmpp.agent import AgentOptions, XmppAgent
from spade_llm.xmpp.features.uploads import upload

if TYPE_CHECKING:
    import socket

    from spade_llm.gateway.agent_clients import AgentAddresses
    from spade_llm.gateway.options import HttpOptions


class GatewayAgent(XmppAgent):
    """HTTP gateway agent. Agents answer it for its principals only if their `gateways` name it."""

    def __init__(
        self,
        jid: str,
        password: str,
        *,
        addresses: AgentAddresses,
        http: HttpOptions,
        listener: socket.socket | None = None,
        options: AgentOptions | None = None,
    ) -> None:
        """`listener`: open already, at the address in `http`. `http.port=0`: any free one; `url`
        says which.

        Raises:
            ConfigurationError: the options do not go together, or the extra `gateway` is missing.
        """
        require_extra("gateway")
        from spade_llm.gateway.app import build_server_app
        from spade_llm.gateway.gateway import Gateway
        from spade_llm.gateway.gateway_database import GATEWAY_TABLES
        from spade_llm.gateway.http_server import GatewayHttpServer

        super().__init__(jid, password, options=options)
        self._http = http
        self.gateway = Gateway(
            self.node.requester,
            addresses,
            http,
            data=self.options.data,
            place=self.database_place(GATEWAY_TABLES),
            is_connected=self._is_connected,
            upload_file=self._put,
            is_replica=self.replicas is not None,
            tracer=self._tracer,
        )
        app = build_server_app(self.gateway)
        self._server = GatewayHttpServer(app, http.host, http.port, listener=listener)
        self._serving = AsyncExitStack()
        self.announce(kind="gateway")
        agent_status.serve_status(
            self.node.dispatcher, kind="gateway", summary=self._summary, replicas=self.replicas
        )

    @property
    def url(self) -> str:
        """Base URL of the HTTP server, valid after the start."""
        # An IPv6 address stands in brackets in a URL (RFC 3986 §3.2.2).
        host = f"[{self._http.host}]" if ":" in self._http.host else self._http.host
        return f"http://{host}:{self._server.port}"

    async def open_resources(self, stack: AsyncExitStack) -> None:
        await stack.enter_async_context(self.gateway)
        stack.push_async_callback(self._serving.aclose)
        await self._serving.enter_async_context(self._server)

    async def _async_stop(self) -> None:
        """Drain the HTTP server before XMPP disconnects: running requests may need the network."""
        await self.gateway.shutdown.drain()
        await self._serving.aclose()
        await super()._async_stop()

    def _is_connected(self) -> bool:
        return self.connection is not None and self.connection.connected.is_set()

    async def _put(self, path: Path, name: str) -> str:
        return await upload(self, path, name=name)

    async def _summary(self) -> str:
        return f"{self.url}, {self.gateway.stream_quota.held} streams"
