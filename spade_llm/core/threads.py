"""Threads and tasks: run a function or a coroutine so that its caller can abandon it.

An executor is not used: a function that never returns would occupy a thread of the pool and keep
the interpreter from exiting. A daemon thread does neither, and costs 50 µs more.

A coroutine that ignores its cancellation is abandoned, and its caller continues.
"""

from __future__ import annotations

import asyncio
import contextvars
import inspect
import threading
from contextlib import suppress
from typing import TYPE_CHECKING, Generic, Literal, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import TracebackType

T = TypeVar("T")

CANCEL_TIMEOUT_S = 1.0
"""Time that a cancelled coroutine has for cleanup before it is abandoned."""
# The event loop itself keeps only weak references to tasks.
_running: set[asyncio.Task[object]] = set()


def no_op() -> None:
    """Do nothing; the default of `on_done`."""


async def run_in_thread(call: Callable[[], T], *, on_done: Callable[[], None] = no_op) -> T:
    """Run a function in a daemon thread; return its result or raise its error. `on_done` is called
    on the event loop when the function has ended. Cancellation does not stop the function, so
    `on_done` may come later."""
    delivery = _FutureBridge[T](asyncio.get_running_loop(), on_done)
    # A new thread begins with an empty context: the call context and the span would be lost.
    context = contextvars.copy_context()

    def run() -> None:
        with delivery:
            delivery.value = context.run(call)

    try:
        threading.Thread(target=run, name="tool-call", daemon=True).start()
    except RuntimeError:  # The machine has none left.
        on_done()
        raise
    return await delivery.done


def deliverable_error(error: BaseException) -> Exception:
    """A future cannot carry StopIteration, and SystemExit of a tool must not end the process."""
    if isinstance(error, Exception) and not isinstance(error, StopIteration):
        return error
    wrapped = RuntimeError(f"the function raised {type(error).__name__}")
    wrapped.__cause__ = error
    return wrapped


async def run_in_task(call: Callable[[], object], *, on_done: Callable[[], None] = no_op) -> object:
    """Run a coroutine in a task; return its result or raise its error. `on_done` is called when it
    has ended."""

    def ended(task: asyncio.Task[object]) -> None:
        _running.discard(task)
        on_done()
        if not task.cancelled():
            task.exception()  # Seen: of one that was left behind, nobody asks any more.

    task = asyncio.create_task(_run_task(call))
    _running.add(task)
    task.add_done_callback(ended)
    try:
        # Shielded: a cancellation comes to us first, so that the wait for the cleanup is bounded.
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        task.cancel()
        await asyncio.wait({task}, timeout=CANCEL_TIMEOUT_S)
        raise


class _FutureBridge(Generic[T]):
    """Carries the outcome of a `with` block in a thread to a future of the loop."""

    def __init__(self, loop: asyncio.AbstractEventLoop, on_done: Callable[[], None]) -> None:
        self._loop = loop
        self._at_end = on_done
        self.done: asyncio.Future[T] = loop.create_future()
        self.value: T

    def __enter__(self) -> None:
        return None

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> Literal[True]:
        with suppress(RuntimeError):  # The loop is closed: nobody waits any more.
            self._loop.call_soon_threadsafe(self._deliver, error)
        return True

    def _deliver(self, error: BaseException | None) -> None:
        self._at_end()
        # The caller was cancelled in the meantime.
        if self.done.done():
            return
        if error is None:
            self.done.set_result(self.value)
        else:
            self.done.set_exception(deliverable_error(error))


async def _run_task(call: Callable[[], object]) -> object:
    try:
        value = call()
        return await value if inspect.isawaitable(value) else value
    # A task raises these through the event loop as well, which would end the process.
    except (SystemExit, KeyboardInterrupt) as error:
        raise deliverable_error(error) from error
