"""Streaming responses: server-sent events, JSON lines, client disconnect."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, Coroutine, Mapping
from contextlib import AbstractAsyncContextManager, aclosing, nullcontext, suppress
from contextvars import copy_context
from typing import TYPE_CHECKING, ClassVar, TypeVar

from starlette.responses import Response

from spade_llm.core.concurrency import next_or_none
from spade_llm.gateway.errors import HttpError

if TYPE_CHECKING:
    from starlette.types import Receive, Scope, Send

T = TypeVar("T")

CLIENT_CLOSED_REQUEST = 499
"""Status in the log if the client closed the connection before the response, as in nginx."""

# A third of the silence after which the console takes a stream for dead.
KEEPALIVE_S = 15.0
EVENT_SCHEMA = {
    "type": "object",
    "description": "Fields of each event.",
    "properties": {
        "event": {"type": "string"},
        "data": {"type": "string", "description": "JSON; the last event of /v1 is [DONE]."},
    },
    "required": ["data"],
}
# nginx holds back the parts of a stream unless X-Accel-Buffering says no.
STREAM_HEADERS = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
EVENT_STREAM, JSON_LINES = "text/event-stream", "application/x-ndjson"


async def cancel_on_disconnect(receive: Receive, work: Coroutine[object, object, T]) -> T:
    """Return the result of `work`, and cancel it if the client disconnects. The body has been read.
    Raises HttpError: CLIENT_CLOSED_REQUEST."""
    task = asyncio.create_task(work)
    disconnect = asyncio.create_task(_disconnected(receive))
    try:
        await asyncio.wait((task, disconnect), return_when=asyncio.FIRST_COMPLETED)
        if task.done():
            return task.result()
        raise HttpError(CLIENT_CLOSED_REQUEST, "The client closed the connection")
    finally:
        task.cancel()
        disconnect.cancel()
        # Wait for the end of the work: its cancellation has to reach the agent first.
        await asyncio.gather(task, disconnect, return_exceptions=True)


class StreamedAnswer(Response):
    """Streaming response. `parts` is closed when the client disconnects, which cancels pending
    work; `resources` is exited when the response ends for any reason."""

    keepalive_text: ClassVar[str]
    """Keep-alive text, sent between two parts."""

    def __init__(
        self,
        parts: AsyncGenerator[str],
        *,
        resources: AbstractAsyncContextManager[object] | None = None,
        headers: Mapping[str, str] | None = None,
        keepalive_s: float = KEEPALIVE_S,
    ) -> None:
        super().__init__(headers={**STREAM_HEADERS, **(headers or {})})
        # Starlette has set it to 0, for the empty body that a Response begins with.
        del self.headers["content-length"]
        self._parts = parts
        self._resources = resources or nullcontext()
        self._keepalive_s = keepalive_s

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        # An HttpError cannot be sent: the response has begun, and the client has disconnected.
        async with self._resources:
            with suppress(HttpError, OSError):
                await cancel_on_disconnect(receive, self._write(send))

    async def _write(self, send: Send) -> None:
        start = {"status": self.status_code, "headers": self.raw_headers}
        await send({"type": "http.response.start", **start})
        async with aclosing(self._with_keepalives()) as texts:
            async for text in texts:
                part = {"body": text.encode(), "more_body": True}
                await send({"type": "http.response.body", **part})
        await send({"type": "http.response.body", "body": b"", "more_body": False})

    async def _with_keepalives(self) -> AsyncGenerator[str]:
        context = copy_context()  # Each part is made in a task of its own, as if it were one task.
        async with aclosing(self._parts):
            while True:
                next_part = asyncio.create_task(next_or_none(self._parts), context=context)
                try:
                    while not (await asyncio.wait((next_part,), timeout=self._keepalive_s))[0]:
                        yield self.keepalive_text
                finally:
                    next_part.cancel()
                    await asyncio.gather(next_part, return_exceptions=True)
                if (text := next_part.result()) is None:
                    return
                yield text


class EventStream(StreamedAnswer):
    """Server-sent events (WHATWG HTML §9.2)."""

    media_type = EVENT_STREAM
    keepalive_text = ": still at work\n\n"


class JsonLines(StreamedAnswer):
    """A JSON object per line; an empty line is a keep-alive."""

    media_type = JSON_LINES
    keepalive_text = "\n"


def sse_event(name: str, content: Mapping[str, object]) -> str:
    return f"event: {name}\n{sse_data(content)}"


def sse_data(content: Mapping[str, object]) -> str:
    """Encode an event's data on one line: JSON escapes line ends."""
    return f"data: {json_line(content)}\n"


def json_line(content: Mapping[str, object]) -> str:
    return f"{json.dumps(content, ensure_ascii=False)}\n"


async def _disconnected(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        continue
