"""A command on a terminal, as when a person looks at it and types."""

from __future__ import annotations

import asyncio
import os
import pty
import re
import signal
from asyncio.subprocess import DEVNULL, Process
from contextlib import asynccontextmanager
from termios import tcsetwinsize
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Mapping, Sequence

PATIENCE_S = 30.0
MAX_SHOWN = 1_000_000
_NOT_TEXT = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]|\s|\x08")
"""Escape sequences, and what may be a movement of the cursor instead: spaces, line ends."""
_CURSOR_QUERY = b"\x1b[6n"
_CURSOR = b"\x1b[1;1R"


class OnTerminal:
    def __init__(self, process: Process, screen: int) -> None:
        self._process = process
        self._screen = screen
        self._raw = ""
        self._seen = 0
        self._changed = asyncio.Event()
        asyncio.get_running_loop().add_reader(screen, self._read)

    @property
    def text(self) -> str:
        """Everything that it has shown, without escape sequences and spaces."""
        return _NOT_TEXT.sub("", self._raw)

    async def shows(self, text: str) -> None:
        """Return once it has shown this, after what was waited for before. Spaces do not count."""
        text = _NOT_TEXT.sub("", text)
        try:
            async with asyncio.timeout(PATIENCE_S):
                while text not in self.text[self._seen :]:
                    self._changed.clear()
                    await self._changed.wait()
        except TimeoutError:
            raise AssertionError(f"{text!r} is not in {self.text[self._seen :]!r}") from None
        self._seen = self.text.index(text, self._seen) + len(text)

    def type(self, text: str) -> None:
        os.write(self._screen, text.encode())

    def ctrl_c(self) -> None:
        self._process.send_signal(signal.SIGINT)

    async def ended(self) -> int:
        """Its exit code."""
        async with asyncio.timeout(PATIENCE_S):
            return await self._process.wait()

    def _read(self) -> None:
        try:
            shown = os.read(self._screen, 65536)
        except OSError:  # the other end is closed
            asyncio.get_running_loop().remove_reader(self._screen)
            shown = b""
        # Terminals answer with the cursor's place.
        os.write(self._screen, _CURSOR * shown.count(_CURSOR_QUERY))
        self._raw = (self._raw + shown.decode(errors="replace"))[-MAX_SHOWN:]
        self._changed.set()


@asynccontextmanager
async def on_terminal(
    command: Sequence[str], environment: Mapping[str, str], *, is_typed: bool = False
) -> AsyncIterator[OnTerminal]:
    """`is_typed`: its input and output are the terminal too, not only its standard error."""
    screen, end = pty.openpty()
    tcsetwinsize(end, (40, 100))
    process = await asyncio.create_subprocess_exec(
        *command,
        stdin=end if is_typed else DEVNULL,
        stdout=end if is_typed else DEVNULL,
        stderr=end,
        env={**environment, "TERM": "xterm"},
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
