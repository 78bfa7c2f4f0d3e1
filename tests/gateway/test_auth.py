"""Who may ask, by which name, from which page, and how often."""

from __future__ import annotations

import asyncio
import select
import socket
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from spade_llm.gateway import http_server
from spade_llm.gateway.gateway import RequestRateLimiter
from spade_llm.gateway.options import OriginPolicy

if TYPE_CHECKING:
    from tests.gateway.web import Web

pytestmark = pytest.mark.asyncio(loop_scope="module")

SESSION = "/config/session/s"


async def test_a_program_of_this_machine_is_the_local_principal(web: Web) -> None:
    own = await web.http.put("/config/rag", json={"session_id": "s", "enabled": True})
    seen = await web.http.get(SESSION)

    assert own.status_code == 200
    assert seen.json()["rag"]["enabled"] is True
    assert web.principal in await web.agent.gateway.sessions.principals()


async def test_a_token_acts_for_its_principal_and_sees_only_its_own_sessions(
    web: Web,
) -> None:
    ada, bob = web.client(await web.token("ada")), web.client(await web.token("bob"))

    await ada.post("/config/session", json={"session_id": "s", "rag": {"top_k": 7}})

    assert (await ada.get(SESSION)).json()["rag"]["top_k"] == 7
    assert (await bob.get(SESSION)).json()["rag"]["top_k"] == 5
    assert (await bob.delete(SESSION)).status_code == 404


@pytest.mark.parametrize("value", ["Bearer slm_wrong", "Basic dTpw", "slm_x", "Bearer"])
async def test_a_wrong_token_is_refused_also_on_loopback(web: Web, value: str) -> None:
    answer = await web.http.get(SESSION, headers={"Authorization": value})

    assert answer.status_code == 401
    assert answer.headers["WWW-Authenticate"] == "Bearer"
    assert "token" in answer.json()["detail"]


@pytest.mark.parametrize(
    "header",
    ["X-Forwarded-For", "Forwarded", "X-Real-IP", "Via", "X-Forwarded-Proto", "CF-Connecting-IP"],
)
async def test_proxied_requests_need_a_token(web: Web, header: str) -> None:
    """A proxy on this machine makes everybody come from it."""
    proxied = web.client(headers={header: "203.0.113.9"})
    known = web.client(await web.token("ada"), headers={header: "203.0.113.9"})

    assert (await proxied.get(SESSION)).status_code == 401
    assert (await known.get(SESSION)).status_code == 200
    assert (await proxied.get("/health")).status_code == 200


