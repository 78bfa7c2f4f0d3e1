"""Tools that take a known time."""

from __future__ import annotations

import asyncio
import time

from spade_llm.tools import tool

PAUSE_S = 0.2


@tool
async def nothing() -> str:
    """Nothing."""
    return ""


@tool
async def pause(n: int) -> int:
    """A coroutine that waits."""
    await asyncio.sleep(PAUSE_S)
    return n


@tool
def rest(n: int) -> int:
    """A function that waits, in a thread."""
    time.sleep(PAUSE_S)
    return n
