"""A process that dies while it writes: what it had acknowledged is there, and nothing twice."""

from __future__ import annotations

import asyncio
import sys
from collections import Counter
from random import Random
from typing import TYPE_CHECKING

import pytest

from spade_llm.memory import SQLiteMemoryBackend
from spade_llm.memory.transfer.memory_file import verify_memory
from tests.memory.killed_writer import OWNER, conversation_of

if TYPE_CHECKING:
    from pathlib import Path

    from spade_llm.memory import OwnedMemory

KILLS = 50
SEED = 20261121


async def acknowledged_until_killed(path: Path, run: int, lines: int) -> list[tuple[str, str]]:
    """What the run had said before it was killed: the first `lines`, and what came meanwhile."""
    child = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "tests.memory.killed_writer", str(path), str(run)),
        stdout=asyncio.subprocess.PIPE,
    )
    assert child.stdout is not None
    async with asyncio.timeout(60):
        said = b"".join([await child.stdout.readline() for _ in range(lines)])
        child.kill()
        said += await child.stdout.read()
        await child.wait()
    whole = said[: said.rfind(b"\n") + 1].decode().splitlines()
    return [(what, name) for what, _, name in (line.partition(" ") for line in whole)]


async def all_contents(store: OwnedMemory) -> Counter[str]:
    contents: Counter[str] = Counter()
    while page := (await store.list(limit=1000, offset=contents.total())).entries:
        contents.update(entry.content for entry in page)
    return contents


async def all_messages(store: OwnedMemory, conversations: set[str]) -> Counter[str]:
    messages: Counter[str] = Counter()
    for conversation in conversations:
        kept = await store.history(conversation, limit=1000)
        messages.update(message.id for message in kept)
    return messages


@pytest.mark.timeout(240)
async def test_every_acknowledged_write_outlives_50_kills_and_none_is_there_twice(
    tmp_path: Path,
) -> None:
    random, path = Random(SEED), tmp_path / "memory.db"
    acknowledged: list[tuple[str, str]] = []

    for run in range(KILLS):
        acknowledged += await acknowledged_until_killed(path, run, random.randint(1, 150))

    said = Counter(acknowledged)
    there = {name for what, name in said if what == "there"}
    gone = {name for what, name in said if what == "gone"}
    messages = {name for what, name in said if what == "said"}
    async with SQLiteMemoryBackend(path) as backend:
        store = backend.for_owner(OWNER)
        contents = await all_contents(store)
        kept = await all_messages(store, set(map(conversation_of, messages)))
    assert await asyncio.to_thread(verify_memory, path) == []
    assert len(there) > KILLS * 10 and len(gone) > KILLS * 5
    assert there <= contents.keys()
    assert not gone & contents.keys()
    assert contents.total() == len(contents)
    assert messages <= kept.keys() and kept.total() == len(kept)
    assert said.total() == len(said)
