"""HTTP endpoint of an OpenAI-compatible server: connection pool, bounded answers.

Requests are written by aiohttp. The openai SDK is not used: its layers took 1 ms of a call's 1.3 ms
of processor time, for a connection pool and headers only.
"""

from __future__ import annotations

import json
import ssl
import sys
from contextlib import aclosing, asynccontextmanager, suppress
from typing import TYPE_CHECKING
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

import aiohttp
from pydantic import AliasChoices, BaseModel, Field, ValidationError
from pydantic_core import PydanticSerializationError, to_json

from spade_llm.core.errors import InvalidModelOutput, ModelUnavailable
from spade_llm.core.settings import get_variable
from spade_llm.providers.openai.errors import ErrorStatus, RequestInfo, not_json, translate

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, AsyncIterator

    from spade_llm.providers.openai.request_body import RequestBody

MAX_CONNECTIONS = 1000
KEEP_ALIVE_S = 60.0
"""Longer than the usual 5 s: a person's next question would otherwise cost another handshake.
Servers may close earlier."""

CHAT = "/chat/completions"
EMBEDDINGS = "/embeddings"
MODELS = "/models"
MAX_LIST_BYTES = 4_000_000
MAX_ERROR_BYTES = 64 * 1024
"""Maximum size of an error's body that is read; the rest is dropped."""
MIN_SECRET_CHARS = 12
"""Shorter keys are placeholders (NO_KEY among them), and could be words of an answer."""
REDACTED = "[API key]"

END_OF_STREAM = b"[DONE]"
"""The protocol's last event."""

_HEADERS_FROM_ENVIRONMENT = {
    "OpenAI-Organization": "OPENAI_ORG_ID",
    "OpenAI-Project": "OPENAI_PROJECT_ID",
}
"""Headers by the variables that OpenAI's own clients read."""
_WRONG_KEY = 401


class OpenAIEndpoint:
    """HTTP endpoint of an OpenAI-compatible server. Keeps one pool of connections, of one event
    loop. Raises ModelError and its subclasses only.

    Callers bound the time of each call (`Attempts.timeout`); there are no other timeouts.
    """

    def __init__(self, *, base_url: str, api_key: str, server: str) -> None:
        """`server`: what errors call it."""
        self._base_url = base_url.rstrip("/")
        self._server = server
        self._api_key = api_key
        self._secret = api_key if len(api_key) >= MIN_SECRET_CHARS else ""
        self._session: aiohttp.ClientSession | None = None
        """Created by the first call: it belongs to the event loop of its creation."""
        self._is_closed = False

    async def aclose(self) -> None:
        self._is_closed = True
        if self._session is not None:
            await self._session.close()

    def __del__(self) -> None:
        """Close the connections of a provider that was not closed; otherwise aiohttp would report
        each session as unclosed at exit. The part of `close` before its first wait is enough."""
        closing = self.aclose()
        with suppress(StopIteration, RuntimeError):
            closing.send(None)
        closing.close()

    async def answer(self, body: RequestBody, *, max_bytes: int, path: str = CHAT) -> bytes:
        """The whole JSON answer.

        Raises:
            InvalidModelOutput: it is not JSON, or larger than `max_bytes`.
        """
        async with self._post(path, body, "application/json") as response:
            if "json" not in (content_type := _content_type(response)):
                raise not_json(self._server, content_type)
            return self._redacted_bytes(await _read_all(response, max_bytes))

    async def models(self, *, model: str) -> list[ListedModel]:
        """List the server's models; empty if it has no list. `model` is the name used in errors.

        Raises:
            ModelError: the server is unavailable, or does not accept the key.
        """
        try:
            async with self._open_session().get(f"{self._base_url}{MODELS}") as response:
                await _check_status(response)
                return _listed(await _read_all(response, MAX_LIST_BYTES))
        except (aiohttp.ClientError, ErrorStatus) as error:
            if isinstance(error, ErrorStatus) and error.status != _WRONG_KEY:
                return []  # Not every server has a list, nor lets every key read it.
            raise translate(error, self._asked(model)) from error

    async def events(self, body: RequestBody, *, max_bytes: int) -> AsyncGenerator[bytes]:
        """The data of every server-sent event; a server that can't stream gives a single one."""
        async with self._post(CHAT, body, "text/event-stream") as response:
            content_type = _content_type(response)
            if "event-stream" in content_type:
                async with aclosing(_data_lines(response, max_bytes)) as lines:
                    async for line in lines:
                        yield self._redacted_bytes(line)
            elif "json" in content_type:
                yield self._redacted_bytes(await _read_all(response, max_bytes))
                yield END_OF_STREAM
            else:
                raise not_json(self._server, content_type)

    @asynccontextmanager
    async def _post(
        self, path: str, body: RequestBody, accept: str
    ) -> AsyncIterator[aiohttp.ClientResponse]:
        headers = {"Accept": accept, "Content-Type": "application/json"}
        url = f"{self._base_url}{path}"
        try:
            async with self._open_session().post(
                url, data=_json_bytes(body), headers=headers
            ) as response:
                await _check_status(response)
                yield response
        except (aiohttp.ClientError, ErrorStatus) as error:
            raise translate(error, self._asked(str(body.get("model", "")))) from error

    def _open_session(self) -> aiohttp.ClientSession:
        if self._is_closed:
            raise ModelUnavailable("This provider has been closed.")
        if self._session is None:
            self._session = self._new_session()
        return self._session

    def _new_session(self) -> aiohttp.ClientSession:
        address = urlsplit(self._base_url)
        headers = {
            name: value
            for name, variable in _HEADERS_FROM_ENVIRONMENT.items()
            if (value := get_variable(variable))
        }
        # aiohttp sends the name and password of an address, and refuses a second authorization.
        if address.username is None:
            headers["Authorization"] = f"Bearer {self._api_key}"
        return aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(
                limit=MAX_CONNECTIONS,
                keepalive_timeout=KEEP_ALIVE_S,
                ssl=_tls_context() if address.scheme == "https" else True,
            ),
            headers=headers,
            timeout=aiohttp.ClientTimeout(total=None),
            cookie_jar=aiohttp.DummyCookieJar(),
            # Once: aiohttp's `trust_env` looks at the environment for 0.4 ms in each call.
            proxy=_proxy_for(address.scheme, address.hostname or ""),
        )

    def _asked(self, model: str) -> RequestInfo:
        return RequestInfo(self._server, model, self._redacted)

    def _redacted(self, text: str) -> str:
        return text.replace(self._secret, REDACTED) if self._secret else text

    def _redacted_bytes(self, data: bytes) -> bytes:
        if not self._secret:
            return data
        return data.replace(self._secret.encode(errors="replace"), REDACTED.encode())


