"""What `spade-llm mcp` writes and takes, byte by byte: only the protocol, nothing too large, nobody
who is not meant; and how it ends."""

from __future__ import annotations

import asyncio
import json
import signal
from contextlib import asynccontextmanager, suppress
from typing import TYPE_CHECKING, Any

import pytest

from tests.processes.mcp_child import END_S, READY_S, TOKEN, Start, connected, free_port, ready

if TYPE_CHECKING:
    from asyncio.subprocess import Process
    from collections.abc import AsyncIterator
    from pathlib import Path

    from tests.conftest import Provisioner

pytestmark = pytest.mark.server

VERSION = "2025-06-18"
HELLO: dict[str, object] = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {
        "protocolVersion": VERSION,
        "capabilities": {},
        "clientInfo": {"name": "test", "version": "1"},
    },
}
READY: dict[str, object] = {"jsonrpc": "2.0", "method": "notifications/initialized"}
PARSE_ERROR, INVALID_REQUEST = -32700, -32600


@pytest.fixture
async def start(prosody: Provisioner, tmp_path: Path) -> Start:
    jid, _ = await prosody.account("ada")
    return Start(folder=tmp_path, endpoint=prosody.endpoint, person=jid).has_account()


def call(id: object, name: str, **arguments: object) -> dict[str, object]:
    params = {"name": name, "arguments": arguments}
    return {"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params}


async def say(running: Process, *messages: dict[str, object] | bytes) -> None:
    assert running.stdin is not None
    for message in messages:
        line = message if isinstance(message, bytes) else json.dumps(message).encode()
        running.stdin.write(line + b"\n")
    await running.stdin.drain()


async def heard(running: Process) -> dict[str, Any]:
    assert running.stdout is not None
    async with asyncio.timeout(READY_S):
        line = await running.stdout.readline()
    message = json.loads(line)
    assert isinstance(message, dict)
    return message


async def test_unreadable_lines_are_answered_and_the_next_line_is_served(start: Start) -> None:
    deep: dict[str, object] = {}
    for _ in range(300):
        deep = {"in": deep}
    async with start.process() as running:
        await say(running, HELLO, READY)
        assert (await heard(running))["id"] == 1

        unreadable = {
            b"hello": (None, PARSE_ERROR),
            b'"\xff"': (None, PARSE_ERROR),
            b"[" * 100_000: (None, PARSE_ERROR),
            b"[]": (None, INVALID_REQUEST),
            b'{"jsonrpc": "2.0", "id": 7, "method": 5}': (7, INVALID_REQUEST),
            b'{"jsonrpc": "2.0", "id": "x", "method": "\\ud800"}': ("x", INVALID_REQUEST),
            b"x" * 9_000_000: (None, INVALID_REQUEST),
        }
        for line, (id, code) in unreadable.items():
            await say(running, line)
            answer = await heard(running)
            assert (answer["id"], answer["error"]["code"]) == (id, code), line[:80]

        await say(running, b"", call(9, "memory_store", content="x", metadata=deep))
        answer = await heard(running)
        assert (answer["id"], answer["result"]["isError"]) == (9, True)
        assert "levels" in answer["result"]["content"][0]["text"]


async def test_the_end_of_its_input_ends_it(start: Start) -> None:
    async with start.process() as running:
        await say(running, HELLO, READY)
        await heard(running)
        assert running.stdin is not None
        running.stdin.close()

        async with asyncio.timeout(END_S):
            output, _ = await running.communicate()

        assert (running.returncode, output) == (0, b"")


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
async def test_a_signal_ends_it_while_its_input_is_still_open(
    start: Start, number: signal.Signals
) -> None:
    async with start.process() as running:
        await say(running, HELLO, READY)
        await heard(running)

        running.send_signal(number)

        async with asyncio.timeout(END_S):
            assert await running.wait() == 0


async def test_without_a_server_it_ends_and_says_which(
    tmp_path: Path, prosody: Provisioner
) -> None:
    port = free_port()
    start = Start(folder=tmp_path, endpoint=prosody.endpoint, person="ada@localhost").has_account()
    async with start.process("--server", f"127.0.0.1:{port}") as running:
        async with asyncio.timeout(READY_S):
            output, errors = await running.communicate()

    assert (running.returncode, output) == (1, b"")
    assert f"no XMPP server answers at 127.0.0.1:{port}".encode() in errors


async def test_a_missing_account_is_reported_with_a_fix(
    tmp_path: Path, prosody: Provisioner
) -> None:
    start = Start(folder=tmp_path, endpoint=prosody.endpoint, person="nobody@localhost")
    async with start.process() as running:
        async with asyncio.timeout(READY_S):
            output, errors = await running.communicate()

    assert (running.returncode, output) == (1, b"")
    assert b"there is no password for nobody@localhost" in errors


async def posted(
    url: str, headers: dict[str, str], body: bytes = json.dumps(HELLO).encode()
) -> tuple[int, dict[str, str]]:
    """Status and headers of the answer to an `initialize`, with exactly these headers of ours."""
    host, port = url.removeprefix("http://").removesuffix("/mcp").split(":")
    usual = {
        "Host": f"{host}:{port}",
        "Authorization": f"Bearer {TOKEN}",
        "Content-Type": "application/json",
        "Accept": "application/json, text/event-stream",
        "Content-Length": str(len(body)),
        "Connection": "close",
    }
    lines = [f"{name}: {value}" for name, value in {**usual, **headers}.items()]
    head = "\r\n".join(["POST /mcp HTTP/1.1", *lines, "", ""])
    async with asyncio.timeout(END_S), connection(host, int(port)) as (reader, writer):
        writer.write(head.encode("latin-1") + body)
        status = (await reader.readline()).decode().split()[1]
        names = [line.decode().rstrip() async for line in until_blank(reader)]
    return int(status), {k.lower(): v for k, _, v in (line.partition(": ") for line in names)}


@asynccontextmanager
async def connection(
    host: str, port: int
) -> AsyncIterator[tuple[asyncio.StreamReader, asyncio.StreamWriter]]:
    reader, writer = await asyncio.open_connection(host, port)
    try:
        yield reader, writer
    finally:
        writer.close()
        with suppress(ConnectionError):
            await writer.wait_closed()


async def until_blank(reader: asyncio.StreamReader) -> AsyncIterator[bytes]:
    while (line := await reader.readline()).strip():
        yield line


async def test_only_the_token_opens_the_http_server(start: Start) -> None:
    async with start.at_a_url() as url:
        right, _ = await posted(url, {})
        wrong = [
            await posted(url, {"Authorization": value})
            for value in ("", TOKEN, f"Basic {TOKEN}", f"Bearer {TOKEN}x", "Bearer ", "Bearer \xe9")
        ]

    assert right == 200
    assert [status for status, _ in wrong] == [401] * len(wrong)
    assert {headers["www-authenticate"] for _, headers in wrong} == {"Bearer"}


async def test_a_page_that_had_its_name_bound_to_our_address_is_refused(start: Start) -> None:
    async with start.at_a_url() as url:
        port = url.removesuffix("/mcp").rpartition(":")[2]
        outcomes = {
            "own": await posted(url, {"Origin": f"http://localhost:{port}"}),
            "name": await posted(url, {"Host": f"evil.example:{port}"}),
            "port": await posted(url, {"Host": "127.0.0.1:1"}),
            "page": await posted(url, {"Origin": "http://evil.example"}),
            "other local page": await posted(url, {"Origin": "http://localhost:3000"}),
        }

    statuses = {name: status for name, (status, _) in outcomes.items()}
    assert statuses == {"own": 200, "name": 421, "port": 421, "page": 403, "other local page": 403}


async def test_a_body_that_is_too_large_is_refused_before_it_is_read(start: Start) -> None:
    async with start.at_a_url() as url:
        status, _ = await posted(url, {"Content-Length": str(9_000_000)}, b"{")

    assert status == 413


async def test_sessions_are_bounded(start: Start) -> None:
    async with start.at_a_url() as url:
        statuses = [(await posted(url, {}))[0] for _ in range(66)]

    assert statuses == [200] * 64 + [503] * 2


async def test_the_token_is_made_once_and_only_its_place_is_told(start: Start) -> None:
    http = ("--http", f"127.0.0.1:{free_port()}")
    path = start.folder / "mcp-tokens" / start.person
    async with start.process(*http) as running:
        url = await ready(running)
        token = path.read_text(encoding="ascii").strip()
        async with connected(url, token=token) as client:
            assert (await client.list_tools()).tools
        running.send_signal(signal.SIGTERM)
        async with asyncio.timeout(END_S):
            output, errors = await running.communicate()
    async with start.process(*http) as running:
        await ready(running)

    assert path.stat().st_mode & 0o777 == 0o600
    assert path.read_text(encoding="ascii").strip() == token
    assert str(path).encode() in errors
    assert token.encode() not in output + errors


async def test_the_http_server_ends_while_a_client_is_connected(start: Start) -> None:
    async with start.serving_http() as (running, url), session(url):
        running.send_signal(signal.SIGTERM)
        async with asyncio.timeout(END_S):
            _, errors = await running.communicate()

    assert running.returncode == 0
    assert b"Traceback" not in errors


@asynccontextmanager
async def session(url: str) -> AsyncIterator[None]:
    """An open event stream, as clients keep one."""
    host, port = url.removeprefix("http://").removesuffix("/mcp").split(":")
    _, headers = await posted(url, {})
    lines = [
        "GET /mcp HTTP/1.1",
        f"Host: {host}:{port}",
        f"Authorization: Bearer {TOKEN}",
        "Accept: text/event-stream",
        f"Mcp-Session-Id: {headers['mcp-session-id']}",
        f"Mcp-Protocol-Version: {VERSION}",
    ]
    async with connection(host, int(port)) as (reader, writer):
        writer.write("\r\n".join([*lines, "", ""]).encode())
        assert (await reader.readline()).split()[1] == b"200"
        yield


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (
            ("--http", "0.0.0.0:8765", "--no-token"),
            "where without a token everyone could use your account",
        ),
        (("--http", "0.0.0.0:8765"), "list the host names that they use with --allow-host"),
        (("--http", "127.0.0.1:0"), "is not HOST or HOST:PORT"),
        (("--http", "127.0.0.1", "--token-env", "NO_SUCH_TOKEN"), "at least 16 ASCII characters"),
        (("--http", "127.0.0.1", "--token-file", "/no/such"), "cannot be read"),
        (("--tools", "memory,everything"), "--tools: 'everything' is not one of memory, further"),
        (("--tools", ","), "--tools: name at least one of"),
    ],
)
async def test_a_wrong_option_is_named(
    start: Start, options: tuple[str, ...], sentence: str
) -> None:
    async with start.process(*options) as running:
        async with asyncio.timeout(READY_S):
            output, errors = await running.communicate()

    assert (running.returncode, output) == (1, b"")
    assert sentence in errors.decode()
