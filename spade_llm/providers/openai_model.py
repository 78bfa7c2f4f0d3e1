"""OpenAIModel: any model behind an OpenAI-compatible server; deadlines and repeated attempts.

Knows nothing of HTTP: `openai_endpoint.py` does, and the openai SDK is imported only when a
provider is made.
"""

from __future__ import annotations

import asyncio
from contextlib import aclosing, asynccontextmanager
from typing import TYPE_CHECKING, Self
from urllib.parse import urlsplit

from spade_llm.errors import ConfigurationError, ModelDenied, ModelError, ModelUnavailable
from spade_llm.providers.attempts import Attempts
from spade_llm.providers.model import TextDelta
from spade_llm.providers.openai_extras import Extras
from spade_llm.providers.openai_request import BOUND, build_request, with_stream
from spade_llm.providers.retry import ModelLimits

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, AsyncIterator, Mapping, Sequence

    from spade_llm.providers.messages import ContextMessage
    from spade_llm.providers.model import Completion, Sampling, ToolSpec
    from spade_llm.providers.openai_request import RequestBody

OPENAI_URL = "https://api.openai.com/v1"
NO_KEY = "not-needed"
"""What local servers get as their key: the SDK insists on one, they ignore it."""
DEFAULT_TIMEOUT_S = 60.0


class OpenAIModel:
    """A ChatModel. Close it with `aclose()`. LLMProvider makes them by their makers' names.

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
        bound: str = BOUND,
    ) -> None:
        """`settings` goes into every request: `model` and, for instance, `temperature`.
        `bound`: the server's name for the most tokens of an answer."""
        if not settings.get("model"):
            raise ConfigurationError("A provider needs the name of a model.")
        from spade_llm.providers.openai_endpoint import OpenAIEndpoint

        self._server = server_of(base_url)
        self._settings = settings
        self._bound = bound
        self._timeout_s = timeout
        self._limits = limits or ModelLimits()
        self._endpoint = OpenAIEndpoint(
            base_url=base_url, api_key=api_key, timeout_s=timeout, server=self._server
        )
        self._places = asyncio.Semaphore(self._limits.max_concurrency)
        self._extras = Extras(server=self._server)

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
        """Ask the server for its models, which costs no tokens.

        Raises:
            ModelError: it is away, does not accept the key, or does not list this model.
        """
        try:
            async with asyncio.timeout(within_s):
                known = await self._endpoint.models(model=self.name)
        except TimeoutError:
            raise ModelUnavailable(f"{self._server} did not answer in {within_s:g} s.") from None
        names = {*known, *(one.partition(":")[0] for one in known)}  # Ollama: name:tag
        if known and self.name not in names:
            raise ModelDenied(f"{self._server} does not list the model {self.name!r}; check it.")

    async def complete(
        self,
        messages: Sequence[ContextMessage],
        tools: Sequence[ToolSpec] = (),
        *,
        tool_choice: str = "auto",
        response_schema: Mapping[str, object] | None = None,
        sampling: Sampling | None = None,
    ) -> Completion:
        body = self._request(messages, tools, tool_choice, response_schema, sampling)
        attempts = self._attempts()
        async with self._place(attempts):
            while True:
                try:
                    return await self._attempt(self._extras.accepted(body), attempts)
                except ModelError as error:
                    await self._prepare_next(error, body, attempts)

    async def stream(
        self,
        messages: Sequence[ContextMessage],
        tools: Sequence[ToolSpec] = (),
        *,
        tool_choice: str = "auto",
        response_schema: Mapping[str, object] | None = None,
        sampling: Sampling | None = None,
    ) -> AsyncGenerator[TextDelta | Completion]:
        body = with_stream(self._request(messages, tools, tool_choice, response_schema, sampling))
        attempts = self._attempts()
        async with (
            self._place(attempts),
            aclosing(self._first_parts(body, attempts)) as parts,
        ):
            async for part in parts:
                yield part

    async def _first_parts(
        self, body: RequestBody, attempts: Attempts
    ) -> AsyncGenerator[TextDelta | Completion]:
        """Attempts, until one has begun to speak: from there on a failure is final."""
        has_begun = False
        while True:
            try:
                request = self._extras.accepted(body)
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
        """Before the next attempt; raises `error` if there can be none."""
        if not self._extras.note(error, body):
            await attempts.pause_after(error)

    async def _attempt(self, body: RequestBody, attempts: Attempts) -> Completion:
        from spade_llm.providers.openai_answer import Assembly

        size = self._limits.max_answer_bytes
        async with attempts.within(self._timeout_s):
            raw = await self._endpoint.answer(body, max_bytes=size)
        assembly = Assembly(max_bytes=size)
        assembly.add(raw)
        return assembly.completion()

    async def _attempt_stream(
        self, body: RequestBody, attempts: Attempts
    ) -> AsyncGenerator[TextDelta | Completion]:
        from spade_llm.providers.openai_answer import Assembly

        size = self._limits.max_answer_bytes
        assembly = Assembly(max_bytes=size)
        async with aclosing(self._endpoint.events(body, max_bytes=size)) as events:
            while True:
                async with attempts.within(self._timeout_s):
                    raw = await anext(events, None)
                if raw is None:
                    break
                if text := assembly.add(raw):
                    yield TextDelta(text)
        if not assembly.is_finished:
            raise ModelUnavailable("The model's server ended its answer too early.")
        yield assembly.completion()

    def _request(
        self,
        messages: Sequence[ContextMessage],
        tools: Sequence[ToolSpec],
        tool_choice: str,
        response_schema: Mapping[str, object] | None,
        sampling: Sampling | None,
    ) -> RequestBody:
        return build_request(
            messages,
            tools,
            settings=self._settings,
            tool_choice=tool_choice,
            response_schema=response_schema,
            sampling=sampling,
            bound=self._bound,
        )

    def _attempts(self) -> Attempts:
        return Attempts(self._limits, server=self._server)

    @asynccontextmanager
    async def _place(self, attempts: Attempts) -> AsyncIterator[None]:
        await self._take_place(attempts)
        try:
            yield
        finally:
            self._places.release()

    async def _take_place(self, attempts: Attempts) -> None:
        if self._places.locked():
            async with attempts.within(self._limits.deadline_s):
                await self._places.acquire()
        else:
            await self._places.acquire()


def server_of(base_url: str) -> str:
    """Host and port only: a URL may hold a password."""
    try:
        url = urlsplit(base_url)
        host, port = url.hostname, url.port
    except ValueError as error:
        raise ConfigurationError(f"base_url is not an address ({error}).") from None
    if url.scheme not in {"http", "https"} or not host:
        raise ConfigurationError(
            f"base_url {url.scheme}://{host or ''} is not an http(s) address; "
            "give one such as http://localhost:11434/v1."
        )
    return f"{host}:{port}" if port else host
