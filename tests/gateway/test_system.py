"""Agent Lab API §2, and what every answer has, on a running gateway."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from spade_llm.agents import GatewayAgent
from spade_llm.core.errors import PortInUse
from spade_llm.gateway.middleware.request_context import identify_request

if TYPE_CHECKING:
    from tests.gateway.web import Web

pytestmark = pytest.mark.asyncio(loop_scope="module")

TRACE = "0af7651916cd43dd8448eb211c80319c"
ENDPOINTS = json.loads((Path(__file__).parent / "endpoints.json").read_text())
"""As the Agent Lab API §2.2 has them."""


async def test_a_gateway_is_healthy_and_ready(web: Web) -> None:
    health = await web.http.get("/health")
    ready = await web.http.get("/ready")

    assert (health.status_code, health.json()) == (200, {"status": "healthy"})
    assert (ready.status_code, ready.json()) == (
        200,
        {"ready": True, "away": [], "storage_failing": []},
    )


async def test_the_root_says_what_there_is_word_for_word(web: Web) -> None:
    answer = await web.http.get("/")

    assert answer.json() == ENDPOINTS


async def test_every_answer_can_be_named_and_is_safe_to_show(web: Web) -> None:
    for path, status in (("/health", 200), ("/nowhere", 404), ("/docs", 200), ("/config/x", 404)):
        answer = await web.http.get(path)

        assert answer.status_code == status
        assert re.fullmatch("[0-9a-f]{32}", answer.headers["X-Request-ID"])
        assert answer.headers["X-Content-Type-Options"] == "nosniff"
        assert "default-src 'none'" in answer.headers["Content-Security-Policy"]
        assert "server" not in answer.headers


async def test_a_method_that_is_not_there_is_told_which_are(web: Web) -> None:
    answer = await web.http.patch("/config/session/s")

    assert (answer.status_code, answer.headers["Allow"]) == (405, "DELETE, GET")


async def test_a_request_keeps_the_id_that_it_came_with_unless_it_is_none(web: Web) -> None:
    own = await web.http.get("/health", headers={"X-Request-ID": "order-17"})
    strange = await web.http.get("/health", headers={"X-Request-ID": "a b<script>"})
    traced = await web.http.get("/health", headers={"traceparent": f"00-{TRACE}-{'1' * 16}-01"})

    assert own.headers["X-Request-ID"] == "order-17"
    assert re.fullmatch("[0-9a-f]{32}", strange.headers["X-Request-ID"])
    assert traced.headers["X-Request-ID"] == TRACE


@pytest.mark.parametrize(
    ("request_id", "trace"),
    [(TRACE, TRACE), ("0AF76519-16cd-43dd-8448-eb211c80319c", TRACE), ("order-17", "")],
)
async def test_a_trace_is_found_by_its_request(request_id: str, trace: str) -> None:
    named = identify_request(request_id, "")

    assert named.request_id == request_id
    assert trace in named.trace_parent
    assert named.trace_parent.split("-")[1] == identify_request(request_id, "").trace_parent[3:35]


async def test_a_request_goes_into_the_log_without_its_text(
    web: Web, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO", "spade_llm.gateway.middleware.request_context")

    await web.http.get("/config/session/private-name?secret=1", headers={"X-Request-ID": "r-9"})

    (line,) = [record.getMessage() for record in caplog.records]
    assert "GET /config/session/{session_id} 200" in line
    assert "request r-9 of " in line
    assert not {"private", "secret", web.principal} & {word for word in re.split(r"\W", line)}


async def test_metrics_count_by_route_and_need_permission(web: Web) -> None:
    await web.http.get("/config/session/a")
    await web.http.get("/ready")

    answer = await web.http.get("/metrics")
    other = await web.client(await web.token("ada")).get("/metrics")
    proxied = await web.client(headers={"X-Forwarded-For": "203.0.113.9"}).get("/metrics")

    assert 'route="/config/session/{session_id}",status="200"' in answer.text
    assert "spade_llm_xmpp_connected 1.0" in answer.text
    assert re.search(r'spade_llm_agent_available{agent="assistant\d+"} 1\.0', answer.text)
    assert web.principal not in answer.text
    assert [other.status_code, proxied.status_code] == [403, 403]


async def test_the_console_has_a_strict_policy(web: Web) -> None:
    answer = await web.http.get("/console/icon.svg")
    way = await web.http.get("/console")

    assert answer.headers["Content-Type"].startswith("image/svg+xml")
    assert "script-src 'self'" in answer.headers["Content-Security-Policy"]
    assert "unsafe" not in answer.headers["Content-Security-Policy"]
    assert (way.status_code, way.headers["Location"]) == (307, "/console/")
    assert (await web.http.get("/api/v0/me/")).status_code == 404


async def test_a_port_that_is_taken_is_named(web: Web) -> None:
    jid = await web.network.account("second")
    port = int(web.agent.url.rpartition(":")[2])
    options = web.agent.gateway.options
    second = GatewayAgent(
        jid,
        web.network.passwords[jid],
        addresses=web.agent.gateway.addresses,
        http=type(options)(port=port),
        options=web.network.options(jid),
    )

    with pytest.raises(PortInUse, match=rf"\[http\] port: .* port {port}"):
        await second.start()
