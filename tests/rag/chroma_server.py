"""A real `chroma run` in a private directory, that can be stopped and started again."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import sys
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from types import TracebackType
    from typing import Self

READY = b"listening on address"
START_S = 30.0


class ChromaServer:
    """An async context manager; on loopback only, always at the same port."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._port = _free_port()
        self._process: asyncio.subprocess.Process | None = None
        self._listening: asyncio.Task[bytes] | None = None

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._port}"

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await self.stop()

    async def start(self) -> None:
        self._directory.mkdir(exist_ok=True)
        self._process = await asyncio.create_subprocess_exec(
            str(Path(sys.executable).with_name("chroma")),
            *("run", "--path", str(self._directory)),
            *("--host", "127.0.0.1", "--port", str(self._port)),
            env={**os.environ, "ANONYMIZED_TELEMETRY": "False"},
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
        )
        assert self._process.stdout is not None
        async with asyncio.timeout(START_S):
            while READY not in (line := await self._process.stdout.readline()):
                assert line, "chroma run ended"
        # It stops where nobody reads what it says.
        self._listening = asyncio.create_task(self._process.stdout.read())

    async def stop(self) -> None:
        if self._process is not None:
            self._process.kill()
            await self._process.wait()
            self._process = None
        if self._listening is not None:
            await self._listening

    def freeze(self) -> None:
        """It accepts connections, and answers nothing."""
        assert self._process is not None
        self._process.send_signal(signal.SIGSTOP)

    def thaw(self) -> None:
        assert self._process is not None
        self._process.send_signal(signal.SIGCONT)


def _free_port() -> int:
    with closing(socket.socket()) as listening:
        listening.bind(("127.0.0.1", 0))
        return int(listening.getsockname()[1])
