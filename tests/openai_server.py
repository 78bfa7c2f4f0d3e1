"""A strict local server of OpenAI's chat and embeddings, with scriptable faults. Knows no client.

In a test: `async with run_server() as server: server.enqueue(Status(429)); server.base_url`.
In a process of its own, for benches: `python -m tests.openai_server --port 8001 --delay 0.2`.
"""

from __future__ import annotations

import argparse
import asyncio
import json
from collections import deque
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING

from aiohttp import web

from spade_llm.core.concurrency import run_event_loop
from spade_llm.providers.openai.probe import CHECK_MESSAGES
from tests.openai_embeddings import WordModel
from tests.openai_rules import BadRequest, check_embeddings_request, check_request

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable, Mapping

KEPT_REQUESTS = 10_000
USAGE = {"prompt_tokens": 7, "completion_tokens": 5, "total_tokens": 12}


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """A tool call in an answer."""

    name: str
    arguments: str = "{}"
    id: str | None = "call_1"
    index: int | None = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Say:
    """A good answer. Text is streamed word by word, arguments in pieces of 7 characters."""

    text: str | None = None
    calls: tuple[Call, ...] = ()
    finish_reason: str = "stop"
    has_whole_calls: bool = False
    """Stream every call in one single delta."""
    gate: asyncio.Event | None = field(default=None, compare=False)
    """A stream stops at its half until this is set."""
    word_s: float = 0.0
    """Time before each piece of a stream, as a real model takes it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Status:
    """An HTTP error."""

    status: int
    headers: Mapping[str, str] = field(default_factory=dict)
    body: str = '{"error": {"message": "scripted", "type": "server_error", "code": null}}'


@dataclass(frozen=True, slots=True)
class Raw:
    """Any bytes with any content type."""

    body: bytes
    content_type: str = "application/json"


@dataclass(frozen=True, slots=True, kw_only=True)
class Reset:
    """Send this text, or nothing at all, and then reset the connection."""

    after: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Hang:
    """Accept the request, send this text, and then nothing until the client goes away."""

    after: str = ""


Answer = Say | Status | Raw | Reset | Hang


class OpenAIServer:
    """Answers from its script; when that is over, it says what the user said last."""

    def __init__(self, *, delay_s: float = 0.0, text: str | None = None, api_key: str = "") -> None:
        self.delay_s = delay_s
        self.text = text
        self.api_key = api_key
        """Demanded as a bearer token unless empty."""
        self.models = Status(status=404)
        """The answer to whoever asks for a list of them; most servers have one."""
        self.refused_fields: set[str] = set()
        """Optional fields of a request that this server does not know."""
        self.is_check_scripted = True
        """False: the call with which an assistant checks its model at the start is answered at
        once, and neither noted nor taken from the script."""
        self.embeddings = WordModel()
        self.base_url = ""
        self.requests: deque[dict[str, object]] = deque(maxlen=KEPT_REQUESTS)
        self.was_asked = asyncio.Event()
        self.was_left = asyncio.Event()
        """A client went away from an answer that hangs."""
        self.most_at_once = 0
        self._at_once = 0
        self._script: deque[Answer] = deque()

    def enqueue(self, *answers: Answer) -> None:
        self._script.extend(answers)

    def app(self) -> web.Application:
        app = web.Application(client_max_size=16 * 1024 * 1024)
        app.router.add_post("/v1/chat/completions", partial(self._counted, self._completion))
        app.router.add_post("/v1/embeddings", partial(self._counted, self._embeddings))
        app.router.add_get("/v1/models", partial(self._counted, self._list_models))
        return app

    async def _counted(
        self,
        handle: Callable[[web.Request], Awaitable[web.StreamResponse]],
        request: web.Request,
    ) -> web.StreamResponse:
        self._at_once += 1
        self.most_at_once = max(self.most_at_once, self._at_once)
        try:
            if self.api_key and request.headers.get("Authorization") != f"Bearer {self.api_key}":
                return _error(401, f"Incorrect API key: {request.headers['Authorization']}")
            return await handle(request)
        except BadRequest as error:
            return _error(400, str(error))
        finally:
            self._at_once -= 1

    async def _completion(self, request: web.Request) -> web.StreamResponse:
        body = check_request(await request.read())
        if not self.is_check_scripted and body["messages"] == CHECK_MESSAGES:
            return await self._send(request, body, Say(text="ready"))
        await self._note(body)
        for name in sorted(self.refused_fields & body.keys()):
            raise BadRequest(f"Unrecognized request argument supplied: {name}")
        answer = self._script.popleft() if self._script else self.unscripted(body)
        return await self._send(request, body, answer)

    async def _embeddings(self, request: web.Request) -> web.StreamResponse:
        wanted = check_embeddings_request(await request.read())
        body = wanted.model_dump()
        await self._note(body)
        if self._script:
            return await self._send(request, body, self._script.popleft())
        return web.json_response(self.embeddings.answer(wanted))

    async def _list_models(self, _request: web.Request) -> web.StreamResponse:
        return _scripted(self.models)

    async def _note(self, body: dict[str, object]) -> None:
        self.requests.append(body)
        self.was_asked.set()
        if self.delay_s:
            await asyncio.sleep(self.delay_s)

    def unscripted(self, body: dict[str, object]) -> Say:
        """What is said when the script is over."""
        if self.text is not None:
            return Say(text=self.text)
        messages = body["messages"]
        assert isinstance(messages, list)
        said = [m["content"] for m in messages if m["role"] == "user"]
        return Say(text=f"You said: {said[-1] if said else ''}")

    async def _send(
        self, request: web.Request, body: dict[str, object], answer: Answer
    ) -> web.StreamResponse:
        match answer:
            case Status():
                return _scripted(answer)
            case Raw():
                return web.Response(body=answer.body, content_type=answer.content_type)
            case Hang():
                try:
                    return await _break_off(request, body, answer)
                finally:
                    self.was_left.set()
            case Reset():
                return await _break_off(request, body, answer)
            case Say() if body.get("stream"):
                return await _stream(request, body, answer)
            case Say():
                return web.json_response(completion(body, answer))


def _scripted(answer: Status) -> web.Response:
    return web.Response(
        status=answer.status,
        headers=answer.headers,
        body=answer.body.encode(),
        content_type="application/json",
    )


def _error(status: int, message: str) -> web.Response:
    error = {"message": message, "type": "invalid_request_error", "param": None, "code": None}
    return web.json_response({"error": error}, status=status)


def completion(body: dict[str, object], answer: Say) -> dict[str, object]:
    message: dict[str, object] = {"role": "assistant", "content": answer.text, "refusal": None}
    if answer.calls:
        message["tool_calls"] = [_whole_call(call) for call in answer.calls]
    reason = "tool_calls" if answer.calls else answer.finish_reason
    return {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": 1_700_000_000,
        "model": body["model"],
        "choices": [{"index": 0, "message": message, "finish_reason": reason, "logprobs": None}],
        "usage": USAGE,
    }


def _whole_call(call: Call) -> dict[str, object]:
    entry: dict[str, object] = {
        "type": "function",
        "function": {"name": call.name, "arguments": call.arguments},
    }
    return entry if call.id is None else {"id": call.id, **entry}


async def _stream(request: web.Request, body: dict[str, object], answer: Say) -> web.StreamResponse:
    response = await _open_stream(request)
    with suppress(ConnectionResetError):  # Who has left needs no more of it.
        await _write(response, body, answer)
    return response


async def _write(response: web.StreamResponse, body: dict[str, object], answer: Say) -> None:
    pieces = deltas(answer)
    for number, delta in enumerate(pieces):
        if answer.gate is not None and number == len(pieces) // 2:
            await answer.gate.wait()
        if answer.word_s:
            await asyncio.sleep(answer.word_s)
        await response.write(event(body, choices=[choice(delta)]))
    reason = "tool_calls" if answer.calls else answer.finish_reason
    await response.write(event(body, choices=[choice({}, reason)]))
    if body.get("stream_options"):
        await response.write(event(body, choices=[], usage=USAGE))
    await response.write(b"data: [DONE]\n\n")


async def _open_stream(request: web.Request) -> web.StreamResponse:
    response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
    await response.prepare(request)
    await response.write(b": a comment, as a keep-alive\n\n")
    return response


def deltas(answer: Say) -> list[dict[str, object]]:
    pieces: list[dict[str, object]] = [{"role": "assistant", "content": ""}]
    words = (answer.text or "").split(" ")
    pieces += [{"content": w if i == 0 else f" {w}"} for i, w in enumerate(words) if answer.text]
    for call in answer.calls:
        pieces += [{"tool_calls": [entry]} for entry in _call_deltas(call, answer.has_whole_calls)]
    return pieces


def _call_deltas(call: Call, is_whole: bool) -> list[dict[str, object]]:
    index: dict[str, object] = {} if call.index is None else {"index": call.index}
    whole = _whole_call(call)
    if is_whole:
        return [{**index, **whole}]
    head = {**index, **whole, "function": {"name": call.name, "arguments": ""}}
    pieces = [call.arguments[i : i + 7] for i in range(0, len(call.arguments), 7)]
    return [head, *({**index, "function": {"arguments": piece}} for piece in pieces)]


def choice(delta: dict[str, object], reason: str | None = None) -> dict[str, object]:
    return {"index": 0, "delta": delta, "finish_reason": reason, "logprobs": None}


def event(body: dict[str, object], **fields: object) -> bytes:
    head = {"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1_700_000_000}
    return b"data: " + json.dumps({**head, "model": body["model"], **fields}).encode() + b"\n\n"


async def _break_off(
    request: web.Request, body: dict[str, object], answer: Reset | Hang
) -> web.StreamResponse:
    response: web.StreamResponse = web.Response()
    if answer.after:
        response = await _open_stream(request)
        await response.write(event(body, choices=[choice({"content": answer.after})]))
    if isinstance(answer, Hang):
        await asyncio.Event().wait()
    assert request.transport is not None
    request.transport.abort()
    return response


@asynccontextmanager
async def running_server(server: OpenAIServer | None = None) -> AsyncIterator[OpenAIServer]:
    """The server on a free loopback port; hanging answers are cut off at the end."""
    server = server or OpenAIServer()
    runner = await _start(server, port=0)
    try:
        yield server
    finally:
        await runner.cleanup()


async def _start(server: OpenAIServer, *, port: int) -> web.AppRunner:
    runner = web.AppRunner(
        server.app(), access_log=None, shutdown_timeout=0.05, handler_cancellation=True
    )
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", port)
    await site.start()
    server.base_url = f"http://127.0.0.1:{runner.addresses[0][1]}/v1"
    return runner


async def _serve(arguments: argparse.Namespace) -> None:
    server = OpenAIServer(delay_s=arguments.delay, text=arguments.text)
    runner = await _start(server, port=arguments.port)
    print(f"ready {server.base_url}", flush=True)  # noqa: T201 - the parent process waits for it
    try:
        await asyncio.Event().wait()
    finally:
        await runner.cleanup()


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--port", type=int, default=0, help="0: a free one, printed at start")
    parser.add_argument("--delay", type=float, default=0.0, help="seconds before every answer")
    parser.add_argument("--text", default=None, help="always answer this")
    return parser.parse_args()


if __name__ == "__main__":
    try:
        run_event_loop(_serve(_arguments()))
    except KeyboardInterrupt:
        raise SystemExit(0) from None
