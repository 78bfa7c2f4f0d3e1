"""The least that answers /llm/chat with a model: FastAPI and the openai SDK."""

from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from fastapi import FastAPI
from openai import AsyncOpenAI

from bench.account import Part
from bench.web import Chat
from spade_llm.gateway.server import HttpServer

if TYPE_CHECKING:
    from collections.abc import AsyncIterator


@asynccontextmanager
async def serving(part: Part) -> "AsyncIterator[None]":
    app = FastAPI()

    @app.post("/llm/chat")
    async def answer(chat: Chat) -> dict[str, str]:
        completion = await model.chat.completions.create(
            model="bench", messages=[{"role": "user", "content": chat.messages[-1].content}]
        )
        return {"response": completion.choices[0].message.content or ""}

    async with (
        AsyncOpenAI(base_url=part.model_url, api_key="none") as model,
        HttpServer(app, "127.0.0.1", part.http_port),
    ):
        yield
