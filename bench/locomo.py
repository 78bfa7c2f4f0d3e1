"""Recall of conversations: `python -m bench.locomo FOLDER [--limit N] [--through-wire]`.

Each conversation's turns are observed under an owner of its own; its questions are asked in RECALL
mode, with no model but the embedder; then every owner is asked everybody's questions, and not one
turn of another may be found. Ends with 1 only if one was.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
import tempfile
import time
from contextlib import asynccontextmanager
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING

from bench.embedder import local_embedder
from bench.locomo_baselines import by_fts5, by_vectors
from bench.locomo_data import read_folder
from bench.locomo_score import HEAD, Answered, print_table
from bench.recalling import (
    DEEP,
    answers_of,
    have_vectors,
    leaks_of,
    local_memories,
    observe,
    remote_memories,
)
from bench.stage import MAX_PEERS, Stage

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Sequence

    from bench.talk import Conversation
    from spade_llm.memory import OwnedMemory
    from spade_llm.providers import MiniLmEmbedder

VECTORS_WITHIN_S = 300.0


async def measure(
    conversations: Sequence[Conversation],
    owned: Sequence[OwnedMemory],
    embedder: MiniLmEmbedder,
) -> int:
    """Prints the tables; how many turns of others were found."""
    began = time.perf_counter()
    for conversation, memory in zip(conversations, owned, strict=True):
        await observe(conversation, memory)
    observed = time.perf_counter()
    async with asyncio.timeout(VECTORS_WITHIN_S):
        for memory in owned:
            await have_vectors(memory)
    embedded = time.perf_counter()
    times = await _ask(conversations, owned, embedder)
    leaks = await leaks_of(conversations, owned)
    print(
        f"\nobserving {observed - began:.1f} s, their vectors {embedded - observed:.1f} s, "
        f"a question {1000 * median(times):.1f} ms (with its vector), "
        f"all {time.perf_counter() - began:.0f} s; turns of others found: {leaks}"
    )
    return leaks


async def _ask(
    conversations: Sequence[Conversation],
    owned: Sequence[OwnedMemory],
    embedder: MiniLmEmbedder,
) -> list[float]:
    """Prints a table for each and for all; seconds per question."""
    times: list[float] = []
    texts = {turn.id: turn.text for one in conversations for turn in one.turns}
    ours: list[Answered] = []
    naive: list[Answered] = []
    words: list[Answered] = []
    for conversation, memory in zip(conversations, owned, strict=True):
        answered = await answers_of(memory, conversation, times)
        print(f"\n{HEAD}")
        print_table(conversation.name, answered, texts)
        ours += answered
        naive += await by_vectors(conversation, embedder, DEEP)
        words += by_fts5(conversation, DEEP)
    for name, way in (("all", ours), ("naive vectors", naive), ("FTS5, any word", words)):
        print(f"\n{HEAD}")
        print_table(name, way, texts)
    return times


@asynccontextmanager
async def _through_wire(count: int) -> AsyncIterator[list[OwnedMemory]]:
    """Each owner is an agent; the memory is one of its own, in another process."""
    async with Stage() as stage, remote_memories(stage, count) as owned:
        yield owned


async def _run(arguments: argparse.Namespace) -> int:
    conversations = read_folder(arguments.folder, limit=arguments.limit)
    if not conversations:
        raise SystemExit(f"no conversations in {arguments.folder}")
    with tempfile.TemporaryDirectory(prefix="locomo-") as folder:
        async with local_embedder(Path(folder)) as embedder:
            if embedder is None:
                raise SystemExit("the embedder's weights are not installed")
            count = len(conversations)
            way = (
                _through_wire(count) if arguments.through_wire else local_memories(count, embedder)
            )
            async with way as owned:
                return await measure(conversations, owned, embedder)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.locomo", description=__doc__)
    parser.add_argument("folder", type=Path, help="of LoCoMo's JSON files")
    parser.add_argument("--limit", type=int, help=f"conversations; through the wire ≤ {MAX_PEERS}")
    parser.add_argument("--through-wire", action="store_true", help="on a Prosody of its own")
    return 1 if asyncio.run(_run(parser.parse_args())) else 0


if __name__ == "__main__":
    sys.exit(main())
