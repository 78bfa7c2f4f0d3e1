"""Cuts a byte stream into lines of bounded length. Knows no protocol."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from asyncio import StreamReader
    from collections.abc import AsyncGenerator

    from spade_llm.tools.mcp.gate import TrafficBudget

CHUNK_BYTES = 64 * 1024
MAX_LINE_BYTES = 4 * 1024 * 1024
"""Of one message. What is longer is thrown away as it comes, all but its beginning."""
HEAD_BYTES = 512


@dataclass(frozen=True, slots=True)
class TooLong:
    head: bytes


async def lines_of(stream: StreamReader, budget: TrafficBudget) -> AsyncGenerator[bytes | TooLong]:
    cutter = LineCutter()
    while chunk := await stream.read(CHUNK_BYTES):
        await budget.spend_bytes(len(chunk))
        for line in cutter.feed(chunk):
            yield line


class LineCutter:
    """Holds at most MAX_LINE_BYTES and a chunk."""

    def __init__(self, max_bytes: int = MAX_LINE_BYTES) -> None:
        self._max_bytes = max_bytes
        self._parts: list[bytes] = []
        self._size = 0

    def feed(self, chunk: bytes) -> list[bytes | TooLong]:
        *ended, rest = chunk.split(b"\n")
        lines = [self._finished(part) for part in ended]
        self._keep(rest)
        return lines

    def _finished(self, part: bytes) -> bytes | TooLong:
        self._keep(part)
        line: bytes | TooLong = b"".join(self._parts)
        if self._size > self._max_bytes:
            line = TooLong(self._parts[0])
        self._parts, self._size = [], 0
        return line

    def _keep(self, part: bytes) -> None:
        self._size += len(part)
        if self._size <= self._max_bytes:
            self._parts.append(part)
        else:
            self._parts = [b"".join([*self._parts, part])[:HEAD_BYTES]]
