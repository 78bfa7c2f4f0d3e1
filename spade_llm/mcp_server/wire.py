"""Lines of bytes in and out of two descriptors that may block for ever. Knows no MCP.

Daemon threads, past `sys.stdin` and its lock: neither a client that says nothing nor one that does
not read keeps the process from ending. Threads, because not every descriptor can be polled.
"""

from __future__ import annotations

import asyncio
import os
import queue
import threading
from concurrent.futures import Future
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator

STDIN, STDOUT, STDERR = 0, 1, 2
BLOCK_BYTES = 65_536
LINES_AHEAD = 16
"""Lines read before they are taken; beyond, whoever writes them waits."""


@contextmanager
def standard_wire() -> Iterator[tuple[int, int]]:
    """Both ends of it, while descriptor 0 is empty and what is printed to 1, by Python or by a
    library below it, goes to standard error."""
    wire_in, wire_out = os.dup(STDIN), os.dup(STDOUT)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, STDIN)
    os.close(nothing)
    os.dup2(STDERR, STDOUT)
    try:
        yield wire_in, wire_out
    finally:
        # The duplicates stay open: a thread may still wait at one.
        os.dup2(wire_in, STDIN)
        os.dup2(wire_out, STDOUT)


async def lines_of(descriptor: int, max_bytes: int) -> AsyncIterator[bytes | None]:
    """Until its end. None stands for a line that was longer than that, and is gone."""
    ahead: asyncio.Queue[tuple[bytes | None, ...]] = asyncio.Queue()
    room, loop = threading.Semaphore(LINES_AHEAD), asyncio.get_running_loop()

    def read() -> None:
        with suppress(RuntimeError):  # The loop has ended: nobody listens any more.
            for line in _lines(descriptor, max_bytes):
                room.acquire()
                loop.call_soon_threadsafe(ahead.put_nowait, (line,))
            loop.call_soon_threadsafe(ahead.put_nowait, ())

    threading.Thread(target=read, daemon=True, name="wire-in").start()
    while found := await ahead.get():
        room.release()
        yield found[0]


class Writer:
    """Writes in the order of its calls, each as a whole."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        # As long as the callers that wait.
        self._jobs: queue.SimpleQueue[tuple[bytes, Future[None]]] = queue.SimpleQueue()
        threading.Thread(target=self._work, daemon=True, name="wire-out").start()

    async def write(self, data: bytes) -> None:
        """Raises OSError if nobody reads any more."""
        done: Future[None] = Future()
        self._jobs.put((data, done))
        await asyncio.wrap_future(done)

    def _work(self) -> None:
        while True:
            data, done = self._jobs.get()
            if not done.set_running_or_notify_cancel():
                continue
            try:
                _write(self._descriptor, data)
            except OSError as error:
                done.set_exception(error)
            else:
                done.set_result(None)


def _lines(descriptor: int, max_bytes: int) -> Iterator[bytes | None]:
    """A line that is too long is forgotten while it comes."""
    pending, is_too_long = bytearray(), False
    while block := _read(descriptor):
        *ended, rest = block.split(b"\n")
        for piece in ended:
            pending += piece
            yield None if is_too_long or len(pending) > max_bytes else bytes(pending)
            pending, is_too_long = bytearray(), False
        pending += rest
        if is_too_long or len(pending) > max_bytes:
            pending, is_too_long = bytearray(), True


def _read(descriptor: int) -> bytes:
    """Empty at the end; a wire that breaks has ended."""
    try:
        return os.read(descriptor, BLOCK_BYTES)
    except OSError:
        return b""


def _write(descriptor: int, data: bytes) -> None:
    left = memoryview(data)
    while left:
        left = left[os.write(descriptor, left) :]
