"""The least that answers /llm/chat with a model, also as it grows: FastAPI and the openai SDK."""

import json
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from fastapi import FastAPI
from fastapi.responses import StreamingResponse
from openai import AsyncOpenAI

from bench.account import Part
from bench.web import Chat
from spade_llm.gateway.http_server import GatewayHttpServer

if TYPE_CHECKING:
    from collections.abc import AsyncIterator


@asynccontextmanager
async def serving(part: Part) -> "AsyncIterator[None]":
    app = FastAPI()

    @app.get("/health")
    async def health() -> dict[str, str]:
        return {"status": "healthy"}

    @app.post("/llm/chat")
    async def answer(chat: Chat) -> dict[str, str]:
        completion = await model.chat.completions.create(
            model="bench", messages=[{"role": "user", "content": chat.messages[-1].content}]
        )
        return {"response": completion.choices[0].message.content or ""}

    @app.post("/llm/chat/stream")
    async def stream(chat: Chat) -> StreamingResponse:
        return StreamingResponse(events(chat), media_type="text/event-stream")

    async def events(chat: Chat) -> "AsyncIterator[str]":
        said = ""
        growing = await model.chat.completions.create(
            model="bench",
            messages=[{"role": "user", "content": chat.messages[-1].content}],
            stream=True,
        )
        async for chunk in growing:
            for choice in chunk.choices:
                said += choice.delta.content or ""
                yield _event("delta", {"text": choice.delta.content or ""})
        yield _event("done", {"response": said})

    async with (
        AsyncOpenAI(base_url=part.model_url, api_key="none") as model,
        GatewayHttpServer(app, "127.0.0.1", part.http_port),
    ):
        yield


def _event(name: str, content: dict[str, str]) -> str:
    return f"event: {name}\ndata: {json.dumps(content)}\n\n"
