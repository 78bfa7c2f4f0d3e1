"""Gateways that share their state: what one has answered, or was answering when it was killed, is
not asked again by another."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import httpx
import pytest
import pytest_asyncio

from tests.processes.deployment import Deployment, running_deployment
from tests.processes.test_kill_and_cut import messages_of

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    from tests.postgres_server import PostgresProcess

pytestmark = [pytest.mark.server, pytest.mark.thorough, pytest.mark.timeout(180)]

STORAGE = """
[storage]
database_url = "{url}"
"""
REPLICAS = (1, 2, 3)
ANSWER_S = 60.0


@pytest_asyncio.fixture
async def deployment(
    tmp_path: Path, own_postgres: PostgresProcess
) -> AsyncIterator[tuple[Deployment, dict[int, str]]]:
    """An assistant, and three gateways by their URLs."""
    async with running_deployment(tmp_path, names=("assistant",)) as running:
        await running.account("gateway")
        running._write_file("gateway", STORAGE.format(url=own_postgres.url()))
        urls = {}
        for number in REPLICAS:
            await running.start("gateway", "--replica", str(number), label=f"gateway-{number}")
            urls[number] = running.url
        yield running, urls


async def chat(url: str, text: str, key: str, *, session: str = "shared") -> httpx.Response:
    body = {
        "messages": [{"role": "user", "content": text}],
        "session_id": session,
        "use_memory": False,
        "use_rag": False,
        "use_tools": False,
    }
    async with httpx.AsyncClient(base_url=url, trust_env=False, timeout=ANSWER_S) as client:
        return await client.post("/llm/chat", json=body, headers={"Idempotency-Key": key})


async def get(url: str, path: str) -> httpx.Response:
    async with httpx.AsyncClient(base_url=url, trust_env=False, timeout=ANSWER_S) as client:
        return await client.get(path)


def times_asked(deployment: Deployment, text: str) -> int:
    asked = (str(messages_of(one)[-1]) for one in deployment.model.requests)
    return sum(text in one for one in asked)


async def test_gateways_share_sessions_and_answers_also_when_one_is_killed(
    deployment: tuple[Deployment, dict[int, str]],
) -> None:
    running, urls = deployment
    assert len(set(urls.values())) == len(REPLICAS)

    running.model.delay_s = 1.0
    twins = await asyncio.gather(*(chat(url, "all at once", "twins") for url in urls.values()))
    sessions = (await get(urls[2], "/api/v0/sessions")).text
    running.model.delay_s = 0.0
    first = await chat(urls[1], "once", "answered")
    # For longer than the assistant takes to notice that a program has left.
    running.model.delay_s = 12.0
    interrupted = asyncio.create_task(chat(urls[1], "in the middle", "killed"))
    await running.asked(1)
    await running.kill("gateway-1")
    repeated, resumed = await asyncio.gather(
        chat(urls[2], "once", "answered"), chat(urls[3], "in the middle", "killed")
    )
    await asyncio.gather(interrupted, return_exceptions=True)

    assert {one.status_code for one in twins} == {200}
    assert len({one.json()["response"] for one in twins}) == 1
    assert times_asked(running, "all at once") == 1
    assert "shared" in sessions
    assert repeated.json() == first.json()
    assert repeated.headers["Idempotency-Replayed"] == "true"
    assert times_asked(running, "once") == 2  # With `all at once`.
    assert "You said: in the middle" in resumed.json()["response"]
    assert times_asked(running, "in the middle") == 1
