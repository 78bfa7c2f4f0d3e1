"""Fetcher: downloads documents from allowed hosts, and reads them."""

from __future__ import annotations

import asyncio
import secrets
import shutil
import ssl
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING
from urllib.parse import unquote

import httpx

from spade_llm.core.errors import (
    Failure,
    HostNotAllowed,
    InvalidArguments,
    NotFound,
    StorageFailed,
    TooLarge,
)
from spade_llm.rag.loading.loader import MAX_BINARY_BYTES, FoundFile, Loader
from spade_llm.rag.loading.text_files import file_kind, unsupported_reason

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable, Collection
    from typing import Self

    from spade_llm.rag.contract import SourceDocument

FETCH_TIMEOUT_S = 120.0
READ_TIMEOUT_S = 20.0
MAX_CONCURRENT_FETCHES = 4
"""Maximum number of fetched files on the disk at a time; further requests wait."""
MAX_URL_CHARS = 2000
MAX_STEM_CHARS = 60
"""Maximum length of the stem in characters: at 4 bytes each it stays below the 255 bytes of file
systems."""
LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})
_PORTS = {"https": 443, "http": 80}


@dataclass(frozen=True, slots=True, kw_only=True)
class FetchLimits:
    max_bytes: int = MAX_BINARY_BYTES
    timeout_s: float = FETCH_TIMEOUT_S
    """Timeout in seconds from the request to the last byte."""
    silence_s: float = READ_TIMEOUT_S
    """Timeout in seconds between two bytes."""


class Fetcher:
    """Downloads files into `directory`, which must be its own; they are removed after use."""

    def __init__(
        self,
        directory: Path,
        hosts: Callable[[], Awaitable[Collection[str]]],
        *,
        context: ssl.SSLContext | None = None,
        limits: FetchLimits | None = None,
    ) -> None:
        """`hosts`: returns the allowed hosts, at each download. `context`: None means CAs of the
        system."""
        self._directory = directory.resolve()
        self._hosts = hosts
        self._context = context
        self._limits = limits or FetchLimits()
        self._turns = asyncio.Semaphore(MAX_CONCURRENT_FETCHES)

    async def clear(self) -> None:
        """Remove the files of a killed process. Call it before the first download."""
        await asyncio.to_thread(shutil.rmtree, self._directory, ignore_errors=True)

    @asynccontextmanager
    async def fetched(self, url: str, *, name: str = "") -> AsyncIterator[FoundFile]:
        """Download a file, which exists until the block ends.

        `name`: name of the document, whose extension decides how it is read; empty: that of the
        URL.

        Raises:
            InvalidArguments, HostNotAllowed: the URL or the name is not accepted.
            NotFound: the host has no such file (any more).
            Failure: the host failed.
            TooLarge: the file exceeds the limit.
            StorageFailed: the file could not be written.
        """
        address = await self._checked(url)
        source = safe_file_name(name or unquote(PurePosixPath(address.path).name))
        # A random folder, since two downloads may have the same name.
        place = self._directory / secrets.token_hex(8)
        async with self._turns:
            try:
                await self._fetch(address, place / source)
                yield FoundFile(path=place / source, source=source)
            finally:
                await asyncio.to_thread(shutil.rmtree, place, ignore_errors=True)

    async def _checked(self, url: str) -> httpx.URL:
        address = _parse_url(url)
        is_local = address.host in LOOPBACK
        if address.scheme != "https" and not (address.scheme == "http" and is_local):
            raise InvalidArguments("url must begin with https://")
        if address.userinfo:
            raise InvalidArguments("url must not contain a user name or a password")
        host = f"{address.host}:{address.port or _PORTS[address.scheme]}"
        # Compared as text before anything is resolved, since the URL is untrusted (SSRF).
        if host not in await self._hosts():
            raise HostNotAllowed(
                f"url: {host!r} is not an allowed host; upload the document to the server of this "
                "agent"
            )
        return address

    async def _fetch(self, address: httpx.URL, path: Path) -> None:
        try:
            await asyncio.to_thread(path.parent.mkdir, parents=True, mode=0o700)
            async with asyncio.timeout(self._limits.timeout_s):
                await self._download(address, path)
        except TimeoutError:
            raise Failure(
                f"url: the download took longer than {self._limits.timeout_s:g} s"
            ) from None
        except httpx.TimeoutException as error:
            raise Failure(f"url: no data for {self._limits.silence_s:g} s") from error
        except httpx.HTTPError as error:
            raise Failure(f"url: the download failed ({type(error).__name__})") from error
        except OSError as error:
            raise StorageFailed("the fetched document cannot be stored") from error

    async def _download(self, address: httpx.URL, path: Path) -> None:
        client = httpx.AsyncClient(
            verify=self._context or ssl.create_default_context(),
            # No proxy from the environment: only the host that was checked is contacted.
            trust_env=False,
            # A redirect would lead past the check of the host (SSRF).
            follow_redirects=False,
            timeout=self._limits.silence_s,
        )
        # Uncompressed only: a few kilobytes of gzip can expand to gigabytes.
        headers = {"Accept-Encoding": "identity"}
        async with client, client.stream("GET", address, headers=headers) as answer:
            self._check(answer)
            await self._save(answer, path)

    def _check(self, answer: httpx.Response) -> None:
        if answer.status_code in (404, 410):
            raise NotFound("url: the host has no such file (any more)")
        if answer.is_redirect:
            raise Failure("url: the host redirects, which is not followed")
        if answer.status_code != 200:
            raise Failure(f"url: the host answered {answer.status_code}")
        if answer.headers.get("content-encoding", "identity") != "identity":
            raise Failure("url: the host compresses its answer, although it was asked not to")
        said = answer.headers.get("content-length", "0")
        # Cut to 20 digits, because int() raises ValueError for more than 4300.
        if not said.isdecimal() or int(said[:20]) > self._limits.max_bytes:
            raise self._too_large()

    async def _save(self, answer: httpx.Response, path: Path) -> None:
        size = 0
        with await asyncio.to_thread(path.open, "xb") as file:
            async for piece in answer.aiter_raw():
                # Counted as it comes: Content-Length may be missing or wrong.
                size += len(piece)
                if size > self._limits.max_bytes:
                    raise self._too_large()
                await asyncio.to_thread(file.write, piece)

    def _too_large(self) -> TooLarge:
        return TooLarge(f"url: larger than {self._limits.max_bytes} bytes; split the document")


