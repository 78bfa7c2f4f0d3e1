"""A memory in a file of its own, and two owners in it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from spade_llm.memory import OwnedMemory, SQLiteMemoryBackend

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path


@pytest.fixture
async def backend(tmp_path: Path) -> AsyncIterator[SQLiteMemoryBackend]:
    async with SQLiteMemoryBackend(tmp_path / "memory.db") as backend:
        yield backend


@pytest.fixture
def owner() -> str:
    return "assistant@localhost"


@pytest.fixture
def other() -> str:
    return "someone.else@localhost"


@pytest.fixture
def store(backend: SQLiteMemoryBackend, owner: str) -> OwnedMemory:
    return backend.for_owner(owner)


@pytest.fixture
def other_store(backend: SQLiteMemoryBackend, other: str) -> OwnedMemory:
    return backend.for_owner(other)
