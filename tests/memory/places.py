"""Memory at the place of an agent's store: a file, or PostgreSQL."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Unpack

import pytest

from spade_llm.core.postgres import PostgresServer
from spade_llm.memory.database.backend import memory_backend

if TYPE_CHECKING:
    from spade_llm.core.database import DatabasePlace
    from spade_llm.memory.database.backend import BackendOptions, DatabaseMemoryBackend

file_only = pytest.mark.parametrize("place_of", ["sqlite"], indirect=True)
"""Mark of a test that looks into the file."""


def backend_at(place: DatabasePlace, **options: Unpack[BackendOptions]) -> DatabaseMemoryBackend:
    """Memory that is not opened yet."""
    assert isinstance(place, Path | PostgresServer)
    return memory_backend(place, **options)
