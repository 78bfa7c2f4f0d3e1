"""Chat model of an OpenAI-compatible server: streaming, retries, optional request fields.

HTTP is handled by `endpoint.py`. The openai SDK is imported only when a provider is created.
"""

from __future__ import annotations

import asyncio
import json
import logging
import re
from collections import deque
from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from contextlib import aclosing, asynccontextmanager
from typing import TYPE_CHECKING, Self, Unpack
from urllib.parse import urlsplit

from spade_llm.core.errors import ConfigurationError, ModelError, ModelUnavailable
from spade_llm.providers.model import CallOptions, Completion, ContextMessage, TextDelta, ToolSpec
from spade_llm.providers.openai.request_body import TOKEN_LIMIT_FIELD, build_request, with_stream
from spade_llm.providers.retry import Attempts, ModelLimits

if TYPE_CHECKING:
    from spade_llm.providers.openai.probe import ModelProbe, ModelTestCall
    from spade_llm.providers.openai.request_body import RequestBody

logger = logging.getLogger(__name__)

KEPT_REFUSALS = 32

OPENAI_URL = "https://api.openai.com/v1"
NO_KEY = "not-needed"
"""Placeholder key for local servers: the SDK requires a key, and they ignore it."""
DEFAULT_TIMEOUT_S = 60.0


def _unsupported(field: str) -> re.Pattern[str]:
    named = rf"\b{field}\b"
    return re.compile(
        rf"un(supported|known|recognized).{{0,40}}{named}|{named}.{{0,20}}not supported",
        re.IGNORECASE,
    )


_COMPLAINT_PATTERNS = {
    "stream_options": re.compile(r"stream_options"),
    # OpenAI's reasoning models take no value but their own.
    "temperature": re.compile(r"temperature"),
    # A prompt that is too long is no such complaint, though it may name them.
    "max_tokens": _unsupported("max_tokens"),
    "max_completion_tokens": _unsupported("max_completion_tokens"),
    "response_format": re.compile(
        r"response_format|json.?schema|grammar|structured", re.IGNORECASE
    ),
}
"""Patterns of a server's complaint about an optional field."""


class OptionalFields:
    """Optional request fields that the server refused, at most KEPT_REFUSALS; they are not sent
    again."""

    def __init__(self, *, server: str) -> None:
        self._server = server
        self._refused: deque[str] = deque(maxlen=KEPT_REFUSALS)

    def accepted(self, body: RequestBody) -> RequestBody:
        """The request without the refused fields."""
        return {
            field: value
            for field, value in body.items()
            if field not in _COMPLAINT_PATTERNS or _refusal_key(body, field) not in self._refused
        }

    def note(self, error: ModelError, body: RequestBody) -> bool:
        """Note the optional fields that the error complains about; True if there are any, so that
        the request can be sent again."""
        from spade_llm.providers.openai.errors import is_bad_request

        if not is_bad_request(error.__cause__):
            return False
        said = str(error.__cause__)
        request = self.accepted(body)
        fields = [
            name
            for name, how in _COMPLAINT_PATTERNS.items()
            if name in request and how.search(said)
        ]
        self._refused.extend(_refusal_key(body, field) for field in fields)
        for field in fields:
            logger.warning(
                "The model's server %s does not support %s; continuing without it.",
                self._server,
                field,
            )
        return bool(fields)


