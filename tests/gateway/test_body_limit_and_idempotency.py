"""Requests that are too large, too slow, or sent again."""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING

import pytest
from fastapi.exceptions import RequestValidationError

from spade_llm.core.sqlite_file import PRUNE_EVERY_ROWS
from spade_llm.gateway import http_server
from spade_llm.gateway.errors import HttpError
from spade_llm.gateway.gateway_database import (
    GATEWAY_TABLES,
    KEEP_ANSWERS_S,
    MAX_ANSWERS,
)
from spade_llm.gateway.middleware import body_limit
from spade_llm.gateway.middleware.idempotency import (
    AnswerStore,
    StoredAnswer,
    keyed_request,
    request_wire_id,
)
from tests.conftest import bytes_in

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    from tests.conftest import PlaceOf
    from tests.gateway.web import Web

pytestmark = pytest.mark.asyncio(loop_scope="module")

WAIT_S = 30.0
MB = 1024 * 1024
SESSION = "/config/session"


async def raw(web: Web, *parts: bytes) -> bytes:
    """Send these bytes; all that comes until the gateway closes the connection."""
    host, _, port = web.agent.url.partition("://")[2].rpartition(":")
    reader, writer = await asyncio.open_connection(host, int(port))
    for part in parts:
        writer.write(part)
    try:
        return await asyncio.wait_for(reader.read(), WAIT_S)
    finally:
        writer.close()


async def chunks(count: int) -> AsyncIterator[bytes]:
    for _ in range(count):
        yield b"x" * MB


async def test_a_body_that_is_too_large_is_not_taken(
    web: Web, monkeypatch: pytest.MonkeyPatch
) -> None:
    said = await web.http.post(SESSION, content=b"x" * (10 * MB))
    unsaid = await web.http.post(SESSION, content=chunks(10))
    monkeypatch.setattr(http_server, "LINGER_S", 0.2)
    head = b"POST /llm/chat HTTP/1.1\r\nHost: localhost\r\nContent-Length: 10485760\r\n\r\n"
    before_it_comes = await raw(web, head)

    assert [said.status_code, unsaid.status_code] == [413, 413]
    assert "1024 KB" in said.json()["detail"]
    assert b" 413 " in before_it_comes and b"x-request-id" in before_it_comes.lower()


