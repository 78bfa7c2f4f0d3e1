"""Concurrency: daemon threads, tasks that can be abandoned, background task, event loop.

A function runs in a daemon thread, not in an executor: one that never returns would occupy a thread
of the pool and keep the interpreter from exiting. A new thread costs 50 µs more. A coroutine that
ignores its cancellation is abandoned, and its caller continues.
"""

from __future__ import annotations

import asyncio
import contextvars
import gc
import inspect
import threading
from collections.abc import (
    AsyncGenerator,
    AsyncIterator,
    Awaitable,
    Callable,
    Coroutine,
    Iterable,
    Iterator,
)
from contextlib import asynccontextmanager, contextmanager, suppress
from types import TracebackType
from typing import Generic, Literal, TypeVar

T = TypeVar("T")

CANCEL_TIMEOUT_S = 1.0
"""Time that a cancelled coroutine has for cleanup before it is abandoned."""
# The event loop itself keeps only weak references to tasks.
_running: set[asyncio.Task[object]] = set()


def no_op() -> None:
    """Do nothing; the default of `on_done`."""


async def async_no_op() -> None:
    """Return at once: the default of a wait that nothing needs."""


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
    except RuntimeError:  # The limit of threads is reached.
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
    """Run a coroutine in a task; return or raise its outcome. `on_done` is called at its end."""

    def ended(task: asyncio.Task[object]) -> None:
        _running.discard(task)
        on_done()
        if not task.cancelled():
            task.exception()  # Retrieved: asyncio would log the error of an abandoned task.

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
        with suppress(RuntimeError):  # The loop is closed.
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


async def next_or_none(parts: AsyncGenerator[T]) -> T | None:
    """Next item as a coroutine, which tasks need; None at the end."""
    return await anext(parts, None)


@asynccontextmanager
async def concurrent_task(work: Coroutine[object, object, T]) -> AsyncIterator[asyncio.Task[T]]:
    """Run `work` in a task beside the block, at the end of which it is cancelled and awaited."""
    task = asyncio.create_task(work)
    try:
        yield task
    finally:
        task.cancel()
        await asyncio.wait([task])


class BackgroundTask:
    """Task that runs while there is work: `work` returns if there is none, `wake` starts it."""

    def __init__(self, work: Callable[[], Coroutine[object, object, None]], *, name: str) -> None:
        self._work = work
        self._name = name
        self._task: asyncio.Task[None] | None = None

    def wake(self) -> None:
        if self._task is None or self._task.done():
            self._task = asyncio.create_task(self._work(), name=self._name)

    async def close(self) -> None:
        """Cancel the task."""
        if self._task is not None:
            self._task.cancel()
            with suppress(asyncio.CancelledError):
                await self._task


async def for_each(
    items: Iterable[T], work: Callable[[T], Awaitable[None]], *, max_concurrent: int
) -> None:
    """Do the work for each item, at most `max_concurrent` at once. The first failure ends all and
    is raised; no task is left behind, also by a cancelled call."""
    # One iterator for all workers: each takes the next item when it is free.
    waiting = iter(items)

    async def run() -> None:
        for item in waiting:
            await work(item)

    workers = [asyncio.create_task(run()) for _ in range(max_concurrent)]
    try:
        await asyncio.gather(*workers)
    finally:
        # If one task fails, gather lets the others run on.
        for worker in workers:
            worker.cancel()
        await asyncio.gather(*workers, return_exceptions=True)


def run_event_loop(main: Coroutine[object, object, T]) -> T:
    """Run a coroutine like `asyncio.run`, on uvloop if it is installed (spade installs it, except
    on Windows)."""
    try:
        import uvloop
    except ImportError:
        return asyncio.run(main)
    # A loop factory leaves the event loop policy of the process alone.
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        return runner.run(main)


@contextmanager
def gc_paused() -> Iterator[None]:
    """Pause the garbage collector until `freeze_gc` or the end of the block. A start leaves little
    to collect: 2000 objects in cycles, with all agents imported."""
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


def freeze_gc() -> None:
    """Exclude all objects that exist now from garbage collection, and resume it for later ones."""
    gc.freeze()
    gc.enable()