class OpenAIModel:
    """ChatModel of an OpenAI-compatible server. Close it with `aclose()`.

    `timeout` bounds one attempt (in a stream: the wait for the next piece), `limits.deadline_s`
    the whole call. A call is repeated after 429, 5xx, a lost connection or a timeout, but never
    once a stream has yielded text.
    """

    def __init__(
        self,
        *,
        base_url: str,
        api_key: str,
        settings: RequestBody,
        timeout: float = DEFAULT_TIMEOUT_S,
        limits: ModelLimits | None = None,
        token_limit_field: str = TOKEN_LIMIT_FIELD,
    ) -> None:
        """`settings` goes into every request: `model` and, for instance, `temperature`.
        `token_limit_field`: the server's name for the most tokens of an answer."""
        if not settings.get("model"):
            raise ConfigurationError("A provider needs the name of a model.")
        from spade_llm.providers.openai.endpoint import OpenAIEndpoint

        self._server = server_name(base_url)
        self._settings = settings
        self._token_limit_field = token_limit_field
        self._timeout_s = timeout
        self._limits = limits or ModelLimits()
        self._endpoint = OpenAIEndpoint(
            base_url=base_url, api_key=api_key, timeout_s=timeout, server=self._server
        )
        self._slots = asyncio.Semaphore(self._limits.max_concurrency)
        self._optional_fields = OptionalFields(server=self._server)

    @property
    def name(self) -> str:
        return str(self._settings["model"])

    def __repr__(self) -> str:
        return f"{type(self).__name__}(model={self.name!r}, server={self._server!r})"

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        """Close the connections; calls that still run fail with ModelUnavailable."""
        await self._endpoint.aclose()

    async def check(self, *, within_s: float) -> None:
        """Make one call without retries, and stop reading when the answer begins: it costs a
        prompt of a few tokens. Raises ModelError: the model gives no answer; `cause` says why."""
        await self._test_call().check(within_s=within_s)

    async def probe(self, *, within_s: float) -> ModelProbe:
        """Measure one call without retries, in which the model is offered a tool, and look up its
        context window in the server's list of models. Raises as `check` does."""
        return await self._test_call().probe(within_s=within_s)

    def _test_call(self) -> ModelTestCall:
        from spade_llm.providers.openai.probe import ModelTestCall

        return ModelTestCall(
            self._endpoint,
            server=self._server,
            model=self.name,
            optional_fields=self._optional_fields,
            build=self._request,
        )

    async def complete(
        self,
        messages: Sequence[ContextMessage],
        tools: Sequence[ToolSpec] = (),
        **options: Unpack[CallOptions],
    ) -> Completion:
        body = self._request(messages, tools, **options)
        attempts = self._attempts()
        async with self._slot(attempts):
            while True:
                try:
                    return await self._attempt(self._optional_fields.accepted(body), attempts)
                except ModelError as error:
                    await self._prepare_next(error, body, attempts)

    async def stream(
        self,
        messages: Sequence[ContextMessage],
        tools: Sequence[ToolSpec] = (),
        **options: Unpack[CallOptions],
    ) -> AsyncGenerator[TextDelta | Completion]:
        body = with_stream(self._request(messages, tools, **options))
        attempts = self._attempts()
        async with self._slot(attempts), aclosing(self._first_parts(body, attempts)) as parts:
            async for part in parts:
                yield part

    async def _first_parts(
        self, body: RequestBody, attempts: Attempts
    ) -> AsyncGenerator[TextDelta | Completion]:
        """Stream of the first attempt that sends a part; after that a failure is final."""
        has_begun = False
        while True:
            try:
                request = self._optional_fields.accepted(body)
                async with aclosing(self._attempt_stream(request, attempts)) as parts:
                    async for part in parts:
                        has_begun = True
                        yield part
                return
            except ModelError as error:
                if has_begun:
                    raise
                await self._prepare_next(error, body, attempts)

    async def _prepare_next(self, error: ModelError, body: RequestBody, attempts: Attempts) -> None:
        """Prepare the next attempt; raises `error` if there can be none."""
        if not self._optional_fields.note(error, body):
            await attempts.pause_after(error)

    async def _attempt(self, body: RequestBody, attempts: Attempts) -> Completion:
        from spade_llm.providers.openai.answer import AnswerAssembler

        size = self._limits.max_answer_bytes
        async with attempts.timeout(self._timeout_s):
            raw = await self._endpoint.answer(body, max_bytes=size)
        assembly = AnswerAssembler(max_bytes=size)
        assembly.add(raw)
        return assembly.completion()

    async def _attempt_stream(
        self, body: RequestBody, attempts: Attempts
    ) -> AsyncGenerator[TextDelta | Completion]:
        from spade_llm.providers.openai.answer import AnswerAssembler

        size = self._limits.max_answer_bytes
        assembly = AnswerAssembler(max_bytes=size)
        async with aclosing(self._endpoint.events(body, max_bytes=size)) as events:
            while True:
                async with attempts.timeout(self._timeout_s):
                    # Bounded per event: a long answer may take longer in all.
                    raw = await anext(events, None)
                if raw is None:
                    break
                if text := assembly.add(raw):
                    yield TextDelta(text)
        if not assembly.is_finished:
            raise ModelUnavailable(
                "The model's server closed the connection before the end of the answer."
            )
        yield assembly.completion()

    def _request(
        self,
        messages: Sequence[ContextMessage],
        tools: Sequence[ToolSpec],
        **options: Unpack[CallOptions],
    ) -> RequestBody:
        field = self._token_limit_field
        return build_request(
            messages, tools, settings=self._settings, token_limit_field=field, **options
        )

    def _attempts(self) -> Attempts:
        return Attempts(self._limits, server=self._server)

    @asynccontextmanager
    async def _slot(self, attempts: Attempts) -> AsyncIterator[None]:
        if self._slots.locked():
            async with attempts.timeout(self._limits.deadline_s):
                await self._slots.acquire()
        else:
            await self._slots.acquire()
        try:
            yield
        finally:
            self._slots.release()


def server_name(base_url: str) -> str:
    """Host and port only: a URL may hold a password."""
    try:
        url = urlsplit(base_url)
        host, port = url.hostname, url.port
    except ValueError as error:
        raise ConfigurationError(f"base_url is not a valid URL ({error}).") from None
    if url.scheme not in {"http", "https"} or not host:
        raise ConfigurationError(
            "base_url is not an http(s) address with a host; "
            "give one such as http://localhost:11434/v1."
        )
    return f"{host}:{port}" if port else host


def _refusal_key(body: RequestBody, field: str) -> str:
    """Key of a refused field and its value: another schema may be accepted."""
    return f"{field} {json.dumps(body[field], sort_keys=True)}"
