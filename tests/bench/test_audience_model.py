"""The model of an audience is as strict as the tests' server, and answers the same."""

from __future__ import annotations

import asyncio
import json
from contextlib import asynccontextmanager
from functools import partial
from typing import TYPE_CHECKING

import aiohttp

from bench.audience_model import Counts, ModelConnection
from tests.openai_server import running_server

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

SAID: dict[str, object] = {"model": "m", "messages": [{"role": "user", "content": "what is it?"}]}
STREAMED = {**SAID, "stream": True, "stream_options": {"include_usage": True}}
PATH = "chat/completions"


@asynccontextmanager
async def audience_model(*, delay_s: float = 0.0) -> AsyncIterator[str]:
    make = partial(ModelConnection, Counts(), delay_s)
    server = await asyncio.get_running_loop().create_server(make, "127.0.0.1", 0)
    async with server:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1"


async def answer_of(url: str, body: dict[str, object]) -> tuple[int, str]:
    async with aiohttp.ClientSession() as client, client.post(f"{url}/{PATH}", json=body) as answer:
        return answer.status, await answer.text()


async def test_it_answers_what_the_tests_server_does() -> None:
    async with audience_model() as url, running_server() as other:
        for body in (SAID, STREAMED):
            status, text = await answer_of(url, body)
            _, wanted = await answer_of(other.base_url, body)

            assert (status, text) == (200, wanted.removeprefix(": a comment, as a keep-alive\n\n"))


async def test_it_refuses_what_the_tests_server_does() -> None:
    async with audience_model() as url:
        status, text = await answer_of(url, {**SAID, "messages": []})

    assert status == 400
    assert "messages" in json.loads(text)["error"]["message"]


async def test_it_says_how_many_calls_there_were_at_once() -> None:
    async with audience_model(delay_s=0.05) as url:
        await asyncio.gather(*(answer_of(url, SAID) for _ in range(5)))
        async with aiohttp.ClientSession() as client, client.get(url) as told:
            assert await told.json() == {"calls": 5, "most_at_once": 5}
        async with aiohttp.ClientSession() as client, client.get(url) as told:
            assert await told.json() == {"calls": 0, "most_at_once": 0}
