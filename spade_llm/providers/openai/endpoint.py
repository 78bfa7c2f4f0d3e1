"""HTTP endpoint of an OpenAI-compatible server: connection pool, bounded answers."""

from __future__ import annotations

import json
from contextlib import aclosing, asynccontextmanager, suppress
from typing import TYPE_CHECKING

import httpx2
import openai
from pydantic import AliasChoices, BaseModel, Field, ValidationError

from spade_llm.core.errors import InvalidModelOutput, ModelUnavailable
from spade_llm.providers.openai.errors import (
    CLIENT_ERRORS,
    HttpStatusError,
    RequestInfo,
    not_json,
    translate,
)

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, AsyncIterator

    from spade_llm.providers.openai.request import RequestBody

CONNECTIONS = httpx2.Limits(
    max_connections=1000, max_keepalive_connections=100, keepalive_expiry=60.0
)
"""Connection limits of the SDK, with a keep-alive of 60 s instead of 5 s: longer pauses between two
questions of a person would otherwise cost another handshake. Servers may close earlier."""

CHAT = "/chat/completions"
EMBEDDINGS = "/embeddings"
MODELS = "/models"
MAX_LIST_BYTES = 4_000_000
MAX_ERROR_BYTES = 64_000
"""Read of an error's text."""
MIN_SECRET_CHARS = 12
"""Shorter keys are placeholders (NO_KEY among them), and could be words of an answer."""
REDACTED = "[API key]"

END_OF_STREAM = b"[DONE]"
"""The protocol's last event."""


class OpenAIEndpoint:
    """Keeps one pool of connections, of one event loop. Raises ModelError and its subclasses only.

    The SDK gives the headers and the HTTP client, which respects proxies and certificates of the
    environment. Requests are built here: the SDK's own `post` (3.54) takes 0.3 to 0.9 ms of
    processor time more, `chat.completions.create` several. Its aiohttp client sends a request in
    one piece and parses in C: 0.7 ms less than the default, which sends headers and body apart.
    """

    def __init__(self, *, base_url: str, api_key: str, timeout_s: float, server: str) -> None:
        """`server`: what errors call it."""
        self._server = server
        self._secret = api_key if len(api_key) >= MIN_SECRET_CHARS else ""
        self._http = openai.DefaultAioHttpClient(limits=CONNECTIONS)
        sdk = openai.AsyncOpenAI(api_key=api_key, base_url=base_url, http_client=self._http)
        self._base_url = sdk.base_url
        self._headers = self._http.headers.copy()
        # A value that is no text stands for a header that is left out.
        chosen = {**sdk.default_headers, **sdk.auth_headers}
        self._headers.update(
            {name: value for name, value in chosen.items() if isinstance(value, str)}
        )
        self._extensions = {"timeout": httpx2.Timeout(timeout_s).as_dict()}

    async def aclose(self) -> None:
        await self._http.aclose()

    def __del__(self) -> None:
        """Close the connections of a provider that was not closed; otherwise aiohttp would report
        each session as unclosed at exit. The part of `aclose` before its first wait is enough."""
        closing = self._http.aclose()
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
            request = self._request("GET", MODELS, accept="application/json")
            async with self._sent(request) as response:
                return _listed(await _read_all(response, MAX_LIST_BYTES))
        except CLIENT_ERRORS as error:
            if isinstance(error, HttpStatusError) and error.status != 401:
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
    ) -> AsyncIterator[httpx2.Response]:
        if self._http.is_closed:
            raise ModelUnavailable("This provider has been closed.")
        try:
            content = _encoded(body)
        except UnicodeEncodeError:
            # Only after a failure, because cleaning encodes the whole prompt once more.
            content = _encoded(_valid_unicode(body))
        try:
            async with self._sent(self._request("POST", path, content, accept=accept)) as response:
                yield response
        except CLIENT_ERRORS as error:
            raise translate(error, self._asked(str(body.get("model", "")))) from error

    def _request(
        self, method: str, path: str, content: bytes | None = None, *, accept: str
    ) -> httpx2.Request:
        url = self._base_url.copy_with(
            raw_path=self._base_url.raw_path.rstrip(b"/") + path.encode()
        )
        request = httpx2.Request(
            method, url, headers=self._headers, content=content, extensions=self._extensions
        )
        request.headers["Accept"] = accept
        return request

    @asynccontextmanager
    async def _sent(self, request: httpx2.Request) -> AsyncIterator[httpx2.Response]:
        """The successful response; its body is not read yet. Raises CLIENT_ERRORS."""
        response = await self._http.send(request, stream=True)
        async with aclosing(response):
            if response.is_error:
                raise HttpStatusError.of(response, await _read_beginning(response, MAX_ERROR_BYTES))
            yield response

    def _asked(self, model: str) -> RequestInfo:
        return RequestInfo(self._server, model, self._redacted)

    def _redacted(self, text: str) -> str:
        return text.replace(self._secret, REDACTED) if self._secret else text

    def _redacted_bytes(self, data: bytes) -> bytes:
        if not self._secret:
            return data
        return data.replace(self._secret.encode(errors="replace"), REDACTED.encode())


def _encoded(body: RequestBody) -> bytes:
    return json.dumps(body, ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode()


def _valid_unicode(body: RequestBody) -> RequestBody:
    """Lone surrogates, which JSON can smuggle into any text, become `?`."""
    cleaned: RequestBody = json.loads(json.dumps(body, ensure_ascii=False).encode(errors="replace"))
    return cleaned


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


def _content_type(response: httpx2.Response) -> str:
    return response.headers.get("content-type", "").partition(";")[0].strip().lower()


def _too_large(max_bytes: int) -> InvalidModelOutput:
    return InvalidModelOutput(f"The model's answer is larger than {max_bytes} bytes.")


async def _read_all(response: httpx2.Response, max_bytes: int) -> bytes:
    body = bytearray()
    async with aclosing(response.aiter_bytes()) as chunks:
        async for chunk in chunks:
            body += chunk
            if len(body) > max_bytes:
                raise _too_large(max_bytes)
    return bytes(body)


async def _read_beginning(response: httpx2.Response, max_bytes: int) -> bytes:
    body = bytearray()
    async with aclosing(response.aiter_bytes()) as chunks:
        async for chunk in chunks:
            body += chunk
            if len(body) >= max_bytes:
                break
    return bytes(body[:max_bytes])


async def _data_lines(response: httpx2.Response, max_bytes: int) -> AsyncGenerator[bytes]:
    """The `data:` lines, `[DONE]` included; these servers never split one event over several."""
    pending = b""
    async with aclosing(response.aiter_bytes()) as chunks:
        async for chunk in chunks:
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
