"""A network of one test's own, on the embedded server."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

import pytest

from tests.integration.network import Network

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    from tests.conftest import Provisioner


@pytest.fixture
async def network(embedded: Provisioner, tmp_path: Path) -> AsyncIterator[Network]:
    """Agents and clients started through it are stopped after the test."""
    async with contextlib.AsyncExitStack() as stack:
        yield Network(server=embedded, directory=tmp_path, stack=stack)
