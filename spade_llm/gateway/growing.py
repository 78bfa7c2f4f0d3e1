"""Answers that are written while they are made: server-sent events and lines of JSON.

Signs of life in between keep proxies and clients from taking silence for an end.
"""

from __future__ import annotations

import asyncio
import json
from contextlib import aclosing, nullcontext, suppress
from contextvars import copy_context
from typing import TYPE_CHECKING, ClassVar

from starlette.responses import Response

from spade_llm.gateway.errors import HttpError
from spade_llm.gateway.leaving import while_there

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Mapping
    from contextlib import AbstractAsyncContextManager

    from starlette.types import Receive, Scope, Send

BEAT_S = 15.0
EVENT_SCHEMA = {
    "type": "object",
    "description": "Of each event.",
    "properties": {
        "event": {"type": "string"},
        "data": {"type": "string", "description": "JSON; the last of OpenAI's is [DONE]."},
    },
    "required": ["data"],
}
HEADERS = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
EVENT_STREAM, JSON_LINES = "text/event-stream", "application/x-ndjson"


class GrowingAnswer(Response):
    """`parts` is closed when the client leaves, and with it what it waits for; `within` is left at
    its end, whatever that was."""

    beat: ClassVar[str]
    """What may stand between any two parts."""

    def __init__(
        self,
        parts: AsyncGenerator[str],
        *,
        within: AbstractAsyncContextManager[object] | None = None,
        headers: Mapping[str, str] | None = None,
        beat_s: float = BEAT_S,
    ) -> None:
        super().__init__(headers={**HEADERS, **(headers or {})})
        del self.headers["content-length"]
        self._parts = parts
        self._within = within or nullcontext()
        self._beat_s = beat_s

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        # An HttpError here finds nobody: the answer has begun, and its reader has left.
        async with self._within:
            with suppress(HttpError, OSError):
                await while_there(receive, self._write(send))

    async def _write(self, send: Send) -> None:
        start = {"status": self.status_code, "headers": self.raw_headers}
        await send({"type": "http.response.start", **start})
        async with aclosing(self._with_beats()) as texts:
            async for text in texts:
                part = {"body": text.encode(), "more_body": True}
                await send({"type": "http.response.body", **part})
        await send({"type": "http.response.body", "body": b"", "more_body": False})

    async def _with_beats(self) -> AsyncGenerator[str]:
        context = copy_context()  # Each part is made in a task of its own, as if it were one task.
        async with aclosing(self._parts):
            while True:
                coming = asyncio.create_task(_next(self._parts), context=context)
                try:
                    while not (await asyncio.wait((coming,), timeout=self._beat_s))[0]:
                        yield self.beat
                finally:
                    coming.cancel()
                    await asyncio.gather(coming, return_exceptions=True)
                if (text := coming.result()) is None:
                    return
                yield text


class EventStream(GrowingAnswer):
    """Server-sent events (WHATWG HTML §9.2)."""

    media_type = EVENT_STREAM
    beat = ": still at work\n\n"


class JsonLines(GrowingAnswer):
    """An object on each line; an empty line is a sign of life."""

    media_type = JSON_LINES
    beat = "\n"


async def _next(parts: AsyncGenerator[str]) -> str | None:
    return await anext(parts, None)


def event(name: str, content: Mapping[str, object]) -> str:
    return f"event: {name}\n{data(content)}"


def data(content: Mapping[str, object]) -> str:
    """On one line: JSON escapes what would end it."""
    return f"data: {json_line(content)}\n"


def json_line(content: Mapping[str, object]) -> str:
    return f"{json.dumps(content, ensure_ascii=False)}\n"
