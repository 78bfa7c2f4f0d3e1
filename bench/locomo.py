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
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING

from bench.locomo_baselines import by_fts5, by_vectors
from bench.locomo_data import read_folder
from bench.locomo_score import HEAD, TOP, Answered, print_table
from bench.process import running
from bench.stage import MAX_PEERS, Stage
from spade_llm.memory import SQLiteMemoryBackend
from spade_llm.memory.store import (
    MemoryFilter,
    MemoryQuery,
    ObservedMessage,
    SearchMode,
    Tier,
)
from spade_llm.providers import MiniLmEmbedder, find_weights
from spade_llm.services.memory import MemoryClient
from spade_llm.xmpp.agent import XmppAgent

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Sequence

    from bench.locomo_data import Conversation, Question
    from spade_llm.memory import OwnedMemory

MESSAGES = MemoryFilter(tier=Tier.WORKING)
"""Not the episodes that are made of them meanwhile."""
DEEP = 200
"""Found for the figures within a number of tokens."""
OBSERVED_AT_ONCE = 100
VECTORS_WITHIN_S = 300.0
TIMEOUT_S = 60.0


async def measure(
    conversations: Sequence[Conversation],
    owned: Sequence[OwnedMemory],
    embedder: MiniLmEmbedder,
) -> int:
    """Prints the tables; how many turns of others were found."""
    began = time.perf_counter()
    for conversation, memory in zip(conversations, owned, strict=True):
        await _observe(conversation, memory)
    observed = time.perf_counter()
    async with asyncio.timeout(VECTORS_WITHIN_S):
        for memory in owned:
            await _have_vectors(memory)
    embedded = time.perf_counter()
    times = await _ask(conversations, owned, embedder)
    leaks = await _leaks(conversations, owned)
    print(
        f"\nobserving {observed - began:.1f} s, their vectors {embedded - observed:.1f} s, "
        f"a question {1000 * median(times):.1f} ms (with its vector), "
        f"all {time.perf_counter() - began:.0f} s; turns of others found: {leaks}"
    )
    return leaks


async def _observe(conversation: Conversation, memory: OwnedMemory) -> None:
    messages = [
        ObservedMessage(
            id=turn.id,
            role="user",
            content=turn.text,
            at=turn.at,
            speaker=turn.speaker,
        )
        for turn in conversation.turns
    ]
    for start in range(0, len(messages), OBSERVED_AT_ONCE):
        await memory.observe(conversation.name, messages[start : start + OBSERVED_AT_ONCE])


async def _have_vectors(memory: OwnedMemory) -> None:
    """By asking: the memory may be far."""
    while (await memory.stats()).without_vector:  # noqa: ASYNC110
        await asyncio.sleep(0.2)


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
        answered = [await _answer(memory, one, times) for one in conversation.questions]
        print(f"\n{HEAD}")
        print_table(conversation.name, answered, texts)
        ours += answered
        naive += await by_vectors(conversation, embedder, DEEP)
        words += by_fts5(conversation, DEEP)
    for name, way in (("all", ours), ("naive vectors", naive), ("FTS5, any word", words)):
        print(f"\n{HEAD}")
        print_table(name, way, texts)
    return times


async def _answer(memory: OwnedMemory, question: Question, times: list[float]) -> Answered:
    began = time.perf_counter()
    await _found(memory, question, TOP)
    times.append(time.perf_counter() - began)
    return Answered(question=question, found=await _found(memory, question, DEEP))


async def _found(memory: OwnedMemory, question: Question, limit: int) -> list[str]:
    query = MemoryQuery(
        text=question.text,
        mode=SearchMode.RECALL,
        limit=limit,
        which=MESSAGES,
        with_messages=True,
    )
    hits = (await memory.search(query)).hits
    return [str(hit.entry.metadata["message_id"]) for hit in hits]


async def _leaks(conversations: Sequence[Conversation], owned: Sequence[OwnedMemory]) -> int:
    """Turns of another conversation that an owner found, over all questions."""
    leaks = 0
    for asked in conversations:
        for question in asked.questions:
            for conversation, memory in zip(conversations, owned, strict=True):
                ids = await _found(memory, question, TOP)
                leaks += sum(not id.startswith(f"{conversation.name}/") for id in ids)
    return leaks


@asynccontextmanager
async def _local(count: int, embedder: MiniLmEmbedder) -> AsyncIterator[list[OwnedMemory]]:
    with tempfile.TemporaryDirectory(prefix="locomo-") as folder:
        path = Path(folder) / "memory.db"
        async with SQLiteMemoryBackend(path, embedder=embedder) as backend:
            yield [backend.for_owner(f"owner{number}@localhost") for number in range(count)]


@asynccontextmanager
async def _through_wire(count: int) -> AsyncIterator[list[OwnedMemory]]:
    """Each owner is an agent; the memory is one of its own, in another process."""
    async with AsyncExitStack() as stack:
        stage = await stack.enter_async_context(Stage())
        keeper = await stage.account("memory")
        await stack.enter_async_context(stage.agent("memory", "memory"))
        owned: list[OwnedMemory] = []
        for person in await stage.people(count):
            agent = XmppAgent(person.jid, person.password, options=person.options)
            await stack.enter_async_context(running(agent))
            owned.append(MemoryClient(agent.node.requester, keeper.jid, timeout_s=TIMEOUT_S))
        yield owned


async def _run(arguments: argparse.Namespace) -> int:
    conversations = read_folder(arguments.folder, limit=arguments.limit)
    if not conversations:
        raise SystemExit(f"no conversations in {arguments.folder}")
    with tempfile.TemporaryDirectory(prefix="locomo-") as folder:
        cache = Path(folder)
        weights = find_weights(cache)
        if weights is None:
            raise SystemExit("the embedder's weights are not installed")
        async with await MiniLmEmbedder.load(weights, cache=cache) as embedder:
            count = len(conversations)
            way = _through_wire(count) if arguments.through_wire else _local(count, embedder)
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
