"""Event loop (uvloop) and garbage collector settings of an agent process."""

from __future__ import annotations

import asyncio
import gc
from contextlib import contextmanager
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Coroutine, Iterator

T = TypeVar("T")


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
    """Nothing is collected until `settle`, or the end of the block. What a start drops in cycles
    is little: 2000 objects, all agents imported."""
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


def freeze_gc() -> None:
    """All is here: none of it is looked at again. What comes from now on is collected as ever."""
    gc.freeze()
    gc.enable()
