"""The XMPP server of `up`: started with its accounts, started again when it dies, stopped.

Knows no agent.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import socket
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from spade_llm.cli.place import Place
from spade_llm.errors import ConfigurationError, PortTaken

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Mapping, Sequence
    from pathlib import Path

    from spade_llm.xmpp.server import Endpoint, ManagedServer

logger = logging.getLogger(__name__)

USUAL_PORT = 5222
PORT_FILE = "port"
ANY_PORT = (0, 0)
"""Twice: another program may take also a port that was free a moment ago."""
FIRST_PAUSE_S = 0.2
MAX_PAUSE_S = 5.0


@asynccontextmanager
async def running_server(
    server_on: Callable[[int], ManagedServer],
    ports: Sequence[int],
    data: Path,
    passwords: Mapping[str, str],
    *,
    say: Callable[[str], None],
) -> AsyncIterator[Place]:
    """The server with these accounts (JID → password), kept running as long as the block runs.

    Raises:
        ConfigurationError: it does not start, or refuses an account.
    """
    server, endpoint = await _started(server_on, ports)
    say(f"server      {server.description}")
    try:
        place = _place(endpoint, data, server.kind)
        (data / PORT_FILE).write_text(f"{endpoint.port}\n", encoding="ascii")
        await asyncio.gather(*(server.create_account(*account) for account in passwords.items()))
        keeper = asyncio.create_task(_keep_running(server, say))
        try:
            yield place
        finally:
            keeper.cancel()
            await asyncio.wait([keeper])
    finally:
        await server.stop()


async def _started(
    server_on: Callable[[int], ManagedServer], ports: Sequence[int]
) -> tuple[ManagedServer, Endpoint]:
    """On the first of these ports that no other program takes in the moment of the start."""
    *first, last = ports
    for port in first:
        server = server_on(port)
        with contextlib.suppress(PortTaken):
            return server, await server.start()
    server = server_on(last)
    return server, await server.start()


def wanted_ports(data: Path, asked: int | None) -> tuple[int, ...]:
    """What was asked; else that of last time and the usual one, if they are free, then any (0)."""
    if asked is not None:
        return (asked,)
    candidates = (_last_port(data), USUAL_PORT)
    return (*(port for port in candidates if port and is_free(port)), *ANY_PORT)


def is_free(port: int) -> bool:
    """Whether nobody listens on this port of the loopback address."""
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True


def _last_port(data: Path) -> int:
    try:
        return int((data / PORT_FILE).read_text(encoding="ascii"))
    except (FileNotFoundError, ValueError):
        return 0


def _place(endpoint: Endpoint, data: Path, kind: str) -> Place:
    return Place(
        data=data,
        host=endpoint.host,
        port=endpoint.port,
        domain=endpoint.domain,
        ca=endpoint.ca_path,
        server=kind,
    )


async def _keep_running(server: ManagedServer, say: Callable[[str], None]) -> None:
    """The agents come back by themselves (xmpp/link.py)."""
    while True:
        reason = await server.wait_failed()
        logger.error("%s", reason)
        say("server      has died; starting it again")
        await _restart(server)
        say("server      is back")


async def _restart(server: ManagedServer) -> None:
    pause_s = FIRST_PAUSE_S
    while True:
        with contextlib.suppress(ConfigurationError):
            await server.restart()
            return
        logger.error("the server does not start; the next attempt is in %.1f s", pause_s)
        await asyncio.sleep(pause_s)
        pause_s = min(pause_s * 2, MAX_PAUSE_S)
