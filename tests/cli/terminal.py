"""A command whose standard error is a terminal, as when a person looks at it."""

from __future__ import annotations

import asyncio
import os
import pty
import signal
from asyncio.subprocess import DEVNULL, Process
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Mapping, Sequence

PATIENCE_S = 30.0
MAX_SHOWN = 1_000_000


class OnTerminal:
    def __init__(self, process: Process, screen: int) -> None:
        self._process = process
        self._screen = screen
        self._text = ""
        self._changed = asyncio.Event()
        asyncio.get_running_loop().add_reader(screen, self._read)

    async def shows(self, text: str) -> None:
        """Return once it has shown this."""
        async with asyncio.timeout(PATIENCE_S):
            while text not in self._text:
                self._changed.clear()
                await self._changed.wait()

    def ctrl_c(self) -> None:
        self._process.send_signal(signal.SIGINT)

    async def ended(self) -> int:
        """Its exit code."""
        async with asyncio.timeout(PATIENCE_S):
            return await self._process.wait()

    def _read(self) -> None:
        try:
            self._text = (self._text + os.read(self._screen, 65536).decode())[-MAX_SHOWN:]
        except OSError:  # the other end is closed
            asyncio.get_running_loop().remove_reader(self._screen)
        self._changed.set()


@asynccontextmanager
async def on_terminal(
    command: Sequence[str], environment: Mapping[str, str]
) -> AsyncIterator[OnTerminal]:
    screen, end = pty.openpty()
    process = await asyncio.create_subprocess_exec(
        *command, stdin=DEVNULL, stdout=DEVNULL, stderr=end, env=environment
    )
    os.close(end)
    try:
        yield OnTerminal(process, screen)
    finally:
        asyncio.get_running_loop().remove_reader(screen)
        if process.returncode is None:
            process.kill()
            await process.wait()
        os.close(screen)
