"""Signals: ends a command on SIGINT, SIGTERM or the end of its parent process."""

from __future__ import annotations

import asyncio
import os
import signal
import threading
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from spade_llm.core.concurrency import run_event_loop

STDIN = 0

_stop: ContextVar[Callable[[], None]] = ContextVar("stop")


def run_until_stopped(
    work: Coroutine[object, object, int], *, with_parent: bool = False, stopped: int = 0
) -> int:
    """Run `work`; the first stop signal cancels it, and it cleans up. Further signals do nothing:
    make and terminals send the same signal twice.

    `with_parent`: the end of standard input stops it, too. `stopped`: the exit code in these cases.
    """
    return run_event_loop(_run_with_signals(work, with_parent, stopped))


async def shield_from_stop(work: Coroutine[object, object, None]) -> None:
    """Finish `work`, which must end by itself soon, also if the command is stopped meanwhile."""
    task = asyncio.ensure_future(work)
    try:
        await asyncio.shield(task)
    except asyncio.CancelledError:
        # A task that is awaited directly would be cancelled by a second cancellation.
        await asyncio.wait([task])
        raise


@contextmanager
def on_ctrl_c(handle: Callable[[], None]) -> Iterator[None]:
    """Inside a command: within this block SIGINT calls `handle` instead of ending the command."""
    loop = asyncio.get_running_loop()
    loop.add_signal_handler(signal.SIGINT, handle)
    try:
        yield
    finally:
        # Not remove_signal_handler: Python's own handler raises KeyboardInterrupt anywhere.
        loop.add_signal_handler(signal.SIGINT, _stop.get())


async def _run_with_signals(
    work: Coroutine[object, object, int], with_parent: bool, stopped: int
) -> int:
    loop = asyncio.get_running_loop()
    is_stopping = False

    def stop() -> None:
        nonlocal is_stopping
        if not is_stopping:
            is_stopping = True
            task.cancel()

    # Before the task is created, which copies the context.
    _stop.set(stop)
    task = asyncio.ensure_future(work)
    for signal_number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(signal_number, stop)
    if with_parent:
        _stop_at_end_of_input(loop, stop)
    try:
        return await task
    except asyncio.CancelledError:
        return stopped


def _stop_at_end_of_input(loop: asyncio.AbstractEventLoop, stop: Callable[[], None]) -> None:
    """Stop at the end of standard input, read in a daemon thread, which need not be joined.

    It reads the descriptor, not sys.stdin: a daemon thread would still hold its lock when the
    interpreter exits.
    """

    def watch() -> None:
        while os.read(STDIN, 1024):
            pass
        if not loop.is_closed():
            loop.call_soon_threadsafe(stop)

    threading.Thread(target=watch, daemon=True, name="parent").start()
