"""An assistant with its small databases in PostgreSQL: it is killed, and so is the database."""

from __future__ import annotations

import asyncio
import shutil
from typing import TYPE_CHECKING

import pytest
import pytest_asyncio

from spade_llm.core.errors import RequestFailed
from tests.processes.deployment import Deployment, running_deployment
from tests.processes.test_kill_and_cut import DEADLINE_S, Load, first_line, talking

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    from tests.postgres_server import PostgresProcess

pytestmark = pytest.mark.server

STORAGE = '[storage]\ndatabase_url = "{url}"\n'


@pytest_asyncio.fixture
async def deployment(tmp_path: Path, own_postgres: PostgresProcess) -> AsyncIterator[Deployment]:
    async with running_deployment(tmp_path, names=()) as running:
        more = STORAGE.format(url=own_postgres.url())
        await running.make_agent("assistant", more=more, files={})
        yield running


async def test_a_turn_interrupted_by_a_kill_is_answered_once_from_an_empty_folder(
    deployment: Deployment,
) -> None:
    ada = await deployment.person("ada")
    deployment.model.delay_s = 2.0
    ada.send("assistant@localhost", "are you there?")
    await deployment.asked(1)

    await deployment.kill("assistant")
    home = deployment.directory / "data" / "agents" / "assistant@localhost"
    databases = list(home.glob("*.db*"))
    shutil.rmtree(deployment.directory / "data" / "agents")
    deployment.model.delay_s = 0.0
    await deployment.start("assistant")
    first = await asyncio.wait_for(ada.messages.get(), DEADLINE_S)
    ada.send("assistant@localhost", "and now?")
    second = await asyncio.wait_for(ada.messages.get(), DEADLINE_S)

    assert databases == []
    assert [first_line(one) for one in (first, second)] == [
        "You said: are you there?",
        "You said: and now?",
    ]


async def test_requests_wait_for_a_database_that_is_killed_or_fail_clearly(
    deployment: Deployment, own_postgres: PostgresProcess
) -> None:
    program = await deployment.program("talking")
    load = Load(talking(program), count=60)
    await load.begun()

    own_postgres.kill()
    own_postgres.start()
    await load.over()
    afterwards = Load(talking(program), count=10)
    await afterwards.over()

    assert load.answers == {n: f"You said: n{n}" for n in load.answers}
    for error in load.errors.values():
        assert isinstance(error, RequestFailed)
        assert error.wire_code == "storage-failed"
    assert len(load.answers) + len(load.errors) == 60
    assert afterwards.errors == {}