def _tls_context() -> ssl.SSLContext:
    """Verification by the certificates of the operating system."""
    context = ssl.create_default_context()
    if sys.platform == "darwin":
        import certifi

        # Python of python.org has none on macOS until its user installs them.
        context.load_verify_locations(certifi.where())
    return context


def _proxy_for(scheme: str, host: str) -> str | None:
    """The proxy that the environment names for a host (`HTTPS_PROXY`, `ALL_PROXY`, `NO_PROXY`)."""
    if proxy_bypass(host):
        return None
    proxies = getproxies()
    proxy = proxies.get(scheme) or proxies.get("all")
    return f"http://{proxy}" if proxy and "://" not in proxy else proxy


def _json_bytes(body: RequestBody) -> bytes:
    try:
        return to_json(body)
    except PydanticSerializationError:
        # Lone surrogates, which JSON can smuggle into any text, become `?`. Only after a failure,
        # because cleaning encodes the whole prompt once more.
        return json.dumps(body, ensure_ascii=False).encode(errors="replace")


class ListedModel(BaseModel):
    """Model in a server's list."""

    id: str
    # Not in OpenAI's protocol: vLLM, OpenRouter, Mistral and LM Studio, Groq.
    context_tokens: object = Field(
        default=None,
        validation_alias=AliasChoices(
            "max_model_len", "context_length", "max_context_length", "context_window"
        ),
    )
    """Length of the context window, if the server says it."""


class _List(BaseModel):
    data: list[ListedModel] = []


def _listed(raw: bytes) -> list[ListedModel]:
    try:
        return _List.model_validate_json(raw).data
    except ValidationError:
        return []


async def _check_status(response: aiohttp.ClientResponse) -> None:
    if response.ok:
        return
    body = bytearray()
    async for chunk in response.content.iter_any():
        body += chunk
        if len(body) >= MAX_ERROR_BYTES:
            break
    text = body[:MAX_ERROR_BYTES].decode(errors="replace")
    raise ErrorStatus(response.status, response.headers, text)


def _content_type(response: aiohttp.ClientResponse) -> str:
    return response.headers.get("content-type", "").partition(";")[0].strip().lower()


def _too_large(max_bytes: int) -> InvalidModelOutput:
    return InvalidModelOutput(f"The model's answer is larger than {max_bytes} bytes.")


async def _read_all(response: aiohttp.ClientResponse, max_bytes: int) -> bytes:
    body = bytearray()
    async for chunk in response.content.iter_any():
        body += chunk
        if len(body) > max_bytes:
            raise _too_large(max_bytes)
    return bytes(body)


async def _data_lines(response: aiohttp.ClientResponse, max_bytes: int) -> AsyncGenerator[bytes]:
    """The `data:` lines, `[DONE]` included; these servers never split one event over several."""
    pending = b""
    async for chunk in response.content.iter_any():
        *lines, pending = (pending + chunk).split(b"\n")
        for data in filter(None, map(_data_of, lines)):
            yield data
        # A line without an end would grow without a bound.
        if len(pending) > max_bytes:
            raise _too_large(max_bytes)
    if data := _data_of(pending):
        yield data


def _data_of(line: bytes) -> bytes:
    return line[5:].strip() if line.startswith(b"data:") else b""
