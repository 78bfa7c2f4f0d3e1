"""A memory in a database of its own, and two owners in it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.memory.places import backend_at

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from spade_llm.memory import OwnedMemory
    from spade_llm.memory.database.backend import DatabaseMemoryBackend
    from tests.conftest import PlaceOf


@pytest.fixture
async def backend(place_of: PlaceOf) -> AsyncIterator[DatabaseMemoryBackend]:
    async with backend_at(place_of("memory.db")) as backend:
        yield backend


@pytest.fixture
def owner() -> str:
    return "assistant@localhost"


@pytest.fixture
def other() -> str:
    return "someone.else@localhost"


@pytest.fixture
def store(backend: DatabaseMemoryBackend, owner: str) -> OwnedMemory:
    return backend.for_owner(owner)


@pytest.fixture
def other_store(backend: DatabaseMemoryBackend, other: str) -> OwnedMemory:
    return backend.for_owner(other)
