"""What one message costs each process in processor time: a measure that a busy machine changes less
than waiting times, and what a plan for more machines begins with (docs/scaling.md).

`python -m bench costs`; with SPADE_LLM_BENCH_PROFILE=FOLDER and py-spy installed, a flame graph of
every process of ours is left there.
"""

from __future__ import annotations

import asyncio
import os
import shutil
from contextlib import AsyncExitStack, asynccontextmanager
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

from bench.conversation import check_services, furnish, say
from bench.questions import questions
from bench.raw import Person
from bench.row import Row, Scale

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Mapping

    from bench.stage import Stage

TICKS_PER_S = os.sysconf("SC_CLK_TCK")
PROFILE_INTO = os.environ.get("SPADE_LLM_BENCH_PROFILE", "")
SETTLE_S = 3.0
"""What an answer leaves to be done (learning, vectors) is counted with it."""


async def measure(stage: Stage, scale: Scale) -> list[Row]:
    await stage.services()
    (peer,) = await stage.people(1)
    full = await stage.account("assistant")
    await furnish(full, [peer], scale)
    async with AsyncExitStack() as stack:
        url = await stack.enter_async_context(stage.model())
        agent = stage.agent("assistant", "assistant", model_url=url, has_services=True)
        assistant = await stack.enter_async_context(agent)
        person = await stack.enter_async_context(Person(peer))
        await check_services(stage, full.jid)
        pids = {**stage.service_pids, "assistant": assistant.pid, "person": os.getpid()}
        texts = questions()
        for text in islice(texts, 20):
            await say(person, full.jid, text)
        async with _profiled(pids):
            before = _all_cpu_s(pids)
            chats = scale.of(200, quick=20)
            for text in islice(texts, chats):
                await say(person, full.jid, text)
            await asyncio.sleep(SETTLE_S)
            after = _all_cpu_s(pids)
    spent = {name: 1000 * (after[name] - before[name]) / chats for name in pids}
    rows = [Row(name=f"processor per chat: {name}", unit="ms", ours=spent[name]) for name in pids]
    return [*rows, Row(name="… all of them", unit="ms", ours=sum(spent.values()))]


def _all_cpu_s(pids: Mapping[str, int]) -> dict[str, float]:
    return {name: cpu_s(pid) for name, pid in pids.items()}


def cpu_s(pid: int) -> float:
    """User and system time, all threads (proc(5))."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / TICKS_PER_S


@asynccontextmanager
async def _profiled(pids: Mapping[str, int]) -> AsyncIterator[None]:
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
        *("py-spy", "record", "--format", "raw", "--rate", "200", "--pid", str(pid)),
        *("--output", str(into), "--duration", "3600", "--nonblocking"),
    )
