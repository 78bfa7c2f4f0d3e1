"""A TCP line between an agent and its server that can be cut, held and slowed. Knows no XMPP."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager, suppress
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

CHUNK = 64 * 1024


class Line:
    """Every connection that goes through one port."""

    def __init__(self, host: str, port: int) -> None:
        self._target = (host, port)
        self._writers: set[asyncio.StreamWriter] = set()
        self._is_flowing = asyncio.Event()
        self._is_flowing.set()
        self.holds_something = asyncio.Event()
        self.lag_s = 0.0
        """Waited before each piece that arrives is passed on."""
        self.port = 0

    def cut(self) -> None:
        """End every connection at once, without a word and without what was on its way."""
        for writer in tuple(self._writers):
            writer.transport.abort()

    def hold(self) -> None:
        """Nothing arrives any more, and nobody is told."""
        self.holds_something.clear()
        self._is_flowing.clear()

    def let_go(self) -> None:
        self._is_flowing.set()

    async def connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._writers.add(writer)
        with suppress(OSError):
            back, forth = await asyncio.open_connection(*self._target)
            self._writers.add(forth)
            await asyncio.gather(self._pump(reader, forth), self._pump(back, writer))
            self._writers.discard(forth)
        writer.close()
        self._writers.discard(writer)

    async def _pump(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(OSError):
            while data := await reader.read(CHUNK):
                if not self._is_flowing.is_set():
                    self.holds_something.set()
                    await self._is_flowing.wait()
                if self.lag_s:
                    await asyncio.sleep(self.lag_s)
                writer.write(data)
                await writer.drain()
        writer.close()


@asynccontextmanager
async def line_to(host: str, port: int) -> AsyncIterator[Line]:
    line = Line(host, port)
    server = await asyncio.start_server(line.connected, "127.0.0.1", 0)
    line.port = server.sockets[0].getsockname()[1]
    try:
        yield line
    finally:
        server.close()
        line.let_go()
        line.cut()
        await server.wait_closed()
