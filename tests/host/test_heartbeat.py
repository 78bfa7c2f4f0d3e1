"""The file by which `spade-llm health` knows."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from spade_llm.deployment.heartbeat import EVERY_S, STALE_S, beat, problem_of, wait_beating

if TYPE_CHECKING:
    from pathlib import Path


def test_a_heart_that_stopped_is_noticed(tmp_path: Path) -> None:
    assert problem_of(tmp_path) == "has not heard its server yet, or does not run"

    beat(tmp_path)
    heard_s = (tmp_path / "heard").stat().st_mtime

    assert problem_of(tmp_path, now_s=heard_s + 3 * EVERY_S) is None
    assert "has not heard its server for" in str(problem_of(tmp_path, now_s=heard_s + STALE_S + 1))


def test_a_beat_of_the_future_is_none(tmp_path: Path) -> None:
    beat(tmp_path)
    heard_s = (tmp_path / "heard").stat().st_mtime

    assert problem_of(tmp_path, now_s=heard_s - 1) is None
    assert "the clock was put back" in str(problem_of(tmp_path, now_s=heard_s - 3600))


def test_a_disk_that_refuses_a_beat_ends_no_heart(tmp_path: Path) -> None:
    home = tmp_path / "away"
    beat(home)
    assert problem_of(home) is not None

    home.mkdir()
    beat(home)

    assert problem_of(home) is None


async def test_the_first_beat_is_waited_for(tmp_path: Path) -> None:
    waiting = asyncio.create_task(wait_beating(tmp_path, within_s=5))
    await asyncio.sleep(0)
    assert not waiting.done()

    beat(tmp_path)

    assert await waiting is True


async def test_nobody_waits_for_ever_for_a_beat(tmp_path: Path) -> None:
    assert await wait_beating(tmp_path, within_s=0) is False
