"""A model's server that takes questions and never answers."""

from __future__ import annotations

import asyncio
import re
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

ASKED_S = 20.0


class HangingServer:
    def __init__(self) -> None:
        self.url = ""
        self._asked = ""
        self._was_asked = asyncio.Event()
        self._closing = asyncio.Event()

    async def wait_asked(self, text: str) -> None:
        """Return once a request with this text has arrived: `up` tests a model first."""
        async with asyncio.timeout(ASKED_S):
            while text not in self._asked:
                self._was_asked.clear()
                await self._was_asked.wait()

    def close(self) -> None:
        self._closing.set()

    async def take(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        if length := re.search(rb"content-length: (\d+)", head.lower()):
            self._asked += (await reader.readexactly(int(length[1]))).decode()
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
