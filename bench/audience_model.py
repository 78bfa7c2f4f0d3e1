"""A model's server for an audience: OpenAI's protocol, an answer after a delay, and little else.

`python -m bench.audience_model --delay 0.2`. Checks every request as tests/openai_server.py does,
and answers the same bytes, at a third of its processor time: it is not what is measured.
`GET` of anything says how many calls there were, and how many at once at the most, since the last.
"""

from __future__ import annotations

import argparse
import asyncio
import json
from functools import partial
from typing import TYPE_CHECKING, cast

from spade_llm.core.concurrency import run_event_loop
from tests.openai_rules import BadRequest, check_request
from tests.openai_server import USAGE, Say, choice, completion, deltas, event

if TYPE_CHECKING:
    from collections.abc import Iterator

HEAD_ENDS = b"\r\n\r\n"
LENGTH = b"content-length:"


class Counts:
    """Of all connections."""

    def __init__(self) -> None:
        self.now = self.calls = self.most = 0

    def begin(self) -> None:
        self.now += 1
        self.calls += 1
        self.most = max(self.most, self.now)

    def report(self) -> bytes:
        told = json.dumps({"calls": self.calls, "most_at_once": self.most}).encode()
        self.calls, self.most = 0, self.now
        return told


class ModelConnection(asyncio.Protocol):
    """One request after the other, each with a Content-Length, as every client of JSON sends it."""

    def __init__(self, counts: Counts, delay_s: float) -> None:
        self._counts = counts
        self._delay_s = delay_s
        self._buffer = b""
        self._transport: asyncio.Transport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        # uvloop's transports are no subclasses, and have all that one has.
        self._transport = cast("asyncio.Transport", transport)

    def data_received(self, data: bytes) -> None:
        self._buffer += data
        head, is_whole, rest = self._buffer.partition(HEAD_ENDS)
        length = _length(head)
        if is_whole and len(rest) >= length:
            self._buffer = rest[length:]
            self._take(head, rest[:length])

    def _take(self, head: bytes, body: bytes) -> None:
        if head.startswith(b"GET"):
            self._answer(200, self._counts.report())
            return
        try:
            answer = _answer(check_request(body))
        except BadRequest as error:
            self._answer(400, json.dumps({"error": {"message": str(error)}}).encode())
            return
        self._counts.begin()
        asyncio.get_running_loop().call_later(self._delay_s, self._end, answer)

    def _end(self, answer: bytes) -> None:
        self._counts.now -= 1
        self._write(answer)

    def _answer(self, status: int, body: bytes) -> None:
        self._write(_HEAD % (status, len(body)) + body)

    def _write(self, answer: bytes) -> None:
        assert self._transport is not None
        if not self._transport.is_closing():
            self._transport.write(answer)


_HEAD = (
    b"HTTP/1.1 %d X\r\nContent-Type: application/json; charset=utf-8\r\nContent-Length: %d\r\n\r\n"
)
_STREAM_HEAD = (
    b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
)


def _length(head: bytes) -> int:
    for line in head.split(b"\r\n"):
        if line.lower().startswith(LENGTH):
            return int(line[len(LENGTH) :])
    return 0


def _answer(body: dict[str, object]) -> bytes:
    """The whole response."""
    messages = body["messages"]
    assert isinstance(messages, list)
    said = [one["content"] for one in messages if one["role"] == "user"]
    answer = Say(text=f"You said: {said[-1] if said else ''}")
    if body.get("stream"):
        return _STREAM_HEAD + b"".join(map(_chunk, _events(body, answer))) + _chunk(b"")
    whole = json.dumps(completion(body, answer)).encode()
    return _HEAD % (200, len(whole)) + whole


def _events(body: dict[str, object], answer: Say) -> Iterator[bytes]:
    for delta in deltas(answer):
        yield event(body, choices=[choice(delta)])
    yield event(body, choices=[choice({}, answer.finish_reason)])
    if body.get("stream_options"):
        yield event(body, choices=[], usage=USAGE)
    yield b"data: [DONE]\n\n"


def _chunk(data: bytes) -> bytes:
    return b"%x\r\n%b\r\n" % (len(data), data)


async def main(delay_s: float) -> None:
    make = partial(ModelConnection, Counts(), delay_s)
    server = await asyncio.get_running_loop().create_server(make, "127.0.0.1", 0, backlog=1024)
    async with server:
        print(f"ready http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1", flush=True)
        await server.serve_forever()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--delay", type=float, default=0.0, help="seconds before every answer")
    try:
        run_event_loop(main(parser.parse_args().delay))
    except KeyboardInterrupt:
        raise SystemExit(0) from None