def safe_file_name(name: str) -> str:
    """Sanitize a file name: no path, the same extension.

    Raises:
        InvalidArguments: the kind of file is not supported.
    """
    # A backslash separates folders on Windows, so the name may hold a path.
    last = PurePosixPath(name.replace("\\", "/")).name
    # No control characters, no hidden file and no `..`.
    plain = "".join(char for char in last if char.isprintable()).strip().lstrip(".")
    if file_kind(plain) is None:
        raise InvalidArguments(f"name {plain[:80]!r}: {unsupported_reason(plain)}")
    path = PurePosixPath(plain)
    return f"{path.stem[:MAX_STEM_CHARS]}{path.suffix}"


def _parse_url(url: str) -> httpx.URL:
    if len(url) > MAX_URL_CHARS or not url.isascii() or not url.isprintable() or " " in url:
        raise InvalidArguments(
            f"url must have at most {MAX_URL_CHARS} characters, all ASCII; %-encode the others"
        )
    try:
        return httpx.URL(url)
    except httpx.InvalidURL as error:
        raise InvalidArguments("url is not valid") from error


class FetchedDocuments:
    """Documents from URLs. Use it with `async with`."""

    def __init__(self, fetcher: Fetcher) -> None:
        self._fetcher = fetcher
        self._loader = Loader([])

    async def __aenter__(self) -> Self:
        await self._fetcher.clear()
        return self

    async def __aexit__(self, *_: object) -> None:
        await asyncio.to_thread(self._loader.close)

    async def get(self, url: str, *, source: str, namespace: str) -> SourceDocument:
        """Download and read a document. `source`: name for citations, whose extension decides how
        it is read; empty: the name in the URL.

        Raises:
            InvalidArguments: also if the file cannot be read; and the errors of Fetcher.fetched.
        """
        async with self._fetcher.fetched(url, name=source) as file:
            loaded = await self._loader.load(file)
        return loaded.document(source or file.source, namespace)
