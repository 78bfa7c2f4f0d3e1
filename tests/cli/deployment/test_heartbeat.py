"""The file by which `spade-llm health` knows."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from spade_llm.cli.deployment.heartbeat import (
    HEARTBEAT_INTERVAL_S,
    HEARTBEAT_TTL_S,
    heartbeat_problem,
    touch_heartbeat,
    wait_for_heartbeat,
)

if TYPE_CHECKING:
    from pathlib import Path


def test_a_heart_that_stopped_is_noticed(tmp_path: Path) -> None:
    assert heartbeat_problem(tmp_path) == "has not heard its server yet, or does not run"

    touch_heartbeat(tmp_path)
    heard_s = (tmp_path / "heard").stat().st_mtime

    assert heartbeat_problem(tmp_path, now_s=heard_s + 3 * HEARTBEAT_INTERVAL_S) is None
    assert "has not heard its server for" in str(
        heartbeat_problem(tmp_path, now_s=heard_s + HEARTBEAT_TTL_S + 1)
    )


def test_a_beat_of_the_future_is_none(tmp_path: Path) -> None:
    touch_heartbeat(tmp_path)
    heard_s = (tmp_path / "heard").stat().st_mtime

    assert heartbeat_problem(tmp_path, now_s=heard_s - 1) is None
    assert "the clock was put back" in str(heartbeat_problem(tmp_path, now_s=heard_s - 3600))


def test_a_disk_that_refuses_a_beat_ends_no_heart(tmp_path: Path) -> None:
    home = tmp_path / "away"
    touch_heartbeat(home)
    assert heartbeat_problem(home) is not None

    home.mkdir()
    touch_heartbeat(home)

    assert heartbeat_problem(home) is None


async def test_the_first_beat_is_waited_for(tmp_path: Path) -> None:
    waiting = asyncio.create_task(wait_for_heartbeat(tmp_path, within_s=5))
    await asyncio.sleep(0)
    assert not waiting.done()

    touch_heartbeat(tmp_path)

    assert await waiting is True


async def test_nobody_waits_for_ever_for_a_beat(tmp_path: Path) -> None:
    assert await wait_for_heartbeat(tmp_path, within_s=0) is False
