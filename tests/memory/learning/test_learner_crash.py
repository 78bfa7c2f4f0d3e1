"""A process that dies while it learns: the next goes on; nothing is left out, nothing twice."""

from __future__ import annotations

import asyncio
import sys
from collections import Counter
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import pytest

from spade_llm.memory import SQLiteMemoryBackend
from spade_llm.memory.contract import ObservedMessage
from spade_llm.memory.learning.learner import Learner
from spade_llm.search.memory_query import MemoryFilter, MemoryType

if TYPE_CHECKING:
    from pathlib import Path

    from spade_llm.memory import OwnedMemory

CONVERSATIONS = 40
MESSAGES = 12
START = datetime(2026, 3, 1, tzinfo=UTC)

CHILD = """
import asyncio, sys
from spade_llm.memory import SQLiteMemoryBackend
from spade_llm.memory.learning.learner import Learner

class Loud:
    "Says what was kept, so that it can be killed right after."

    def __init__(self, store):
        self.due, self.messages_of = store.due, store.messages_of
        self.recently_returned_messages = store.recently_returned_messages
        self.save_patterns = store.save_patterns
        self.store = store

    async def save_episodes(self, *args):
        kept = await self.store.save_episodes(*args)
        print("cut", flush=True)
        return kept

    async def save_facts(self, *args, **options):
        kept = await self.store.save_facts(*args, **options)
        print("read", flush=True)
        return kept

async def main(path):
    async with SQLiteMemoryBackend(path) as backend:
        await Learner(Loud(backend.learning()), backend).learn()
        print("done", flush=True)
        await asyncio.Event().wait()

asyncio.run(main(sys.argv[1]))
"""


async def learn_until_killed(path: Path, steps: int) -> None:
    child = await asyncio.create_subprocess_exec(
        sys.executable, "-c", CHILD, str(path), stdout=asyncio.subprocess.PIPE
    )
    assert child.stdout is not None
    async with asyncio.timeout(60):
        for _ in range(steps):
            if (await child.stdout.readline()).strip() == b"done":
                break
        child.kill()
        await child.stdout.read()
        await child.wait()


async def fill(store: OwnedMemory) -> None:
    for number in range(CONVERSATIONS):
        messages = [_said(number, n) for n in range(MESSAGES)]
        await store.observe(f"c{number}", messages, subject=f"p{number}@localhost")


def _said(conversation: int, number: int) -> ObservedMessage:
    text = f"I work at Plant{conversation}." if number == 0 else f"Line {number} of {conversation}"
    # After four hours the talk goes on: each conversation is two episodes.
    at = START + timedelta(hours=4 if number >= MESSAGES // 2 else 0, minutes=number)
    id = f"{conversation}.{number}"
    return ObservedMessage(id=id, role="user", content=text, at=at)


@pytest.mark.thorough
async def test_nothing_is_lost_and_nothing_twice_after_kill_9(tmp_path: Path) -> None:
    path = tmp_path / "m.db"
    async with SQLiteMemoryBackend(path) as backend:
        await fill(backend.for_owner("a@b"))

    for steps in (3, 11, 17, 29, 8):
        await learn_until_killed(path, steps)

    async with SQLiteMemoryBackend(path) as backend:
        await Learner(backend.learning(), backend).learn()
        store = backend.for_owner("a@b")
        episodes = await store.list(MemoryFilter(types=(MemoryType.EPISODIC,)), limit=1000)
        kept = [await store.episode_messages(one.id) for one in episodes.entries]
        facts = await store.list(MemoryFilter(types=(MemoryType.SEMANTIC,)), limit=1000)

    assert Counter(one.id for messages in kept for one in messages) == Counter(
        _said(number, n).id for number in range(CONVERSATIONS) for n in range(MESSAGES)
    )
    assert Counter(one.content for one in facts.entries) == Counter(
        f"The user works at Plant{number}." for number in range(CONVERSATIONS)
    )
    assert {one.confidence for one in facts.entries} == {0.8}
