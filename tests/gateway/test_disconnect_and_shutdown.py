"""Clients that leave, and a gateway that stops: turns end at the assistant, streamed or not."""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING

import httpx
import pytest
import pytest_asyncio

from spade_llm.gateway import gateway
from spade_llm.gateway.agent_clients import SHUTTING_DOWN
from spade_llm.providers.model import Completion, NonStreamingModel
from tests.gateway.web import started
from tests.integration.gated_model import GatedModel
from tests.integration.network import eventually

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Mapping, Sequence
    from pathlib import Path

    from spade_llm.providers.model import ContextMessage, Sampling, ToolSpec
    from tests.conftest import Provisioner
    from tests.gateway.web import Web

pytestmark = pytest.mark.asyncio(loop_scope="module")

PATIENCE_S = 30.0


class NeverEnding(NonStreamingModel):
    """A ChatModel that says when it was asked, and when it was stopped."""

    name = "never-ending"

    def __init__(self) -> None:
        self.begun = asyncio.Event()
        self.stopped = asyncio.Event()

    async def complete(
        self,
        messages: Sequence[ContextMessage],
        tools: Sequence[ToolSpec] = (),
        *,
        tool_choice: str = "auto",
        response_schema: Mapping[str, object] | None = None,
        sampling: Sampling | None = None,
    ) -> Completion:
        self.begun.set()
        try:
            await asyncio.Event().wait()
        finally:
            self.stopped.set()
        return Completion()


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def model() -> NeverEnding:
    return NeverEnding()


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def web(
    embedded: Provisioner, tmp_path_factory: pytest.TempPathFactory, model: NeverEnding
) -> AsyncIterator[Web]:
    async with started(embedded, tmp_path_factory.mktemp("leaving"), model=model) as web:
        yield web


@pytest.mark.parametrize("path", ["/llm/chat", "/llm/chat/stream", "/v1/chat/completions"])
async def test_the_turn_of_a_client_that_leaves_is_stopped(
    web: Web, model: NeverEnding, path: str
) -> None:
    model.begun.clear()
    model.stopped.clear()
    name = web.agent.gateway.addresses.assistants[0].partition("@")[0]
    body = {"model": name, "messages": [{"role": "user", "content": "Tell me everything"}]}

    async with httpx.AsyncClient(base_url=web.agent.url, timeout=PATIENCE_S) as client:
        asking = asyncio.create_task(client.post(path, json=body))
        await asyncio.wait_for(model.begun.wait(), PATIENCE_S)
        asking.cancel()
        await asyncio.gather(asking, return_exceptions=True)

    await asyncio.wait_for(model.stopped.wait(), PATIENCE_S)


async def test_it_is_stopped_also_where_another_request_waits_behind_it(
    web: Web, model: NeverEnding
) -> None:
    """uvicorn tells the last request of a connection alone that its client has left."""
    model.begun.clear()
    model.stopped.clear()
    address = web.agent.url.partition("://")[2]
    body = json.dumps({"messages": [{"role": "user", "content": "Tell me everything"}]})
    head = f"POST /llm/chat/stream HTTP/1.1\r\nHost: {address}\r\nContent-Length: {len(body)}"
    behind = f"GET /health HTTP/1.1\r\nHost: {address}\r\n\r\n"
    host, _, port = address.rpartition(":")

    _, writer = await asyncio.open_connection(host, int(port))
    writer.write(f"{head}\r\nContent-Type: application/json\r\n\r\n{body}{behind}".encode())
    await asyncio.wait_for(model.begun.wait(), PATIENCE_S)
    writer.close()

    await asyncio.wait_for(model.stopped.wait(), PATIENCE_S)


async def test_invalid_bytes_after_a_request_do_not_interrupt_its_answer(
    web: Web, model: NeverEnding
) -> None:
    model.begun.clear()
    address = web.agent.url.partition("://")[2]
    host, _, port = address.rpartition(":")
    body = json.dumps({"messages": [{"role": "user", "content": "Tell me everything"}]})
    head = f"POST /llm/chat/stream HTTP/1.1\r\nHost: {address}\r\nContent-Length: {len(body)}"

    reader, writer = await asyncio.open_connection(host, int(port))
    writer.write(f"{head}\r\nContent-Type: application/json\r\n\r\n{body}".encode())
    await asyncio.wait_for(model.begun.wait(), PATIENCE_S)
    writer.write(b"\x00\x01 nonsense\r\n\r\n")
    answer = await asyncio.wait_for(reader.read(), PATIENCE_S)
    writer.close()

    assert answer.startswith(b"HTTP/1.1 200 ")
    assert b" 400 " not in answer


async def test_shutdown_drains_running_requests_and_refuses_new_ones(
    embedded: Provisioner, tmp_path: Path
) -> None:
    model = GatedModel()
    body = {"messages": [{"role": "user", "content": "wait for me"}]}
    async with started(embedded, tmp_path, model=model) as web:
        running = asyncio.create_task(web.http.post("/llm/chat", json=body))
        await asyncio.wait_for(model.was_asked.wait(), PATIENCE_S)

        ending = asyncio.create_task(web.agent.stop())
        async with asyncio.timeout(PATIENCE_S):
            while (refused := await web.http.get("/health")).status_code == 200:
                continue
        model.gate.set()
        answer = await running
        await asyncio.wait_for(ending, PATIENCE_S)

    assert (refused.status_code, refused.headers["Retry-After"]) == (503, "5")
    assert refused.headers["X-Request-ID"]
    assert refused.headers["Connection"] == "close"
    assert answer.status_code == 200
    assert "wait for me" in answer.json()["response"]


@pytest.mark.thorough
async def test_a_body_that_still_comes_is_answered_when_a_gateway_stops(
    embedded: Provisioner, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It waits for its client, and for no agent."""
    monkeypatch.setattr(gateway, "GRACE_S", 0.1)
    async with started(embedded, tmp_path) as web:
        host, _, port = web.agent.url.partition("://")[2].rpartition(":")
        reader, writer = await asyncio.open_connection(host, int(port))
        head = f"POST /llm/chat HTTP/1.1\r\nHost: {host}:{port}\r\nContent-Length: 1000"
        writer.write(f"{head}\r\nX-Request-ID: slow\r\n\r\n".encode() + b"{")
        await eventually(lambda: _are_running(web, 2))

        await web.agent.stop()
        answer = await asyncio.wait_for(reader.read(), PATIENCE_S)
        writer.close()

    assert answer.startswith(b"HTTP/1.1 503 ")
    assert b"x-request-id: slow\r\n" in answer.lower()
    assert json.loads(answer.partition(b"\r\n\r\n")[2])["detail"] == SHUTTING_DOWN


async def _are_running(web: Web, requests: int) -> bool:
    """This question included."""
    told = (await web.http.get("/metrics")).text
    return f"spade_llm_http_requests_in_flight {requests}.0" in told
