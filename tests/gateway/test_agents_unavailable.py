"""What a gateway says while a part of the network is away, and that nothing is done twice."""

from __future__ import annotations

import asyncio
import sqlite3
from contextlib import closing, contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any

import pytest

from spade_llm.core import sqlite_file
from spade_llm.gateway import agent_clients, gateway
from spade_llm.providers import OfflineProvider
from spade_llm.xmpp.servers.embedded.launcher import EmbeddedServer
from tests.conftest import Provisioner
from tests.gateway.web import started
from tests.integration.gated_model import GatedModel
from tests.integration.network import PATIENCE_S, eventually

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator
    from pathlib import Path

    from tests.gateway.web import Web

pytestmark = pytest.mark.thorough
TRACE = "0af7651916cd43dd8448eb211c80319c"


@pytest.fixture(autouse=True)
def fresh(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every look is a new one."""
    monkeypatch.setattr(agent_clients, "STATUS_TTL_S", 0.0)


@pytest.fixture
async def own_server(tmp_path: Path) -> AsyncIterator[EmbeddedServer]:
    server = EmbeddedServer(tmp_path / "server")
    yield server
    await server.stop()


def asking(text: str, session: str = "s") -> dict[str, Any]:
    return {"messages": [{"role": "user", "content": text}], "session_id": session}


async def test_without_the_server_a_gateway_says_so_at_once_and_comes_back_by_itself(
    own_server: EmbeddedServer, tmp_path: Path
) -> None:
    directory = tmp_path / "agents"
    directory.mkdir()
    provisioner = Provisioner(server=own_server, endpoint=await own_server.start())
    async with started(provisioner, directory, model=GatedModel()) as web:
        before = await web.http.post("/llm/chat", json=asking("hello"))
        await own_server.stop()
        await eventually(lambda: _says(web, "/ready", 503))

        async with asyncio.timeout(PATIENCE_S):
            away = [
                await web.http.post("/llm/chat", json=asking("hello")),
                await web.http.post("/llm/generate", json={"prompt": "hello"}),
                await web.http.get("/llm/memory/history/s"),
                await web.http.post("/session/reset"),
                await web.http.post("/session/reset-all", json={"confirmation": "DELETE"}),
            ]
        ready = await web.http.get("/ready")
        ours = [await web.http.get(path) for path in ("/health", "/config/session/s", "/")]
        status = (await web.http.get("/config/status")).json()

        await own_server.start()
        await eventually(lambda: _says(web, "/ready", 200))
        after = await web.http.post("/llm/chat", json=asking("hello again"))

    assert before.status_code == 200
    assert {answer.status_code for answer in away} == {503}
    assert {answer.headers["Retry-After"] for answer in away} == {"5"}
    assert "XMPP server" in away[0].json()["detail"]
    assert (ready.json()["ready"], ready.json()["away"]) == (False, ["xmpp"])
    assert ready.headers["Retry-After"] == "5"
    assert {answer.status_code for answer in ours} == {200}
    assert not any(service["available"] for service in status["services"].values())
    assert after.status_code == 200


async def _is_idle(web: Web) -> bool:
    """But for this question."""
    status = (await web.agent.gateway.availability.statuses())[str(web.assistant.jid)]
    return status is not None and status.running == 1


async def _says(web: Web, path: str, status: int) -> bool:
    return (await web.http.get(path)).status_code == status


async def test_unavailable_agents_are_named_and_not_awaited(
    embedded: Provisioner, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with started(embedded, tmp_path, model=GatedModel()) as web:
        before = await web.http.post("/llm/chat", json=asking("hello"))
        await web.rag.stop()
        without_rag = await web.http.get("/ready")
        await web.assistant.stop()
        monkeypatch.setattr(agent_clients, "LIVENESS_CHECK_INTERVAL_S", 0.1)
        monkeypatch.setattr(agent_clients, "LIVENESS_TIMEOUT_S", 0.5)
        without_assistant, chat, stream, wiped = await asyncio.gather(
            web.http.get("/ready"),
            web.http.post("/llm/chat", json=asking("hello")),
            web.http.post("/llm/chat/stream", json=asking("hello")),
            web.http.post("/session/reset-all", json={"confirmation": "DELETE"}),
        )

        assert before.status_code == 200
        assert without_rag.status_code == 200
        assert without_rag.json()["away"] == [web.rag.jid.local]
        assert wiped.json()["success"] is False
        assert f"{web.assistant.jid.local}, {web.rag.jid.local}" in wiped.json()["message"]
        assert web.principal in await web.agent.gateway.sessions.principals()
        assert without_assistant.status_code == 503
        assert web.assistant.jid.local in without_assistant.json()["away"]
        assert (chat.status_code, chat.headers["Retry-After"]) == (503, "5")
        assert "event: error" in stream.text and '"status": 503' in stream.text


async def test_storage_that_fails_is_named(
    embedded: Provisioner, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sqlite_file, "LOCK_TIMEOUT_S", 0.0)
    async with started(embedded, tmp_path, model=OfflineProvider()) as web:
        assistant = web.assistant.jid.local
        with _locked(tmp_path / assistant / f"answers-{assistant}.db"):
            chat = await web.http.post("/llm/chat", json=asking("hello"))
        of_assistant = await web.http.get("/ready")
        with _locked(tmp_path / web.agent.jid.local / "gateway.db"):
            await web.http.post("/llm/chat", json=asking("hello", session="t"))
        of_both = await web.http.get("/ready")

    assert chat.status_code == 503
    assert (of_assistant.status_code, of_assistant.json()["away"]) == (503, [])
    assert of_assistant.json()["storage_failing"] == [assistant]
    assert of_both.json()["storage_failing"] == [assistant, "gateway"]


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        yield


async def test_a_chat_that_is_repeated_after_a_crash_runs_once(
    embedded: Provisioner, tmp_path: Path
) -> None:
    """What the gateway had not kept, the assistant has."""
    key = {"Idempotency-Key": "order-1", "X-Request-ID": TRACE}
    question = {"messages": [{"role": "user", "content": "wait for it"}]}
    async with started(embedded, tmp_path, model=(model := GatedModel())) as web:
        begun = asyncio.create_task(web.http.post("/llm/chat", json=question, headers=key))
        await asyncio.wait_for(model.was_asked.wait(), PATIENCE_S)
        twin = asyncio.create_task(web.http.post("/llm/chat", json=question, headers=key))
        model.gate.set()
        first, second = await begun, await twin
        await web.agent.gateway.answers.delete(web.principal)
        model.was_asked.clear()
        again = await web.http.post("/llm/chat", json=question, headers=key)
        history = await web.http.get(f"/llm/memory/history/{first.json()['session_id']}")
        answered = web.assistant.node.dispatcher.recent.latest(50, of=web.principal)

    assert first.status_code == 200
    assert second.content == first.content
    assert again.json()["response"] == first.json()["response"]
    assert again.json()["session_id"] == first.json()["session_id"]
    assert not model.was_asked.is_set()
    assert history.json()["total_count"] == 2
    assert TRACE in {one.trace for one in answered}


async def test_a_client_disconnect_stops_the_turn_and_shutdown_is_bounded(
    embedded: Provisioner, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(gateway, "GRACE_S", 0.1)
    async with started(embedded, tmp_path, model=(model := GatedModel())) as web:
        leaving = asyncio.create_task(web.http.post("/llm/chat", json=asking("wait")))
        await asyncio.wait_for(model.was_asked.wait(), PATIENCE_S)
        leaving.cancel()
        await asyncio.gather(leaving, return_exceptions=True)
        await eventually(partial(_is_idle, web))

        model.was_asked.clear()
        body = asking("wait", "other")
        async with web.http.stream("POST", "/llm/chat/stream", json=body) as answer:
            assert answer.status_code == 200
            await asyncio.wait_for(model.was_asked.wait(), PATIENCE_S)
            async with asyncio.timeout(PATIENCE_S):
                await web.agent.stop()
        assert web.agent.gateway.stream_quota.held == 0
