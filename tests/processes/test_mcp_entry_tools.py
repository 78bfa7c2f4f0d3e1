"""The entry tools through the official client of `spade-llm mcp`, in a process of its own, keep
their contract: editor → standard streams → XMPP → memory agent.

Without what is about one person among several: over MCP an owner sees all that is its own.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
import pytest_asyncio

from tests.memory.tools.contract_arguments import *  # noqa: F403
from tests.memory.tools.contract_batches import *  # noqa: F403
from tests.memory.tools.contract_consolidation import *  # noqa: F403
from tests.memory.tools.contract_entries import *  # noqa: F403
from tests.memory.tools.contract_further import *  # noqa: F403
from tests.memory.tools.contract_ranking import *  # noqa: F403
from tests.memory.tools.contract_scores import *  # noqa: F403
from tests.memory.tools.contract_search import *  # noqa: F403
from tests.memory.tools.fixtures import OTHER, OWNER
from tests.processes.mcp_child import PASSWORD, Session, Start, calling
from tests.processes.test_memory_contract import memory

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from mcp.client.client import Client

    from tests.conftest import Provisioner
    from tests.memory.tools.calling import Answer, Tools

__all__ = ["memory"]

pytestmark = [pytest.mark.server, pytest.mark.asyncio(loop_scope="session")]

NO_POLICY = {
    "enabled": False,
    "older_than_days": 90,
    "below_importance": 0.2,
    "memory_tiers": ["short_term", "working"],
}


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def clients(
    prosody: Provisioner, memory: str, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[list[Client]]:
    """Two people's, each with a process of its own."""
    folder, options = tmp_path_factory.mktemp("mcp"), ("--tools", "all", "--memory", memory)
    sessions = []
    for person in (OWNER, OTHER):
        await prosody.server.create_account(person, PASSWORD)
        start = Start(
            folder=folder, endpoint=prosody.endpoint, person=person, options=options
        ).has_account()
        sessions.append(Session(start.over_stdio()))
    yield [await session.client() for session in sessions]
    for session in sessions:
        await session.close()


@pytest_asyncio.fixture(loop_scope="session")
async def tools(clients: list[Client]) -> AsyncIterator[Tools]:
    yield contract_tools(clients[0])
    await empty(calling(clients[0]))


@pytest_asyncio.fixture(loop_scope="session")
async def other_tools(clients: list[Client]) -> AsyncIterator[Tools]:
    yield contract_tools(clients[1])
    await empty(calling(clients[1]))


def contract_tools(client: Client) -> Tools:
    call = calling(client)

    async def call_json(name: str, /, **arguments: object) -> Answer:
        try:
            json.dumps(arguments, ensure_ascii=False, allow_nan=False).encode()
        except ValueError:
            pytest.skip("a client cannot send it: it is no JSON")
        return await call(name, **arguments)

    return call_json


async def empty(call: Tools) -> None:
    """As if this owner had never asked anything."""
    await call("memory_delete", older_than="2999-01-01T00:00:00Z")
    await call("memory_decay_configure", **NO_POLICY)
    for grant in (await call("memory_grants"))["grants"]:
        await call("memory_revoke", id=grant["id"])
