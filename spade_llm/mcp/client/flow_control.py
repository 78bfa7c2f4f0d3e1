"""Flow control of a server: bounded lines, rate limit (token bucket), write timeout."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator, Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

import anyio
from mcp_types import JSONRPCRequest

from spade_llm.core.limits import Rate, TokenBucket

if TYPE_CHECKING:
    from asyncio import StreamReader

    from mcp.client._transport import ReadStream, WriteStream
    from mcp.shared.message import SessionMessage

CHUNK_BYTES = 64 * 1024
MAX_LINE_BYTES = 4 * 1024 * 1024
"""Maximum size of a message in bytes. A longer one is discarded while it arrives, except for its
first HEAD_BYTES."""
HEAD_BYTES = 512

MAX_WAITING_WRITES = 256
"""Maximum number of pending writes to the server; above it, its own requests are dropped."""
WRITE_TIMEOUT_S = 10.0
BYTES_PER_UNIT = 16 * 1024
BURST_UNITS = 1000
UNITS_PER_S = 200
"""A message is one unit, and so are 16 KB: 200 small messages or 3 MB per second, sustained."""
UNITS_PER_REQUEST = 20
"""Units added to the budget by each of our requests."""


@dataclass(frozen=True, slots=True)
class LineTooLong:
    head: bytes


async def bounded_lines(
    stream: StreamReader, budget: TrafficBudget
) -> AsyncGenerator[bytes | LineTooLong]:
    cutter = LineSplitter()
    while chunk := await stream.read(CHUNK_BYTES):
        await budget.spend_bytes(len(chunk))
        for line in cutter.feed(chunk):
            yield line


class LineSplitter:
    """Splits chunks into lines; holds at most MAX_LINE_BYTES and a chunk."""

    def __init__(self, max_bytes: int = MAX_LINE_BYTES) -> None:
        self._max_bytes = max_bytes
        self._parts: list[bytes] = []
        self._size = 0

    def feed(self, chunk: bytes) -> list[bytes | LineTooLong]:
        *ended, rest = chunk.split(b"\n")
        lines = [self._finished(part) for part in ended]
        self._keep(rest)
        return lines

    def _finished(self, part: bytes) -> bytes | LineTooLong:
        self._keep(part)
        line: bytes | LineTooLong = b"".join(self._parts)
        if self._size > self._max_bytes:
            line = LineTooLong(self._parts[0])
        self._parts, self._size = [], 0
        return line

    def _keep(self, part: bytes) -> None:
        self._size += len(part)
        if self._size <= self._max_bytes:
            self._parts.append(part)
        else:
            # The head is kept because the id of the lost answer is usually in it.
            self._parts = [b"".join([*self._parts, part])[:HEAD_BYTES]]


class TrafficBudget:
    """Rate limit of what a server may send unasked (token bucket): beyond it, reading waits, and
    with it the server's pipe or socket."""

    def __init__(self, *, now: Callable[[], float] = time.monotonic) -> None:
        self._now = now
        self._bucket = TokenBucket(Rate(per_s=UNITS_PER_S, burst=BURST_UNITS), now())

    def refill(self) -> None:
        """Refill for one of our requests."""
        self._bucket.refund(UNITS_PER_REQUEST)

    async def spend_message(self) -> None:
        await self._spend(1)

    async def spend_bytes(self, count: int) -> None:
        await self._spend(count / BYTES_PER_UNIT)

    def borrow(self, units: float) -> float:
        """Take the units, and return the seconds to wait for them."""
        now_s = self._now()
        self._bucket.borrow(now_s, tokens=units)
        return self._bucket.wait_s(now_s, tokens=0)

    async def _spend(self, units: float) -> None:
        wait_s = self.borrow(units)
        if wait_s:
            await asyncio.sleep(wait_s)


class FlowControl:
    """Bounded streams of a session; `ended` is set when the connection is lost."""

    def __init__(
        self,
        read_stream: ReadStream[SessionMessage | Exception],
        write_stream: WriteStream[SessionMessage],
        budget: TrafficBudget,
    ) -> None:
        self.ended = asyncio.Event()
        self.inbound = InboundStream(read_stream, self, budget)
        self.outbound = OutboundStream(write_stream, self, budget)
        self.waiting_writes = 0


class InboundStream:
    """Messages from the server, rate-limited (the SDK's ReadStream)."""

    def __init__(
        self,
        stream: ReadStream[SessionMessage | Exception],
        flow_control: FlowControl,
        budget: TrafficBudget,
    ) -> None:
        self._stream = stream
        self._flow_control = flow_control
        self._budget = budget

    async def receive(self) -> SessionMessage | Exception:
        while True:
            # Before it is taken: a flood waits in the server's own pipe or socket.
            await self._budget.spend_message()
            try:
                item = await self._stream.receive()
            except (anyio.EndOfStream, anyio.ClosedResourceError, anyio.BrokenResourceError):
                self._flow_control.ended.set()
                raise anyio.EndOfStream from None
            if isinstance(item, Exception):
                continue  # Not a message: the transport has counted it.
            is_request = isinstance(item.message, JSONRPCRequest)
            # Drop requests of a server that does not read our answers fast enough.
            if not (is_request and self._flow_control.waiting_writes >= MAX_WAITING_WRITES):
                return item

    async def aclose(self) -> None:
        await self._stream.aclose()

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> SessionMessage | Exception:
        try:
            return await self.receive()
        except anyio.EndOfStream:
            raise StopAsyncIteration from None

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()


class OutboundStream:
    """Messages to the server, with a write timeout (the SDK's WriteStream)."""

    def __init__(
        self, stream: WriteStream[SessionMessage], gate: FlowControl, budget: TrafficBudget
    ) -> None:
        self._stream = stream
        self._gate = gate
        self._budget = budget

    async def send(self, item: SessionMessage, /) -> None:
        """Raises BrokenResourceError, which the SDK takes for a lost connection."""
        # The answer to it is not unasked, so it must not be paid from the budget alone.
        if isinstance(item.message, JSONRPCRequest):
            self._budget.refill()
        self._gate.waiting_writes += 1
        try:
            async with asyncio.timeout(WRITE_TIMEOUT_S):
                await self._stream.send(item)
        except TimeoutError:
            self._gate.ended.set()
            raise anyio.BrokenResourceError from None
        finally:
            self._gate.waiting_writes -= 1

    async def aclose(self) -> None:
        await self._stream.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()
