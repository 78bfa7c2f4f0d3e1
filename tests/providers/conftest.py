"""The local model server, and providers that talk to it."""

from __future__ import annotations

from contextlib import AsyncExitStack
from typing import TYPE_CHECKING, Protocol

import pytest

from spade_llm.providers import LLMProvider
from spade_llm.providers.retry import ModelLimits
from tests.openai_server import OpenAIServer, running_server

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

QUICK = ModelLimits(deadline_s=4.0, first_pause_s=0.01, longest_pause_s=0.05)
API_KEY = "sk-secret-of-the-tests"


class Connect(Protocol):
    def __call__(
        self, *, limits: ModelLimits = QUICK, timeout: float = 4.0, max_tokens: int | None = None
    ) -> LLMProvider: ...


@pytest.fixture
async def server() -> AsyncIterator[OpenAIServer]:
    async with running_server(OpenAIServer(api_key=API_KEY)) as running:
        yield running


@pytest.fixture
async def connect(server: OpenAIServer) -> AsyncIterator[Connect]:
    """Makes providers, and closes them at the end."""
    async with AsyncExitStack() as stack:

        def make(
            *, limits: ModelLimits = QUICK, timeout: float = 4.0, max_tokens: int | None = None
        ) -> LLMProvider:
            provider = LLMProvider.create_openai(
                API_KEY,
                "test-model",
                base_url=server.base_url,
                timeout=timeout,
                max_tokens=max_tokens,
                limits=limits,
            )
            stack.push_async_callback(provider.aclose)
            return provider

        yield make


@pytest.fixture
def provider(connect: Connect) -> LLMProvider:
    return connect()
