"""Runs a coroutine function in a task of its own, as threads.py runs a function. Knows no tool.

A coroutine that will not be cancelled is left behind: whoever called it goes on.
"""

from __future__ import annotations

import asyncio
import inspect
from typing import TYPE_CHECKING

from spade_llm.tools.threads import deliverable, nothing

if TYPE_CHECKING:
    from collections.abc import Callable

CANCEL_S = 1.0
"""How long a cancelled coroutine may tidy up before it is left behind."""
_running: set[asyncio.Task[object]] = set()


async def run_in_task(
    call: Callable[[], object], *, at_end: Callable[[], None] = nothing
) -> object:
    """What the coroutine returns or raises. `at_end` is called when it has ended."""

    def ended(task: asyncio.Task[object]) -> None:
        _running.discard(task)
        at_end()
        if not task.cancelled():
            task.exception()  # Seen: of one that was left behind, nobody asks any more.

    task = asyncio.create_task(_run(call))
    _running.add(task)
    task.add_done_callback(ended)
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        task.cancel()
        await asyncio.wait({task}, timeout=CANCEL_S)
        raise


async def _run(call: Callable[[], object]) -> object:
    try:
        value = call()
        return await value if inspect.isawaitable(value) else value
    except (SystemExit, KeyboardInterrupt) as error:
        raise deliverable(error) from error
