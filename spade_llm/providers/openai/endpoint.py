"""HTTP endpoint of an OpenAI-compatible server: connection pool, bounded answers."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing, asynccontextmanager, suppress
from functools import cache
from typing import TYPE_CHECKING

import httpx2
import openai
from pydantic import AliasChoices, BaseModel, Field, ValidationError

from spade_llm.core.errors import InvalidModelOutput, ModelUnavailable
from spade_llm.providers.openai.errors import (
    SDK_ERRORS,
    RequestInfo,
    not_json,
    translate,
)

if TYPE_CHECKING:
    import ssl

    from spade_llm.providers.openai.request_body import RequestBody

# openai 3.52: `chat.completions.create` walks every message and tool through its type hints,
# 5-7 ms for 20 messages and 6 tools. The SDK's documented `post` sends the same bytes in 0.1 ms.
# This header makes it leave the body unread, so that it can be bounded; see
# tests/providers/test_openai_faults.py.
RAW_RESPONSE_HEADER = {"X-Stainless-Raw-Response": "stream"}

CONNECTIONS = httpx2.Limits(
    max_connections=1000, max_keepalive_connections=100, keepalive_expiry=60.0
)
"""Connection limits of the SDK, with a keep-alive of 60 s instead of 5 s: longer pauses between two
questions of a person would otherwise cost another handshake. Servers may close earlier."""

CHAT = "/chat/completions"
EMBEDDINGS = "/embeddings"
MODELS = "/models"
MAX_LIST_BYTES = 4_000_000
MIN_SECRET_CHARS = 12
"""Shorter keys are placeholders (NO_KEY among them), and could be words of an answer."""
REDACTED = "[API key]"

END_OF_STREAM = b"[DONE]"
"""The protocol's last event."""


@cache
def _tls_context() -> ssl.SSLContext:
    """TLS context of all servers: each client would load the CA store several times, in 57 ms."""
    return httpx2.create_ssl_context()


class OpenAIEndpoint:
    """HTTP endpoint of an OpenAI-compatible server. Keeps one pool of connections, of one event
    loop. Raises ModelError and its subclasses only.

    The SDK's aiohttp client (3.54) sends a request in one piece and parses in C: of a chat's
    processor time it takes 0.7 ms less than the default, which sends headers and body apart.
    """

    def __init__(self, *, base_url: str, api_key: str, timeout_s: float, server: str) -> None:
        """`server`: what errors call it."""
        self._timeout_s = timeout_s
        self._server = server
        self._secret = api_key if len(api_key) >= MIN_SECRET_CHARS else ""
        self._client = openai.AsyncOpenAI(
            api_key=api_key,
            base_url=base_url,
            timeout=timeout_s,
            # Retries are ours (providers/retry.py): those of the SDK do not know our deadline.
            max_retries=0,
            http_client=openai.DefaultAioHttpClient(limits=CONNECTIONS, verify=_tls_context()),
        )

    async def aclose(self) -> None:
        await self._client.close()

    def __del__(self) -> None:
        """Close the connections of a provider that was not closed; otherwise aiohttp would report
        each session as unclosed at exit. The part of `close` before its first wait is enough."""
        closing = self._client.close()
        with suppress(StopIteration, RuntimeError):
            closing.send(None)
        closing.close()

    async def answer(self, body: RequestBody, *, max_bytes: int, path: str = CHAT) -> bytes:
        """The whole JSON answer.

        Raises:
            InvalidModelOutput: it is not JSON, or larger than `max_bytes`.
        """
        async with self._post(path, body, {"Accept": "application/json"}) as response:
            if "json" not in (content_type := _content_type(response)):
                raise not_json(self._server, content_type)
            return self._redacted_bytes(await _read_all(response, max_bytes))

    async def models(self, *, model: str) -> list[ListedModel]:
        """List the server's models; empty if it has no list. `model` is the name used in errors.

        Raises:
            ModelError: the server is unavailable, or does not accept the key.
        """
        headers = {"Accept": "application/json", **RAW_RESPONSE_HEADER}
        try:
            response = await self._client.get(
                MODELS,
                cast_to=httpx2.Response,
                options={"headers": headers, "timeout": self._timeout_s},
            )
            async with aclosing(response):
                return _listed(await _read_all(response, MAX_LIST_BYTES))
        except SDK_ERRORS as error:
            if isinstance(error, openai.APIStatusError) and error.status_code != 401:
                return []  # Not every server has a list, nor lets every key read it.
            raise translate(error, self._asked(model)) from error

    async def events(self, body: RequestBody, *, max_bytes: int) -> AsyncGenerator[bytes]:
        """The data of every server-sent event; a server that can't stream gives a single one."""
        async with self._post(CHAT, body, {"Accept": "text/event-stream"}) as response:
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

    async def _send(self, path: str, body: RequestBody, headers: dict[str, str]) -> httpx2.Response:
        return await self._client.post(
            path,
            cast_to=httpx2.Response,
            body=body,
            options={"headers": {**headers, **RAW_RESPONSE_HEADER}, "timeout": self._timeout_s},
        )

    @asynccontextmanager
    async def _post(
        self, path: str, body: RequestBody, headers: dict[str, str]
    ) -> AsyncIterator[httpx2.Response]:
        if self._client.is_closed():
            raise ModelUnavailable("This provider has been closed.")
        try:
            try:
                response = await self._send(path, body, headers)
            except UnicodeEncodeError:
                # Lone surrogates, which JSON can smuggle into any text, become `?`; only after a
                # failure, because this encodes the whole prompt once more.
                encoded = json.dumps(body, ensure_ascii=False).encode(errors="replace")
                response = await self._send(path, json.loads(encoded), headers)
            async with aclosing(response):
                yield response
        except SDK_ERRORS as error:
            raise translate(error, self._asked(str(body.get("model", "")))) from error

    def _asked(self, model: str) -> RequestInfo:
        return RequestInfo(self._server, model, self._redacted)

    def _redacted(self, text: str) -> str:
        return text.replace(self._secret, REDACTED) if self._secret else text

    def _redacted_bytes(self, data: bytes) -> bytes:
        if not self._secret:
            return data
        return data.replace(self._secret.encode(errors="replace"), REDACTED.encode())


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