async def test_nginx_without_headers_is_known_by_what_it_speaks(
    web: Web, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By default it adds none, speaks HTTP/1.0 and says our address; told to keep the name that
    it is called by, it says that."""
    own = replace(web.agent.gateway.options, hosts=("chat.example.org",))
    monkeypatch.setattr(web.agent.gateway, "origin_policy", OriginPolicy(own))
    host = web.agent.url.partition("://")[2]

    told = await web.http.get(SESSION, headers={"Host": "chat.example.org"})
    plain = await said(web, f"GET {SESSION} HTTP/1.0\r\nHost: {host}\r\n\r\n")

    assert told.status_code == 401
    assert plain.split()[1] == b"401"


async def test_a_connection_cannot_fill_the_ram_with_requests(web: Web) -> None:
    """They were all taken apart and kept while the first was answered."""
    host = web.agent.url.partition("://")[2]

    answer = await said(web, f"GET /health HTTP/1.1\r\nHost: {host}\r\n\r\n" * 500)

    assert answer.count(b"HTTP/1.1 200") < 100


async def test_clients_that_do_not_read_an_answer_are_disconnected(
    web: Web, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It kept its connection for ever."""
    monkeypatch.setattr(http_server, "SLOW_READER_TIMEOUT_S", 0.2)
    host, _, port = web.agent.url.partition("://")[2].rpartition(":")
    loop = asyncio.get_running_loop()
    with socket.socket() as client:
        client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        client.setblocking(False)
        await loop.sock_connect(client, (host, int(port)))
        request = f"GET /openapi.json HTTP/1.1\r\nHost: {host}\r\n\r\n" * 30
        await loop.sock_sendall(client, request.encode())
        ended = select.poll()
        ended.register(client, 0)

        assert await asyncio.to_thread(ended.poll, 30_000)


async def test_unauthenticated_requests_are_refused_before_their_body(web: Web) -> None:
    nobody = web.client(headers={"X-Forwarded-For": "203.0.113.9"})

    answer = await nobody.request("GET", "/health", content=b" " * 2000)

    assert answer.status_code == 413


async def said(web: Web, request: str) -> bytes:
    """All that comes until the connection ends."""
    host, _, port = web.agent.url.partition("://")[2].rpartition(":")
    reader, writer = await asyncio.open_connection(host, int(port))
    writer.write(request.encode())
    try:
        async with asyncio.timeout(30):
            return await reader.read()
    finally:
        writer.close()


@pytest.mark.parametrize("host", ["evil.example:8000", "", "localhost@evil.example", "[::1", "a b"])
async def test_a_foreign_name_is_refused(web: Web, host: str) -> None:
    """DNS rebinding: a page's own name that points at this machine."""
    answer = await web.http.get("/health", headers={"Host": host})

    assert answer.status_code in (400, 403)


@pytest.mark.parametrize(
    "headers",
    [
        {"Origin": "https://evil.example"},
        {"Origin": "null"},
        {"Origin": "http://localhost:3000"},
        {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "no-cors"},
    ],
)
@pytest.mark.parametrize("method", ["GET", "POST", "OPTIONS"])
async def test_pages_of_other_sites_may_not_use_it(
    web: Web, method: str, headers: dict[str, str]
) -> None:
    answer = await web.http.request(method, "/config/session", headers=headers)

    assert answer.status_code == 403
    assert "Access-Control-Allow-Origin" not in answer.headers


async def test_the_console_may_use_it_and_a_link_to_it_may_be_followed(web: Web) -> None:
    host = web.agent.url.partition("://")[2]
    own = {"Origin": f"http://{host}", "Sec-Fetch-Site": "same-origin"}
    link = {
        "Sec-Fetch-Site": "cross-site",
        "Sec-Fetch-Mode": "navigate",
        "Sec-Fetch-Dest": "document",
    }

    body = {"session_id": "o"}
    assert (await web.http.post("/config/session", headers=own, json=body)).status_code == 200
    assert (await web.http.get("/console/icon.svg", headers=link)).status_code == 200
    assert (await web.http.get(SESSION, headers=link)).status_code == 403


async def test_a_page_that_was_configured_may_read_answers(
    web: Web, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = "https://app.example.org"
    allowing = replace(web.agent.gateway.options, cors_origins=(page,))
    monkeypatch.setattr(web.agent.gateway, "origin_policy", OriginPolicy(allowing))
    asking = {"Origin": page, "Access-Control-Request-Method": "POST"}
    named = "authorization,content-type,x-stainless-lang,x-stainless-retry-count"
    other = web.agent.url

    preflight = await web.http.options("/llm/chat", headers=asking)
    naming = await web.http.options(
        "/v1/chat/completions", headers={**asking, "Access-Control-Request-Headers": named}
    )
    own = await web.http.options(
        "/llm/chat",
        headers={**asking, "Origin": other, "Access-Control-Request-Headers": "x-stainless-lang"},
    )
    answer = await web.http.get(SESSION, headers={"Origin": page, "Sec-Fetch-Site": "cross-site"})

    assert preflight.status_code == 204
    assert "Idempotency-Key" in preflight.headers["Access-Control-Allow-Headers"]
    assert naming.headers["Access-Control-Allow-Headers"] == named
    assert "x-stainless-lang" not in own.headers["Access-Control-Allow-Headers"]
    exposed = answer.headers["Access-Control-Expose-Headers"].split(", ")
    assert {"X-Session-ID", "X-Request-ID", "Retry-After"} <= set(exposed)
    assert answer.headers["Access-Control-Allow-Origin"] == page
    assert answer.headers["Vary"] == "Origin"
    assert "Access-Control-Allow-Credentials" not in answer.headers


async def test_rate_limits_apply_per_principal(web: Web, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(web.agent.gateway, "rate_limiter", RequestRateLimiter(6, clock=lambda: 0.0))
    ada, bob = web.client(await web.token("ada")), web.client(await web.token("bob"))

    codes = [(await one.get(SESSION)).status_code for one in (ada, ada, bob)]
    refused = await ada.get(SESSION)

    assert codes == [200, 429, 200]
    assert refused.headers["Retry-After"] == "1"
    assert (await ada.get("/health")).status_code == 200


async def test_only_an_admin_deletes_everything(web: Web) -> None:
    ada = web.client(await web.token("ada"))
    admin = web.client(await web.token("root", is_admin=True))

    refused = await ada.post("/session/reset-all", json={"confirmation": "DELETE"})
    wrong = await admin.post("/session/reset-all", json={"confirmation": "delete"})

    assert refused.status_code == 403
    assert (wrong.status_code, wrong.json()) == (
        400,
        {"detail": "Invalid confirmation. Must be exactly 'DELETE' to proceed."},
    )
