"""A file that an agent touches while it hears its server. Knows neither of them.

`spade-llm health` reads it: a look at a file, where a login of its own would cost as much as the
agent's start, twice a minute.
"""

from __future__ import annotations

import logging
import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

logger = logging.getLogger(__name__)

FILE = "heard"
EVERY_S = 15.0
STALE_S = 60.0
"""Three are missing: a server that restarts is back by then."""


def beat(home: Path) -> None:
    """A disk that refuses may take the next one."""
    try:
        (home / FILE).touch()
    except OSError as error:
        logger.warning("%s is not touched: %s", home / FILE, error)


def stop_beating(home: Path) -> None:
    (home / FILE).unlink(missing_ok=True)


def problem_of(home: Path, *, now_s: float | None = None) -> str | None:
    """Why the agent with this home is not well; None: it is."""
    try:
        age_s = (time.time() if now_s is None else now_s) - (home / FILE).stat().st_mtime
    except FileNotFoundError:
        return "has not heard its server yet, or does not run"
    if age_s < -STALE_S:
        return "heard its server in the future: the clock was put back; wait for its next beat"
    return f"has not heard its server for {age_s:.0f} s" if age_s > STALE_S else None
