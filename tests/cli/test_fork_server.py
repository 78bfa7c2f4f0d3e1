"""Processes of a fork server: their arguments, environment, output and exit status."""

from __future__ import annotations

import asyncio
import os
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

import pytest

from spade_llm.cli.fork_server import ForkServer

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    from spade_llm.cli.fork_server import ForkedProcess

AGENT = """
kind = "tools"
jid = "tools"
password_env = "ONLY"
[python]
tools = ["own.py"]
"""
OWN_TOOLS = """
import os, sys
print(sorted(os.environ.items()), os.getsid(0) == os.getpid(), file=sys.stderr)
"""
"""Prints the environment when it is loaded, which is before the agent needs a server."""
WITHIN_S = 60


@pytest.fixture
async def server() -> AsyncIterator[ForkServer]:
    async with ForkServer(os.environ) as server:
        yield server


@asynccontextmanager
async def _started(
    server: ForkServer, output: Path, *arguments: str, **environment: str
) -> AsyncIterator[ForkedProcess]:
    with output.open("wb") as file:
        files = {1: file.fileno(), 2: file.fileno()}
        process = await server.start(arguments, environment, files)
    async with asyncio.timeout(WITHIN_S):
        yield process


async def test_a_process_has_its_arguments_and_its_output(
    server: ForkServer, tmp_path: Path
) -> None:
    async with _started(server, tmp_path / "out", "--help") as process:
        assert await process.wait() == 0
    async with _started(server, tmp_path / "wrong", "no-such-command") as process:
        assert await process.wait() == 2

    assert (tmp_path / "out").read_text().startswith("usage: spade-llm ")
    assert "no-such-command" in (tmp_path / "wrong").read_text()


async def test_a_process_has_its_own_environment_and_session(
    server: ForkServer, tmp_path: Path
) -> None:
    (tmp_path / "agent.toml").write_text(AGENT)
    (tmp_path / "own.py").write_text(OWN_TOOLS)
    command = ("run", str(tmp_path / "agent.toml"), "--server", "localhost:1", "--data")

    async with _started(server, tmp_path / "out", *command, str(tmp_path), ONLY="this") as process:
        assert await process.wait() == 1

    assert "[('ONLY', 'this')] True" in (tmp_path / "out").read_text()
