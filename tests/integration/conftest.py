"""The same promises on both servers."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

import pytest

from tests.integration.network import Network

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    from tests.conftest import Provisioner

BOTH = ["embedded", pytest.param("prosody", marks=pytest.mark.server)]


@pytest.fixture(params=BOTH)
def server(request: pytest.FixtureRequest) -> Provisioner:
    """A running server, shared by the whole run."""
    provisioner: Provisioner = request.getfixturevalue(request.param)
    return provisioner


@pytest.fixture
async def network(server: Provisioner, tmp_path: Path) -> AsyncIterator[Network]:
    """Agents and clients started through it are stopped after the test."""
    async with contextlib.AsyncExitStack() as stack:
        yield Network(server=server, directory=tmp_path, stack=stack)
