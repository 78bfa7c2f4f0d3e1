"""Processor time of processes, and profiles by py-spy."""

from __future__ import annotations

import asyncio
import os
import shutil
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Mapping

TICKS_PER_S = os.sysconf("SC_CLK_TCK")
PROFILE_INTO = os.environ.get("SPADE_LLM_BENCH_PROFILE", "")


def cpu_s(pids: Mapping[str, int]) -> dict[str, float]:
    return {name: cpu_of(pid) for name, pid in pids.items()}


def cpu_of(pid: int) -> float:
    """User and system time of all threads, in seconds (proc(5))."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / TICKS_PER_S


@asynccontextmanager
async def profiled(pids: Mapping[str, int]) -> AsyncIterator[None]:
    if not PROFILE_INTO or shutil.which("py-spy") is None:
        yield
        return
    spies = [await _spy(name, pid) for name, pid in pids.items() if name != "prosody"]
    try:
        yield
    finally:
        for spy in spies:
            spy.send_signal(2)
            await spy.wait()


async def _spy(name: str, pid: int) -> asyncio.subprocess.Process:
    into = Path(PROFILE_INTO) / f"{name}.txt"
    return await asyncio.create_subprocess_exec(
        *("py-spy", "record", "--format", "raw", "--rate", "100", "--pid", str(pid)),
        *("--output", str(into), "--duration", "3600", "--nonblocking"),
    )
