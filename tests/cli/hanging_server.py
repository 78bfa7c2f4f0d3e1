"""A model's server that takes questions and never answers."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

ASKED_S = 20.0


class HangingServer:
    def __init__(self) -> None:
        self.url = ""
        self._was_asked = asyncio.Event()
        self._closing = asyncio.Event()

    async def wait_asked(self) -> None:
        async with asyncio.timeout(ASKED_S):
            await self._was_asked.wait()

    def close(self) -> None:
        self._closing.set()

    async def take(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        if head.startswith(b"POST"):  # A list of its models is asked for at the start, too.
            self._was_asked.set()
        await self._closing.wait()
        writer.close()


@asynccontextmanager
async def hanging_server() -> AsyncIterator[HangingServer]:
    hanging = HangingServer()
    server = await asyncio.start_server(hanging.take, "127.0.0.1", 0)
    hanging.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1"
    async with server:
        yield hanging
        hanging.close()
