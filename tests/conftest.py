"""What every part of the tests shares: real servers, and when a test may do without one."""

from __future__ import annotations

import itertools
import os
import shutil
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

import pytest
import pytest_asyncio
from hypothesis import settings

from spade_llm.xmpp.embedded import EmbeddedServer
from spade_llm.xmpp.prosody import ProsodyServer

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator

    from spade_llm.xmpp.server import Endpoint

# How long one example takes says how busy the machine is.
settings.register_profile("busy", deadline=None)
settings.load_profile("busy")

PASSWORD = "correct horse"
LONG = {"processes", "session", "cli", "programs", "test_readme.py", "test_examples.py"}
"""Folders and files whose tests take seconds each."""


class AccountMaker(Protocol):
    """The part of a ManagedServer that tests on a shared server need."""

    async def create_account(self, jid: str, password: str) -> None: ...


@dataclass(slots=True, kw_only=True)
class Provisioner:
    """A running server that gives each test accounts of its own."""

    server: AccountMaker
    endpoint: Endpoint
    numbers: Iterator[int] = field(default_factory=lambda: itertools.count(1))

    async def account(self, name: str) -> tuple[str, str]:
        """Make a new account; return its bare JID and password."""
        jid = f"{name}{next(self.numbers)}@{self.endpoint.domain}"
        await self.server.create_account(jid, PASSWORD)
        return jid, PASSWORD


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Files that wait for processes and servers begin first: two workers then end together."""
    items.sort(key=lambda item: not LONG & {*item.path.parts})


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Without Prosody its tests are skipped, except where SPADE_LLM_REQUIRE_SERVERS=1 says no."""
    if item.get_closest_marker("server") is None or shutil.which("prosody"):
        return
    if os.environ.get("SPADE_LLM_REQUIRE_SERVERS") != "1":
        pytest.skip("no prosody on PATH")


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def prosody(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Provisioner]:
    """One Prosody for the whole run. Tests that use it carry the marker `server`."""
    server = ProsodyServer(tmp_path_factory.mktemp("prosody"))
    yield Provisioner(server=server, endpoint=await server.start())
    await server.stop()


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def embedded(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Provisioner]:
    """One embedded server for the whole run."""
    server = EmbeddedServer(tmp_path_factory.mktemp("embedded"))
    yield Provisioner(server=server, endpoint=await server.start())
    await server.stop()
