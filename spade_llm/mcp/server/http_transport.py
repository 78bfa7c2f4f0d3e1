"""Streamable HTTP transport: bearer token, host and origin check (DNS rebinding)."""

from __future__ import annotations

import asyncio
import hmac
import ipaddress
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

import uvicorn
from mcp.server.transport_security import TransportSecuritySettings
from starlette.datastructures import Headers
from starlette.responses import PlainTextResponse

from spade_llm.core.errors import ConfigurationError
from spade_llm.core.text import host_in_url
from spade_llm.mcp.server.stdio_transport import MAX_MESSAGE_BYTES

if TYPE_CHECKING:
    from mcp.server.lowlevel import Server
    from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
    from starlette.types import ASGIApp, Receive, Scope, Send

    from spade_llm.mcp.server.server import RunningCalls

SCHEME = "bearer "

MCP_PATH = "/mcp"
MAX_SESSIONS = 64
"""Maximum number of client sessions (protocols before 2026-07-28); a further one gets 503."""
SESSION_IDLE_S = 1800.0
"""Idle timeout of a session without a request in flight, in seconds. Its id then gets 404, and the
client opens another."""
MAX_CONNECTIONS = 256
"""Maximum number of connections; a further one gets 503."""
SHUTDOWN_GRACE_S = 3.0
"""Grace period in seconds for responses that are being written when the server stops."""
LOOPBACK_NAMES = ("localhost", "127.0.0.1", "[::1]")


class BearerAuthMiddleware:
    """Refuses HTTP requests without the bearer token (401)."""

    def __init__(self, app: ASGIApp, token: str) -> None:
        self._app = app
        self._token = token.encode()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        app = self._app
        if scope["type"] == "http":
            authorization = Headers(scope=scope).get("authorization", "")
            scheme, token = authorization[: len(SCHEME)], authorization[len(SCHEME) :].strip()
            # compare_digest takes the same time for every wrong token.
            if scheme.lower() != SCHEME or not hmac.compare_digest(token.encode(), self._token):
                app = PlainTextResponse(
                    "Authorization: send `Bearer TOKEN`",
                    status_code=401,
                    headers={"WWW-Authenticate": "Bearer"},
                )
        await app(scope, receive, send)


@dataclass(frozen=True, slots=True, kw_only=True)
class ListenAddress:
    """Address and host names of the HTTP server, and its bearer token."""

    host: str
    port: int
    """0: any free port."""
    names: tuple[str, ...] = ()
    """Host names that clients use besides `host` (`mcp.example.org`, `10.0.0.7:8765`)."""
    token: str | None = None
    """Bearer token; None admits every client that reaches the loopback address."""

    @property
    def is_loopback(self) -> bool:
        return self.host == "localhost" or (self._ip is not None and self._ip.is_loopback)

    @property
    def _ip(self) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
        try:
            return ipaddress.ip_address(self.host)
        except ValueError:
            return None

    def check(self) -> None:
        """Raises ConfigurationError if the address is open to all, or clients cannot name it."""
        if self.token is None and not self.is_loopback:
            raise ConfigurationError(
                f"{self.host} can be reached from other machines, where without a token everyone"
                " could use your account; set a token"
            )
        if self._ip is not None and self._ip.is_unspecified and not self.names:
            raise ConfigurationError(
                f"clients cannot address {self.host}: list the host names that they use with"
                " --allow-host"
            )


async def serve_http(
    server: Server[None],
    address: ListenAddress,
    calls: RunningCalls,
    on_ready: Callable[[str], None],
) -> None:
    """Serve until cancelled, then end the calls. `on_ready` receives the URL. Raises
    ConfigurationError: the address cannot be used, or would be open to all without a token."""
    address.check()
    # Not bound by uvicorn, which exits the process if the port is taken; and the allowed hosts need
    # the port that 0 stands for.
    with _bound(address) as bound:
        port = bound.getsockname()[1]
        app = _app(server, address, port)
        host = address.names[0] if address.names else f"{host_in_url(address.host)}:{port}"
        http = _McpUvicorn(_config(app), lambda: on_ready(f"http://{host}{MCP_PATH}"))
        await _run(server.session_manager, http, bound, calls)


def _app(server: Server[None], address: ListenAddress, port: int) -> ASGIApp:
    app = server.streamable_http_app(
        streamable_http_path=MCP_PATH,
        max_request_body_size=MAX_MESSAGE_BYTES,
        session_idle_timeout=SESSION_IDLE_S,
        max_sessions=MAX_SESSIONS,
        transport_security=_security(address, port),
    )
    return BearerAuthMiddleware(app, address.token) if address.token else app


def _security(address: ListenAddress, port: int) -> TransportSecuritySettings:
    """Check of Host and Origin against our names, which prevents DNS rebinding."""
    own = LOOPBACK_NAMES if address.is_loopback else (host_in_url(address.host),)
    hosts = [f"{name}:{port}" for name in own] + list(address.names)
    return TransportSecuritySettings(
        allowed_hosts=hosts,
        allowed_origins=[f"{scheme}://{host}" for scheme in ("http", "https") for host in hosts],
    )


def _config(app: ASGIApp) -> uvicorn.Config:
    return uvicorn.Config(
        app,
        # `_run` enters the session manager, which the application's lifespan would do again.
        lifespan="off",
        log_config=None,
        access_log=False,
        server_header=False,
        limit_concurrency=MAX_CONNECTIONS,
        timeout_graceful_shutdown=int(SHUTDOWN_GRACE_S),
    )


async def _run(
    sessions: StreamableHTTPSessionManager,
    http: _McpUvicorn,
    bound: socket.socket,
    calls: RunningCalls,
) -> None:
    """Serve, and on shutdown end calls and sessions first: a waiting call or an open event stream
    would keep its connection, and the shutdown, waiting. Responses being written then have
    SHUTDOWN_GRACE_S.
    """
    serving: asyncio.Task[None] | None = None
    try:
        async with sessions.run():
            serving = asyncio.create_task(http.serve(sockets=[bound]))
            await asyncio.wait([serving])
    finally:
        http.should_exit = True
        calls.cancel_all()
        if serving is not None:
            await serving


class _McpUvicorn(uvicorn.Server):
    """uvicorn server that leaves signals to the command, and reports when it is ready."""

    def __init__(self, config: uvicorn.Config, on_ready: Callable[[], None]) -> None:
        super().__init__(config)
        self._on_ready = on_ready

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self._on_ready()


@contextmanager
def _bound(address: ListenAddress) -> Iterator[socket.socket]:
    try:
        family = socket.AF_INET6 if ":" in address.host else socket.AF_INET
        bound = socket.create_server((address.host, address.port), family=family)
    except OSError as error:
        raise ConfigurationError(
            f"cannot listen on {address.host}:{address.port} ({error.strerror}): choose another"
            " address with --http HOST:PORT"
        ) from None
    with bound:
        yield bound
