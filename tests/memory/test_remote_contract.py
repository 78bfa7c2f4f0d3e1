"""A memory in another agent keeps the contract of every memory: the same tests, over messages."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from spade_llm.memory import OwnedMemory, SQLiteMemoryBackend
from spade_llm.memory.remote import MemoryClient, MemoryService
from tests.memory.contract import *  # noqa: F403
from tests.memory.contract_changes import *  # noqa: F403
from tests.memory.contract_relations import *  # noqa: F403
from tests.memory.contract_sessions import *  # noqa: F403
from tests.messaging.node_harness import Member, network_of

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

MEMORY = "memory@localhost/1"
OWNER, OTHER = "assistant@localhost", "someone.else@localhost"


@pytest.fixture
async def askers(tmp_path: Path) -> AsyncIterator[list[Member]]:
    jids = (MEMORY, f"{OWNER}/1", f"{OTHER}/1")
    async with (
        SQLiteMemoryBackend(tmp_path / "memory.db") as backend,
        network_of(*jids) as (memory, *askers),
    ):
        MemoryService(backend).attach(memory.node.dispatcher)
        yield askers


@pytest.fixture
def owner() -> str:
    return OWNER


@pytest.fixture
def other() -> str:
    return OTHER


@pytest.fixture
def store(askers: list[Member]) -> OwnedMemory:
    return MemoryClient(askers[0].node.requester, MEMORY)


@pytest.fixture
def other_store(askers: list[Member]) -> OwnedMemory:
    return MemoryClient(askers[1].node.requester, MEMORY)
