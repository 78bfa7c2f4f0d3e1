"""A chat without a terminal: each line of standard input is said, each answer printed."""

from __future__ import annotations

import asyncio
import sys
import threading
from concurrent.futures import CancelledError as FutureCancelledError
from typing import TYPE_CHECKING

from spade_llm.cli.answer import QUIT, write_answer

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from spade_llm.agent import ChatAgent

LINES_AHEAD = 100
"""Lines read before they are said; beyond, whoever writes them waits."""


async def converse_by_lines(person: ChatAgent, peer: str) -> bool:
    """False if some line was not answered."""
    is_answered = True
    async for line in _lines():
        if line in QUIT:
            break
        if line and not await write_answer(person, peer, line, _write):
            is_answered = False
    return is_answered


def _write(text: str) -> None:
    print(text, end="", flush=True)


async def _lines() -> AsyncIterator[str]:
    """Standard input, read by a daemon thread: nobody has to wait for it at the end."""
    queue: asyncio.Queue[str] = asyncio.Queue(LINES_AHEAD)
    loop = asyncio.get_running_loop()

    def put(line: str) -> None:
        asyncio.run_coroutine_threadsafe(queue.put(line), loop).result()

    def read() -> None:
        try:
            for line in sys.stdin:
                put(line.rstrip("\n") + "\n")
            put("")
        except (RuntimeError, FutureCancelledError):
            return  # The loop has ended: nobody listens any more.

    threading.Thread(target=read, daemon=True, name="stdin").start()
    while line := await queue.get():
        yield line.strip()
