"""The memory's public names, and that they cost nothing until they are used."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

import spade_llm.memory

if TYPE_CHECKING:
    from spade_llm.memory import MemoryBackend, OwnedMemory
    from spade_llm.memory.database.backend import DatabaseMemoryBackend

NAMES = [
    "AgentBaseMemory",
    "AgentBaseMemoryListTool",
    "AgentBaseMemorySearchTool",
    "AgentBaseMemoryStoreTool",
    "AgentInteractionMemory",
    "AgentMemoryTool",
    "Category",
    "HistoryStore",
    "Learner",
    "MemoryBackend",
    "MemoryDraft",
    "MemoryEntry",
    "MemoryPage",
    "MemoryStore",
    "MemoryTool",
    "MemoryTools",
    "MemoryType",
    "ObservedMessage",
    "OwnedMemory",
    "PostgresMemoryBackend",
    "SQLiteMemoryBackend",
    "SQLiteMemoryStore",
    "ScoredMemory",
    "Tier",
    "create_base_memory_tools",
    "retrieve_memory",
]


def test_the_public_names_are_these_and_each_is_there() -> None:
    assert spade_llm.memory.__all__ == NAMES
    assert all(getattr(spade_llm.memory, name) for name in NAMES)


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="Nothing"):
        getattr(spade_llm.memory, "Nothing")  # noqa: B009


def test_importing_the_package_loads_no_database() -> None:
    program = "import sys, spade_llm.memory; print({'aiosqlite', 'sqlite3'} & set(sys.modules))"

    run = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=60
    )

    assert run.stdout.strip() == "set()"


def test_the_local_memory_has_the_roles(backend: DatabaseMemoryBackend) -> None:
    role: MemoryBackend = backend
    owned: OwnedMemory = role.for_owner("a@b")

    assert owned is not None
