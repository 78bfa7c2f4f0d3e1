"""Heartbeat file of an agent, read by health checks.

`spade-llm health` reads it: a look at a file, where a login of its own would cost as much as the
agent's start, twice a minute.
"""

from __future__ import annotations

import asyncio
import logging
import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

logger = logging.getLogger(__name__)

HEARTBEAT_FILE = "heard"
HEARTBEAT_INTERVAL_S = 15.0
HEARTBEAT_TTL_S = 60.0
"""Three are missing: a server that restarts is back by then."""
POLL_INTERVAL_S = 0.05


def touch_heartbeat(home: Path) -> None:
    """A disk that refuses may take the next one."""
    try:
        (home / HEARTBEAT_FILE).touch()
    except OSError as error:
        logger.warning("%s is not touched: %s", home / HEARTBEAT_FILE, error)


def remove_heartbeat(home: Path) -> None:
    (home / HEARTBEAT_FILE).unlink(missing_ok=True)


def heartbeat_problem(home: Path, *, now_s: float | None = None) -> str | None:
    """Reason that the agent with this home is unhealthy; None if it is healthy."""
    try:
        age_s = (time.time() if now_s is None else now_s) - (home / HEARTBEAT_FILE).stat().st_mtime
    except FileNotFoundError:
        return "has not heard its server yet, or does not run"
    if age_s < -HEARTBEAT_TTL_S:
        return "heard its server in the future: the clock was put back; wait for its next beat"
    return f"has not heard its server for {age_s:.0f} s" if age_s > HEARTBEAT_TTL_S else None


async def wait_for_heartbeat(home: Path, *, within_s: float) -> bool:
    """Wait until the agent with this home is healthy; False after `within_s`. The file is
    polled."""
    until = time.monotonic() + within_s
    while not (is_well := heartbeat_problem(home) is None) and time.monotonic() < until:  # noqa: ASYNC110
        await asyncio.sleep(POLL_INTERVAL_S)
    return is_well
