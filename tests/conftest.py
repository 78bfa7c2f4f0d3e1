"""What every part of the tests shares: real servers, and when a test may do without one."""

from __future__ import annotations

import itertools
import logging
import os
import shutil
import time
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

import pytest
import pytest_asyncio
from hypothesis import settings

from spade_llm.core.concurrency import freeze_gc, gc_paused
from spade_llm.core.database import DatabaseUrl
from spade_llm.core.postgres import PostgresServer
from spade_llm.xmpp.servers.embedded.launcher import EmbeddedServer
from spade_llm.xmpp.servers.prosody import ProsodyServer
from tests.postgres_server import PostgresProcess, running_postgres

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Generator, Iterator, Sequence
    from pathlib import Path

    from spade_llm.core.database import DatabasePlace
    from spade_llm.xmpp.servers.managed_server import Endpoint

# How long one example takes says how busy the machine is.
settings.register_profile("thorough", deadline=None)
settings.register_profile("quick", deadline=None, max_examples=15)
settings.load_profile("thorough")

# Prompts tell dates in the time zone of the machine; child processes inherit this one.
os.environ["TZ"] = "UTC"
time.tzset()

PASSWORD = "correct horse"


def at_most(examples: int) -> int:
    """Number of examples for a costly property: these, or the fewer of the profile."""
    return min(examples, settings().max_examples)


def bytes_in(folder: Path) -> bytes:
    """Bytes of all files, write-ahead logs included."""
    return b"".join(path.read_bytes() for path in folder.iterdir())


def modes_in(folder: Path) -> set[int]:
    """Permissions of the files."""
    return {path.stat().st_mode & 0o777 for path in folder.iterdir()}


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


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Collect without the garbage collector, which takes a quarter of the time and finds little.
    It never looks again at the ten thousand items and the modules, which stay until the end."""
    with gc_paused():
        collected = yield
    freeze_gc()
    return collected


@pytest.hookimpl(tryfirst=True)  # before -m selects
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Mark what needs much as `thorough`. Long files begin first: the workers then end together."""
    usual_s = float(config.getini("timeout"))
    for item in items:
        if needs_much(item, usual_s):
            item.add_marker("thorough")
    items.sort(
        key=lambda item: not {"quick", "thorough"} & {one.name for one in item.iter_markers()}
    )


def needs_much(item: pytest.Item, usual_s: float) -> bool:
    """A real Prosody, a browser, or more time than others before it counts as hanging."""
    timeout = item.get_closest_marker("timeout")
    return (
        item.get_closest_marker("server") is not None
        or "browser" in getattr(item, "fixturenames", ())
        or (timeout is not None and timeout.args[0] > usual_s)
    )


def pytest_deselected(items: Sequence[pytest.Item]) -> None:
    """Tell the controller how many: pytest-xdist does not."""
    output = getattr(items[0].config, "workeroutput", None) if items else None
    if output is not None:
        output["deselected"] = output.get("deselected", 0) + len(items)


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    """Every worker collects, and deselects, the same; the last line counts it once."""
    deselected = getattr(node, "workeroutput", {}).get("deselected", 0)
    reporter = node.config.pluginmanager.get_plugin("terminalreporter")
    reporter.stats["deselected"] = [node] * deselected


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Without Prosody its tests are skipped, except where SPADE_LLM_REQUIRE_SERVERS=1 says no."""
    if item.get_closest_marker("server") is None or shutil.which("prosody"):
        return
    if os.environ.get("SPADE_LLM_REQUIRE_SERVERS") != "1":
        pytest.skip("no prosody on PATH")


@pytest.fixture(autouse=True)
def log_level() -> Iterator[None]:
    """Restores the level of our log messages, which commands set."""
    ours = logging.getLogger("spade_llm")
    before = ours.level
    yield
    ours.setLevel(before)


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def prosody(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Provisioner]:
    """One Prosody for the whole run. Tests that use it carry the marker `server`."""
    server = ProsodyServer(tmp_path_factory.mktemp("prosody"))
    yield Provisioner(server=server, endpoint=await server.start())
    await server.stop()


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def embedded(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Provisioner]:
    """One embedded server for the whole run."""
    server = EmbeddedServer(tmp_path_factory.mktemp("embedded"), password_iterations=1000)
    yield Provisioner(server=server, endpoint=await server.start())
    await server.stop()


@pytest.fixture(scope="session")
def postgres() -> Iterator[PostgresProcess]:
    """One PostgreSQL for the whole run; each test has a schema of its own in it."""
    with running_postgres() as server:
        yield server


@pytest.fixture
def own_postgres() -> Iterator[PostgresProcess]:
    """A PostgreSQL that the test may stop."""
    with running_postgres() as server:
        yield server


PlaceOf: TypeAlias = "Callable[[str], DatabasePlace]"
"""Takes a file name; returns where that store's tables are."""

_schemas = itertools.count(1)

DATABASES = ["sqlite", pytest.param("postgres", marks=pytest.mark.thorough)]
"""Databases that each test of a store runs on; the quick tier has a smoke test of PostgreSQL."""


@asynccontextmanager
async def places_of(
    database: str, request: pytest.FixtureRequest, folder: Path
) -> AsyncIterator[PlaceOf]:
    """Places of an agent's stores by file name: the same for the same name, as after a restart."""
    if database == "sqlite":
        yield folder.joinpath
        return
    server: PostgresProcess = request.getfixturevalue("postgres")
    agent = f"agent{next(_schemas)}@example.org"
    async with PostgresServer(DatabaseUrl(server.url()), agent=agent) as pool:
        yield lambda _name: pool


@pytest_asyncio.fixture(params=DATABASES)
async def place_of(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[PlaceOf]:
    async with places_of(request.param, request, tmp_path) as places:
        yield places
