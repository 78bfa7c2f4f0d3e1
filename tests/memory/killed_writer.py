"""A program of tests/memory/database/test_crash.py.

Writes to a memory of every kind, and says what was
acknowledged, one line each, until somebody kills it. Arguments: the file, and the run's number."""

from __future__ import annotations

import asyncio
import sys
from datetime import UTC, datetime
from itertools import count
from typing import TYPE_CHECKING

from spade_llm.memory import MemoryDraft, ObservedMessage, SQLiteMemoryBackend
from spade_llm.memory.contract import MemoryChange
from spade_llm.search.memory_query import MemoryFilter

if TYPE_CHECKING:
    from spade_llm.memory import OwnedMemory

WRITERS = 12
OWNER = "writer@localhost"


async def main(path: str, run: str) -> None:
    async with SQLiteMemoryBackend(path) as backend:
        await asyncio.gather(
            *(
                write(backend.for_owner(OWNER), f"run{run}writer{number}")
                for number in range(WRITERS)
            )
        )


async def write(store: OwnedMemory, writer: str) -> None:
    for number in count():
        name = f"{writer}number{number}"
        await (add, change, delete, forget, batch, observe)[number % 6](store, name)


async def add(store: OwnedMemory, name: str) -> None:
    await store.add(MemoryDraft(content=name), key=name)
    say("there", name)


async def change(store: OwnedMemory, name: str) -> None:
    entry = await store.add(MemoryDraft(content=name), key=name)
    await store.update(MemoryChange(id=entry.id, content=f"{name}changed"))
    say("there", f"{name}changed")


async def delete(store: OwnedMemory, name: str) -> None:
    entry = await store.add(MemoryDraft(content=name), key=name)
    await store.delete(MemoryFilter(), ids=[entry.id])
    say("gone", name)


async def forget(store: OwnedMemory, name: str) -> None:
    entry = await store.add(MemoryDraft(content=name), key=name)
    await store.forget([entry.id])
    say("gone", name)


async def batch(store: OwnedMemory, name: str) -> None:
    names = [f"{name}item{item}" for item in range(3)]
    await store.add_many([MemoryDraft(content=one) for one in names], key=name)
    say("there", *names)


async def observe(store: OwnedMemory, name: str) -> None:
    message = ObservedMessage(id=name, role="user", content=name, at=datetime.now(UTC))
    await store.observe(conversation_of(name), [message])
    say("said", name)


def conversation_of(name: str) -> str:
    """A conversation for each run and writer."""
    return name.partition("number")[0]


def say(what: str, *names: str) -> None:
    sys.stdout.write("".join(f"{what} {name}\n" for name in names))
    sys.stdout.flush()


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
