"""A server program as our child, behind its guard. Knows pipes, no protocol."""

from __future__ import annotations

import asyncio
import logging
import os
import subprocess
import sys
from collections import deque
from typing import TYPE_CHECKING

from spade_llm.tools.mcp import guard
from spade_llm.tools.mcp.cleaning import masked, one_line

if TYPE_CHECKING:
    from collections.abc import Mapping

    from spade_llm.tools.mcp.server import McpServer, StdioServer

_log = logging.getLogger(__name__)

POLITE_S = 2.0
"""How long the program may take to end after its standard input has."""
FIRM_S = 3 * guard.GRACE_S + 2
LAST_WORDS_S = 0.5
PAUSE_S = 0.01
MAX_LINE_CHARS = 500
LINES_PER_MINUTE = 60
"""Of its standard error that reach our log; the rest is counted."""
TAIL_LINES = 5
PIPE_BYTES = 256 * 1024


class Child:
    def __init__(self, process: asyncio.subprocess.Process, lifeline: int, server: McpServer):
        assert process.stdin and process.stdout and process.stderr  # All three are PIPE below.
        self.stdin, self.stdout = process.stdin, process.stdout
        self._process = process
        self._lifeline = lifeline
        self._server = server
        self._tail: deque[str] = deque(maxlen=TAIL_LINES)
        self._errors = asyncio.create_task(self._log_errors(process.stderr))

    @property
    def pid(self) -> int:
        """The guard's."""
        return self._process.pid

    async def obituary(self) -> str:
        """How it ended, once its output has; said to peers, so its own words are for our log."""
        await self._wait(POLITE_S)
        await asyncio.wait([self._errors], timeout=LAST_WORDS_S)
        if self._tail:
            last = " | ".join(self._tail)
            _log.info("MCP server %s said last: %s", self._server.name, last)
        status = self._process.returncode
        if status == guard.CANNOT_RUN:
            return "its program cannot be run"
        return "it closed its output" if status is None else f"it ended with status {status}"

    async def stop(self) -> None:
        """End it: by the end of its input, then, with all that it has started, by its guard."""
        self.stdin.close()
        await self._wait(POLITE_S)
        os.close(self._lifeline)
        await self._wait(FIRM_S)
        if self._process.returncode is None:
            self._process.kill()
        self._errors.cancel()
        await asyncio.wait([self._errors])
        self._close_pipes()

    async def _wait(self, timeout_s: float) -> None:
        # Not `wait`: since Python 3.11 it waits for the ends of the pipes too, which a full one
        # or somebody who holds it keeps from coming.
        for _ in range(round(timeout_s / PAUSE_S)):
            if self._process.returncode is not None:
                return
            await asyncio.sleep(PAUSE_S)

    def _close_pipes(self) -> None:
        """A program that left its group may hold them: ours are closed all the same."""
        # asyncio 3.11 offers no other way; without it the transport warns when it is collected.
        transport = getattr(self._process, "_transport", None)
        if isinstance(transport, asyncio.SubprocessTransport):
            transport.close()

    async def _log_errors(self, stream: asyncio.StreamReader) -> None:
        """What it says on standard error, for our log: short lines, not too many."""
        loop = asyncio.get_running_loop()
        until, room, dropped = loop.time() + 60, LINES_PER_MINUTE, 0
        rest = b""
        while chunk := await stream.read(16 * 1024):
            *lines, rest = (rest + chunk).split(b"\n")
            rest = rest[:MAX_LINE_CHARS]
            if loop.time() >= until:
                self._say_dropped(dropped)
                until, room, dropped = loop.time() + 60, LINES_PER_MINUTE, 0
            for line in lines[:room]:
                self._log_line(line)
            dropped += max(len(lines) - room, 0)
            room = max(room - len(lines), 0)
            await asyncio.sleep(0 if room else 0.1)  # A flood waits in its pipe.
        self._log_line(rest)
        self._say_dropped(dropped)

    def _log_line(self, line: bytes) -> None:
        text = masked(line[: 4 * MAX_LINE_CHARS].decode("utf-8", "replace"), self._server.secrets)
        if shown := one_line(text, MAX_LINE_CHARS):
            self._tail.append(shown)
            _log.debug("MCP server %s: %s", self._server.name, shown)

    def _say_dropped(self, count: int) -> None:
        if count:
            _log.info("MCP server %s: %d more lines left out", self._server.name, count)


async def start_child(
    server: McpServer, where: StdioServer, environment: Mapping[str, str]
) -> Child:
    """Raises OSError."""
    lifeline, ours = os.pipe()
    try:
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-I", "-S", guard.__file__, str(lifeline), *where.command),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=dict(environment),
            cwd=where.cwd,
            pass_fds=(lifeline,),
            limit=PIPE_BYTES,
            # Ctrl-C in our terminal is for us, who stop it in good order.
            start_new_session=True,
        )
    except BaseException:  # Also when we are cancelled: nobody else holds it.
        os.close(ours)
        raise
    finally:
        os.close(lifeline)
    return Child(process, ours, server)
