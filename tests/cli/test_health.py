"""Heartbeat file of an agent."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from spade_llm.cli.health import (
    HEARTBEAT_INTERVAL_S,
    HEARTBEAT_TTL_S,
    heartbeat_problem,
    touch_heartbeat,
    wait_for_heartbeat,
)

if TYPE_CHECKING:
    from pathlib import Path


def test_an_old_heartbeat_is_a_problem(tmp_path: Path) -> None:
    assert heartbeat_problem(tmp_path) == "has no heartbeat yet, or is not running"

    touch_heartbeat(tmp_path)
    heard_s = (tmp_path / "heard").stat().st_mtime

    assert heartbeat_problem(tmp_path, now_s=heard_s + 3 * HEARTBEAT_INTERVAL_S) is None
    assert "has had no heartbeat for" in str(
        heartbeat_problem(tmp_path, now_s=heard_s + HEARTBEAT_TTL_S + 1)
    )


def test_a_heartbeat_in_the_future_is_a_problem(tmp_path: Path) -> None:
    touch_heartbeat(tmp_path)
    heard_s = (tmp_path / "heard").stat().st_mtime

    assert heartbeat_problem(tmp_path, now_s=heard_s - 1) is None
    assert "the clock was set back" in str(heartbeat_problem(tmp_path, now_s=heard_s - 3600))


def test_a_disk_error_does_not_stop_the_heartbeats(tmp_path: Path) -> None:
    home = tmp_path / "away"
    touch_heartbeat(home)
    assert heartbeat_problem(home) is not None

    home.mkdir()
    touch_heartbeat(home)

    assert heartbeat_problem(home) is None


async def test_waiting_ends_with_the_first_heartbeat(tmp_path: Path) -> None:
    waiting = asyncio.create_task(wait_for_heartbeat(tmp_path, within_s=5))
    await asyncio.sleep(0)
    assert not waiting.done()

    touch_heartbeat(tmp_path)

    assert await waiting is True


async def test_waiting_for_a_heartbeat_ends_at_the_timeout(tmp_path: Path) -> None:
    assert await wait_for_heartbeat(tmp_path, within_s=0) is False
