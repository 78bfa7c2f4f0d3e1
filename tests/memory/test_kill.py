"""A process that dies while it writes: what it had acknowledged is there, and nothing twice."""

from __future__ import annotations

import asyncio
import sqlite3
import sys
from collections import Counter
from contextlib import closing
from typing import TYPE_CHECKING

from spade_llm.memory import SQLiteMemoryBackend

if TYPE_CHECKING:
    from pathlib import Path


KILLS = 5
ACKNOWLEDGED_BEFORE_KILL = 150

CHILD = """
import asyncio, sys
from datetime import UTC, datetime
from spade_llm.memory import MemoryDraft, ObservedMessage, SQLiteMemoryBackend

async def main(path, run):
    async with SQLiteMemoryBackend(path) as backend:
        await asyncio.gather(*(write(backend.for_owner("a@b"), run, n) for n in range(16)))

async def write(store, run, writer):
    number = 0
    while True:
        name = f"run {run} writer {writer} fact {number}"
        entry = await store.add(MemoryDraft(content=name, confidence=0.5), key=name)
        message = ObservedMessage(id=name, role="user", content=name, at=datetime.now(UTC))
        await store.observe("c", [message])
        if number % 10 == 9:
            await store.forget([entry.id])
        else:
            print(name, flush=True)
        number += 1

asyncio.run(main(*sys.argv[1:]))
"""


async def acknowledged_until_killed(path: Path, run: int) -> list[str]:
    child = await asyncio.create_subprocess_exec(
        sys.executable, "-c", CHILD, str(path), str(run), stdout=asyncio.subprocess.PIPE
    )
    assert child.stdout is not None
    async with asyncio.timeout(60):
        lines = [await child.stdout.readline() for _ in range(ACKNOWLEDGED_BEFORE_KILL + 37 * run)]
        child.kill()
        rest = (await child.stdout.read()).decode()
        await child.wait()
    whole = rest[: rest.rfind("\n") + 1].splitlines()
    return [line.decode().strip() for line in lines] + whole


async def test_every_acknowledged_write_outlives_kill_9_and_none_is_there_twice(
    tmp_path: Path,
) -> None:
    path = tmp_path / "m.db"
    acknowledged: list[str] = []

    for run in range(KILLS):
        acknowledged += await acknowledged_until_killed(path, run)

    async with SQLiteMemoryBackend(path):
        pass
    with closing(sqlite3.connect(path)) as file:
        entries = Counter(row[0] for row in file.execute("SELECT content FROM entry"))
        messages = Counter(row[0] for row in file.execute("SELECT id FROM message"))
        assert file.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        assert file.execute("PRAGMA foreign_key_check").fetchall() == []
    assert len(acknowledged) > KILLS * ACKNOWLEDGED_BEFORE_KILL
    assert set(acknowledged) <= entries.keys()
    assert set(acknowledged) <= messages.keys()
    assert entries.total() == len(entries)
    assert messages.total() == len(messages)
