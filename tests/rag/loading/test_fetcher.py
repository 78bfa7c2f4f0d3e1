"""What is fetched from an address, and from whom. The hosts here lie, stall, lead astray, flood."""

from __future__ import annotations

import asyncio
import gzip
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import pytest

from spade_llm.core.errors import Failure, InvalidArguments, NotFound, ServiceError, Unauthorised
from spade_llm.rag.loading.fetcher import Fetcher, FetchLimits, safe_file_name
from spade_llm.rag.loading.loader import Loader

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

LIMITS = FetchLimits(max_bytes=10_000, timeout_s=2.0, silence_s=0.3)


@dataclass(slots=True)
class Host:
    """Answers every request with the same bytes, whether they are HTTP or not."""

    answer: bytes
    then: str = "close"
    """… or `stall`, `flood` (without end), `drip` (a byte now and then)."""
    port: int = 0
    requests: list[str] = field(default_factory=list)

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            self.requests.append((await reader.readuntil(b"\r\n\r\n")).decode())
            writer.write(self.answer)
            await writer.drain()
            while self.then != "close":
                await self._go_on(reader, writer)
        except (ConnectionError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.close()

    async def _go_on(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if self.then == "flood":
            writer.write(b"x" * 65536)
        elif self.then == "drip":
            writer.write(b"x")
        await writer.drain()
        if self.then == "flood":
            return
        try:
            async with asyncio.timeout(0.1):
                if await reader.read(1) == b"":
                    raise ConnectionError
        except TimeoutError:
            return


@asynccontextmanager
async def running(host: Host) -> AsyncIterator[Host]:
    server = await asyncio.start_server(host.serve, "127.0.0.1", 0)
    host.port = server.sockets[0].getsockname()[1]
    async with server:
        yield host


def _fetcher(directory: Path, *allowed: str) -> Fetcher:
    async def hosts() -> frozenset[str]:
        return frozenset(allowed)

    return Fetcher(directory / "fetched", hosts, limits=LIMITS)


def _ok(body: bytes, *headers: bytes) -> bytes:
    lines = [b"HTTP/1.1 200 OK", *headers, b"Connection: close", b"", body]
    return b"\r\n".join(lines)


async def _text(directory: Path, host: Host, name: str = "") -> str:
    url = f"http://127.0.0.1:{host.port}/slot/My%20note.md"
    fetcher = _fetcher(directory, f"127.0.0.1:{host.port}")
    async with fetcher.fetched(url, name=name) as file:
        return Loader([]).read(file).text


async def test_a_document_is_fetched_once_and_gone_afterwards(tmp_path: Path) -> None:
    async with running(Host(_ok(b"# Hello", b"Content-Length: 7"))) as host:
        text = await _text(tmp_path, host)

    assert text == "# Hello"
    assert len(host.requests) == 1
    assert "accept-encoding: identity" in host.requests[0].lower()
    assert list((tmp_path / "fetched").iterdir()) == []


async def test_the_name_in_the_message_says_how_it_is_read(tmp_path: Path) -> None:
    async with running(Host(_ok(b'{"a": 1}', b"Content-Length: 8"))) as host:
        with pytest.raises(InvalidArguments, match="not read"):
            await _text(tmp_path, host, name="a.exe")
        assert host.requests == []
        assert await _text(tmp_path, host, name="../../etc/passwd.txt") == '{"a": 1}'


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("answer", "then", "reason"),
    [
        (_ok(b"", b"Content-Length: 10001"), "stall", "larger than 10000 bytes"),
        (_ok(b"", b"Content-Length: 999999999999999999999999"), "stall", "download failed"),
        (_ok(b""), "flood", "larger than 10000 bytes"),
        (_ok(b"", b"Content-Length: 5000"), "close", "download failed"),
        (_ok(b"abc", b"Content-Length: 5000"), "stall", "no data for 0.3 s"),
        (_ok(b""), "drip", "took longer than 2 s"),
        (_ok(b"", b"Transfer-Encoding: chunked"), "stall", "no data for 0.3 s"),
        (
            _ok(gzip.compress(bytes(10_000_000)), b"Content-Encoding: gzip"),
            "close",
            "compresses its answer",
        ),
        (
            b"HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:1/\r\n\r\n",
            "close",
            "the host redirects",
        ),
        (b"HTTP/1.1 500 Oh\r\nContent-Length: 0\r\n\r\n", "close", "answered 500"),
        (b"HTTP/1.1 206 Some\r\nContent-Length: 0\r\n\r\n", "close", "answered 206"),
        (b"SSH-2.0-nonsense\r\n\r\n", "close", "download failed"),
        (b"HTTP/1.1 200 OK\r\nX: " + b"x" * 1_000_000, "flood", "download failed"),
        (b"", "stall", "no data"),
    ],
)
async def test_a_host_that_misbehaves_is_told_from_one_that_does_not(
    tmp_path: Path, answer: bytes, then: str, reason: str
) -> None:
    async with running(Host(answer, then)) as host:
        with pytest.raises(Failure, match=reason):
            await _text(tmp_path, host)

    assert list((tmp_path / "fetched").iterdir()) == []


@pytest.mark.parametrize("code", [404, 410])
async def test_a_file_that_has_expired_is_not_found(tmp_path: Path, code: int) -> None:
    async with running(Host(b"HTTP/1.1 %d X\r\nContent-Length: 0\r\n\r\n" % code)) as host:
        with pytest.raises(NotFound):
            await _text(tmp_path, host)


@pytest.mark.parametrize(
    ("url", "error"),
    [
        ("https://elsewhere.example/a.md", Unauthorised),
        ("https://localhost/a.md", Unauthorised),
        ("https://localhost:5444/a.md", Unauthorised),
        ("https://localhost.:5443/a.md", Unauthorised),
        ("https://127.0.0.1:5443/a.md", Unauthorised),
        ("https://[::1]:5443/a.md", Unauthorised),
        ("https://2130706433:5443/a.md", Unauthorised),
        ("https://localhost:5443.evil.example/a.md", InvalidArguments),
        ("https://localhost:5443@evil.example/a.md", InvalidArguments),
        ("https://me:secret@localhost:5443/a.md", InvalidArguments),
        ("https://evil.example\\@localhost:5443/a.md", ServiceError),
        ("http://up.example:80/a.md", InvalidArguments),
        ("ftp://localhost:5443/a.md", InvalidArguments),
        ("file:///etc/passwd", InvalidArguments),
        ("//localhost:5443/a.md", InvalidArguments),
        ("a.md", InvalidArguments),
        ("", InvalidArguments),
        ("https://localhost:5443/a b.md", InvalidArguments),
        ("https://localhost:5443/\r\nHost: x", InvalidArguments),
        ("https://localhost:5443/" + "a" * 2000, InvalidArguments),
        ("https://localhost:99999/a.md", Unauthorised),
        ("https://loc\u0430lhost:5443/a.md", InvalidArguments),
    ],
)
async def test_an_address_that_is_not_allowed_is_not_asked(
    tmp_path: Path, url: str, error: type[ServiceError]
) -> None:
    fetcher = _fetcher(tmp_path, "localhost:5443", "up.example:80")

    with pytest.raises(error):
        async with fetcher.fetched(url, name="a.md"):
            pass

    assert not (tmp_path / "fetched").exists()


async def test_files_of_a_killed_process_are_removed(tmp_path: Path) -> None:
    (tmp_path / "fetched" / "abc").mkdir(parents=True)
    (tmp_path / "fetched" / "abc" / "a.md").write_text("x")

    await _fetcher(tmp_path).clear()

    assert not (tmp_path / "fetched").exists()


@pytest.mark.parametrize(
    ("name", "kept"),
    [
        ("a.pdf", "a.pdf"),
        ("../../x/a.pdf", "a.pdf"),
        ("C:\\docs\\a.pdf", "a.pdf"),
        (".hidden.md", "hidden.md"),
        ("a\0\n\u202eb.md", "ab.md"),
        ("é" * 300 + ".docx", "é" * 60 + ".docx"),
    ],
)
def test_a_name_is_made_safe_and_keeps_its_ending(name: str, kept: str) -> None:
    assert safe_file_name(name) == kept


@pytest.mark.parametrize("name", ["", "..", "/", "a.exe", "a"])
def test_a_name_that_says_nothing_is_refused(name: str) -> None:
    with pytest.raises(InvalidArguments, match="name"):
        safe_file_name(name)
