"""A chat without a terminal: each line of standard input is said, each answer printed."""

from __future__ import annotations

import asyncio
import os
import threading
from concurrent.futures import CancelledError as FutureCancelledError
from typing import TYPE_CHECKING

from spade_llm.cli.answer import QUIT, write_answer
from spade_llm.cli.stopping import STDIN

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator

    from spade_llm.agent import ChatAgent

LINES_AHEAD = 100
"""Lines read before they are said; beyond, whoever writes them waits."""


async def converse_by_lines(person: ChatAgent, peer: str) -> bool:
    """False if some line was not answered."""
    is_answered = True
    lines = _lines()

    async def listen() -> str:
        return await anext(lines, "")

    async for line in lines:
        if line in QUIT:
            break
        if line and not await write_answer(person, peer, line, _write, listen):
            is_answered = False
    return is_answered


def _write(text: str) -> None:
    print(text, end="", flush=True)


async def _lines() -> AsyncIterator[str]:
    """Standard input, read by a daemon thread: nobody has to wait for it at the end."""
    queue: asyncio.Queue[str | None] = asyncio.Queue(LINES_AHEAD)
    loop = asyncio.get_running_loop()

    def read() -> None:
        try:
            for line in _read_lines():
                asyncio.run_coroutine_threadsafe(queue.put(line), loop).result()
            asyncio.run_coroutine_threadsafe(queue.put(None), loop).result()
        except (RuntimeError, FutureCancelledError):
            return  # The loop has ended: nobody listens any more.

    threading.Thread(target=read, daemon=True, name="stdin").start()
    while (line := await queue.get()) is not None:
        yield line.strip()


def _read_lines() -> Iterator[str]:
    """Past sys.stdin, whose lock a daemon thread would still hold when the interpreter ends."""
    pending = b""
    while block := os.read(STDIN, 65536):
        *lines, pending = (pending + block).split(b"\n")
        yield from (line.decode(errors="replace") for line in lines)
    if pending:
        yield pending.decode(errors="replace")