async def test_endless_request_headers_are_cut_off(
    web: Web, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(http_server, "HEAD_TIMEOUT_S", 0.2)
    endless = b"GET / HTTP/1.1\r\nHost: localhost\r\nX: " + b"a" * (http_server.MAX_HEAD_BYTES + 1)

    large, slow, silent = await asyncio.gather(
        raw(web, endless), raw(web, b"GET / HTTP/1.1\r\nHo"), raw(web)
    )

    assert b" 431 " in large
    assert (slow, silent) == (b"", b"")


def head_of(*headers: str) -> bytes:
    lines = ["GET /health HTTP/1.1", "Host: localhost", "Connection: close", *headers]
    return "\r\n".join([*lines, "", ""]).encode()


@pytest.mark.parametrize(
    ("head", "status"),
    [
        (head_of("X-Large: " + "a" * 31 * 1024), 200),
        (head_of("X-Large: " + "a" * 40 * 1024), 431),
        (head_of("X-Large: " + "a" * 70 * 1024), 431),
        (head_of(*(f"X-{number}: {'a' * 1000}" for number in range(40))), 431),
        (head_of(*(f"X-{number}: a" for number in range(5000))), 431),
        (head_of(*("a: b" for _ in range(5000))), 431),
        (f"GET /health?{'a' * 40 * 1024} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode(), 431),
        (b"\x00\x01 nonsense\r\n\r\n", 400),
        (b"GET / HTTP/1.1\r\nHost localhost\r\n\r\n", 400),
    ],
)
async def test_a_head_within_its_bounds_is_read_and_others_are_refused_with_an_id(
    web: Web, head: bytes, status: int
) -> None:
    start, _, body = (await raw(web, head)).partition(b"\r\n\r\n")

    assert start.startswith(f"HTTP/1.1 {status} ".encode())
    assert b"\nx-request-id: " in start.lower()
    assert status == 200 or json.loads(body)["detail"]


async def test_an_answer_to_a_head_that_is_refused_has_the_id_that_it_gave(web: Web) -> None:
    named = "X-Request-ID: of-mine"

    refused = await raw(web, head_of(named, "X-Large: " + "a" * 40 * 1024))
    host, _, port = web.agent.url.partition("://")[2].rpartition(":")
    reader, writer = await asyncio.open_connection(host, int(port))
    writer.write(head_of(named).replace(b"close", b"keep-alive"))
    first = await asyncio.wait_for(reader.readuntil(b'"healthy"}'), WAIT_S)
    writer.write(b"\x00 nonsense\r\n\r\n")
    second = await asyncio.wait_for(reader.read(), WAIT_S)
    writer.close()

    assert b" 431 " in refused and b"x-request-id: of-mine\r\n" in refused.lower()
    assert b"x-request-id: of-mine\r\n" in first
    assert b" 400 " in second and b"of-mine" not in second


async def test_a_body_that_never_comes_ends_its_request(
    web: Web, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(body_limit, "BODY_TIMEOUT_S", 0.2)
    monkeypatch.setattr(http_server, "LINGER_S", 0.2)
    head = b"POST /config/session HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9\r\n\r\n"

    assert b" 408 " in await raw(web, head, b'{"')


async def test_invalid_http_and_json_are_refused(web: Web) -> None:
    no_http = await raw(web, b"\x00\x01 nonsense\r\n\r\n")
    two_hosts = await raw(
        web, b"GET / HTTP/1.1\r\nHost: localhost\r\nHost: evil\r\nConnection: close\r\n\r\n"
    )
    answers = [
        await web.http.post(SESSION, content=text)
        for text in (b"{", b"\xff", b"[" * 100_000, b'{"session_id": NaN}', b'"\\ud800"')
    ]

    assert b" 400 " in no_http
    assert b" 400 " in two_hosts or b" 403 " in two_hosts
    assert {answer.status_code for answer in answers} <= {400, 422}


async def test_a_repeated_idempotency_key_gets_the_first_answer(web: Web) -> None:
    key = {"Idempotency-Key": "order-1"}
    first = {"session_id": "again", "rag": {"top_k": 3}}

    done = await web.http.post(SESSION, json=first, headers=key)
    await web.http.post(SESSION, json={"session_id": "again", "rag": {"top_k": 4}})
    again = await web.http.post(SESSION, json=first, headers=key)
    now = (await web.http.get(f"{SESSION}/again")).json()
    other = await web.http.post(SESSION, json={"session_id": "other"}, headers=key)
    elsewhere = await web.http.post("/session/reset", json=first, headers=key)
    of_another = await web.client(await web.token("ada"), headers=key).post(
        SESSION, json={"session_id": "x"}
    )

    assert again.content == done.content
    assert again.headers["Idempotency-Replayed"] == "true"
    assert now["rag"]["top_k"] == 4
    assert [other.status_code, elsewhere.status_code] == [422, 422]
    assert other.json()["detail"][0]["loc"] == ["header", "Idempotency-Key"]
    assert of_another.status_code == 200


@pytest.mark.parametrize("key", ["", "x" * 256])
async def test_a_key_that_is_none_is_named(web: Web, key: str) -> None:
    answer = await web.http.post(
        SESSION, json={"session_id": "s"}, headers={"Idempotency-Key": key}
    )

    assert answer.status_code == 400
    assert "Idempotency-Key" in answer.json()["detail"]


async def test_equal_requests_wait_for_the_first_and_failures_are_not_kept(
    place_of: PlaceOf, tmp_path: Path
) -> None:
    database = GATEWAY_TABLES.at(place_of("gateway.db"))
    await database.open()
    answers, request = AnswerStore(database), keyed_request("ada@x", "k", b"body")
    begun, gate = asyncio.Event(), asyncio.Event()

    async def answered(text: bytes, status: int) -> bytes:
        async with answers.claim(request) as known:
            if known is not None:
                return known.body
            begun.set()
            await gate.wait()
            await answers.store(request, StoredAnswer(status, "application/json", text))
            return text

    first = asyncio.create_task(answered(b"first", 503))
    await asyncio.wait_for(begun.wait(), WAIT_S)
    others = [asyncio.create_task(answered(text, 200)) for text in (b"second", b"third")]
    with pytest.raises(RequestValidationError):
        async with answers.claim(keyed_request("ada@x", "k", b"another body")):
            pass
    gate.set()

    assert await asyncio.wait_for(first, WAIT_S) == b"first"
    assert await asyncio.wait_for(asyncio.gather(*others), WAIT_S) == [b"second", b"second"]
    await database.close()
    await database.open()
    assert await AnswerStore(database).find(request) == StoredAnswer(
        200, "application/json", b"second"
    )
    await answers.delete("ada@x")
    assert await answers.find(request) is None
    assert b"second" not in bytes_in(tmp_path)
    await database.close()


async def test_kept_answers_are_bounded_in_number_and_time() -> None:
    now = [0.0]
    database = GATEWAY_TABLES.at(None)
    await database.open()
    answers = AnswerStore(database, clock=lambda: now[0])
    old, last = keyed_request("ada@x", "old", b""), keyed_request("ada@x", f"k{MAX_ANSWERS}", b"")
    await answers.store(old, StoredAnswer(200, "application/json", b"{}"))
    for number in range(MAX_ANSWERS + PRUNE_EVERY_ROWS + 1):
        request = keyed_request("ada@x", f"k{number}", b"")
        await answers.store(request, StoredAnswer(200, "application/json", b"{}"))

    assert await answers.find(old) is None
    assert await database.execute(
        "SELECT count(*) <= ? FROM answers", MAX_ANSWERS + PRUNE_EVERY_ROWS
    ) == [(1,)]
    assert await answers.find(last) is not None
    now[0] = KEEP_ANSWERS_S + 1
    assert await answers.find(last) is None
    await database.close()


async def test_ids_on_the_wire_are_of_one_principal_and_one_key() -> None:
    assert request_wire_id("ada@x", "k") == request_wire_id("ada@x", "k")
    assert (
        len(
            {
                request_wire_id("ada@x", "k"),
                request_wire_id("bob@x", "k"),
                request_wire_id("ada@x", "k2"),
            }
        )
        == 3
    )
    with pytest.raises(HttpError):
        keyed_request("ada@x", "a\nb", b"")
    assert json.dumps(request_wire_id("ada@x", "ключ")).isascii()
