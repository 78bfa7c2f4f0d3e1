"""The same tests on both servers."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

import pytest

from spade_llm.xmpp.servers.embedded.launcher import EmbeddedServer
from spade_llm.xmpp.servers.prosody import ProsodyServer
from tests.xmpp.client import Client

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable
    from pathlib import Path

    from tests.conftest import Provisioner

BOTH = ["embedded", pytest.param("prosody", marks=pytest.mark.server)]

ConnectedClient = "Callable[..., Awaitable[Client]]"


@pytest.fixture(params=BOTH)
def xmpp(request: pytest.FixtureRequest) -> Provisioner:
    """A running server, shared by the whole run."""
    provisioner: Provisioner = request.getfixturevalue(request.param)
    return provisioner


@pytest.fixture(params=BOTH)
async def own_server(
    request: pytest.FixtureRequest, tmp_path: Path
) -> AsyncIterator[EmbeddedServer | ProsodyServer]:
    """A server that the test starts, and may stop or kill."""
    kinds = {"embedded": EmbeddedServer, "prosody": ProsodyServer}
    server = kinds[request.param](tmp_path / "server")
    yield server
    await server.stop()


@pytest.fixture
async def login() -> AsyncIterator[Callable[..., Awaitable[Client]]]:
    """Log clients in; they are disconnected after the test."""
    async with contextlib.AsyncExitStack() as stack:

        async def log_in(
            provisioner: Provisioner, name: str, *, resource: str = "", is_available: bool = True
        ) -> Client:
            jid, password = await provisioner.account(name)
            client = Client(f"{jid}/{resource}" if resource else jid, password)
            stack.push_async_callback(client.close)
            await client.log_in(provisioner.endpoint, is_available=is_available)
            return client

        yield log_in
