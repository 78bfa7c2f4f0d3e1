"""How fast the local memory is: `python -m bench.memory_store [ENTRIES]` prints a table."""

from __future__ import annotations

import asyncio
import random
import sys
import tempfile
import time
from itertools import accumulate
from pathlib import Path
from statistics import median, quantiles
from typing import TYPE_CHECKING

from spade_llm.memory import MemoryDraft, SQLiteMemoryBackend

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from spade_llm.memory import OwnedMemory

WORDS = [f"word{number}" for number in range(20_000)]
ZIPF = list(accumulate(1 / (rank + 1) for rank in range(len(WORDS))))
RANDOM = random.Random(1)
IN_FLIGHT = 32


def draft() -> MemoryDraft:
    text = " ".join(RANDOM.choices(WORDS, cum_weights=ZIPF, k=20))
    return MemoryDraft(content=f"{RANDOM.random()} {text}")


def words(count: int) -> str:
    return " ".join(RANDOM.sample(WORDS[20:2000], count))


async def timed(label: str, runs: int, action: Callable[[], Awaitable[object]]) -> None:
    times_ms = []
    for _ in range(runs):
        start = time.perf_counter()
        await action()
        times_ms.append((time.perf_counter() - start) * 1000)
    p95 = quantiles(times_ms, n=20)[-1]
    print(f"{label:<28}{median(times_ms):>10.2f} ms p50{p95:>10.2f} ms p95")


async def add_many(store: OwnedMemory, count: int) -> None:
    async def writer(number: int) -> None:
        for _ in range(number, count, IN_FLIGHT):
            await store.add(draft())

    start = time.perf_counter()
    await asyncio.gather(*(writer(number) for number in range(IN_FLIGHT)))
    rate = count / (time.perf_counter() - start)
    print(f"{f'add, {IN_FLIGHT} in flight':<28}{rate:>10.0f} per s")


async def forget_newest(store: OwnedMemory) -> None:
    (entry,) = (await store.list(limit=1)).entries
    await store.forget([entry.id])


async def measure(path: Path, entries: int) -> None:
    async with SQLiteMemoryBackend(path) as backend:
        store = backend.for_owner("bench@localhost")
        await add_many(store, entries)
        await timed("add, one at a time", 200, lambda: store.add(draft()))
        await timed("search, 1 word", 200, lambda: store.search(words(1)))
        await timed("search, 4 words", 200, lambda: store.search(words(4)))
        await timed("list with total", 20, store.list)
        await timed("list and forget", 5, lambda: forget_newest(store))


def main() -> None:
    entries = int(sys.argv[1]) if len(sys.argv) > 1 else 10_000
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "memory.db"
        asyncio.run(measure(path, entries))
        print(f"{'on disk':<28}{path.stat().st_size / entries:>10.0f} bytes per entry")


if __name__ == "__main__":
    main()
