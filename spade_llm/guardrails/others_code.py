"""Runs a check or a callback that somebody else wrote: whatever it does, the caller goes on.

Knows no guardrail.
"""

from __future__ import annotations

import asyncio
import logging
import traceback
from dataclasses import dataclass
from typing import TYPE_CHECKING

from spade_llm.tools.tasks import run_in_task

if TYPE_CHECKING:
    from collections.abc import Callable

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Failed:
    reason: str
    """Without anything of the text: exceptions may quote it."""


async def given_by(call: Callable[[], object], *, timeout_s: float, what: str) -> object | Failed:
    """What it returns, awaited if it is to be; `what` is what the log calls it."""
    try:
        async with asyncio.timeout(timeout_s):
            return await run_in_task(call)
    except TimeoutError:
        return _failed(what, f"it took over {timeout_s:g} s")
    except asyncio.CancelledError:
        if _are_we_cancelled():
            raise
        return _failed(what, "it was cancelled")
    except Exception as error:  # noqa: BLE001 - somebody's own check or callback failed
        return _failed(what, _kind_and_place(error))


def _are_we_cancelled() -> bool:
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0


def _failed(what: str, reason: str) -> Failed:
    logger.error("%s failed: %s", what, reason)
    return Failed(reason)


def _kind_and_place(error: Exception) -> str:
    frames = traceback.extract_tb(error.__traceback__)
    place = f" at {frames[-1].filename}:{frames[-1].lineno}" if frames else ""
    return f"{type(error).__name__}{place}"
